"""How figures look: colors, markers and dashes of the losses, legends, and PNG and PDF files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symloss.files import whole_file
from symloss.messages import require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Each loss has the same color in every figure of the project; color-blind readers can tell the colors apart.
COLORS = {
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
    "generalized_cross_entropy": "#6699CC",
    "symmetric_cross_entropy": "#997700",
    "normalized_cross_entropy": "#225555",
    "active_passive": "#EE99AA",
    "focal": "#004488",
    "tangent": "#994455",
    "huberized_hinge": "#777733",
}
# For losses of the user's own, in the order in which they are given.
_FURTHER_COLORS = ("#332288", "#44AA99", "#882255", "#117733", "#DDCC77", "#AA4499")
_MARKERS = {
    "squared": "s",
    "hinge": "^",
    "logistic": "o",
    "savage": "D",
    "sigmoid": "v",
    "unhinged": "P",
    "barrier_hinge": "*",
}
# Dashes as well as colors: curves that coincide somewhere stay visible.
DASHES = {
    "sigmoid": (0, (6, 2)),
    "hinge": (0, (4, 2)),
    "unhinged": (0, (1, 1)),
    "savage": (0, (5, 1, 1, 1)),
    "generalized_cross_entropy": (0, (8, 2)),
    "symmetric_cross_entropy": (0, (8, 2, 1, 2)),
    "normalized_cross_entropy": (0, (3, 1)),
    "active_passive": (0, (3, 1, 1, 1, 1, 1)),
    "focal": (0, (2, 2)),
    "tangent": (0, (6, 1, 2, 1)),
    "huberized_hinge": (0, (10, 3)),
}

Style = dict[str, Any]  # how one loss is drawn: color, marker, line style

STYLE: dict[Any, Any] = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "legend.frameon": False,
}


@contextmanager
def styled() -> Iterator[type[Figure]]:
    """Draw in the style of the project's figures inside the block, which is given Matplotlib's class ``Figure``."""
    require("report", "figures need matplotlib", "matplotlib")
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        yield Figure


def loss_styles(losses: Iterable[str]) -> dict[str, Style]:
    """Return the style of each loss, in the order given; a built-in loss looks the same in every figure."""
    losses = list(dict.fromkeys(losses))
    own = [loss for loss in losses if loss not in COLORS]
    return {
        loss: {
            "color": COLORS.get(loss) or _FURTHER_COLORS[own.index(loss) % len(_FURTHER_COLORS)],
            "marker": _MARKERS.get(loss, "h"),
            "linestyle": DASHES.get(loss, "-"),
        }
        for loss in losses
    }


def add_legend(figure: Figure, entries: Iterable[tuple[str, Style]]) -> None:
    """Add a legend to the right of a figure, with one line per pair of a text and a style."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], label=text, **style) for text, style in entries]
    figure.legend(handles=handles, loc="outside right center", handlelength=3)


def save_all(directory: Path, figures: dict[str, Figure]) -> list[Path]:
    """Write each figure into a directory as PNG and as PDF, named by its key, and return the paths."""
    paths = [directory / f"{name}.{kind}" for name in figures for kind in ("png", "pdf")]
    for path in paths:
        figure = figures[path.stem]
        box = None if figure.get_layout_engine() else "tight"
        with whole_file(path) as temporary:
            metadata = {"CreationDate": None} if path.suffix == ".pdf" else None
            figure.savefig(temporary, bbox_inches=box, dpi=160, metadata=metadata)
    return paths
