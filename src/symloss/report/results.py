"""The report: one HTML file with our results beside the paper's, which runs no script."""

from __future__ import annotations

import io
import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from symloss import __version__
from symloss.drawing import styled
from symloss.files import real, write_whole
from symloss.pages import Section, Templates, framed
from symloss.paper import results
from symloss.paper.compare import LOSSES, Cell, compare, summarize, summarize_parts
from symloss.paper.figures import result_figures, styles_of
from symloss.paper.results import PUBLISHED, WAYS, check_no_result, read_run
from symloss.paper.tables import (
    FAMILIES,
    SCORES,
    SUMMARY_COLUMNS,
    loss_heading,
    score_tables,
    score_text,
    share_text,
    summary_texts,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SYMMETRIC = ("barrier_hinge", "unhinged", "sigmoid")  # of the paper's losses; the first one on an interval
COLUMNS = ("scores", "compared", SUMMARY_COLUMNS[2], "≤ 1.5 points", "≤ 3 points", *SUMMARY_COLUMNS[3:])
LIMITS = (0.5, 1.5, 3.0)  # points of difference at which a color deepens
_TEMPLATES = Templates("symloss.report")


@dataclass(frozen=True)
class Run:
    """A folder of results: its name, how it was made, and the cells of each way of scoring, the published one first."""

    name: str
    provenance: Mapping[str, Sequence[str]]
    cells: Mapping[str, Sequence[Cell]]

    @property
    def published(self) -> Sequence[Cell]:
        """The cells that are scored as published."""
        return self.cells[WAYS[PUBLISHED]]


class Finding(NamedTuple):
    """In how many rows of a run, each a data set and a score, a symmetric loss is ahead of all others, at one noise.

    The lead is that of the best symmetric loss over the best other one, as a mean over the rows, in points.
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


def write_report(folders: Iterable[str | Path], path: str | Path) -> list[Run]:
    """Write the report of some folders of results into an HTML file, whole or not at all, and return what is in it."""
    paths = [Path(folder) for folder in folders]
    check_no_result(Path(path), paths)
    runs = read_runs(paths)
    write_whole(Path(path), report_html(runs))
    return runs


def read_runs(folders: Iterable[Path]) -> list[Run]:
    """Read folders of results; a folder that is given twice is one run."""
    paths = list(dict.fromkeys(map(real, folders)))
    if not paths:
        raise ValueError("a report needs at least one folder of results, got none")
    runs = []
    for path in paths:
        ends = ["/".join(path.parts[-length:]) for length in range(1, len(path.parts) + 1)]
        name = next((end for end in ends if sum(str(other).endswith(f"/{end}") for other in paths) == 1), str(path))
        found = read_run(path)
        runs.append(Run(name, _provenance(found), {WAYS[way]: compare([found], way) for way in found.ways}))
    return runs


def report_html(runs: Sequence[Run]) -> str:
    """Return the report of some runs as a page of HTML."""
    published = any(cell.paper_mean is not None for run in runs for cell in run.published)
    now = datetime.now(tz=UTC).strftime("%Y-%m-%d %H:%M UTC")
    sections = [
        Section("summary", "Summary", _render("summary", columns=COLUMNS, lines=_summary_lines(runs))),
        Section("results", "Results", _render("results", runs=runs, published=published, figures=_figures)),
        Section("made", "What was run", _render("made", runs=runs)),
    ]
    if tested := [(run, found) for run in runs if (found := findings(run.published))]:
        others = [loss_heading(loss).lower() for loss in LOSSES if loss not in SYMMETRIC]
        html = _render("claim", tested=tested, others=others, summarize=summarize, figure=_claim_figure)
        sections.insert(0, Section("claim", "Did the paper's claim hold?", html))
    return framed(
        "Results beside the paper's" if published else "Results",
        sections,
        lead="Learning from corrupted labels with symmetric losses: "
        f"{', '.join(run.name for run in runs)}. Written by symloss {__version__} on {now}.",
        style=[_TEMPLATES.source("report.css")],
    )


def findings(cells: Iterable[Cell]) -> list[Finding]:
    """Return what was found on the paper's claim at each noise, from the lowest to the highest."""
    rows: dict[tuple[float, float], dict[tuple[str, str], list[Cell]]] = defaultdict(lambda: defaultdict(list))
    for cell in cells:
        if cell.paper_mean is not None:
            rows[cell.pi, cell.pi_prime][cell.dataset, cell.risk].append(cell)
    found = []
    for noise in sorted(rows, key=_noisiness):
        compared = [row for row in rows[noise].values() if 0 < sum(cell.loss in SYMMETRIC for cell in row) < len(row)]
        if compared:
            leads, published = ([_lead(row, which) for row in compared] for which in ("mean", "paper_mean"))
            ours, paper = (sum(lead > 0 for lead in of) for of in (leads, published))
            found.append(Finding(noise_words(*noise), len(compared), ours, paper, fmean(leads)))
    return found


def noise_words(pi: float, pi_prime: float) -> str:
    """Return a noise rate as the shares of wrong labels among those labeled positive and among those negative."""
    return "clean labels" if (pi, pi_prime) == (1, 0) else f"{100 * (1 - pi):.3g}% and {100 * pi_prime:.3g}% wrong"


def _noisiness(noise: tuple[float, float]) -> tuple[float, float]:
    """Return a key that sorts noise rates from clean labels to the noisiest ones."""
    pi, pi_prime = noise
    return pi_prime - pi, -pi


def _lead(row: Sequence[Cell], which: str) -> float:
    """Return how far the best symmetric loss of a row is ahead of the best other one."""
    best = [max(getattr(c, which) for c in row if (c.loss in SYMMETRIC) is symmetric) for symmetric in (True, False)]
    return float(best[0] - best[1])


def _render(part: str, **values: Any) -> Markup:
    functions = {of.__name__: of for of in (noise_words, loss_heading, score_text, signed, shade, score_tables)}
    return _TEMPLATES.render("report.html.j2", part=part, limits=LIMITS, **functions, **values)


def signed(difference: float | None) -> str:
    """Return a difference as text, with its sign unless it is printed as zero; an empty text if there is none."""
    if difference is None:
        return ""
    return f"{difference:+.1f}".replace("-", "−") if abs(round(difference, 1)) else "0.0"


def shade(difference: float | None) -> str:
    """Return the CSS class that colors a difference, empty if it is small: ``above2`` is higher by 1.5 to 3 points."""
    size = sum(abs(difference or 0.0) > limit for limit in LIMITS)
    return f"{'above' if (difference or 0.0) > 0 else 'below'}{size}" if size else ""


def _summary_lines(runs: Sequence[Run]) -> dict[str, list[tuple[str, str, list[str]]]]:
    """Return the lines of the summary's tables, of whole runs and of parts; each has its run and its part."""
    # Runs follow different protocols and may have the same cells, so their numbers are never combined.
    names = FAMILIES | SCORES
    whole, parts = [], []
    for run in runs:
        for way, cells in run.cells.items():
            whole.append((run.name, way if len(run.cells) > 1 else "", _summary_texts(summarize(cells))))
        for summaries in summarize_parts(run.published).values():
            if len(summaries) > 1:
                parts += [(run.name, names.get(of, of), _summary_texts(found)) for of, found in summaries.items()]
    return {"all": whole, "parts": parts}


def _summary_texts(summary: Mapping[str, Any]) -> list[str]:
    _, compared, rms, *others = summary_texts("", summary)
    near = [share_text(summary[f"share_within_{points}"]) for points in ("1_5", "3")]
    return [f"{summary['cells']:,}", compared, rms, *near, *others]


def _figures(run: Run) -> list[tuple[str, Markup]]:
    """Return the figures of a run, each with its caption; figure 5 shows nothing that the others do not."""
    return [(caption, svg(figure)) for name, caption, figure in result_figures(run.published) if name != "figure5"]


def _claim_figure(run: Run) -> Markup:
    """Draw the mean over the data sets of every loss at every noise: ours as lines, the paper's as open marks."""
    cells = [cell for cell in run.published if cell.paper_mean is not None]
    noises = sorted({(cell.pi, cell.pi_prime) for cell in cells}, key=_noisiness)
    risks = [risk for risk in SCORES if any(cell.risk == risk for cell in cells)]
    with styled() as new_figure:
        figure = new_figure(figsize=(4.6 * len(risks), 3.6), layout="constrained")
        for axes, risk in zip(figure.subplots(1, len(risks), squeeze=False)[0], risks, strict=True):
            for loss, style in styles_of(cells).items():
                of_loss = [cell for cell in cells if (cell.loss, cell.risk) == (loss, risk)]
                means = {noise: [c for c in of_loss if (c.pi, c.pi_prime) == noise] for noise in noises}
                ours = [fmean(c.mean for c in of) if of else None for of in means.values()]
                paper = [fmean(c.paper_mean or 0.0 for c in of) if of else None for of in means.values()]
                line = (
                    {"linestyle": "-", "linewidth": 2.5} if loss in SYMMETRIC else {"linestyle": ":", "linewidth": 1.5}
                )
                axes.plot(ours, label=loss_heading(loss), **style | line)
                axes.plot(paper, style["marker"], color=style["color"], fillstyle="none", markersize=10)
            axes.set_title(f"{run.name}: {SCORES[risk]}")
            axes.set_xticks(range(len(noises)), [noise_words(*noise).replace(" and ", " and\n") for noise in noises])
        axes.legend(fontsize="small")
    return svg(figure)


def svg(figure: Figure) -> Markup:
    """Return a figure as SVG to stand in a page, in the page's own text color."""
    from matplotlib import rc_context

    stream = io.StringIO()
    with rc_context({"svg.fonttype": "none", "path.simplify_threshold": 1.0}):
        figure.savefig(stream, format="svg", transparent=True, metadata=dict.fromkeys(("Date", "Creator"), None))
    text = stream.getvalue()
    text = re.sub(r' id="[a-z]+(2d)?_\d+"', "", text[text.index("<svg") :])  # the same in every figure
    text = re.sub(r"\s+", " ", re.sub(r"(\d\.\d)\d+", r"\1", text))  # a tenth of a point is enough
    text = text.replace("#000000", "currentColor").replace("DejaVu Sans", "sans-serif")
    rules = {style: f"s{zlib.crc32(style.encode()):x}" for style in re.findall(r'style="([^"]*)"', text)}
    text = re.sub(r'style="([^"]*)"', lambda match: f'class="{rules[match[1]]}"', text)  # most are there many times
    css = "".join(f".{name} {{{style}}}" for style, name in rules.items())
    return Markup(text.replace("<defs>", f"<style>{css}</style><defs>", 1))


def _provenance(run: results.Run) -> dict[str, list[str]]:
    """Return how a run was made: for each title, all different values."""

    def distinct(name: str) -> list[str]:
        return list(dict.fromkeys(str(made[name]) for made in run.made))

    seconds = sum(made["seconds"] for made in run.made)
    days = sorted({made["finished"][:10] for made in run.made})
    versions = dict.fromkeys(f"{name} {version}" for made in run.made for name, version in made["versions"].items())
    settings = (f"{name.replace('_', ' ')} {_value_text(value)}" for name, value in run.settings.items())
    made = {
        "protocol": [run.protocol],
        "trials": [str(run.trials)],
        "seed": [str(run.seed)],
        "settings": [", ".join(settings)],
        "data": distinct("data"),
        "device": distinct("device"),
        "computing time": [f"{seconds / 60:.3g} min"] if seconds else [],
        "when": [" to ".join(dict.fromkeys([*days[:1], *days[-1:]]))],
        "versions": list(versions),
    }
    return {name: [text for text in texts if text] or ["not recorded"] for name, texts in made.items()}


def _value_text(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(map(_value_text, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
