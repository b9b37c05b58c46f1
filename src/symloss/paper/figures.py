"""Figures 1 to 3 (losses), 4 and 6 (scores against noise), 5 and 7 (epochs), and our scores against the paper's."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from symloss.drawing import COLORS, DASHES, Style, add_legend, loss_styles, save_all, styled
from symloss.losses import BarrierHinge, Loss, get_loss
from symloss.paper.compare import Cell, loss_order, noise_text, summarize
from symloss.paper.tables import SCORES, loss_heading

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BARRIER = BarrierHinge(b=10, r=1)
_SCALED = [(_BARRIER, 0.5), (get_loss("hinge"), 0.5), (get_loss("sigmoid"), 1.0)]  # losses, and factors
FIGURE_5 = {("mnist", "mnist"): "MNIST", ("cifar10", "horse"): "airplane against horse"}
_NOISE = "noise: π above, π' below"


def figure_1() -> Figure:
    """Draw figure 1: the losses of the paper on one pair of axes."""
    names = ("zero_one", "squared", "hinge", "logistic", "savage", "sigmoid", "unhinged")
    curves = [*((get_loss(name), 1.0) for name in names), (_BARRIER, 1.0)]
    return _losses_figure("Losses", curves, (-3, 3), (-2, 5))


def figure_2() -> Figure:
    """Draw figure 2: the barrier hinge (b = 10, r = 1) and hinge losses scaled by 1/2, and the sigmoid loss."""
    return _losses_figure("Barrier hinge loss", _SCALED, (-2, 2), (-0.5, 5))


def figure_3() -> Figure:
    """Draw figure 3: l(z) + l(-z), constant for the sigmoid loss everywhere and for both hinge losses on [-1, 1]."""
    curves = [*_SCALED, *((get_loss(name), 1.0) for name in ("squared", "logistic", "savage"))]
    return _losses_figure("Symmetric condition", curves, (-2, 2), (0, 4), mirrored=True)


def save_figures(directory: Path) -> list[Path]:
    """Write figures 1 to 3 into a directory, each as PNG and PDF, and return their paths."""
    return save_all(directory, {"figure1": figure_1(), "figure2": figure_2(), "figure3": figure_3()})


def save_result_figures(directory: Path, cells: Sequence[Cell]) -> list[Path]:
    """Write the figures of results, each as PNG and PDF, and return their paths."""
    return save_all(directory, {name: figure for name, _, figure in result_figures(cells)})


def result_figures(cells: Sequence[Cell]) -> Iterator[tuple[str, str, Figure]]:
    """Yield the figures of results, each with its name and its caption.

    Each family's scores against noise (figure 4 for UCI, 6 for CIFAR-10), and against epochs where the results have
    curves (figure 7); figure 5; and our scores against the paper's.
    """
    for family in dict.fromkeys(cell.family for cell in cells):
        of, name = [cell for cell in cells if cell.family == family], re.sub(r"[^A-Za-z0-9]+", "-", family)
        against_noise = "Scores against noise: lines are ours, crosses are the paper's."
        yield "figure4" if family == "uci" else f"noise_{name}", against_noise, figure_4(of)
        if any(cell.curve for cell in of):
            yield f"epochs_{name}", "Scores after each epoch, at the highest noise.", epochs_figure(of)
    if any((cell.family, cell.dataset) in FIGURE_5 and cell.curve for cell in cells):
        yield "figure5", "Scores against noise, and after each epoch.", figure_5(cells)
    if any(cell.paper_mean is not None for cell in cells):
        yield "ours_against_paper", "Our means against the paper's, and the differences.", scatter(cells)


def figure_4(cells: Sequence[Cell]) -> Figure:
    """Draw mean balanced accuracy and AUC against noise, with two panels per data set (figures 4 and 6).

    Lines are our scores, with bars of one standard error; crosses are the paper's scores.
    """
    return _panels(cells, _draw_against_noise, _NOISE)


def epochs_figure(cells: Sequence[Cell]) -> Figure:
    """Draw mean balanced accuracy and AUC against epochs at the highest noise, two panels per data set (figure 7)."""
    drawn = [cell for cell in cells if cell.curve]
    datasets = dict.fromkeys(cell.dataset for cell in drawn)
    drawn = [of for name in datasets for of in _noisiest([cell for cell in drawn if cell.dataset == name])]
    noises = dict.fromkeys(noise_text(cell.pi, cell.pi_prime) for cell in drawn)
    return _panels(drawn, _draw_against_epochs, f"epoch, at (π, π') = {' and '.join(noises)}")


def figure_5(cells: Sequence[Cell]) -> Figure:
    """Draw figure 5: MNIST and airplanes against horses, against noise (above) and epochs at the highest noise (below).

    Lines are our scores, with bars or bands of one standard error; crosses are the paper's scores.
    """
    chosen = [cell for cell in cells if (cell.family, cell.dataset) in FIGURE_5 and cell.curve]
    columns = {
        f"{title}: {SCORES[risk]}": of
        for key, title in FIGURE_5.items()
        for risk in SCORES
        if (of := [cell for cell in chosen if (cell.family, cell.dataset, cell.risk) == (*key, risk)])
    }
    with styled() as new_figure:
        figure = new_figure(figsize=(2.9 * len(columns) + 1.6, 5.6), layout="constrained")
        grid = figure.subplots(2, len(columns), squeeze=False)
        for (title, of), above, below in zip(columns.items(), *grid, strict=True):
            noisiest = _noisiest(of)
            _draw_against_noise(above, of, styles_of(chosen))
            above.set_title(title, fontsize="medium")
            above.set_xlabel(_NOISE)
            _draw_against_epochs(below, noisiest, styles_of(chosen))
            below.set_xlabel(f"epoch, at (π, π') = {noise_text(noisiest[0].pi, noisiest[0].pi_prime)}")
        add_legend(figure, _legend(chosen))
    return figure


def scatter(cells: Sequence[Cell]) -> Figure:
    """Draw our means against the paper's, and the differences below, with one column per risk."""
    compared = [cell for cell in cells if cell.paper_mean is not None]
    risks = [risk for risk in SCORES if any(cell.risk == risk for cell in compared)]
    lone = {loss: style | {"linestyle": "none"} for loss, style in styles_of(compared).items()}
    with styled() as new_figure:
        figure = new_figure(figsize=(4.4 * len(risks) + 1.4, 6.6), layout="constrained")
        grid = figure.subplots(2, len(risks), squeeze=False, sharex="col", height_ratios=(2, 1))
        for risk, means, differences in zip(risks, *grid, strict=True):
            of_risk = [cell for cell in compared if cell.risk == risk]
            number = f"{len(of_risk)} cell{'s' if len(of_risk) > 1 else ''}"
            means.set_title(f"{SCORES[risk]}: {number}, rms {summarize(of_risk)['rms_difference']:.2f}")
            means.axline((of_risk[0].mean, of_risk[0].mean), slope=1, color="#555555", linewidth=0.8)
            differences.axhline(0, color="#555555", linewidth=0.8)
            differences.set_xlabel("paper")
            for loss, style in lone.items():
                of = [cell for cell in of_risk if cell.loss == loss]
                bars = {"xerr": [cell.paper_se or 0.0 for cell in of], "yerr": [cell.se or 0.0 for cell in of]}
                for axes, heights in ((means, [of.mean for of in of]), (differences, [of.difference for of in of])):
                    paper = [cell.paper_mean for cell in of]
                    axes.errorbar(paper, heights, **bars, elinewidth=0.6, markersize=4, alpha=0.7, **style)
        grid[0, 0].set_ylabel("ours")
        grid[1, 0].set_ylabel("ours − paper")
        add_legend(figure, [(loss_heading(loss), style) for loss, style in lone.items()])
    return figure


