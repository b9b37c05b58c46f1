"""The results of a fit, for people: a printed table, a page, and labels to check."""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symloss import __version__
from symloss.columns import as_text
from symloss.files import real, whole_file
from symloss.metrics import Estimate
from symloss.metrics.curves import curve_of, given_rates
from symloss.pages import Section, Templates, framed
from symloss.tabular.checks import WARNING
from symloss.tabular.evaluation import (
    LEVEL,
    OWN,
    Evaluation,
    Importance,
    column_importance,
    evaluate,
    label_table,
    noise_in_words,
    percent,
    review_in_words,
    rows_of,
    score_in_words,
    suspicious,
    when_to_stop,
)
from symloss.tabular.model import LABELS, NOISE, PAGE, Rows, TableModel, check_names, load
from symloss.tabular.predicting import choices

if TYPE_CHECKING:
    from pandas import DataFrame
    from rich.console import Console

Array = NDArray[np.float64]
_TEMPLATES = Templates("symloss.tabular")
SHOWN = 20  # labels to check
_COLUMNS = 10  # of a row that are shown: the most important ones
_POINTS = 160  # of a curve: finer than a screen can show
_BINS = 24
_LEAST_SCALE = 0.05  # of the bars of columns: a fall of less than this does not fill the width
# Characters that are not seen, or that change the direction of the text after them.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")
_SECONDS = 20.0  # to find out which columns matter


def summary(model: TableModel) -> dict[str, Any]:
    """Return the candidates with their scores on the labels given and their weights, and those not tried."""
    estimator, results = model.estimator, model.estimator.cv_results_
    weights = {member.name: member.weight for member in estimator.members_}
    names = ("candidate", "mean_test_score", "std_test_score")
    tried = [
        {"name": name, "mean": float(mean), "sd": float(sd), "weight": weights.get(name, 0.0)}
        for name, mean, sd in zip(*(results[key] for key in names), strict=True)
        if not np.isnan(mean)  # with a time limit, there may be no time for some
    ]
    return {
        "score": model.score_name,
        "candidates": tried,
        "untried": [name for name in results["candidate"] if name not in {each["name"] for each in tried}],
        "time_limit": estimator.time_limit,
    }


def lack_of_time(made: dict[str, Any]) -> list[str]:
    """Return a sentence, or none, on the candidates of a summary that there was no time for."""
    count, untried = len(made["candidates"]), len(made["untried"])
    left = f"the time limit of {made['time_limit'] or 0:g} s left {untried} of {count + untried} candidates untried"
    return [f"{left}: with more time the model may be better"] * bool(untried)


