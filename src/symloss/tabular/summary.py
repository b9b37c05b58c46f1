"""The results of a fit: as a dict for programs, as a printed table for people."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from symloss.columns import as_text
from symloss.estimators import AUCClassifierCV
from symloss.tabular.cautions import MARK
from symloss.tabular.findings import Findings, findings
from symloss.tabular.fitting import Fitted
from symloss.tabular.labels import noise_in_words

if TYPE_CHECKING:
    from rich.console import Console


def summary(fitted: Fitted, found: Findings | None = None) -> dict[str, Any]:
    """Return the candidates with their scores on the labels given, their weights, and the scores of the average.

    ``found`` is what ``findings`` returned, if it is at hand.

    Examples
    --------
    >>> import pandas as pd, symloss as sl
    >>> from symloss.tabular import fit_table
    >>> frame = pd.DataFrame({"x": range(40), "y": [0] * 20 + [1] * 20})
    >>> found = summary(fit_table(frame, "y", candidates=[("linear", sl.AUCClassifier())]))
    >>> found["score"], found["label"], found["positive"], found["clean_score"]
    ('AUC', 'y', 1, None)
    """
    model = fitted.model
    estimator, results = model.estimator, model.estimator.cv_results_
    members = {member.name: member for member in estimator.members_}
    clean = getattr(estimator, "clean_score_", None)
    scored = ~np.isnan(results["mean_test_score"])  # with a time limit, there may be no time for some
    untried = [name for name, was_scored in zip(results["candidate"], scored, strict=True) if not was_scored]
    return {
        "score": "AUC" if isinstance(estimator, AUCClassifierCV) else "balanced accuracy",
        "rows": len(fitted.positive),
        "features": len(model.encoding.features),
        "label": model.label,
        "negative": model.labels[0],
        "positive": model.labels[1],
        "candidates": [
            {
                "name": name,
                "mean": float(mean),
                "sd": float(sd),
                "rows": int(rows),
                "weight": members[name].weight if name in members else 0.0,
            }
            for name, mean, sd, rows in zip(
                *(results[key] for key in ("candidate", "mean_test_score", "std_test_score", "points")), strict=True
            )
            if name not in untried
        ],
        "untried": untried,
        "time_limit": estimator.time_limit,
        "corrupted_score": float(estimator.corrupted_score_),
        "clean_score": None if clean is None else asdict(clean),
        "threshold": float(estimator.threshold_),
        "noise": asdict((found or findings(fitted)).noise),
        "notes": fitted.notes,
        "warnings": [note.removeprefix(MARK) for note in fitted.notes if note.startswith(MARK)],
    }


def lack_of_time(found: dict[str, Any]) -> list[str]:
    """Return a sentence, or none, on the candidates of a summary that there was no time for.

    Examples
    --------
    >>> tried = [
    ...     {"name": "linear", "mean": 0.7, "rows": 200_000, "weight": 1.0},
    ...     {"name": "boosting", "mean": 0.8, "rows": 3000, "weight": 0.0},
    ... ]
    >>> lack_of_time({"untried": ["trees"], "candidates": tried, "time_limit": 60.0})
    ['the time limit of 60 s left 1 of 3 candidates untried: with more time the model may be better']
    >>> lack_of_time({"untried": [], "candidates": tried, "time_limit": 60.0})
    ["the time limit of 60 s left no time to fit 'boosting' to all rows, which was better on 3,000 of them: with more
      time the model may be better"]
    """
    tried, untried, limit = found["candidates"], len(found["untried"]), found["time_limit"]
    best = max(tried, key=lambda each: each["mean"])
    chosen = max(tried, key=lambda each: each["weight"])
    if untried:
        left = f"{untried} of {len(tried) + untried} candidates untried"
    elif limit is not None and best["rows"] < chosen["rows"]:
        left = f"no time to fit {best['name']!r} to all rows, which was better on {best['rows']:,} of them"
    else:
        return []
    return [f"the time limit of {limit:g} s left {left}: with more time the model may be better"]


def print_summary(fitted: Fitted, console: Console) -> None:
    """Print a table of candidates, the best one first, and the scores of their average.

    Examples
    --------
    >>> import pandas as pd, symloss as sl
    >>> from rich.console import Console
    >>> from symloss.tabular import fit_table
    >>> frame = pd.DataFrame({"x": range(40), "y": [0] * 20 + [1] * 20})
    >>> print_summary(fit_table(frame, "y", candidates=[("linear", sl.AUCClassifier())]), Console(width=100))
    candidate   AUC on noisy folds     s.d.   weight
    ...
    """
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    told = findings(fitted)
    found = summary(fitted, told)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("candidate", overflow="fold")
    for column in (f"{found['score']} on noisy folds", "s.d."):
        table.add_column(column, justify="right")
    in_parts = len({candidate["rows"] for candidate in found["candidates"]}) > 1
    for column in ("rows",) * in_parts + ("weight",):
        table.add_column(column, justify="right")
    for candidate in sorted(found["candidates"], key=lambda candidate: -candidate["mean"]):
        weight = f"[green]{candidate['weight']:.2f}[/]" if candidate["weight"] else ""
        rows = (f"{candidate['rows']:,}",) * in_parts
        table.add_row(escape(candidate["name"]), f"{candidate['mean']:.4f}", f"{candidate['sd']:.4f}", *rows, weight)
    console.print(table)
    for sentence in lack_of_time(found):
        console.print(sentence, markup=False, highlight=False, soft_wrap=True)
    chosen = len(fitted.model.estimator.members_)
    of = f"the average of {chosen} candidates" if chosen > 1 else "the chosen candidate"
    clean = getattr(fitted.model.estimator, "clean_score_", None)
    lines = [f"{found['score']} of {of} on the given labels, cross-validated: {found['corrupted_score']:.3f}"]
    if clean is not None:
        lines.append(f"{found['score']} on clean labels, estimated: {clean}")
    lines.append(f"threshold: {found['threshold']:.4g}, already subtracted from scores: above 0 is positive")
    lines += noise_in_words(told, (as_text(found["negative"]), as_text(found["positive"])))[:1]
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
