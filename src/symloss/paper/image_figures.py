"""Figure 5: scores of convolutional networks against noise and epochs; and scores against epochs for all data sets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from symloss.drawing import Style, add_legend, save_all, styled
from symloss.functional import RISKS
from symloss.paper.compare import Cell, noise_text
from symloss.paper.figures import draw_against_noise, legend_of, panels, styles_of
from symloss.paper.score_tables import SCORES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIGURE_5 = {("mnist", "mnist"): "MNIST", ("cifar10", "horse"): "airplane against horse"}


def figure_5(cells: Sequence[Cell]) -> Figure:
    """Draw figure 5: mean scores against noise (above), and against epochs at the highest noise (below).

    Lines are our scores, with bars or bands of one standard error; crosses are the paper's scores. Only MNIST and,
    from CIFAR-10, airplanes against horses are drawn.

    Examples
    --------
    >>> cells = [Cell("mnist", "mnist", "auc", 1, 0, "hinge", 90.5, 0.5, 2, True, curve=(80.0, 90.5))]
    >>> [axes.get_title() for axes in figure_5(cells).axes]
    ['MNIST: AUC', '']
    """
    chosen = [cell for cell in cells if (cell.family, cell.dataset) in FIGURE_5 and cell.curve]
    if not chosen:
        raise ValueError("figure 5 needs results with curves of MNIST, or of airplanes against horses")
    columns = {
        f"{title}: {SCORES[risk]}": of
        for key, title in FIGURE_5.items()
        for risk in RISKS
        if (of := [cell for cell in chosen if (cell.family, cell.dataset, cell.risk) == (*key, risk)])
    }
    styles = styles_of(cell.loss for cell in chosen)
    with styled() as new_figure:
        figure = new_figure(figsize=(2.9 * len(columns) + 1.6, 5.6), layout="constrained")
        grid = figure.subplots(2, len(columns), squeeze=False)
        for (title, of), above, below in zip(columns.items(), *grid, strict=True):
            draw_against_noise(above, of, styles)
            above.set_title(title, fontsize="medium")
            above.set_xlabel("noise: π above, π' below")
            noisiest = _noisiest(of)
            draw_against_epochs(below, noisiest, styles)
            below.set_xlabel(f"epoch, at (π, π') = {noise_text(noisiest[0].pi, noisiest[0].pi_prime)}")
        add_legend(figure, legend_of(styles, crosses=any(cell.paper_mean is not None for cell in chosen)))
    return figure


def epochs_figure(cells: Sequence[Cell]) -> Figure:
    """Draw mean balanced accuracy and AUC against epochs at the highest noise, with two panels per data set.

    Examples
    --------
    >>> cells = [Cell("cifar10", "cat", "auc", 1, 0, "hinge", 90.5, 0.5, 2, True, curve=(80.0, 90.5))]
    >>> [axes.get_title() for axes in epochs_figure(cells).axes]
    ['cat']
    """
    drawn = [cell for cell in cells if cell.curve]
    if not drawn:
        raise ValueError("nothing to draw: the results have no curves")
    datasets = list(dict.fromkeys(cell.dataset for cell in drawn))
    noisiest = {name: _noisiest([cell for cell in drawn if cell.dataset == name]) for name in datasets}
    styles = styles_of(cell.loss for cell in drawn)
    noises = dict.fromkeys(noise_text(of[0].pi, of[0].pi_prime) for of in noisiest.values())

    def draw(axes: Axes, dataset: str, risk: str) -> None:
        draw_against_epochs(axes, [cell for cell in noisiest[dataset] if cell.risk == risk], styles)

    return panels(
        datasets,
        [risk for risk in RISKS if any(cell.risk == risk for cell in drawn)],
        draw,
        f"epoch, at (π, π') = {' and '.join(noises)}",
        styles,
        crosses=any(cell.paper_mean is not None for of in noisiest.values() for cell in of),
    )


def draw_against_epochs(axes: Axes, cells: Sequence[Cell], styles: dict[str, Style]) -> None:
    """Draw each loss's mean score after each epoch, a band of one standard error, and the paper's score at the end.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = Figure().add_subplot()
    >>> cells = [Cell("cifar10", "cat", "auc", 1, 0, "hinge", 90.5, 0.5, 2, True, curve=(80.0, 90.5))]
    >>> draw_against_epochs(axes, cells, styles_of(["hinge"]))
    >>> axes.lines[0].get_xydata().tolist()
    [[1.0, 80.0], [2.0, 90.5]]
    """
    for cell in cells:
        style = {key: value for key, value in styles[cell.loss].items() if key != "marker"}
        epochs, means = np.arange(1, len(cell.curve) + 1), np.array(cell.curve)
        axes.plot(epochs, means, linewidth=2.0 if cell.loss == "barrier_hinge" else 1.2, **style)
        if cell.curve_errors:
            errors = np.array(cell.curve_errors)
            axes.fill_between(epochs, means - errors, means + errors, color=style["color"], alpha=0.15, linewidth=0)
        if cell.paper_mean is not None:
            axes.plot(
                [len(means)], [cell.paper_mean], "x", color=style["color"], markersize=6, alpha=0.8, clip_on=False
            )


def save_epoch_figures(directory: Path, cells: Sequence[Cell]) -> list[Path]:
    """Write the figures of cells that have curves, each as PNG and PDF: figure 5, and all curves of each family.

    Examples
    --------
    >>> import tempfile
    >>> cells = [Cell("cifar10", "cat", "auc", 1, 0, "hinge", 90.5, 0.5, 2, True, curve=(80.0, 90.5))]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in save_epoch_figures(Path(folder), cells)]
    ['epochs_cifar10.png', 'epochs_cifar10.pdf']
    """
    drawn = {}
    with_curves = [cell for cell in cells if cell.curve]
    if any((cell.family, cell.dataset) in FIGURE_5 for cell in with_curves):
        drawn["figure5"] = figure_5(with_curves)
    for family in dict.fromkeys(cell.family for cell in with_curves):
        name = "epochs_" + re.sub(r"[^A-Za-z0-9]+", "-", family)
        drawn[name] = epochs_figure([cell for cell in with_curves if cell.family == family])
    return save_all(directory, drawn)


def _noisiest(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells at the highest noise: where the corrupted classes differ least."""
    noise = min(((cell.pi, cell.pi_prime) for cell in cells), key=lambda rates: rates[0] - rates[1])
    return [cell for cell in cells if (cell.pi, cell.pi_prime) == noise]


__all__ = ["FIGURE_5", "draw_against_epochs", "epochs_figure", "figure_5", "save_epoch_figures"]
