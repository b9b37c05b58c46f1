"""The figure of noisy_labels.py: how far the CV estimators are ahead of the best peer on each data set."""

from pathlib import Path
from typing import Any

import numpy as np
from wild_comparison import OURS, Results, Table, standard_error
from wild_datasets import CHOSEN_ON, REPORTED_ON
from wild_noise import TITLES

from symloss.drawing import styled
from symloss.files import whole_file

SIZE = 1000
NOISES = ("0.65/0.45", "0.8/0.3")
HALVES = {REPORTED_ON: "the pool is not chosen on these", CHOSEN_ON: "the pool is chosen on these"}
MARKS = {"AUC": ("o", "#C40F2E", 0.14), "balanced accuracy": ("s", "#0072B2", -0.14)}


def draw_figure(results: Results, path: Path) -> None:
    """Write the figure of the halves that have results; bars are standard errors over draws."""
    from matplotlib import rc_context

    halves = [half for half in HALVES if any(results.table(half, SIZE, noise).can_compare for noise in NOISES)]
    names = [name for number, half in enumerate(halves) for name in (" " * number, *half)]
    heights = {name: -place for place, name in enumerate(names or [""])}

    with styled() as new_figure, rc_context({"svg.hashsalt": "symloss"}):
        figure = new_figure(figsize=(9, 1.4 + 0.25 * len(heights)), layout="constrained", facecolor="white")
        panels = figure.subplots(1, len(NOISES), sharey=True)
        for panel, noise in zip(panels, NOISES, strict=True):
            for half in halves:
                _differences(panel, results.table(half, SIZE, noise), heights)
                panel.text(
                    0.01, heights[half[0]] + 1, HALVES[half],
                    transform=panel.get_yaxis_transform(), va="center", style="italic", color="0.35",
                )  # fmt: skip
            panel.axvline(0, color="0.3", linewidth=1)
            panel.set(title=TITLES[noise], xlabel="percentage points ahead of the best peer")
            panel.set_yticks([*heights.values()], [*heights])
            panel.set_ylim(min(heights.values()) - 0.7, 0.7)
            panel.tick_params(axis="y", length=0)
        drawn = dict(zip(*panels[0].get_legend_handles_labels()[::-1], strict=True))
        figure.legend([*drawn.values()], [*drawn], loc="outside lower center", ncols=len(MARKS))
        with whole_file(path) as part:
            figure.savefig(part, metadata={"Date": None} if path.suffix == ".svg" else None)


def _differences(panel: Any, table: Table, heights: dict[str, int]) -> None:
    if not table.can_compare:
        return
    for score, (marker, color, shift) in MARKS.items():
        ours, peer = OURS[score], table.best_peer(score)
        found = [table.of(ours, score, name) - table.of(peer, score, name) for name in table.datasets]
        panel.errorbar(
            [of.mean() for of in found], [heights[name] + shift for name in table.datasets],
            xerr=[np.nan_to_num(standard_error(of)) for of in found],
            fmt=marker, color=color, markersize=5, elinewidth=1, label=f"{ours}, {score}",
        )  # fmt: skip
