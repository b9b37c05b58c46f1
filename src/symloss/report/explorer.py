"""The loss explorer: curves of losses, what the theorems say of them, and sliders for what can be changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from symloss.drawing import loss_styles
from symloss.files import write_whole
from symloss.losses import BarrierHinge, Loss, LossLike, get_loss, list_losses
from symloss.messages import require
from symloss.pages import Section, Templates, framed
from symloss.theory import Report, analyze
from symloss.theory.conditional import minimizers

_SHOWN_FIRST = ("hinge", "logistic", "sigmoid", "unhinged", "barrier_hinge")
_Z = torch.linspace(-4, 4, 161, dtype=torch.float64)
_ETAS = np.linspace(0.1, 0.9, 9)  # for the conditional risk
_FACTORS = torch.linspace(0.1, 4, 27, dtype=torch.float64)  # by which scores are multiplied
_NOISES = ((1.0, 0.0), (0.9, 0.1), (0.8, 0.2), (0.7, 0.3), (0.6, 0.4), (0.65, 0.45))
_POINTS = 60  # per class: quantiles of N(+1, 1) and N(-1, 1)
_VALUES = 11  # of a parameter's slider
# From where to where a parameter of a built-in loss goes.
_RANGES = {
    ("barrier_hinge", "b"): (1.1, 50.0),
    ("barrier_hinge", "r"): (0.2, 5.0),
    ("generalized_cross_entropy", "q"): (0.05, 1.0),
    ("symmetric_cross_entropy", "A"): (-10.0, -0.5),
    ("huberized_hinge", "delta"): (0.1, 5.0),
}
_TEMPLATES = Templates("symloss.report")


def write_explorer(path: str | Path, losses: Sequence[LossLike] | None = None) -> Path:
    """Write the explorer of losses, by default of the built-in ones, into one HTML file, and return its path."""
    require("report", "the explorer needs plotly", "plotly")
    from plotly.offline import get_plotlyjs

    chosen = list(map(get_loss, losses or list_losses()))
    if losses is None:  # as in the paper's figures: at b = 200, r = 50 no other loss can be seen
        chosen = [BarrierHinge(b=10, r=1) if loss.name == "barrier_hinge" else loss for loss in chosen]
    names = [loss.name for loss in chosen]
    if len(set(names)) < len(names):
        raise ValueError(f"the explorer needs losses of different names, got {', '.join(names)}")
    reports = [analyze(loss) for loss in chosen]
    figures = {"curves": curves_figure(reports)}
    if any(_ranges(loss) for loss in chosen):
        figures["parameters"] = parameters_figure(chosen)
    html = _TEMPLATES.render("explorer.html.j2", figures=figures, reports=reports, symmetry=_symmetry, points=_POINTS)
    page = framed(
        "The loss explorer",
        [Section("curves-of-losses", "Curves", html)],
        lead="Why some losses find the right classifier although labels are noisy: their sum l(z) + l(−z) is constant.",
        footer="Made by symloss.",
        style=[_TEMPLATES.source("report.css")],
        scripts=[get_plotlyjs(), _TEMPLATES.source("explorer.js")],
    )
    write_whole(Path(path), page)
    return Path(path)


def curves_figure(reports: Sequence[Report]) -> dict[str, Any]:
    """Return a Plotly figure of losses: its curves, and choices of what to draw, some with a slider."""
    losses = [report.loss for report in reports]
    eta = np.linspace(0.02, 0.98, 25)
    risks = {f"η = {e:.2f}": [e * loss(_Z) + (1 - e) * loss(-_Z) for loss in losses] for e in _ETAS}
    best = [minimizers(loss, eta) for loss in losses]
    choices = [
        _choice("Loss l(z)", "margin z", _Z, [loss(_Z) for loss in losses], (-2, 6)),
        _choice("Sum l(z) + l(−z)", "margin z", _Z, [loss(_Z) + loss(-_Z) for loss in losses], (0, 8)),
        _choice("Slope of the loss", "margin z", _Z, [loss.derivative(_Z) for loss in losses], (-4, 4)),
        _choice("Expected loss η l(z) + (1 − η) l(−z)", "score z", _Z, risks, (-2, 6), start=7),
        _choice("Best score for each η", "η, the probability of a positive", eta, best, (-5, 5)),
    ]
    for name, excess_of in (("balanced error", _ber_excess), ("AUC", _auc_excess)):
        functions = [excess_of(loss) for loss in losses]
        excess = {
            f"{100 * (1 - pi):.0f}% and {100 * pi_prime:.0f}% wrong": [excess(pi, pi_prime) for excess in functions]
            for pi, pi_prime in _NOISES
        }
        choices.append(
            _choice(f"What noise adds: {name}", "factor on the scores", _FACTORS, excess, (-0.2, 2), start=3)
        )
    styles = loss_styles(loss.name for loss in losses).values()
    lines = [style["linestyle"] for style in styles]  # as Matplotlib calls them
    dashes = ["solid" if line == "-" else ",".join(f"{2 * length}px" for length in line[1]) for line in lines]
    curves = [
        {
            "name": loss.title,
            "line": {"color": style["color"], "dash": dash, "width": 2.5},
            "visible": _is_shown(loss.name, losses),
        }
        for loss, style, dash in zip(losses, styles, dashes, strict=True)
    ]
    return {"curves": curves, "choices": choices}


def parameters_figure(losses: Sequence[Loss]) -> dict[str, Any]:
    """Return a Plotly figure of one loss: choices of a loss and its parameter, with a slider for its value."""
    choices = []
    for loss in losses:
        for parameter, values in _ranges(loss).items():
            drawn = {}
            for value in values:
                of = replace(loss, **{parameter: value})  # type: ignore[type-var]  # losses with parameters are dataclasses
                drawn[f"{parameter} = {value:.3g}"] = [of(_Z), of(_Z) + of(-_Z), of.derivative(_Z)]
            nearest = int(np.abs(np.array(values) - getattr(loss, parameter)).argmin())
            choices.append(_choice(f"{loss.title}: {parameter}", "margin z", _Z, drawn, (-4, 8), nearest))
    lines = {"l(z)": ("#0072B2", "solid"), "l(z) + l(−z)": ("#C40F2E", "dash"), "slope": ("#5D8A00", "dot")}
    curves = [
        {"name": name, "line": {"color": color, "dash": dash, "width": 2.5}, "visible": True}
        for name, (color, dash) in lines.items()
    ]
    return {"curves": curves, "choices": choices}


def _choice(title: str, x_title: str, x: Any, y: Any, shown: tuple[float, float], start: int = 0) -> dict[str, Any]:
    """Return what Plotly needs to draw these curves; if there are several sets of them, with a slider."""
    sets = y if isinstance(y, dict) else {"": y}
    rounded = {label: [_rounded(values) for values in curves] for label, curves in sets.items()}
    steps = [{"label": label, "method": "restyle", "args": [{"y": of}]} for label, of in rounded.items()]
    layout = {
        "xaxis.title.text": x_title,
        "xaxis.range": [float(x[0]), float(x[-1])],
        "yaxis.range": list(shown),
        "sliders": [{"active": start, "steps": steps, "pad": {"t": 50}}] if len(steps) > 1 else [],
        "margin.b": 120 if len(steps) > 1 else 50,
    }
    y = list(rounded.values())[start]
    return {"title": title, "data": {"x": [_rounded(x)] * len(y), "y": y}, "layout": layout}


def _rounded(values: Any) -> list[float | None]:
    """Return values as a page holds them; what is not finite is left out of a curve."""
    return [float(f"{value:.4g}") if np.isfinite(value) else None for value in np.asarray(values)]


def _scores() -> tuple[Tensor, Tensor]:
    """Return the scores of positives and negatives, of shape (number of factors, number of points)."""
    quantiles = torch.special.ndtri((torch.arange(_POINTS, dtype=torch.float64) + 0.5) / _POINTS)
    return _FACTORS[:, None] * (quantiles + 1), _FACTORS[:, None] * (quantiles - 1)


def _ber_excess(loss: Loss) -> Callable[[float, float], Tensor]:
    """Return the excess of theorem 3 as a function of pi and pi'."""
    positive, negative = ((loss(of) + loss(-of)).mean(-1) for of in _scores())
    return lambda pi, pi_prime: (pi_prime * positive + (1 - pi) * negative) / 2


def _auc_excess(loss: Loss) -> Callable[[float, float], Tensor]:
    """Return the excess of theorem 1 as a function of pi and pi'."""
    p, n = _scores()

    def both_ways(first: Tensor, second: Tensor) -> Tensor:
        margins = first[:, :, None] - second[:, None, :]
        return (loss(margins) + loss(-margins)).mean((1, 2))

    mixed, positive, negative = both_ways(p, n), both_ways(p, p), both_ways(n, n)
    return lambda pi, pi_prime: (
        (1 - pi) * pi_prime * mixed + pi * pi_prime / 2 * positive + (1 - pi) * (1 - pi_prime) / 2 * negative
    )


def _is_shown(name: str, losses: Sequence[Loss]) -> bool:
    return name in _SHOWN_FIRST or name not in list_losses() or all(loss.name not in _SHOWN_FIRST for loss in losses)


def _ranges(loss: Loss) -> dict[str, list[float]]:
    """Return the values for the slider of each parameter of a loss that is a number."""
    found = {}
    for name, value in vars(loss).items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            low, high = _RANGES.get((loss.name, name), (0.1 * value, 4 * value) if value else (0.0, 1.0))
            found[name] = np.linspace(low, high, _VALUES).tolist()
    return found


def _symmetry(report: Report) -> str:
    """Return where l(z) + l(-z) is constant, and its value there."""
    if report.K is not None:
        return f"yes, K = {report.K:g}"
    radius = report.symmetric_interval[1]
    if not radius:
        return report.symmetric.answer
    constant = 2 * float(report.loss(torch.zeros(1, dtype=torch.float64)))
    return f"on [−{radius:g}, {radius:g}], K = {constant:g}"
