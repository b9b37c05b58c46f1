"""Figures 1 to 3 (losses), figure 4 (scores against noise), and a plot of our scores against the paper's."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import torch

from symloss.drawing import COLORS, DASHES, Style, add_legend, loss_styles, save_all, styled
from symloss.losses import BarrierHinge, Loss, get_loss
from symloss.paper.compare import Cell, loss_order, noise_text, summarize
from symloss.paper.score_tables import SCORES, loss_heading

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Curve(NamedTuple):
    """A loss to draw, and the factor by which it is multiplied.

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
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in save_figures(Path(folder))][:2]
    ['figure1.png', 'figure1.pdf']
    """
    return save_all(directory, {"figure1": figure_1(), "figure2": figure_2(), "figure3": figure_3()})


def figure_4(cells: Sequence[Cell]) -> Figure:
    """Draw figure 4: mean balanced accuracy and AUC against noise, with two panels per data set.

    Lines are our scores, with bars of one standard error; crosses are the paper's scores. The data sets are drawn side
    by side whatever their family, so give the cells of one family at a time.

    Examples
    --------
    >>> cells = [Cell("uci", "susy", "ber", pi, 0, "hinge", 77.9, 0.4, 20, True) for pi in (1, 0.9)]
    >>> [axes.get_title() for axes in figure_4(cells).axes]
    ['susy']
    """
    styles = styles_of(cell.loss for cell in cells)

    def draw(axes: Axes, dataset: str, risk: str) -> None:
        draw_against_noise(axes, [cell for cell in cells if (cell.dataset, cell.risk) == (dataset, risk)], styles)

    return panels(
        list(dict.fromkeys(cell.dataset for cell in cells)),
        [risk for risk in SCORES if any(cell.risk == risk for cell in cells)],
        draw,
        "noise: π above, π' below",
        styles,
        crosses=any(cell.paper_mean is not None for cell in cells),
    )


def panels(
    datasets: Sequence[str],
    risks: Sequence[str],
    draw: Callable[[Axes, str, str], None],
    below: str,
    styles: dict[str, Style],
    crosses: bool,
) -> Figure:
    """Draw one panel per data set and risk, with up to five data sets side by side and the risks below each other.

    Examples
    --------
    >>> figure = panels(["susy"], ["ber", "auc"], lambda axes, dataset, risk: None, "noise", {}, crosses=False)
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['Balanced accuracy', 'AUC']
    """
    columns = min(len(datasets), 5)
    bands = -(-len(datasets) // columns)
    with styled() as new_figure:
        figure = new_figure(figsize=(2.4 * columns + 1.6, 2.1 * bands * len(risks) + 0.4), layout="constrained")
        grid = figure.add_gridspec(bands * len(risks), columns)
        for index, dataset in enumerate(datasets):
            band, column = divmod(index, columns)
            for line, risk in enumerate(risks):
                axes = figure.add_subplot(grid[band * len(risks) + line, column])
                draw(axes, dataset, risk)
                if line == 0:
                    axes.set_title(dataset)
                if line < len(risks) - 1:
                    axes.tick_params(labelbottom=False)
                if column == 0:
                    axes.set_ylabel(SCORES[risk])
        figure.supxlabel(below, fontsize="medium")
        add_legend(figure, legend_of(styles, crosses))
    return figure


def scatter(cells: Sequence[Cell]) -> Figure:
    """Draw our means against the paper's, and the differences below, with one column per risk.

    Examples
    --------
    >>> cells = [Cell("uci", "susy", "ber", 1, 0, "hinge", 77.9, 0.4, 20, True, 77.5, 0.4, True)]
    >>> [axes.get_title() for axes in scatter(cells).axes]
    ['Balanced accuracy: 1 cell, rms 0.40', '']
    """
    compared = [cell for cell in cells if cell.paper_mean is not None]
    risks = [risk for risk in SCORES if any(cell.risk == risk for cell in compared)]
    if not risks:
        raise ValueError("nothing to draw: the paper has none of these cells")
    styles = styles_of(cell.loss for cell in compared)
    with styled() as new_figure:
        figure = new_figure(figsize=(4.4 * len(risks) + 1.4, 6.6), layout="constrained")
        grid = figure.subplots(2, len(risks), squeeze=False, sharex="col", height_ratios=(2, 1))
        for risk, means, differences in zip(risks, *grid, strict=True):
            chosen = [cell for cell in compared if cell.risk == risk]
            number = f"{len(chosen)} cell{'s' if len(chosen) > 1 else ''}"
            means.set_title(f"{SCORES[risk]}: {number}, rms {summarize(chosen).rms_difference:.2f}")
            _draw_against_paper(means, chosen, [cell.mean for cell in chosen], styles)
            means.axline((chosen[0].mean, chosen[0].mean), slope=1, color="#555555", linewidth=0.8)
            _draw_against_paper(differences, chosen, [cell.difference or 0.0 for cell in chosen], styles)
            differences.axhline(0, color="#555555", linewidth=0.8)
            differences.set_xlabel("paper")
        grid[0, 0].set_ylabel("ours")
        grid[1, 0].set_ylabel("ours − paper")
        add_legend(figure, legend_of({loss: style | {"linestyle": "none"} for loss, style in styles.items()}))
    return figure


def save_result_figures(directory: Path, cells: Sequence[Cell]) -> list[Path]:
    """Write the figures of results, each as PNG and PDF: figure 4, the same for other families, a scatter plot.

    Examples
    --------
    >>> import tempfile
    >>> cells = [Cell("uci", "susy", "ber", 1, 0, "hinge", 77.9, 0.4, 20, True, 77.5, 0.4, True)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in save_result_figures(Path(folder), cells)]
    ['figure4.png', 'figure4.pdf', 'ours_against_paper.png', 'ours_against_paper.pdf']
    """
    drawn = {}
    for family in dict.fromkeys(cell.family for cell in cells):
        name = "figure4" if family == "uci" else "noise_" + re.sub(r"[^A-Za-z0-9]+", "-", family)
        drawn[name] = figure_4([cell for cell in cells if cell.family == family])
    if any(cell.paper_mean is not None for cell in cells):
        drawn["ours_against_paper"] = scatter(cells)
    return save_all(directory, drawn)


def draw_against_noise(axes: Axes, cells: Sequence[Cell], styles: dict[str, Style]) -> None:
    """Draw the means of one data set and risk, with bars of one standard error, and crosses for the paper's means.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = Figure().add_subplot()
    >>> cells = [Cell("uci", "susy", "ber", pi, 0, "hinge", 77.9, 0.4, 20, True) for pi in (1, 0.9)]
    >>> draw_against_noise(axes, cells, styles_of(["hinge"]))
    >>> len(axes.containers)
    1
    """
    noises = list(dict.fromkeys((cell.pi, cell.pi_prime) for cell in cells))
    for loss, style in styles.items():
        chosen = [cell for cell in cells if cell.loss == loss]
        places = [noises.index((cell.pi, cell.pi_prime)) for cell in chosen]
        axes.errorbar(
            places,
            [cell.mean for cell in chosen],
            yerr=[cell.se or 0.0 for cell in chosen],
            markersize=4,
            linewidth=2.0 if loss == "barrier_hinge" else 1.2,
            **style,
        )
        paper = [math.nan if cell.paper_mean is None else cell.paper_mean for cell in chosen]
        axes.plot(places, paper, "x", color=style["color"], markersize=6, alpha=0.8)
    axes.set_xticks(range(len(noises)), [noise_text(*noise).strip("()").replace(", ", "\n") for noise in noises])
    axes.set_xlim(-0.3, max(len(noises) - 0.7, 0.3))


def _draw_against_paper(axes: Axes, cells: Sequence[Cell], heights: Sequence[float], styles: dict[str, Style]) -> None:
    for loss, style in styles.items():
        chosen = [(cell, height) for cell, height in zip(cells, heights, strict=True) if cell.loss == loss]
        axes.errorbar(
            [cell.paper_mean or 0.0 for cell, _ in chosen],
            [height for _, height in chosen],
            xerr=[cell.paper_se or 0.0 for cell, _ in chosen],
            yerr=[cell.se or 0.0 for cell, _ in chosen],
            elinewidth=0.6,
            markersize=4,
            alpha=0.7,
            **style | {"linestyle": "none"},
        )


def styles_of(losses: Iterable[str]) -> dict[str, Style]:
    """Return how each loss is drawn, in the order of the paper's tables.

    Examples
    --------
    >>> list(styles_of(["hinge", "barrier_hinge", "hinge"]))
    ['barrier_hinge', 'hinge']
    """
    return loss_styles(sorted(set(losses), key=loss_order))


def legend_of(styles: dict[str, Style], crosses: bool = False) -> list[tuple[str, Style]]:
    """Return the entries of a legend: the losses by their headings, and the crosses for the paper's numbers.

    Examples
    --------
    >>> [text for text, _ in legend_of(styles_of(["hinge"]), crosses=True)]
    ['Hinge', 'paper']
    """
    entries = [(loss_heading(loss), style) for loss, style in styles.items()]
    return entries + [("paper", {"color": "#555555", "marker": "x", "linestyle": "none"})] * crosses


def _figure(
    title: str, curves: Sequence[Curve], x: tuple[float, float], y: tuple[float, float], mirrored: bool = False
) -> Figure:
    """Draw the curves l(z), or with ``mirrored`` the sums l(z) + l(-z)."""
    with styled() as new_figure:
        figure = new_figure(figsize=(5.2, 3.6))
        axes = figure.add_subplot()
        z = torch.linspace(*x, 1201, dtype=torch.float64)
        for loss, scale in curves:
            label = f"{loss.title} (b={loss.b:g}, r={loss.r:g})" if isinstance(loss, BarrierHinge) else loss.title
            axes.plot(
                z,
                scale * (loss(z) + loss(-z) if mirrored else loss(z)),
                label=label if scale == 1 else f"½ {label}",
                color=COLORS[loss.name],
                linestyle=DASHES.get(loss.name, "-"),
                linewidth=2.2 if isinstance(loss, BarrierHinge) else 1.6,
            )
        axes.set(title=title, xlabel="margin $z$", xlim=x, ylim=y)
        axes.set_ylabel(r"$\ell(z)+\ell(-z)$" if mirrored else r"$\ell(z)$")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure
