"""The files for people that ``symloss fit`` and ``symloss audit`` write beside a model: a page, and labels to check."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from symloss.columns import as_text
from symloss.files import real, whole_file
from symloss.tabular.evaluation import Importance, column_importance, evaluate, rows_of
from symloss.tabular.labels import OWN, label_table, noise_in_words, suspicious, when_to_stop
from symloss.tabular.model import LABELS, NOISE, PAGE, Rows, TableModel, check_names, load
from symloss.tabular.page import About, fit_page

if TYPE_CHECKING:
    from pandas import DataFrame


_SECONDS = 20.0  # to find out which columns matter


class Documents(NamedTuple):
    """What the files beside a model are made of: the model, the table, how it came about, and what was found out."""

    model: TableModel
    frame: DataFrame
    about: About
    importances: list[Importance] | None = None  # None for an audit, which keeps no model

    @classmethod
    def of(cls, model: TableModel, frame: DataFrame, about: About, audit: bool = False) -> Documents:
        """Return what is found out of a model that has just been fitted; a time limit holds for this, too."""
        seconds = min(_SECONDS, model.estimator.time_limit or _SECONDS)
        return cls(model, frame, about, None if audit else column_importance(model, frame, seconds))

    @staticmethod
    def ids(folder: Path) -> list[str]:
        """Return the columns that tell rows apart in the table of a saved model."""
        found: list[str] = json.loads((folder / NOISE).read_text(encoding="utf-8"))["page"]["ids"]
        return found

    @classmethod
    def read(cls, folder: Path) -> Documents:
        """Return what ``write`` has written beside a saved model, with the labels that were checked since."""
        import pandas as pd

        model = load(folder)
        for name in (LABELS, NOISE):
            if not (folder / name).is_file():
                raise ValueError(f"{folder} has no {name}, which symloss fit writes and the page is made of")
        made = json.loads((folder / NOISE).read_text(encoding="utf-8"))["page"]
        table = pd.read_csv(folder / LABELS, dtype=str, keep_default_na=False, encoding="utf-8")
        if missing := [name for name in OWN if name not in table]:
            raise ValueError(f"{folder / LABELS} has no column {missing[0]!r}, as symloss wrote it")
        table = table.set_index(table["row"].astype(int)).sort_index()
        if len(table) != len(model.estimator.oof_scores_):
            raise ValueError(f"{folder / LABELS} must have the {len(model.estimator.oof_scores_)} rows of the fit")
        frame = table.drop(columns=list(OWN)).rename(columns={f"{name}_": name for name in OWN})
        weight = frame[model.weight].astype(float).to_numpy() if model.weight else np.ones(len(table))
        positive = (table["given_label"] == as_text(model.labels[1])).to_numpy()
        checked = (table["why"] == "checked").to_numpy()
        rows = Rows(table.index.to_numpy() - 1, positive, weight, made["unlabeled"], checked)
        frame = frame.set_axis(rows.numbers).reindex(range(rows.numbers[-1] + 1))
        importances = [Importance(*each) for each in made["importances"]]
        about = About(made["source"], made["command"], made["ids"])
        return cls(replace(model, rows=rows), frame, about, importances)

    def write(self, folder: Path, costs: tuple[float, float] | None = None, keep: bool = False) -> list[str]:
        """Write the list of labels, the noise and the page into a folder; return what went wrong, of the page alone."""
        page = self.about._asdict() | {"importances": self.importances, "unlabeled": rows_of(self.model).unlabeled}
        table = label_table(self.model, self.frame, self.about.ids)
        write_labels(folder, table, noise_summary(self.model) | {"page": page}, keep)
        try:
            html = fit_page(self.model, self.frame, self.importances, self.about, costs)
        except Exception as error:  # whatever it is, the model and the labels are there
            return [f"{PAGE} could not be made: {type(error).__name__}: {error}"]
        _write(folder / PAGE, html.encode(errors="backslashreplace"))  # the name of a file may be no UTF-8
        return []


def write_labels(folder: Path, table: DataFrame, noise: dict[str, Any], keep: bool = False) -> None:
    """Write the list of labels, and what is said of the noise beside it, by which it is known to be as it was written.

    With ``keep``, a list that is not is left as it is.
    """
    labels = str(table.to_csv(index=False, lineterminator="\n")).encode("utf-8", "surrogatepass")
    folder.mkdir(parents=True, exist_ok=True)
    if not keep or _is_as_written(folder):
        _write(folder / LABELS, labels)
    _write(folder / NOISE, json.dumps(noise | {"labels_sha256": _digest(labels)}, indent=1).encode())


def check_folder(folder: Path, names: Sequence[str], what: str, overwrite: bool = False) -> None:
    """Raise ValueError unless a folder may and can be written: it is new, empty, or holds ``what`` and nothing else.

    Labels that somebody has checked are never overwritten unless that is asked for.
    """
    check_names(folder, names, what)
    if (folder / LABELS).exists() and not overwrite and not _is_as_written(folder):
        raise ValueError(
            f"{folder / LABELS} is not as symloss wrote it: labels may have been checked there, so it is not "
            "overwritten; give another folder with --out, or add --overwrite"
        )
    parent = next(above for above in (folder, *folder.absolute().parents) if above.exists())
    try:
        with tempfile.TemporaryDirectory(dir=parent):
            pass
    except OSError as error:
        raise ValueError(f"{folder} cannot be written: {error.strerror} ({parent})") from None


def check_data_apart(data: Path, folder: Path) -> None:
    """Raise ValueError if the data lie inside the folder that is to be written, and so would be lost."""
    if real(folder) in real(data).parents:
        raise ValueError(f"{data}, the data, is in {folder}, the folder to write: it is not overwritten")


def noise_summary(model: TableModel) -> dict[str, Any]:
    """Return how noisy the labels are, as JSON and in words."""
    found = evaluate(model)
    return {
        "label": model.label,
        "negative": as_text(model.labels[0]),
        "positive": as_text(model.labels[1]),
        "words": noise_in_words(found, model.labels),
        "noise": asdict(found.noise),
        "wrong_share": asdict(found.wrong_share) | ({} if found.rates else {"value": None}),
        "suspicious": int(suspicious(model).sum()),
        "when_to_stop": when_to_stop(model),
    }


def _is_as_written(folder: Path) -> bool:
    noise = folder / NOISE
    return noise.is_file() and _digest((folder / LABELS).read_bytes()).encode() in noise.read_bytes()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _write(path: Path, content: bytes) -> None:
    with whole_file(path) as temporary:
        temporary.write_bytes(content)
