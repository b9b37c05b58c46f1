"""Thresholds for what somebody wants, predictions of tables larger than memory, and tables written to files."""

from __future__ import annotations

import gzip
import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symloss.columns import as_text
from symloss.files import whole_file
from symloss.messages import argument, require
from symloss.metrics import Estimate
from symloss.metrics.curves import clean_rates_of
from symloss.tabular.checks import WARNING, Differences
from symloss.tabular.evaluation import Evaluation, hull, percent
from symloss.tabular.model import Predicted, TableModel
from symloss.tabular.reading import TO_BE_FOUND, ReadOptions, check_columns, read_pieces

if TYPE_CHECKING:
    from pandas import DataFrame

Array = NDArray[np.float64]
_ROUNDING = 1e-10  # scores are standardized, so that they differ by about one
_PARQUET = (".parquet", ".pq")
_TEXT = (".csv", ".tsv")
ROWS = 20_000  # in memory at a time


def top_threshold(scores: Array, k: int) -> float:
    """Return the threshold above which the k largest scores lie; fewer than k, if the last of them ties with others.

    Scores that differ by no more than rounding tie, too: products of matrices round by a row's place in its block.
    """
    if k >= len(scores):
        return -math.inf
    ordered = np.sort(scores)[::-1]
    higher, lower = ordered[:k], ordered[1 : k + 1]  # neighbors, between which the threshold may lie
    apart = np.flatnonzero(higher - lower > _ROUNDING * np.maximum(1.0, np.abs(lower)))
    return float(higher[apart[-1]] / 2 + lower[apart[-1]] / 2) if len(apart) else float(ordered[0])


def cost_threshold(model: TableModel, false_positive: float = 1.0, false_negative: float = 1.0) -> float:
    """Return the threshold of the smallest expected cost on clean labels, where errors cost so much each.

    A row is predicted positive where its probability p of being truly positive makes the expected cost of a false
    negative, ``p * false_negative``, larger than that of a false positive, ``(1 - p) * false_positive``. This needs
    the rates of the noise, given to the fit or estimated by it.
    """
    pi, pi_prime = model.rates
    share, (slope, intercept) = model.estimator.share_labeled_positive_, model.estimator.calibration_
    prior = share * pi + (1 - share) * pi_prime
    if not 0 < prior < 1 or slope == 0:
        return -math.inf if prior * false_negative > (1 - prior) * false_positive else math.inf
    # The ratio of the clean densities at which both errors cost the same, and that of the labels given there.
    clean = false_positive / false_negative * (1 - prior) / prior
    given = (pi * clean + 1 - pi) / (pi_prime * clean + 1 - pi_prime)
    odds = given * share / (1 - share)
    return float((math.log(odds) - intercept) / slope) if odds > 0 else -math.inf


class Wanted(NamedTuple):
    """Which threshold somebody asks for: itself, a share or a number of the rows, or what the two errors cost."""

    threshold: float | None = None
    share: float | None = None
    top_k: int | None = None
    cost_false_positive: float | None = None
    cost_false_negative: float | None = None

    @property
    def costs(self) -> tuple[float, float] | None:
        """The costs of a false positive and of a false negative; one that is not given is 1. None if neither is."""
        costs = self.cost_false_positive, self.cost_false_negative
        return None if costs == (None, None) else (costs[0] or 1.0, costs[1] or 1.0)

    def check(self) -> None:
        """Raise ValueError if several things are asked for that exclude each other."""
        asked = {argument(name): getattr(self, name) for name in ("threshold", "share", "top_k")}
        wanted = [name for name, value in (asked | {"costs": self.costs}).items() if value is not None]
        if len(wanted) > 1:
            raise ValueError(f"give one of {', '.join(asked)} and costs, got {' and '.join(wanted)}")
        if self.threshold is not None and math.isnan(self.threshold):
            raise ValueError(f"{argument('threshold')} must be a number, got nan")
        for name in ("cost_false_positive", "cost_false_negative"):
            if (cost := getattr(self, name)) is not None and not 0 < cost < math.inf:
                raise ValueError(f"{argument(name)} must be a number above 0, got {cost:g}")

    def find(self, model: TableModel, scores: Callable[[], Array]) -> tuple[float, list[str]]:
        """Return the threshold, 0 by default, and notes that say where it comes from.

        ``scores`` returns those of all rows to predict; it is called only for a share or a number of these rows.
        """
        if self.share is not None or self.top_k is not None:
            found = scores()
            k = self.top_k if self.top_k is not None else round((self.share or 0.0) * len(found))
            threshold = top_threshold(found, k)
            above = int((found > threshold).sum())
            tie = ", since others tie with the next one" if above < min(k, len(found)) else ""
            return threshold, [
                f"threshold {threshold:.4g}, which the {above} largest scores of this table are above{tie}"
            ]
        if self.costs is not None:
            threshold = cost_threshold(model, *self.costs)
            return threshold, [f"threshold {threshold:.4g}, of the smallest expected cost if {rates_in_words(model)}"]
        return self.threshold or 0.0, []


