"""What a colleague would point out: in the table that is fitted, and in tables to predict that differ from it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symloss.columns import Categories, Encoding, Form
from symloss.messages import argument
from symloss.metrics import auc

if TYPE_CHECKING:
    from pandas import DataFrame, Series

Array = NDArray[np.float64]
Positive = NDArray[np.bool_]

WARNING = "warning: "  # how such a note begins
_FEW_ROWS, _FEW_OF_A_CLASS = 50, 10
_ENOUGH_OF_A_CLASS = 20_000
_COPY = 0.99  # the AUC from which a column alone tells the label
_ROWS_OF_A_NUMBERING = 100  # fewer whole numbers are often distinct by chance
_ROWS_OF_A_COUNT, _COUNTED = 10, 0.8  # rows, and the share of steps of one from row to row: some rows may be left out
_MANY_UNSEEN = 0.1  # the share of rows with an unknown category that is worth a warning


def check_table(frame: DataFrame, encoding: Encoding, values: Array, positive: Positive, weight: Array) -> list[str]:
    """Return warnings about a table to fit, one sentence each."""
    some = np.concatenate([  # an AUC of 0.99 is seen in some rows as well as in all
        rows[:: len(rows) // _ENOUGH_OF_A_CLASS + 1] for rows in (np.flatnonzero(positive), np.flatnonzero(~positive))
    ])  # fmt: skip
    signal = {
        name: _auc_of(encoding.forms[name], values[some][:, features], positive[some])
        for name, features in encoding.places.items()
    }
    numberings = [name for name in signal if _is_numbering(frame[name], signal[name], positive[some])]
    others = [name for name in signal if name not in numberings]
    enough = min(positive.sum(), (~positive).sum()) >= _FEW_OF_A_CLASS / 2  # a column tells one or two rows by chance
    found = list(_few(positive))
    for name, value in signal.items():
        if value >= _COPY and enough:
            found.append(
                f"column {name!r} alone tells the label (AUC {value:.3f} on the labels given): leave it out "
                f"({argument('drop', name)}) if it is not known before the label"
            )
    if numberings:
        drop = argument("drop", numberings[0])
        found.append(
            f"whole numbers, distinct in every row: {', '.join(numberings)}; leave out those that only number rows "
            f"({drop})"
        )
    rows, wrong = disagreement(frame[others], positive, weight)
    if wrong > 0:
        found.append(
            f"{rows} rows have the same features as a row with the other label: if equal rows have the same true "
            f"label, at least {wrong / weight.sum():.2%} of the labels are wrong"
        )
    return found


def disagreement(frame: DataFrame, positive: Positive, weight: Array) -> tuple[int, float]:
    """Return how many rows have the features of a row with the other label, and what weight must be labeled wrongly.

    If rows with the same features have the same true label, then in a group with p positive and q negative labels
    min(p, q) or more are wrong, and the sum over all groups is the largest lower bound.
    """
    if not len(frame.columns):
        return 0, 0.0
    plain = frame.reset_index(drop=True)  # its index may have the name of a column
    group = plain.groupby(list(frame.columns), dropna=False, sort=False, observed=True).ngroup().to_numpy()
    smaller = np.minimum(*(np.bincount(group, np.where(side, weight, 0.0)) for side in (positive, ~positive)))
    return int((smaller > 0)[group].sum()), float(smaller.sum())


def _few(positive: Positive) -> Iterator[str]:
    if len(positive) < _FEW_ROWS:
        yield f"there are only {len(positive)} rows: with others, the model and its score may be quite different"
    for name, count in (("positive", int(positive.sum())), ("negative", int((~positive).sum()))):
        if count < _FEW_OF_A_CLASS:
            yield f"only {count} rows are labeled {name}: too few to tell a good model from a bad one"


def _auc_of(form: Form, features: Array, positive: Positive) -> float:
    """Return how well a column alone tells the label: an AUC of at least one half."""
    if form.measured:
        return max(max(_auc_of_numbers(numbers, positive), _auc_of_codes(numbers, positive)) for numbers in features.T)
    present = features != 0
    if isinstance(form, Categories):
        return _auc_of_codes(present.argmax(1), positive)
    present = np.column_stack([present, present.any(1)])  # whether each text is there, and whether there is any
    of_positive, of_negative = (present[side].mean(axis=0) for side in (positive, ~positive))
    return float(0.5 + np.abs(of_positive - of_negative).max() / 2)


def _auc_of_codes(values: NDArray[Any], positive: Positive) -> float:
    """Return how well each value tells the label, whatever their order: each half of the rows is ranked by the other.

    By chance, this tells nothing, however many values there are.
    """
    codes = np.unique(values, return_inverse=True)[1]
    half, scores = np.random.default_rng(0).permutation(len(codes)) % 2, np.empty(len(codes))
    for one in (0, 1):
        known, weight = half != one, positive[half != one] - positive.mean()
        times = np.maximum(np.bincount(codes[known], minlength=len(codes)), 1)
        scores[~known] = (np.bincount(codes[known], weight, len(codes)) / times)[codes[~known]]
    return float(auc(scores, positive))


def _auc_of_numbers(numbers: Array, positive: Positive) -> float:
    """Return the AUC of numbers or of their negatives; that a value is missing may tell the label, too."""
    missing = np.isnan(numbers)
    fills = (-np.inf, np.inf) if missing.any() else (0.0,)
    found = [auc(np.where(missing, fill, numbers), positive) for fill in fills]
    return float(max(*found, *(1 - value for value in found)))


def _is_numbering(series: Series, signal: float, positive: Positive) -> bool:
    """Return whether a column holds whole numbers, all distinct, that tell nothing of the label beyond chance.

    Numbers that count the rows, one by one, only number them, however few there are and whatever they tell.
    """
    if series.dtype.kind not in "iu" or not series.is_unique:
        return False
    if len(series) >= _ROWS_OF_A_COUNT and (np.diff(series) == 1).mean() >= _COUNTED:
        return True
    deviation = np.sqrt(len(positive) / (12 * positive.sum() * (~positive).sum()))  # of the AUC of chance
    return len(series) >= _ROWS_OF_A_NUMBERING and bool(signal - 0.5 < 4 * deviation)


class Profile(NamedTuple):
    """What a table looked like when it was fitted: its columns, the ranges of features, the SHA-256 of their values."""

    columns: tuple[str, ...]
    ranges: dict[str, tuple[float, float]]
    sha256: str

    @classmethod
    def of(cls, columns: Iterable[str], encoding: Encoding, values: Array) -> Profile:
        """Return the profile of a table with these columns and these features."""
        lows, highs = np.nanmin(values, axis=0).tolist(), np.nanmax(values, axis=0).tolist()
        measured = [form.measured for form in encoding.forms.values() for _ in form.features("")]
        ranges = zip(encoding.features, lows, highs, measured, strict=True)
        measured_ranges = {name: (low, high) for name, low, high, kept in ranges if kept}
        return cls(tuple(columns), measured_ranges, sha256_of(values))

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Profile:
        """Return the profile that ``_asdict`` has turned into JSON."""
        ranges = {str(name): (float(low), float(high)) for name, (low, high) in stored["ranges"].items()}
        return cls(tuple(map(str, stored["columns"])), ranges, str(stored["sha256"]))


def sha256_of(values: Array) -> str:
    """Return the checksum of features: of other rows, or of these in another order, it is another one."""
    return hashlib.sha256(np.nan_to_num(values, nan=-1.0).astype(np.float32).tobytes()).hexdigest()


@dataclass
class Differences:
    """Counts in which rows a table to predict, which may come in parts, differs from the one that was fitted."""

    encoding: Encoding
    profile: Profile
    kept: Collection[str] = ()
    rows: int = 0
    new: list[str] = field(default_factory=list)
    outside: Counter[str] = field(default_factory=Counter)
    missing: Counter[str] = field(default_factory=Counter)
    unseen: Counter[str] = field(default_factory=Counter)

    def add(self, frame: DataFrame, unseen: Mapping[str, int]) -> None:
        """Count rows; ``unseen`` says in how many of them each column has a category that the model does not know."""
        self.rows += len(frame)
        self.unseen.update(unseen)
        self.new = [name for name in frame.columns if name not in (*self.profile.columns, *self.kept)]
        for name, form in self.encoding.forms.items():
            self.missing[name] += int(frame[name].isna().sum())
            if form.measured:
                values = Encoding({name: form}, {}).transform(frame).values
                low, high = np.array([self.profile.ranges[feature] for feature in form.features(name)]).T
                far = (values < low - (high - low)) | (values > high + (high - low))
                self.outside[name] += int(far.any(1).sum())

    @property
    def often_unseen(self) -> dict[str, int]:
        """The columns of which so many rows have an unknown category that it is worth a warning, and how many."""
        return {name: count for name, count in self.unseen.items() if count > _MANY_UNSEEN * self.rows}

    def sentences(self) -> list[str]:
        """Return warnings, one sentence each."""
        found = [f"columns that the table of the fit did not have are ignored: {', '.join(self.new)}"] * bool(self.new)
        found += [
            f"column {name!r} is empty in all rows" for name, count in self.missing.items() if 0 < count == self.rows
        ]
        for counts, what in (
            (self.outside, "is far outside the range of the fit"),
            (self.often_unseen, "has a category that the fit has not seen"),
        ):
            found += [f"column {name!r} {what} in {n} of {self.rows} rows" for name, n in counts.items() if n]
        return found
