"""Figures 1 to 3: the losses, the barrier hinge loss beside hinge and sigmoid, and l(z) + l(-z)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from symloss.losses import BarrierHinge, Loss, get_loss

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# One colour a loss in every figure of the project, told apart also by people who see few colours.
COLOURS = {
    "zero_one": "#000000",
    "squared": "#999999",
    "hinge": "#56B4E9",
    "squared_hinge": "#7A5195",
    "double_hinge": "#8C564B",
    "logistic": "#0072B2",
    "exponential": "#5D8A00",
    "savage": "#E6A700",
    "ramp": "#CC79A7",
    "sigmoid": "#009E73",
    "unhinged": "#E07B00",
    "barrier_hinge": "#C40F2E",
}
# Dashes as well as colours: curves that coincide somewhere stay visible.
_DASHES = {"sigmoid": (0, (6, 2)), "hinge": (0, (4, 2)), "unhinged": (0, (1, 1)), "savage": (0, (5, 1, 1, 1))}

_STYLE: dict[Any, Any] = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "legend.frameon": False,
}


class Curve(NamedTuple):
    """A loss to draw, and what to scale it by.

    Examples
    --------
    >>> Curve(get_loss("hinge"), 0.5)
    Curve(loss=Hinge(), scale=0.5)
    """

    loss: Loss
    scale: float = 1.0


_FIGURE_2 = [Curve(BarrierHinge(b=10, r=1), 0.5), Curve(get_loss("hinge"), 0.5), Curve(get_loss("sigmoid"))]


def figure_1() -> Figure:
    """Draw figure 1: the losses of the paper on one pair of axes.

    Examples
    --------
    >>> len(figure_1().axes[0].lines)
    8
    """
    names = ("zero_one", "squared", "hinge", "logistic", "savage", "sigmoid", "unhinged")
    curves = [*(Curve(get_loss(name)) for name in names), Curve(BarrierHinge(b=10, r=1))]
    return _figure("Losses", curves, (-3, 3), (-2, 5))


def figure_2() -> Figure:
    """Draw figure 2: the barrier hinge (b = 10, r = 1) and hinge losses scaled by 1/2, and the sigmoid loss.

    Examples
    --------
    >>> [line.get_label() for line in figure_2().axes[0].lines]
    ['½ Barrier hinge (b=10, r=1)', '½ Hinge', 'Sigmoid']
    """
    return _figure("Barrier hinge loss", _FIGURE_2, (-2, 2), (-0.5, 5))


def figure_3() -> Figure:
    """Draw figure 3: l(z) + l(-z), constant for the sigmoid loss everywhere and for both hinge losses on [-1, 1].

    Examples
    --------
    >>> figure_3().axes[0].get_title()
    'Symmetric condition'
    """
    curves = [*_FIGURE_2, *(Curve(get_loss(name)) for name in ("squared", "logistic", "savage"))]
    return _figure("Symmetric condition", curves, (-2, 2), (0, 4), mirrored=True)


def save_figures(directory: Path) -> list[Path]:
    """Write figures 1 to 3 into a directory, each as PNG and PDF, and return their paths.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in save_figures(Path(folder))][:2]
    ['figure1.png', 'figure1.pdf']
    """
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for number, draw in enumerate((figure_1, figure_2, figure_3), start=1):
        figure = draw()
        for kind in ("png", "pdf"):
            path = directory / f"figure{number}.{kind}"
            _save(figure, path)
            written.append(path)
    return written


def _figure(
    title: str, curves: Sequence[Curve], x: tuple[float, float], y: tuple[float, float], mirrored: bool = False
) -> Figure:
    """Draw the curves, or with ``mirrored`` their sums with their mirror images."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(_STYLE):
        figure = Figure(figsize=(5.2, 3.6))
        axes = figure.add_subplot()
        z = torch.linspace(*x, 1201, dtype=torch.float64)
        for loss, scale in curves:
            label = f"{loss.title} (b={loss.b:g}, r={loss.r:g})" if isinstance(loss, BarrierHinge) else loss.title
            axes.plot(
                z,
                scale * (loss(z) + loss(-z) if mirrored else loss(z)),
                label=label if scale == 1 else f"½ {label}",
                color=COLOURS[loss.name],
                linestyle=_DASHES.get(loss.name, "-"),
                linewidth=2.2 if isinstance(loss, BarrierHinge) else 1.6,
            )
        axes.set(title=title, xlabel="margin $z$", xlim=x, ylim=y)
        axes.set_ylabel(r"$\ell(z)+\ell(-z)$" if mirrored else r"$\ell(z)$")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _save(figure: Figure, path: Path) -> None:
    """Write beside the target and move into place, so that a killed run leaves no half figure."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=path.suffix)
    os.close(handle)
    try:
        figure.savefig(
            temporary, bbox_inches="tight", dpi=160, metadata={"CreationDate": None} if path.suffix == ".pdf" else None
        )
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    finally:
        Path(temporary).unlink(missing_ok=True)
