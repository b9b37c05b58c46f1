"""The results of a fit: as a dict for programs, as a printed table for people."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from symloss.tabular.checks import WARNING
from symloss.tabular.evaluation import Evaluation, rows_of
from symloss.tabular.labels import noise_in_words
from symloss.tabular.model import TableModel

if TYPE_CHECKING:
    from rich.console import Console


def summary(model: TableModel, found: Evaluation) -> dict[str, Any]:
    """Return the candidates with their scores on the labels given, their weights, and the scores of the average."""
    estimator, results = model.estimator, model.estimator.cv_results_
    weights = {member.name: member.weight for member in estimator.members_}
    names = ("candidate", "mean_test_score", "std_test_score")
    tried = [
        {"name": name, "mean": float(mean), "sd": float(sd), "weight": weights.get(name, 0.0)}
        for name, mean, sd in zip(*(results[key] for key in names), strict=True)
        if not np.isnan(mean)  # with a time limit, there may be no time for some
    ]
    return {
        "score": model.score_name,
        "rows": len(rows_of(model).positive),
        "features": len(model.encoding.features),
        "label": model.label,
        "negative": model.labels[0],
        "positive": model.labels[1],
        "candidates": tried,
        "untried": [name for name in results["candidate"] if name not in {each["name"] for each in tried}],
        "time_limit": estimator.time_limit,
        "corrupted_score": model.corrupted_score,
        "clean_score": None if model.clean_score is None else asdict(model.clean_score),
        "threshold": float(estimator.threshold_),
        "noise": asdict(found.noise),
        "notes": list(model.notes),
        "warnings": [note.removeprefix(WARNING) for note in model.notes if note.startswith(WARNING)],
    }


def lack_of_time(made: dict[str, Any]) -> list[str]:
    """Return a sentence, or none, on the candidates of a summary that there was no time for."""
    count, untried = len(made["candidates"]), len(made["untried"])
    left = f"the time limit of {made['time_limit'] or 0:g} s left {untried} of {count + untried} candidates untried"
    return [f"{left}: with more time the model may be better"] * bool(untried)


def print_summary(model: TableModel, found: Evaluation, console: Console) -> None:
    """Print a table of candidates, the best one first, and the scores of their average."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    made = summary(model, found)
    candidates = sorted(made["candidates"], key=lambda each: -each["mean"])
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("candidate", overflow="fold")
    for column in (f"{made['score']} on noisy folds", "s.d.", "weight"):
        table.add_column(column, justify="right")
    for each in candidates:
        weight = f"[green]{each['weight']:.2f}[/]" if each["weight"] else ""
        table.add_row(escape(each["name"]), f"{each['mean']:.4f}", f"{each['sd']:.4f}", weight)
    console.print(table)
    chosen = len(model.estimator.members_)
    of = f"the average of {chosen} candidates" if chosen > 1 else "the chosen candidate"
    lines = lack_of_time(made)
    lines.append(f"{made['score']} of {of} on the given labels, cross-validated: {made['corrupted_score']:.3f}")
    if model.clean_score is not None:
        where = "if which labels are wrong has nothing to do with the columns"
        lines.append(f"{made['score']} on clean labels, {where}: {model.clean_score}")
    lines.append(f"threshold: {made['threshold']:.4g}, already subtracted from scores: above 0 is positive")
    lines += noise_in_words(found, model.labels)[:1]
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
