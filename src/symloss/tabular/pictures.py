"""Pictures of a page as SVG: the share of wrong labels, ROC curves, and the scores of both labels.

Their colors are classes of the page's style, so that they suit a light and a dark page and paper.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from symloss.metrics import clean_roc
from symloss.pages import Templates
from symloss.tabular.findings import Findings

Array = NDArray[np.float64]
TEMPLATES = Templates("symloss.tabular")
_POINTS = 160  # of a curve: finer than a screen can show
_BINS = 32


class _Axes(NamedTuple):
    """Where the axes of a picture lie, in its own units, and what they show."""

    x: tuple[float, float]
    y: tuple[float, float]
    left: float = 48.0
    right: float = 350.0
    top: float = 12.0
    bottom: float = 262.0

    def across(self, value: float) -> float:
        return self.left + (value - self.x[0]) / (self.x[1] - self.x[0]) * (self.right - self.left)

    def up(self, value: float) -> float:
        return self.bottom - (value - self.y[0]) / (self.y[1] - self.y[0]) * (self.bottom - self.top)

    def line(self, xs: Iterable[float], ys: Iterable[float]) -> str:
        return " ".join(f"{self.across(x):.1f},{self.up(y):.1f}" for x, y in zip(xs, ys, strict=True))


def roc_picture(found: Findings) -> Markup:
    """Return the ROC curve on the labels given and, if there are rates, that on clean labels.

    Examples
    --------
    >>> import pandas as pd, symloss as sl
    >>> from symloss.tabular import fit_table
    >>> from symloss.tabular.findings import findings
    >>> frame = pd.DataFrame({"x": np.arange(40.0), "y": ["no"] * 20 + ["yes"] * 20})
    >>> found = findings(fit_table(frame, "y", candidates=[("linear", sl.AUCClassifier())]))
    >>> roc_picture(found).count("<polyline")
    1
    """
    axes = _Axes((0.0, 1.0), (0.0, 1.0))
    curves = [(name, axes.line(*_thinned(*curve))) for name, curve in roc_curves(found).items()]
    return TEMPLATES.render("roc.svg.j2", axes=axes, curves=curves, ticks=_ticks(0.0, 1.0))


def roc_curves(found: Findings) -> dict[str, tuple[Array, Array]]:
    """Return the false and true positive rates on the labels given and, if there are rates, on clean labels.

    Examples
    --------
    >>> import pandas as pd, symloss as sl
    >>> from symloss.tabular import fit_table
    >>> from symloss.tabular.findings import findings
    >>> frame = pd.DataFrame({"x": np.arange(40.0), "y": ["no"] * 20 + ["yes"] * 20})
    >>> list(roc_curves(findings(fit_table(frame, "y", candidates=[("linear", sl.AUCClassifier())]))))
    ['given']
    """
    rates = {"given": (1.0, 0.0)}
    if found.rates is not None:
        rates["clean"] = found.rates
    curves = {}
    for name, (pi, pi_prime) in rates.items():
        fpr, tpr, _ = clean_roc(found.scores, found.positive, pi, pi_prime, weight=found.weight)
        curves[name] = (fpr, tpr)
    return curves


def scores_picture(found: Findings) -> Markup:
    """Return the distributions of the scores of both labels.

    Examples
    --------
    >>> import pandas as pd, symloss as sl
    >>> from symloss.tabular import fit_table
    >>> from symloss.tabular.findings import findings
    >>> frame = pd.DataFrame({"x": np.arange(40.0), "y": ["no"] * 20 + ["yes"] * 20})
    >>> found = findings(fit_table(frame, "y", candidates=[("linear", sl.AUCClassifier())]))
    >>> scores_picture(found).count("<polygon")
    2
    """
    low, high = np.quantile(found.scores, [0.005, 0.995])
    low, high = min(float(low), 0.0), max(float(high), 0.0)
    low, high = (low, high) if high > low else (low - 1.0, high + 1.0)
    edges = np.linspace(low, high, min(_BINS, max(8, len(found.scores) // 20)) + 1)
    heights = {}
    for name, rows in (("negative", ~found.positive), ("positive", found.positive)):
        counted, _ = np.histogram(np.clip(found.scores[rows], low, high), edges, weights=found.weight[rows])
        heights[name] = counted / found.weight[rows].sum()
    most = max(float(values.max()) for values in heights.values())
    axes = _Axes((low, high), (0.0, 1.05 * most))
    shapes = [
        (name, axes.line([low, *np.repeat(edges, 2)[1:-1], high], [0.0, *np.repeat(values, 2), 0.0]))
        for name, values in heights.items()
    ]
    return TEMPLATES.render(
        "scores.svg.j2", axes=axes, shapes=shapes, x_ticks=_ticks(low, high), y_ticks=_ticks(0.0, most)
    )


class Bar(NamedTuple):
    """A label, the share of it that seems wrong, or None if only its bounds are known, and these bounds.

    Examples
    --------
    >>> Bar("yes", None, 0.0, 0.3).high
    0.3
    """

    label: str
    wrong: float | None
    low: float
    high: float


def noise_picture(bars: Sequence[Bar]) -> Markup:
    """Return one bar per label, with the share that seems wrong and its interval.

    Examples
    --------
    >>> noise_picture([Bar("yes", 0.1, 0.05, 0.2)]).count('class="wrong')
    1
    """
    axes = _Axes((0.0, 1.0), (0.0, 1.0), left=10.0, right=350.0)
    return TEMPLATES.render("noise.svg.j2", bars=bars, axes=axes, ticks=_ticks(0.0, 1.0))


def _thinned(x: Array, y: Array) -> tuple[Array, Array]:
    """Return points of a curve, spread evenly along it, and its ends."""
    if len(x) <= _POINTS:
        return x, y
    along = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(x), np.diff(y)))])
    kept = np.unique(np.searchsorted(along, np.linspace(0.0, along[-1], _POINTS)).clip(0, len(x) - 1))
    return x[kept], y[kept]


def _ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Return about five round numbers between two others, with their texts."""
    width = (high - low) / 5
    unit = 10.0 ** np.floor(np.log10(width))
    step = unit * next(factor for factor in (1, 2, 5, 10) if factor * unit >= width * 0.999)
    decimals = max(0, -int(np.floor(np.log10(step))))
    numbers = np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1) * step
    return [(value, f"{value:.{decimals}f}".replace("-", "−")) for value in (numbers + 0.0).tolist()]
