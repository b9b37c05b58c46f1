"""The top of a report: what the paper claimed, whether it held in each run, and the figure that shows it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from symloss.functional import RISKS
from symloss.paper.compare import Cell, noise_text, summarize
from symloss.paper.published import LOSSES
from symloss.paper.score_tables import SCORES, loss_heading
from symloss.report.content import Run
from symloss.report.data import loss_marks
from symloss.report.page import Section, plot, render, source

SYMMETRIC = ("barrier_hinge", "unhinged", "sigmoid")  # of the paper's losses; the first one on an interval
TITLE = "Did the paper's claim hold?"


class Finding(NamedTuple):
    """In how many rows of a run a symmetric loss is ahead of all others, at one noise rate.

    A row is a data set and a score. The lead is that of the best symmetric loss, as a mean over the rows, in points.

    Examples
    --------
    >>> Finding("(0.65, 0.45)", rows=18, ours=18, paper=17, lead=8.9).held
    True
    """

    noise: str
    rows: int
    ours: int
    paper: int
    lead: float

    @property
    def held(self) -> bool:
        """Whether a symmetric loss is ahead in most rows."""
        return 2 * self.ours > self.rows


def claim_section(runs: Sequence[Run]) -> Section | None:
    """Return the section, or None if no run has symmetric and other losses of the paper side by side.

    Examples
    --------
    >>> claim_section([]) is None
    True
    """
    tested = [(run, found) for run in runs if (found := findings(run.published))]
    if not tested:
        return None
    names = ", ".join(loss_heading(loss).lower() for loss in LOSSES if loss not in SYMMETRIC)
    html = render(
        "claim.html.j2",
        others=" and ".join(names.rsplit(", ", 1)),
        verdicts=[(run.name, found[0], found[-1], summarize(run.published).rms_difference) for run, found in tested],
        plot=plot,
    )
    data = [panel for run, _ in tested for panel in panels(run.name, run.published)]
    return Section("claim", TITLE, html, {"claim-data": data}, source("claim.js"), source("claim.css"))


def findings(cells: Iterable[Cell]) -> list[Finding]:
    """Return what was found at each noise rate, from the lowest noise to the highest.

    Examples
    --------
    >>> row = [Cell("uci", "own", "auc", 0.8, 0.3, loss, score, 0.1, 2, True, score - 1, 0.1, True)
    ...        for loss, score in (("sigmoid", 90.0), ("hinge", 85.0))]
    >>> findings(row)
    [Finding(noise='(0.8, 0.3)', rows=1, ours=1, paper=1, lead=5.0)]
    """
    rows: dict[tuple[float, float], dict[tuple[str, str], list[Cell]]] = defaultdict(lambda: defaultdict(list))
    for cell in _of_the_paper(cells):
        rows[cell.pi, cell.pi_prime][cell.dataset, cell.risk].append(cell)
    found = []
    for noise in sorted(rows, key=_noisiness):
        compared = [row for row in rows[noise].values() if 0 < sum(cell.loss in SYMMETRIC for cell in row) < len(row)]
        if compared:
            leads, published = ([_lead(row, which) for row in compared] for which in ("mean", "paper_mean"))
            ours, paper = (sum(lead > 0 for lead in of) for of in (leads, published))
            found.append(Finding(noise_text(*noise), len(compared), ours, paper, fmean(leads)))
    return found


def panels(run: str, cells: Iterable[Cell]) -> list[dict[str, Any]]:
    """Return for each risk the mean over data sets of every loss at every noise rate, ours and the paper's.

    Examples
    --------
    >>> cell = Cell("uci", "own", "auc", 0.8, 0.3, "sigmoid", 90.0, 0.1, 2, True, 89.0, 0.1, True)
    >>> (panel,) = panels("mine", [cell])
    >>> panel["title"], panel["losses"][0]["ours"], panel["losses"][0]["paper"]
    ('mine: AUC', [90.0], [89.0])
    """
    of_paper = _of_the_paper(cells)
    found = []
    for risk in RISKS:
        own = [cell for cell in of_paper if cell.risk == risk]
        noises = sorted({(cell.pi, cell.pi_prime) for cell in own}, key=_noisiness)
        losses = [loss for loss in LOSSES if any(cell.loss == loss for cell in own)]
        if own:
            found.append({
                "title": f"{run}: {SCORES[risk]}",
                "score": SCORES[risk],
                "noises": [noise_text(*noise) for noise in noises],
                "losses": [
                    {
                        "title": loss_heading(loss),
                        "symmetric": loss in SYMMETRIC,
                        **mark,
                        "ours": [_mean(own, loss, noise, "mean") for noise in noises],
                        "paper": [_mean(own, loss, noise, "paper_mean") for noise in noises],
                    }
                    for loss, mark in zip(losses, loss_marks(losses), strict=True)
                ],
            })  # fmt: skip
    return found


def _of_the_paper(cells: Iterable[Cell]) -> list[Cell]:
    return [cell for cell in cells if cell.paper_mean is not None]


def _noisiness(noise: tuple[float, float]) -> tuple[float, float]:
    """Return a key that sorts noise rates from clean labels to the noisiest ones."""
    pi, pi_prime = noise
    return pi_prime - pi, -pi


def _lead(row: Sequence[Cell], which: str) -> float:
    """Return how far the best symmetric loss of a row is ahead of the best other one."""
    best = [max(getattr(c, which) for c in row if (c.loss in SYMMETRIC) is symmetric) for symmetric in (True, False)]
    return float(best[0] - best[1])


def _mean(cells: Sequence[Cell], loss: str, noise: tuple[float, float], which: str) -> float | None:
    scores = [getattr(c, which) for c in cells if c.loss == loss and (c.pi, c.pi_prime) == noise]
    return round(fmean(scores), 2) if scores else None


__all__ = ["SYMMETRIC", "Finding", "claim_section", "findings", "panels"]