def rates_in_words(model: TableModel) -> str:
    """Return how many labels are wrong by the rates that a model goes by, and where these come from."""
    negative, positive = (repr(as_text(label)) for label in model.labels)
    reviewed = model.review is not None and model.review.wrong_before is not None
    known = "as given" if model.rates_given else f"as the {'checked labels say' if reviewed else 'fit has estimated'}"
    wrong = percent(1 - model.rates.pi), percent(model.rates.pi_prime)
    shares = f"{wrong[0]} of the labels {positive} and {wrong[1]} of the labels {negative}"
    return f"{shares} are wrong, in all rows alike, {known}"


class Choice(NamedTuple):
    """A threshold, what it is for, and what it does to the rows of the fit, by their out-of-fold scores.

    ``given`` are the shares of rows above it among those labeled positive and negative, ``found`` and ``false`` those
    among true ones; ``precision`` is the share of truly positive rows among those above it, if there are any.
    """

    purpose: str
    option: str  # of ``symloss predict``, that sets it
    threshold: float
    rows: int
    given: tuple[float, float]
    found: Estimate
    false: Estimate
    precision: Estimate | None


def choices(found: Evaluation, model: TableModel, costs: tuple[float, float] | None = None) -> list[Choice]:
    """Return thresholds for several purposes, and for the costs of the two errors if these are given."""
    name, n = repr(as_text(model.labels[1])), len(found.scores)
    labeled, k = float(found.positive.mean()), min(100, max(1, n // 10))  # not by weight: --share counts rows
    asked: list[tuple[str, str, float]] = [
        ("both labels count the same, whatever their numbers (the default)", "", 0.0)
    ]
    for purpose, option, each in (
        ("the costs that you gave", "--cost-false-positive {:g} --cost-false-negative {:g}", costs),
        ("fewest errors: a miss costs as much as a false alarm", "--cost-false-negative 1", (1.0, 1.0)),
        (f"a missed {name} costs five times a false alarm", "--cost-false-negative 5", (1.0, 5.0)),
        (f"a false alarm costs five times a missed {name}", "--cost-false-positive 5", (5.0, 1.0)),
    ):
        asked += [(purpose, option.format(*each), cost_threshold(model, *each))] if each else []
    for purpose, option, count in (
        (f"as many {name} as there are labels {name}", f"--share {labeled:.3g}", round(labeled * n)),
        (f"as many {name} as there seem to be in truth", f"--share {found.prior:.3g}", round(found.prior * n)),
        (f"the {k} rows that are surest to be {name}", f"--top-k {k}", k),
    ):
        asked.append((purpose, option, top_threshold(found.scores, count)))
    made = []
    for purpose, option, threshold in asked:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the evaluation says it if the rates cannot be
            possible = [clean_rates_of(*found.samples, *rates, threshold) for rates in found.possible]
        right = []
        for clean in possible:
            prior = found.share_labeled_positive * clean.pi + (1 - found.share_labeled_positive) * clean.pi_prime
            if 0 < prior < 1 and clean.tpr.value + clean.fpr.value > 0:
                right.append(clean.precision(prior))
        given = possible[0].corrupted_tpr.value, possible[0].corrupted_fpr.value
        above = hull([clean.tpr for clean in possible]), hull([clean.fpr for clean in possible])
        rows, precision = int((found.scores > threshold).sum()), hull(right) if right else None
        made.append(Choice(purpose, option, threshold, rows, given, *above, precision))
    return made


@contextmanager
def whole_table(path: str | Path) -> Iterator[Callable[[DataFrame], None]]:
    """Yield a function that writes the next rows of a CSV or Parquet file; if anything fails, nothing is changed."""
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder, not a file to write")
    if not path.parent.is_dir():
        raise ValueError(f"{path} cannot be written: there is no folder {path.parent}")
    if path.suffix not in _PARQUET and Path(path.name.removesuffix(".gz")).suffix not in _TEXT:
        raise ValueError(f"{path} must end in one of {', '.join((*_TEXT, *_PARQUET))}")
    require("tables", "tables need pandas and pyarrow", "pandas", "pyarrow.parquet")
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    sep = "\t" if ".tsv" in path.suffixes else ","
    with whole_file(path) as temporary, ExitStack() as stack:
        writer: Any = None

        def write(frame: DataFrame) -> None:
            nonlocal writer
            if path.suffix in _PARQUET:
                table = pa.Table.from_pandas(frame, preserve_index=False)
                if writer is None:  # a column without any value has no type yet: it becomes text
                    types = [pa.string() if pa.types.is_null(one.type) else one.type for one in table.schema]
                    fields = [one.with_type(kind) for one, kind in zip(table.schema, types, strict=True)]
                    schema = pa.schema(fields, table.schema.metadata)
                    writer = stack.enter_context(ParquetWriter(temporary, schema))
                writer.write_table(table.cast(writer.schema))
                return
            header = writer is None
            if writer is None:
                opened: Any = gzip.open if path.suffix == ".gz" else open
                writer = stack.enter_context(opened(temporary, "wt", encoding="utf-8", newline=""))
            frame.to_csv(writer, index=False, header=header, sep=sep, lineterminator="\n")

        yield write


def predict_file(
    model: TableModel,
    data: Any,
    out: str | Path,
    keep: Sequence[str] = (),
    threshold: float = 0.0,
    rows: int = ROWS,
    options: ReadOptions = TO_BE_FOUND,
) -> list[str]:
    r"""Predict the rows of a file into another file, a part at a time, and return notes on what was done.

    The rows keep their order. If anything fails, no file is left or changed.
    """
    total, positive, unseen, ignored = 0, 0, Counter[str](), list[str]()
    text = [*model.encoding.texts, *(name for name in keep if name not in model.columns)]
    read_notes: list[str] = []
    differences = Differences(model.encoding, model.profile, list(keep))
    with whole_table(out) as write:
        for frame, found, _, written in read_pieces(data, rows, options, text):
            read_notes += [note for note in found if note not in read_notes]
            check_columns(keep, frame, "to keep")
            predicted = model.predict_frame(frame, threshold)
            write(_beside(written, keep, predicted))
            total += len(frame)
            positive += int((predicted.scores > threshold).sum())
            unseen.update(predicted.unseen)
            differences.add(frame, predicted.unseen)
            ignored = [name for name in frame.columns if name not in (*model.columns, *keep, *differences.new)]
    labels = list(map(as_text, model.labels))
    notes = [f"{total} rows: {positive} predicted {labels[1]!r}, {total - positive} {labels[0]!r}"]
    notes.append(f"clean_probability: that {labels[1]!r} is the true label of a row, if {rates_in_words(model)}")
    if ignored:
        notes.append(f"columns ignored: {', '.join(ignored)}")
    few = [f"{name} ({count} rows)" for name, count in unseen.items() if name not in differences.often_unseen]
    if few:
        notes.append(f"categories not seen in the fit, treated as none of those seen: {', '.join(few)}")
    return [*notes, *read_notes, *(WARNING + sentence for sentence in differences.sentences())]


def _beside(kept: DataFrame, names: Sequence[str], predicted: Predicted) -> DataFrame:
    """Return predictions with columns to keep before them."""
    table = predicted.table
    for place, name in enumerate(names):
        if name in table.columns[place:]:
            raise ValueError(f"a column of predictions already has the name {name!r}; rename the column to keep")
        table.insert(place, name, kept[name])
    return table


def scores_of_file(model: TableModel, data: Any, rows: int = ROWS, options: ReadOptions = TO_BE_FOUND) -> Array:
    """Return the scores of all rows of a file, of which only some are in memory at a time."""
    pieces = read_pieces(data, rows, options, model.encoding.texts)
    return np.concatenate([model.predict_frame(piece.frame).scores for piece in pieces])
