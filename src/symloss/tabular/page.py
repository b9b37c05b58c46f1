"""The results of a fit: as a dict for programs, as a printed table and as a page for people."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symloss import __version__
from symloss.columns import as_text
from symloss.metrics import Estimate, clean_roc
from symloss.pages import Section, Templates, framed
from symloss.tabular.checks import WARNING
from symloss.tabular.evaluation import LEVEL, Evaluation, Importance, evaluate, percent, rows_of
from symloss.tabular.labels import label_table, noise_in_words, review_in_words, suspicious, when_to_stop
from symloss.tabular.model import TableModel
from symloss.tabular.predicting import choices

if TYPE_CHECKING:
    from pandas import DataFrame
    from rich.console import Console
Array = NDArray[np.float64]
_TEMPLATES = Templates("symloss.tabular")
SHOWN = 20  # labels to check
_COLUMNS = 10  # of a row that are shown: the most important ones
_POINTS = 160  # of a curve: finer than a screen can show
_BINS = 32
_LEAST_SCALE = 0.05  # of the bars of columns: a fall of less than this does not fill the width
# Characters that are not seen, or that change the direction of the text after them.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")


def summary(model: TableModel, found: Evaluation) -> dict[str, Any]:
    """Return the candidates with their scores on the labels given, their weights, and the scores of the average."""
    estimator, results = model.estimator, model.estimator.cv_results_
    weights = {member.name: member.weight for member in estimator.members_}
    names = ("candidate", "mean_test_score", "std_test_score", "points")
    tried = [
        {"name": name, "mean": float(mean), "sd": float(sd), "rows": int(rows), "weight": weights.get(name, 0.0)}
        for name, mean, sd, rows in zip(*(results[key] for key in names), strict=True)
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
    in_parts = len({each["rows"] for each in candidates}) > 1
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("candidate", overflow="fold")
    for column in (f"{made['score']} on noisy folds", "s.d.", *["rows"] * in_parts, "weight"):
        table.add_column(column, justify="right")
    for each in candidates:
        weight = f"[green]{each['weight']:.2f}[/]" if each["weight"] else ""
        rows = [f"{each['rows']:,}"] * in_parts
        table.add_row(escape(each["name"]), f"{each['mean']:.4f}", f"{each['sd']:.4f}", *rows, weight)
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


class About(NamedTuple):
    """How a fit came about: the name of the table, the command, and columns that tell rows apart."""

    source: str
    command: str = ""
    ids: Sequence[str] = ()


def fit_page(
    model: TableModel,
    frame: DataFrame,
    importances: Sequence[Importance] | None,
    about: About,
    costs: tuple[float, float] | None = None,
) -> str:
    """Return the page of a fit, or of an audit, which keeps no model: then there are no importances of columns.

    ``costs`` are those of a false positive and of a false negative, for a threshold of their own.
    """
    found, rows = evaluate(model), rows_of(model)
    made = summary(model, found)
    negative, positive = map(shown, model.labels)
    table = label_table(model, frame, about.ids).dropna(subset="wrong_probability").head(SHOWN)
    columns = [each.column for each in importances] if importances else model.columns
    worst = [
        (line, [frame[name].iloc[line["row"] - 1] for name in columns[:_COLUMNS]])
        for line in table.to_dict(orient="records")
    ]
    curves = {}
    for name, rates in (("given", (1.0, 0.0)), ("clean", found.labeled_rates)):
        fpr, tpr, _ = clean_roc(found.scores, found.labeled, *rates, weight=found.weight)
        curves[name] = _line(fpr, tpr)
    values = {
        "found": found,
        "made": made,
        "about": about,
        "negative": f"'{negative}'",
        "positive": f"'{positive}'",
        "suspicious": int(suspicious(model).sum()),
        "when_to_stop": when_to_stop(model),
        "words": noise_in_words(found, (negative, positive)),
        "reviewed": review_in_words(model.review, model.score_name) if model.review else [],
        "warnings": [*made["warnings"], *found.warnings, *lack_of_time(made)],
        "notes": [note for note in model.notes if not note.startswith(WARNING)],
        "bars": _bars(found, negative, positive),
        "columns": columns[:_COLUMNS],
        "left_out": max(0, len(columns) - _COLUMNS),
        "worst": worst,
        "curves": curves,
        "heaps": _heaps(found),
        "importances": importances or [],
        "most": max([_LEAST_SCALE, *(each.fall for each in importances or [])]),
        "choices": choices(found, model, costs) if importances is not None else [],
        "candidates": sorted(made["candidates"], key=lambda each: (-each["weight"], -each["mean"])),
        "percent": percent,
        "number": _number,
        "shown": shown,
    }
    titles = {"short": "In short", "review": "What the review changed", "check": "Labels to check",
              "noise": "How noisy the labels are",
              "ranking": "The ranking", "columns": "The columns", "thresholds": "Where to draw the line",
              "made": "How this was made"}  # fmt: skip
    if found.unlabeled:
        titles |= {"check": "Rows to look at", "noise": "How many unlabeled rows are positive"}
    if model.review is None:
        del titles["review"]
    if importances is None:
        del titles["columns"], titles["thresholds"]
    sections = [
        Section(part, title, _TEMPLATES.render("fit.html.j2", part=part, **values)) for part, title in titles.items()
    ]
    count, n = int(rows.positive.sum()), len(rows.positive)
    others = "unlabeled" if found.unlabeled else f"labeled {negative!r}"
    may_be = f"unlabeled ones may be {positive!r}" if found.unlabeled else "these labels may be wrong"
    labeled = f"{count:,} labeled {positive!r}, {n - count:,} {others}"
    lead = f"{n:,} rows of {shown(about.source)}: {labeled}. Some of {may_be}."
    now = datetime.now(tz=UTC).strftime("%Y-%m-%d %H:%M UTC")
    footer = f"Written by symloss {__version__} on {now}. It shows {min(SHOWN, n)} rows of the table."
    what = "The labels of" if importances is None else "Predicting"
    title = f"{what} {shown(model.label)}"
    return framed(title, sections, lead, footer, style=[_TEMPLATES.source("fit.css")])


def shown(value: Any, longest: int = 80) -> str:
    r"""Return a value as a text that can be seen: not too long, and with unseen characters spelled out."""
    import pandas as pd

    if np.ndim(value) == 0 and pd.isna(value):
        return ""
    if isinstance(value, float) and not value.is_integer():
        return f"{value:.6g}"
    text = _UNSEEN.sub(lambda match: repr(match[0])[1:-1], as_text(value)[: longest + 1])
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _bars(found: Evaluation, negative: str, positive: str) -> list[tuple[str, Estimate]]:
    """Return for each label the share that is wrong, with its interval, as the page names it."""
    noise, (pi, pi_prime) = found.noise, found.rates
    bars = [
        (f"labeled '{positive:.40}'", Estimate(1 - pi, 1 - noise.pi_high, 1 - noise.pi_low, LEVEL)),
        (
            "unlabeled" if found.unlabeled else f"labeled '{negative:.40}'",
            Estimate(pi_prime, noise.pi_prime_low, noise.pi_prime_high, LEVEL),
        ),
    ]
    return bars[1:] if found.unlabeled else bars


def _heaps(found: Evaluation) -> dict[str, Any]:
    """Return how the scores of both labels are distributed, as outlines, with the place of the threshold and ticks."""
    low, high = np.quantile(found.scores, [0.005, 0.995])
    low, high = min(float(low), 0.0), max(float(high), 0.0)
    low, high = (low, high) if high > low else (low - 1.0, high + 1.0)
    edges = np.linspace(low, high, min(_BINS, max(8, len(found.scores) // 20)) + 1)
    heights = {}
    for name, rows in (("negative", ~found.positive), ("positive", found.positive)):
        counts, _ = np.histogram(np.clip(found.scores[rows], low, high), edges, weights=found.weight[rows])
        heights[name] = counts / found.weight[rows].sum()
    most = 1.05 * max(float(values.max()) for values in heights.values())
    places = np.concatenate([[0.0], np.repeat((edges - low) / (high - low), 2)[1:-1], [1.0]])
    outlines = {
        name: _line(places, np.concatenate([[0.0], np.repeat(values, 2) / most, [0.0]]))
        for name, values in heights.items()
    }
    return {
        "outlines": outlines,
        "threshold": -low / (high - low),
        "across": [((value - low) / (high - low), text) for value, text in _ticks(low, high)],
        "up": [(value / most, text) for value, text in _ticks(0.0, most)],
    }


def _line(x: Array, y: Array) -> str:
    """Return the points of a curve in the unit square as those of an SVG picture, not more than can be seen."""
    if len(x) > _POINTS:
        along = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(x), np.diff(y)))])
        kept = np.unique(np.searchsorted(along, np.linspace(0.0, along[-1], _POINTS)).clip(0, len(x) - 1))
        x, y = x[kept], y[kept]
    return " ".join(f"{48 + 302 * a:.1f},{262 - 250 * b:.1f}" for a, b in zip(x.tolist(), y.tolist(), strict=True))


def _ticks(low: float, high: float) -> Iterable[tuple[float, str]]:
    """Return about five round numbers between two others, with their texts."""
    unit = 10.0 ** np.floor(np.log10((high - low) / 5))
    step = unit * next(factor for factor in (1, 2, 5, 10) if factor * unit >= (high - low) / 5 * 0.999)
    numbers = np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1) * step + 0.0
    return [(value, f"{value:.6g}".replace("-", "−")) for value in numbers.round(12).tolist()]


def _number(value: float) -> str:
    """Return a number with about three digits."""
    if np.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:.3f}" if abs(value) < 10 else f"{value:.4g}"
    return text.replace("-", "−") if float(text) else "0.000"