def styles_of(cells: Iterable[Cell]) -> dict[str, Style]:
    """Return how the losses of cells are drawn, in the order of the paper's tables."""
    return loss_styles(sorted({cell.loss for cell in cells}, key=loss_order))


def _panels(
    cells: Sequence[Cell], draw: Callable[[Axes, Sequence[Cell], dict[str, Style]], None], below: str
) -> Figure:
    """Draw one panel per data set and risk, with up to five data sets side by side and the risks below each other."""
    datasets = list(dict.fromkeys(cell.dataset for cell in cells))
    risks = [risk for risk in SCORES if any(cell.risk == risk for cell in cells)]
    columns = min(len(datasets), 5)
    bands = -(-len(datasets) // columns)
    with styled() as new_figure:
        figure = new_figure(figsize=(2.4 * columns + 1.6, 2.1 * bands * len(risks) + 0.4), layout="constrained")
        grid = figure.add_gridspec(bands * len(risks), columns)
        for index, dataset in enumerate(datasets):
            band, column = divmod(index, columns)
            for line, risk in enumerate(risks):
                axes = figure.add_subplot(grid[band * len(risks) + line, column])
                draw(axes, [of for of in cells if (of.dataset, of.risk) == (dataset, risk)], styles_of(cells))
                if line == 0:
                    axes.set_title(dataset)
                if line < len(risks) - 1:
                    axes.tick_params(labelbottom=False)
                if column == 0:
                    axes.set_ylabel(SCORES[risk])
        figure.supxlabel(below, fontsize="medium")
        add_legend(figure, _legend(cells))
    return figure


def _draw_against_noise(axes: Axes, cells: Sequence[Cell], styles: dict[str, Style]) -> None:
    noises = list(dict.fromkeys((cell.pi, cell.pi_prime) for cell in cells))
    for loss, style in styles.items():
        of = [cell for cell in cells if cell.loss == loss]
        places = [noises.index((cell.pi, cell.pi_prime)) for cell in of]
        width = 2.0 if loss == "barrier_hinge" else 1.2
        errors = [cell.se or 0.0 for cell in of]
        axes.errorbar(places, [cell.mean for cell in of], yerr=errors, markersize=4, linewidth=width, **style)
        paper = [math.nan if cell.paper_mean is None else cell.paper_mean for cell in of]
        axes.plot(places, paper, "x", color=style["color"], markersize=6, alpha=0.8)
    axes.set_xticks(range(len(noises)), [noise_text(*noise).strip("()").replace(", ", "\n") for noise in noises])
    axes.set_xlim(-0.3, max(len(noises) - 0.7, 0.3))


def _draw_against_epochs(axes: Axes, cells: Sequence[Cell], styles: dict[str, Style]) -> None:
    """Draw each loss's mean score after each epoch, a band of one standard error, and the paper's score at the end."""
    for cell in cells:
        style = {key: value for key, value in styles[cell.loss].items() if key != "marker"}
        epochs, means, errors = np.arange(1, len(cell.curve) + 1), np.array(cell.curve), np.array(cell.curve_errors)
        axes.plot(epochs, means, linewidth=2.0 if cell.loss == "barrier_hinge" else 1.2, **style)
        if len(errors):
            axes.fill_between(epochs, means - errors, means + errors, color=style["color"], alpha=0.15, linewidth=0)
        if cell.paper_mean is not None:
            end = ([len(means)], [cell.paper_mean], "x")
            axes.plot(*end, color=style["color"], markersize=6, alpha=0.8, clip_on=False)


def _legend(cells: Sequence[Cell]) -> list[tuple[str, Style]]:
    """Return the entries of a legend: the losses by their headings, and the crosses for the paper's numbers."""
    entries = [(loss_heading(loss), style) for loss, style in styles_of(cells).items()]
    crosses = any(cell.paper_mean is not None for cell in cells)
    return entries + [("paper", {"color": "#555555", "marker": "x", "linestyle": "none"})] * crosses


def _noisiest(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells at the highest noise: where the corrupted classes differ least."""
    noise = min(((cell.pi, cell.pi_prime) for cell in cells), key=lambda rates: rates[0] - rates[1])
    return [cell for cell in cells if (cell.pi, cell.pi_prime) == noise]


def _losses_figure(
    title: str,
    curves: Sequence[tuple[Loss, float]],
    x: tuple[float, float],
    y: tuple[float, float],
    mirrored: bool = False,
) -> Figure:
    """Draw the curves l(z), or with ``mirrored`` the sums l(z) + l(-z)."""
    with styled() as new_figure:
        figure = new_figure(figsize=(5.2, 3.6))
        axes = figure.add_subplot()
        z = torch.linspace(*x, 1201, dtype=torch.float64)
        for loss, scale in curves:
            barrier = isinstance(loss, BarrierHinge)
            label = f"{loss.title} (b={loss.b:g}, r={loss.r:g})" if isinstance(loss, BarrierHinge) else loss.title
            axes.plot(
                z,
                scale * (loss(z) + loss(-z) if mirrored else loss(z)),
                label=label if scale == 1 else f"½ {label}",
                color=COLORS[loss.name],
                linestyle=DASHES.get(loss.name, "-"),
                linewidth=2.2 if barrier else 1.6,
            )
        axes.set(title=title, xlabel="margin $z$", xlim=x, ylim=y)
        axes.set_ylabel(r"$\ell(z)+\ell(-z)$" if mirrored else r"$\ell(z)$")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure
