"""The loss explorer: pick losses, move their parameters, and see what the theorems say, all in the browser.

What the page computes comes from the same declarations as the Python code: the formula of each loss is translated to
JavaScript (``symloss.report.formulas``), its verdicts are those of ``symloss.theory.analyze``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from symloss.files import write_whole
from symloss.losses import BarrierHinge, Loss, LossLike, get_loss, list_losses
from symloss.paper.figures import styles_of
from symloss.report.formulas import JAVASCRIPT, Array, Formula
from symloss.report.page import Section, plot, render, render_page, source
from symloss.theory import analyze
from symloss.theory.report import Report

TITLE = "The loss explorer"
_SHOWN_FIRST = ("hinge", "logistic", "sigmoid", "unhinged", "barrier_hinge")
_SAMPLES: Array = np.linspace(-40, 40, 4001)  # where a loss without a formula is sampled
# Dashes of users' own losses. There are six colors for them, so pairs of dash and color repeat after 30 losses.
_DASHES = ("solid", "9px,4px", "2px,3px", "9px,3px,2px,3px", "16px,4px")
_POINTS = 120  # per class in the two-Gaussian example


@dataclass(frozen=True)
class Slider:
    """A number that a user of the page can change.

    Examples
    --------
    >>> Slider("eta", "η", "probability of a positive label", 0.8, 0.01, 0.99, 0.01).value
    0.8
    """

    name: str
    symbol: str
    meaning: str
    value: float
    low: float
    high: float
    step: float


_TRANSFORMATION = (
    Slider("scale", "scale", "of the margin", 1, 0.1, 5, 0.1),
    Slider("margin", "margin", "subtracted from z", 0, -2, 2, 0.1),
)
_PROBABILITY = (Slider("eta", "η", "probability of a positive at x", 0.8, 0.01, 0.99, 0.01),)
_NOISE = (  # on one scale, so that the handle of π lies right of that of π′
    Slider("pi", "π", "share of positives in corrupted positives", 0.7, 0, 1, 0.01),
    Slider("pi_prime", "π′", "share of positives in corrupted negatives", 0.4, 0, 1, 0.01),
)
# For each parameter of a built-in loss: from, to, step and meaning.
_RANGES = {
    "barrier_hinge": {
        "b": (1.1, 200.0, 0.1, "slope of the barrier"),
        "r": (0.1, 50.0, 0.1, "half-width of the symmetric part"),
    },
    "generalized_cross_entropy": {"q": (0.01, 1.0, 0.01, "0: logistic, 1: sigmoid")},
    "symmetric_cross_entropy": {
        "alpha": (0.01, 10.0, 0.01, "weight of cross-entropy"),
        "beta": (0.01, 10.0, 0.01, "weight of reverse cross-entropy"),
        "A": (-10.0, -0.1, 0.1, "in place of log(0)"),
    },
    "active_passive": {
        "alpha": (0.01, 10.0, 0.01, "weight of normalized cross-entropy"),
        "beta": (0.01, 10.0, 0.01, "weight of mean absolute error"),
    },
    "focal": {"gamma": (0.01, 5.0, 0.01, "strength of the focus")},
    "huberized_hinge": {"delta": (0.01, 5.0, 0.01, "width of the parabola")},
}

# For each plot: what it shows, for readers who cannot see it, and what to look for in it.
_PLOTS = {
    "loss": (
        "Loss l(z) against the margin z",
        "The loss of a margin z. A curve that falls toward the right rewards a score with the right sign.",
    ),
    "sum": (
        "Sum l(z) + l(-z) against z",
        "A symmetric loss is flat here: l(z) + l(−z) = K for every z. The broad bands mark where a sum is constant: "
        "how far scores may reach before noise can do harm.",
    ),
    "slope": (
        "Slope of the loss against z",
        "How strongly a point pulls on the scores. A bounded loss gives up on points far on the wrong side; the "
        "barrier hinge pushes scores back into its symmetric part.",
    ),
    "risk": (
        "Conditional risk against the score z",
        "The expected loss η l(z) + (1 − η) l(−z) of giving the score z to a point that is positive with probability "
        "η. Dots mark the lowest risk, if a finite score reaches it.",
    ),
    "minimizer": (
        "Minimizer of the conditional risk against eta",
        "The best score for each η. A curve that climbs steadily can be turned back into a probability; a step says "
        "only which class is likelier. Symmetric losses give steps (theorem 8). A curve that leaves the plot "
        "vertically at 1/2 has no finite best score.",
    ),
    "ber": (
        "Excess terms of theorem 3 as the noise grows",
        "Balanced error (theorem 3). Solid lines are the excess for the scores g(x) = x, dotted lines that for "
        "g(x) = 2x; here only the colors tell losses apart. For a symmetric loss the two lines are the same, so noise "
        "cannot change which scores are best.",
    ),
    "auc": (
        "Excess terms of theorem 1 as the noise grows",
        "AUC (theorem 1), drawn the same way. The difference of two scores can be larger than a single score, so "
        "a loss whose sum is constant on an interval needs a wider interval here.",
    ),
}


def explorer_section(losses: Sequence[LossLike] | None = None) -> Section:
    """Return the explorer as a section of a page.

    Parameters
    ----------
    losses : sequence of losses, optional
        The losses to offer: the built-in ones by default. Your own loss is computed from its ``formula``; if
        this cannot be read as a formula of z, the loss is drawn from values sampled on a grid.

    Examples
    --------
    >>> section = explorer_section(["sigmoid"])
    >>> section.title, [loss["name"] for loss in section.data["explorer-data"]["losses"]]
    ('The loss explorer', ['sigmoid'])
    """
    chosen = _default_losses() if losses is None else [get_loss(loss) for loss in losses]
    names = [loss.name for loss in chosen]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"the explorer needs one loss or more, of different names, got {', '.join(names) or 'none'}")
    reports = [analyze(loss) for loss in chosen]
    sliders = [*(slider for loss in chosen for slider in _parameters(loss)), *_TRANSFORMATION, *_PROBABILITY, *_NOISE]
    entries = [_entry(loss, style) for loss, style in zip(chosen, _styles(names), strict=True)]
    shown = [name for name in names if name in _SHOWN_FIRST or name not in list_losses()] or names
    return Section(
        id="explorer",
        title=TITLE,
        html=render(
            "explorer.html.j2",
            losses=chosen,
            entries=entries,
            shown=shown,
            groups=_groups(chosen),
            plots=[plot(f"plot-{name}", *words) for name, words in _PLOTS.items()],
            reports=reports,
            points=_POINTS,
            symmetry=_symmetry,
        ),
        data={
            "explorer-data": {
                "losses": entries,
                "shown": shown,
                "defaults": {slider.name: slider.value for slider in sliders},
                "quantiles": _quantiles().tolist(),
                "convex": [report.loss.name for report in reports if report.convex],
            }
        },
        script=_script(JAVASCRIPT, _formulas(chosen), source("explorer_math.js"), source("explorer.js")),
        style=source("explorer.css"),
    )


def write_explorer(path: str | Path, losses: Sequence[LossLike] | None = None) -> Path:
    """Write the explorer as a page of its own, and return its path.

    Parameters
    ----------
    path : path
        The HTML file.
    losses : sequence of losses, optional
        See ``explorer_section``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_explorer(Path(folder) / "explorer.html", ["hinge", "sigmoid"]).name
    'explorer.html'
    """
    path = Path(path)
    write_whole(path, render_page("Symmetric losses", [explorer_section(losses)], footer="Made by symloss."))
    return path


def _default_losses() -> list[Loss]:
    """Return the built-in losses, with b and r of the paper's figures: at b = 200, r = 50 no other loss can be seen."""
    return [BarrierHinge(b=10, r=1) if name == "barrier_hinge" else get_loss(name) for name in list_losses()]


def _numbers(loss: Loss) -> dict[str, float]:
    """Return the parameters of a loss that are numbers."""
    return {
        name: value
        for name, value in vars(loss).items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


def _parameters(loss: Loss) -> list[Slider]:
    """Return the sliders of a loss's parameters; a loss that is drawn from samples has none."""
    if _formula(loss) is None:
        return []
    built_in = loss.name in list_losses() and type(loss) is type(get_loss(loss.name))
    ranges = _RANGES.get(loss.name, {}) if built_in else {}
    sliders = []
    for name, value in _numbers(loss).items():
        size = max(abs(value), 1.0)
        own = (0.0 if value >= 0 else -4 * size, 4 * size, size / 100, "")
        low, high, step, meaning = ranges.get(name, own)
        sliders.append(Slider(f"{loss.name}-{name}", name, meaning, value, min(low, value), max(high, value), step))
    return sliders


def _groups(losses: Sequence[Loss]) -> list[tuple[str, str, Sequence[Slider]]]:
    """Return groups of sliders: for each its heading, a hint, and the sliders."""
    transformation = "Draws l(scale · (z − margin)). A scale changes no verdict; a margin usually breaks symmetry."
    return [
        *((loss.title, "", sliders) for loss in losses if (sliders := _parameters(loss))),
        ("Every loss", transformation, _TRANSFORMATION),
        ("Conditional risk", "", _PROBABILITY),
        ("Noise", "π cannot be below π′.", _NOISE),
    ]


def _styles(names: Sequence[str]) -> list[dict[str, str]]:
    """Return colors and dashes, the same as in the figures of the paper, in Plotly's words."""
    styles = styles_of(names)
    own = [name for name in styles if name not in list_losses()]

    def dash(name: str) -> str:
        if name in own:
            return _DASHES[own.index(name) % len(_DASHES)]
        line = styles[name]["linestyle"]
        return "solid" if isinstance(line, str) else ",".join(f"{2 * length}px" for length in line[1])

    return [{"color": styles[name]["color"], "dash": dash(name)} for name in names]


def _entry(loss: Loss, style: dict[str, str]) -> dict[str, Any]:
    parameters = [slider.symbol for slider in _parameters(loss)]
    entry: dict[str, Any] = {"name": loss.name, "title": loss.title, "parameters": parameters, **style}
    if _formula(loss) is None:
        z = torch.from_numpy(_SAMPLES)
        values, slopes = loss(z).detach(), loss.derivative(z).detach()
        if not (values.isfinite().all() and slopes.isfinite().all()):
            raise ValueError(f"{loss!r} has no formula to compute with, and is not finite on [-40, 40]")
        entry["samples"] = {
            "first": _SAMPLES[0],
            "last": _SAMPLES[-1],
            "values": values.tolist(),
            "slopes": slopes.tolist(),
        }
    return entry


def _formula(loss: Loss) -> Formula | None:
    """Return the formula that a loss declares, or None if it cannot be read or is not what the loss computes."""
    z: Array = np.linspace(-6, 6, 241)
    try:
        formula = Formula.read(loss.formula, tuple(_numbers(loss)))
        values = formula(z, _numbers(loss))
    except (ValueError, ArithmeticError):
        return None
    return formula if np.allclose(values, loss(torch.from_numpy(z)).detach().numpy()) else None


def _formulas(losses: Sequence[Loss]) -> str:
    """Return JavaScript that defines l and l' of each loss as functions of z and the loss's parameters."""
    lines = ["const formulas = {"]
    for loss in losses:
        formula = _formula(loss)
        if formula is not None:
            given = ", ".join(["z", *(f"p_{name}" for name in _numbers(loss))])
            value, slope = formula.javascript(), formula.derivative().javascript()
            lines.append(f"  {json.dumps(loss.name)}: {{ value: ({given}) => {value}, slope: ({given}) => {slope} }},")
    return "\n".join([*lines, "};"])


def _script(*parts: str) -> str:
    """Return one script whose names no other script sees."""
    return "\n".join(["(() => {", *parts, "})();"])


def _quantiles() -> Array:
    """Return evenly spaced quantiles of the standard normal distribution, which stand for it."""
    from scipy.special import ndtri

    quantiles: Array = ndtri((np.arange(_POINTS) + 0.5) / _POINTS)
    return quantiles


def _symmetry(report: Report) -> str:
    """Return where l(z) + l(-z) is constant, and its value there."""
    if report.K is not None:
        return f"yes, K = {report.K:g}"
    radius = report.symmetric_interval[1]
    if not radius:
        return report.symmetric.answer
    constant = 2 * float(report.loss(torch.zeros(1, dtype=torch.float64)))
    return f"on [−{radius:g}, {radius:g}], K = {constant:g}"