def print_summary(model: TableModel, found: Evaluation, console: Console) -> None:
    """Print a table of candidates, the best one first, and the scores of their average."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    made = summary(model)
    candidates = sorted(made["candidates"], key=lambda each: -each["mean"])
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("candidate", overflow="fold")
    for column in (f"{made['score']} on noisy folds", "s.d.", "weight"):
        table.add_column(column, justify="right")
    for each in candidates:
        weight = f"[green]{each['weight']:.2f}[/]" if each["weight"] else ""
        table.add_row(escape(each["name"]), f"{each['mean']:.4f}", f"{each['sd']:.4f}", weight)
    console.print(table)
    chosen = len(model.estimator.members_)
    of = f"the average of {chosen} candidates" if chosen > 1 else "the chosen candidate"
    lines = lack_of_time(made)
    lines.append(f"{made['score']} of {of} on the given labels, cross-validated: {model.corrupted_score:.3f}")
    if found.has_signal:
        lines.append("{} on true labels: {}. {}".format(made["score"], *score_in_words(found, made["score"])))
    lines.append(f"threshold: {model.estimator.threshold_:.4g}, already subtracted from scores: above 0 is positive")
    lines += [*noise_in_words(found, model.labels)[:2], when_to_stop(model)]
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)


class About(NamedTuple):
    """How a fit came about: the name of the table, the command, and columns that tell rows apart."""

    source: str
    command: str = ""
    ids: Sequence[str] = ()


def fit_page(
    model: TableModel,
    frame: DataFrame,
    importances: Sequence[Importance] | None,
    about: About,
    costs: tuple[float, float] | None = None,
) -> str:
    """Return the page of a fit, or of an audit, which does not find out which columns matter.

    ``costs`` are those of a false positive and of a false negative, for a threshold of their own.
    """
    found, rows = evaluate(model), rows_of(model)
    made = summary(model)
    warned = [note.removeprefix(WARNING) for note in model.notes if note.startswith(WARNING)]
    negative, positive = map(shown, model.labels)
    table = label_table(model, frame, about.ids).dropna(subset="wrong_probability").head(SHOWN)
    columns = [each.column for each in importances] if importances else model.columns
    worst = [
        (line, [frame[name].iloc[line["row"] - 1] for name in columns[:_COLUMNS]])
        for line in table.to_dict(orient="records")
    ]
    curves, nearest = {}, sorted(found.possible, key=lambda rates: rates.pi_prime - rates.pi)
    for name, rates in (("given", (1.0, 0.0)), ("low", nearest[0]), ("high", nearest[-1])):  # noise moves them apart
        fpr, tpr, _ = curve_of(*given_rates(*found.samples), *rates)
        curves[name] = _line(fpr, tpr)
    values = {
        "found": found,
        "made": made,
        "about": about,
        "negative": f"'{negative}'",
        "positive": f"'{positive}'",
        "suspicious": int(suspicious(model).sum()),
        "when_to_stop": when_to_stop(model),
        "words": noise_in_words(found, (negative, positive)),
        "true_score": score_in_words(found, "AUC"),
        "reviewed": review_in_words(model.review, model.score_name) if model.review else [],
        "warnings": [*warned, *found.warnings, *lack_of_time(made)],
        "notes": [note for note in model.notes if not note.startswith(WARNING)],
        "bars": _bars(found, negative, positive),
        "columns": columns[:_COLUMNS],
        "left_out": max(0, len(columns) - _COLUMNS),
        "worst": worst,
        "curves": curves,
        "heaps": _heaps(found),
        "importances": importances or [],
        "most": max([_LEAST_SCALE, *(each.fall for each in importances or [])]),
        "choices": choices(found, model, costs),
        "candidates": sorted(made["candidates"], key=lambda each: (-each["weight"], -each["mean"])),
        "percent": percent,
        "number": _number,
        "shown": shown,
    }
    titles = {"short": "In short", "review": "What the review changed", "check": "Labels to check",
              "noise": "How noisy the labels are",
              "ranking": "The ranking", "columns": "The columns", "thresholds": "Where to draw the line",
              "made": "How this was made"}  # fmt: skip
    if found.unlabeled:
        titles |= {"check": "Rows to look at", "noise": "How many unlabeled rows are positive"}
    if model.review is None:
        del titles["review"]
    if importances is None:
        del titles["columns"]
    sections = [
        Section(part, title, _TEMPLATES.render("fit.html.j2", part=part, **values)) for part, title in titles.items()
    ]
    count, n = int(rows.positive.sum()), len(rows.positive)
    others = "unlabeled" if found.unlabeled else f"labeled {negative!r}"
    may_be = f"unlabeled ones may be {positive!r}" if found.unlabeled else "these labels may be wrong"
    labeled = f"{count:,} labeled {positive!r}, {n - count:,} {others}"
    lead = f"{n:,} rows of {shown(about.source)}: {labeled}. Some of {may_be}."
    now = datetime.now(tz=UTC).strftime("%Y-%m-%d %H:%M UTC")
    footer = f"Written by symloss {__version__} on {now}. It shows {min(SHOWN, n)} rows of the table."
    what = "The labels of" if importances is None else "Predicting"
    title = f"{what} {shown(model.label)}"
    return framed(title, sections, lead, footer, style=[_TEMPLATES.source("fit.css")])


def shown(value: Any, longest: int = 80) -> str:
    r"""Return a value as a text that can be seen: not too long, and with unseen characters spelled out."""
    import pandas as pd

    if np.ndim(value) == 0 and pd.isna(value):
        return ""
    if isinstance(value, float) and not value.is_integer():
        return f"{value:.6g}"
    text = _UNSEEN.sub(lambda match: repr(match[0])[1:-1], as_text(value)[: longest + 1])
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _bars(found: Evaluation, negative: str, positive: str) -> list[tuple[str, Estimate]]:
    """Return for each label the share that is wrong, with its interval, as the page names it."""
    noise, (pi, pi_prime) = found.noise, found.rates
    bars = [
        (f"labeled '{positive:.40}'", Estimate(1 - pi, 1 - noise.pi_high, 1 - noise.pi_low, LEVEL)),
        (
            "unlabeled" if found.unlabeled else f"labeled '{negative:.40}'",
            Estimate(pi_prime, noise.pi_prime_low, noise.pi_prime_high, LEVEL),
        ),
    ]
    return bars[1:] if found.unlabeled else bars


def _heaps(found: Evaluation) -> dict[str, Any]:
    """Return how the scores of both labels are distributed, as outlines, with the place of the threshold."""
    low, high = np.quantile(found.scores, [0.005, 0.995])
    low, high = min(float(low), 0.0), max(float(high), 0.0)
    low, high = (low, high) if high > low else (low - 1.0, high + 1.0)
    edges, heights = np.linspace(low, high, _BINS + 1), {}
    for name, rows in (("negative", ~found.positive), ("positive", found.positive)):
        counts, _ = np.histogram(np.clip(found.scores[rows], low, high), edges, weights=found.weight[rows])
        heights[name] = np.repeat(counts / found.weight[rows].sum(), 2)
    most = 1.05 * max(float(values.max()) for values in heights.values())
    places = np.concatenate([[0.0], np.repeat((edges - low) / (high - low), 2)[1:-1], [1.0]])
    zero = -low / (high - low)
    return {
        "outlines": {name: _line(places, np.r_[0.0, values / most, 0.0]) for name, values in heights.items()},
        "threshold": zero,
        "across": [(0.0, f"{low:.1f}".replace("-", "−")), (zero, "0"), (1.0, f"{high:.1f}")],
    }


def _line(x: Array, y: Array) -> str:
    """Return the points of a curve in the unit square as those of an SVG picture, not more than can be seen."""
    if len(x) > _POINTS:
        along = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(x), np.diff(y)))])
        kept = np.unique(np.searchsorted(along, np.linspace(0.0, along[-1], _POINTS)).clip(0, len(x) - 1))
        x, y = x[kept], y[kept]
    return " ".join(f"{48 + 302 * a:.1f},{262 - 250 * b:.1f}" for a, b in zip(x.tolist(), y.tolist(), strict=True))


def _number(value: float) -> str:
    """Return a number with about three digits."""
    if np.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:.3f}" if abs(value) < 10 else f"{value:.4g}"
    return text.replace("-", "−") if float(text) else "0.000"


class Documents(NamedTuple):
    """What the files beside a model are made of: the model, the table, how it came about, and what was found out."""

    model: TableModel
    frame: DataFrame
    about: About
    importances: list[Importance] | None = None  # None for an audit

    @classmethod
    def of(cls, model: TableModel, frame: DataFrame, about: About, audit: bool = False) -> Documents:
        """Return what is found out of a model that has just been fitted; a time limit holds for this, too."""
        seconds = min(_SECONDS, model.estimator.time_limit or _SECONDS)
        return cls(model, frame, about, None if audit else column_importance(model, frame, seconds))

    @staticmethod
    def ids(folder: Path) -> list[str]:
        """Return the columns that tell rows apart in the table of a saved model."""
        found: list[str] = json.loads((folder / NOISE).read_text(encoding="utf-8"))["page"]["ids"]
        return found

    @classmethod
    def read(cls, folder: Path) -> Documents:
        """Return what ``write`` has written beside a saved model, with the labels that were checked since."""
        import pandas as pd

        model = load(folder)
        for name in (LABELS, NOISE):
            if not (folder / name).is_file():
                raise ValueError(f"{folder} has no {name}, which symloss fit and audit write and the page is made of")
        made = json.loads((folder / NOISE).read_text(encoding="utf-8"))["page"]
        table = pd.read_csv(folder / LABELS, dtype=str, keep_default_na=False, encoding="utf-8")
        if missing := [name for name in OWN if name not in table]:
            raise ValueError(f"{folder / LABELS} has no column {missing[0]!r}, as symloss wrote it")
        table = table.set_index(table["row"].astype(int)).sort_index()
        if len(table) != len(model.estimator.oof_scores_):
            raise ValueError(f"{folder / LABELS} must have the {len(model.estimator.oof_scores_)} rows of the fit")
        frame = table.drop(columns=list(OWN)).rename(columns={f"{name}_": name for name in OWN})
        weight = frame[model.weight].astype(float).to_numpy() if model.weight else np.ones(len(table))
        positive = (table["given_label"] == as_text(model.labels[1])).to_numpy()
        checked = (table["why"] == "checked").to_numpy()
        rows = Rows(table.index.to_numpy() - 1, positive, weight, made["unlabeled"], checked)
        frame = frame.set_axis(rows.numbers).reindex(range(rows.numbers[-1] + 1))
        importances = None if made["importances"] is None else [Importance(*each) for each in made["importances"]]
        about = About(made["source"], made["command"], made["ids"])
        return cls(replace(model, rows=rows), frame, about, importances)

    def write(self, folder: Path, costs: tuple[float, float] | None = None, keep: bool = False) -> list[str]:
        """Write the list of labels, the noise and the page into a folder; return what went wrong, of the page alone."""
        page = self.about._asdict() | {"importances": self.importances, "unlabeled": rows_of(self.model).unlabeled}
        table = label_table(self.model, self.frame, self.about.ids)
        write_labels(folder, table, noise_summary(self.model) | {"page": page}, keep)
        try:
            html = fit_page(self.model, self.frame, self.importances, self.about, costs)
        except Exception as error:  # whatever it is, the model and the labels are there
            return [f"{PAGE} could not be made: {type(error).__name__}: {error}"]
        _write(folder / PAGE, html.encode(errors="backslashreplace"))  # the name of a file may be no UTF-8
        return []


def write_labels(folder: Path, table: DataFrame, noise: dict[str, Any], keep: bool = False) -> None:
    """Write the list of labels, and what is said of the noise beside it, by which it is known to be as it was written.

    With ``keep``, a list that is not is left as it is.
    """
    labels = str(table.to_csv(index=False, lineterminator="\n")).encode("utf-8", "surrogatepass")
    folder.mkdir(parents=True, exist_ok=True)
    if not keep or _is_as_written(folder):
        _write(folder / LABELS, labels)
    _write(folder / NOISE, json.dumps(noise | {"labels_sha256": _digest(labels)}, indent=1).encode())


def check_folder(folder: Path, names: Sequence[str], what: str, overwrite: bool = False) -> None:
    """Raise ValueError unless a folder may and can be written: it is new, empty, or holds ``what`` and nothing else.

    Labels that somebody has checked are never overwritten unless that is asked for.
    """
    check_names(folder, names, what)
    if (folder / LABELS).exists() and not overwrite and not _is_as_written(folder):
        raise ValueError(
            f"{folder / LABELS} is not as symloss wrote it: labels may have been checked there, so it is not "
            "overwritten; give another folder with --out, or add --overwrite"
        )
    parent = next(above for above in (folder, *folder.absolute().parents) if above.exists())
    try:
        with tempfile.TemporaryDirectory(dir=parent):
            pass
    except OSError as error:
        raise ValueError(f"{folder} cannot be written: {error.strerror} ({parent})") from None


def check_data_apart(data: Path, folder: Path) -> None:
    """Raise ValueError if the data lie inside the folder that is to be written, and so would be lost."""
    if real(folder) in real(data).parents:
        raise ValueError(f"{data}, the data, is in {folder}, the folder to write: it is not overwritten")


def noise_summary(model: TableModel) -> dict[str, Any]:
    """Return how noisy the labels are, as JSON and in words."""
    found = evaluate(model)
    return {
        "label": model.label,
        "negative": as_text(model.labels[0]),
        "positive": as_text(model.labels[1]),
        "words": noise_in_words(found, model.labels),
        "noise": asdict(found.noise),
        "wrong_share": asdict(found.wrong_share),
        "suspicious": int(suspicious(model).sum()),
        "when_to_stop": when_to_stop(model),
    }


def _is_as_written(folder: Path) -> bool:
    noise = folder / NOISE
    return noise.is_file() and _digest((folder / LABELS).read_bytes()).encode() in noise.read_bytes()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _write(path: Path, content: bytes) -> None:
    with whole_file(path) as temporary:
        temporary.write_bytes(content)
