"""Figure 5, scores of convolutional networks against noise and against epochs; and the latter for all data sets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from symloss.drawing import STYLE, Style, add_legend, save_all
from symloss.functional import RISKS
from symloss.paper.compare import compare, noise_text
from symloss.paper.figures import draw_against_noise, legend_of, panels, styles_of
from symloss.paper.results import Cell
from symloss.paper.score_tables import SCORES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIGURE_5 = {("mnist", "mnist"): "MNIST", ("cifar10", "horse"): "airplane against horse"}


def figure_5(results: Sequence[Cell]) -> Figure:
    """Draw figure 5: above, mean scores against noise; below, against epochs at the highest noise.

    Lines are ours, with bars or bands of one standard error; crosses are the paper's. Of CIFAR-10, only airplanes
    against horses are drawn; of other families, nothing.

    Examples
    --------
    >>> scores, curves = {"auc": {"hinge": [90.0, 91.0]}}, {"auc": {"hinge": [80.0, 90.5]}}
    >>> cell = Cell(family="mnist", dataset="mnist", pi=1, pi_prime=0, trials=2, scores=scores, curves=curves)
    >>> [axes.get_title() for axes in figure_5([cell]).axes]
    ['MNIST: AUC', '']
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    chosen = [result for result in results if (result.family, result.dataset) in FIGURE_5 and result.curves]
    if not chosen:
        raise ValueError("figure 5 needs results with curves of MNIST, or of airplanes against horses")
    columns = [
        (key, risk)
        for key in FIGURE_5
        for risk in RISKS
        if any((result.family, result.dataset) == key and risk in result.curves for result in chosen)
    ]
    cells = compare(chosen)
    styles = styles_of(cell.loss for cell in cells)
    with rc_context(STYLE):
        figure = Figure(figsize=(2.9 * len(columns) + 1.6, 5.6), layout="constrained")
        grid = figure.subplots(2, len(columns), squeeze=False)
        for ((family, dataset), risk), above, below in zip(columns, *grid, strict=True):
            of = [cell for cell in cells if (cell.family, cell.dataset, cell.risk) == (family, dataset, risk)]
            draw_against_noise(above, of, styles)
            above.set_title(f"{FIGURE_5[family, dataset]}: {SCORES[risk]}", fontsize="medium")
            above.set_xlabel("noise: π above, π' below")
            result = _noisiest(chosen, dataset)
            draw_against_epochs(below, result, risk, styles)
            below.set_xlabel(f"epoch, at (π, π') = {noise_text(result.pi, result.pi_prime)}")
        add_legend(figure, legend_of(styles, crosses=any(cell.paper_mean is not None for cell in cells)))
    return figure


def epochs_figure(results: Sequence[Cell]) -> Figure:
    """Draw mean balanced accuracy and AUC against epochs at the highest noise, two panels a data set.

    Examples
    --------
    >>> scores, curves = {"auc": {"hinge": [90.0, 91.0]}}, {"auc": {"hinge": [80.0, 90.5]}}
    >>> cell = Cell(family="cifar10", dataset="cat", pi=1, pi_prime=0, trials=2, scores=scores, curves=curves)
    >>> [axes.get_title() for axes in epochs_figure([cell]).axes]
    ['cat']
    """
    drawn = [result for result in results if result.curves]
    if not drawn:
        raise ValueError("nothing to draw: the results have no curves")
    datasets = list(dict.fromkeys(cell.dataset for cell in compare(drawn)))  # in the paper's order
    noisiest = {dataset: _noisiest(drawn, dataset) for dataset in datasets}
    styles = styles_of(loss for result in drawn for losses in result.curves.values() for loss in losses)
    noises = dict.fromkeys(noise_text(result.pi, result.pi_prime) for result in noisiest.values())
    return panels(
        datasets,
        [risk for risk in RISKS if any(risk in result.curves for result in drawn)],
        lambda axes, dataset, risk: draw_against_epochs(axes, noisiest[dataset], risk, styles),
        f"epoch, at (π, π') = {' and '.join(noises)}",
        styles,
        crosses=any(cell.paper_mean is not None for cell in compare(noisiest.values())),
    )


def draw_against_epochs(axes: Axes, result: Cell, risk: str, styles: dict[str, Style]) -> None:
    """Draw the mean score of each loss after each epoch, a band of its standard error, and the paper's at the end.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = Figure().add_subplot()
    >>> scores, curves = {"auc": {"hinge": [90.0, 91.0]}}, {"auc": {"hinge": [80.0, 90.5]}}
    >>> cell = Cell(family="cifar10", dataset="cat", pi=1, pi_prime=0, trials=2, scores=scores, curves=curves)
    >>> draw_against_epochs(axes, cell, "auc", styles_of(["hinge"]))
    >>> axes.lines[0].get_xydata().tolist()
    [[1.0, 80.0], [2.0, 90.5]]
    """
    errors = result.further_curves.get("se", {}).get(risk, {})
    papers = {cell.loss: cell.paper_mean for cell in compare([result]) if cell.risk == risk}
    for loss, curve in result.curves.get(risk, {}).items():
        style = {key: value for key, value in styles[loss].items() if key != "marker"}
        epochs, means = np.arange(1, len(curve) + 1), np.array(curve)
        axes.plot(epochs, means, linewidth=2.0 if loss == "barrier_hinge" else 1.2, **style)
        if loss in errors:
            error = np.array(errors[loss])
            axes.fill_between(epochs, means - error, means + error, color=style["color"], alpha=0.15, linewidth=0)
        if (paper := papers.get(loss)) is not None:
            axes.plot([len(curve)], [paper], "x", color=style["color"], markersize=6, alpha=0.8, clip_on=False)


def save_epoch_figures(directory: Path, results: Sequence[Cell]) -> list[Path]:
    """Write the figures of results that have curves, each as PNG and PDF: figure 5, and all curves of each family.

    Examples
    --------
    >>> save_epoch_figures(Path("unused"), [])
    []
    """
    drawn = {}
    with_curves = [result for result in results if result.curves]
    if any((result.family, result.dataset) in FIGURE_5 for result in with_curves):
        drawn["figure5"] = figure_5(with_curves)
    for family in dict.fromkeys(result.family for result in with_curves):
        name = "epochs_" + re.sub(r"[^A-Za-z0-9]+", "-", family)
        drawn[name] = epochs_figure([result for result in with_curves if result.family == family])
    return save_all(directory, drawn)


def _noisiest(results: Sequence[Cell], dataset: str) -> Cell:
    """Return the result of a data set at the highest noise: where the corrupted classes differ least."""
    return min((result for result in results if result.dataset == dataset), key=lambda cell: cell.pi - cell.pi_prime)


__all__ = ["FIGURE_5", "draw_against_epochs", "epochs_figure", "figure_5", "save_epoch_figures"]
