"""The page of a fit or an audit: what one sends to a colleague, as one HTML file without scripts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symloss import __version__
from symloss.columns import as_text
from symloss.metrics import Estimate, clean_roc
from symloss.pages import Section, Templates, framed
from symloss.tabular.checks import WARNING
from symloss.tabular.evaluation import LEVEL, Evaluation, evaluate, percent, rows_of
from symloss.tabular.importance import Importance
from symloss.tabular.labels import label_table, noise_in_words, review_in_words, suspicious, when_to_stop
from symloss.tabular.model import TableModel
from symloss.tabular.summary import lack_of_time, summary
from symloss.tabular.thresholds import choices

if TYPE_CHECKING:
    from pandas import DataFrame

Array = NDArray[np.float64]
_TEMPLATES = Templates("symloss.tabular")
SHOWN = 20  # labels to check
_COLUMNS = 10  # of a row that are shown: the most important ones
_POINTS = 160  # of a curve: finer than a screen can show
_BINS = 32
_LEAST_SCALE = 0.05  # of the bars of columns: a fall of less than this does not fill the width
# Characters that are not seen, or that change the direction of the text after them.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")


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
