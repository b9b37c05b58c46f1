"""Wrong labels of a table with several classes: each class against the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from symloss.audit import Noise
from symloss.columns import as_text
from symloss.tabular.evaluation import rows_of
from symloss.tabular.fitting import fit
from symloss.tabular.labels import OWN, wrong_probability
from symloss.tabular.reading import Read

if TYPE_CHECKING:
    from pandas import DataFrame


def audit_classes(
    data: Read, label: str, ids: Sequence[str], tell: Callable[[str], None], **options: Any
) -> tuple[DataFrame, dict[str, tuple[int, Noise]]]:
    """Return all labeled rows as ``label_table`` does, and for each class how many rows it has and how noisy they are.

    A label is judged by the model of its class, and the suggestion is the class that is likeliest by its own model.
    """
    given = data.frame[label].map(as_text, na_action="ignore").astype(object).str.strip()
    counts, found = given.value_counts(), {}
    classes, used = sorted(counts.index[counts > 1]), given.isin(counts.index[counts > 1])
    if len(classes) < 2:
        raise ValueError(f"column {label!r}, the label, must have two classes of two or more rows, got {len(classes)}")
    if few := sorted(counts.index[counts == 1]):
        tell(f"label {label}: left out, as they have one row each: {', '.join(map(repr, few))}")
    frame, given = data.frame[used], given[used]
    right = np.zeros((len(frame), len(classes)))
    for k, name in enumerate(classes):
        one = frame.assign(**{label: np.where(given == name, name, "any other label")}).reset_index(drop=True)
        notes = (lambda _: None) if k else tell  # they are the same of each class
        model = fit(data._replace(frame=one), label, tell=notes, **options | {"positive": name})
        wrong = wrong_probability(model)
        right[:, k] = np.where(rows_of(model).positive, 1 - wrong, wrong)
        found[name] = int((given == name).sum()), model.noise
    own = (np.arange(len(frame)), [classes.index(name) for name in given])
    wrong, right[own] = 1 - right[own], -1.0
    table = frame[[*ids, *(name for name in frame.columns if name not in (*ids, label))]]
    table = table.rename(columns={name: f"{name}_" for name in OWN})
    suggested = np.where(wrong > 0.5, np.array(classes, object)[right.argmax(1)], "")
    numbers = np.flatnonzero(used) + 1
    for place, values in enumerate((numbers, given, suggested, wrong.round(4), "ranked", "")):
        table.insert(place, OWN[place], values)
    return table.iloc[np.argsort(-wrong, kind="stable")].reset_index(drop=True), found
