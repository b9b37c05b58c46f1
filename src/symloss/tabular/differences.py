"""How a table to predict differs from the one that was fitted: what a colleague would point out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symloss.columns import Encoding

if TYPE_CHECKING:
    from pandas import DataFrame

Array = NDArray[np.float64]

_MANY_UNSEEN = 0.1  # the share of rows with an unknown category that is worth a warning


class Profile(NamedTuple):
    """What a table looked like when it was fitted.

    Parameters
    ----------
    columns : tuple of str
        All its columns, also those that are no features.
    ranges : dict
        The smallest and the largest value of each feature that was measured: of numbers and of parts of dates.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [30, 40], "city": ["Oslo", "Rome"], "churn": [0, 1]})
    >>> encoding = Encoding.fit(frame[["age", "city"]])
    >>> Profile.of(frame.columns, encoding, encoding.transform(frame).values)
    Profile(columns=('age', 'city', 'churn'), ranges={'age': (30.0, 40.0)})
    """

    columns: tuple[str, ...]
    ranges: dict[str, tuple[float, float]]

    @classmethod
    def of(cls, columns: Iterable[str], encoding: Encoding, values: Array) -> Profile:
        """Return the profile of a table with these columns and these features."""
        measured = {feature for column in encoding.columns if column.is_measured for feature in column.features}
        places = [place for place, feature in enumerate(encoding.features) if feature in measured]
        lows, highs = np.nanmin(values[:, places], axis=0), np.nanmax(values[:, places], axis=0)
        found = zip(places, lows.tolist(), highs.tolist(), strict=True)
        return cls(tuple(columns), {encoding.features[place]: (low, high) for place, low, high in found})

    def to_json(self) -> dict[str, Any]:
        """Return the profile as JSON, which ``from_json`` reads."""
        return {"columns": list(self.columns), "ranges": {name: list(ends) for name, ends in self.ranges.items()}}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Profile:
        """Return the profile that ``to_json`` has turned into JSON.

        Examples
        --------
        >>> Profile.from_json({"columns": ["age"], "ranges": {"age": [30, 40]}})
        Profile(columns=('age',), ranges={'age': (30.0, 40.0)})
        """
        ranges = {name: (float(low), float(high)) for name, (low, high) in stored["ranges"].items()}
        if not isinstance(stored["columns"], list) or not all(isinstance(name, str) for name in stored["columns"]):
            raise ValueError("expected the names of columns in the profile, found something else")
        return cls(tuple(stored["columns"]), ranges)


@dataclass
class Differences:
    """Counts what differs in the rows to predict, which may come in parts.

    Parameters
    ----------
    encoding : Encoding
        How tables become features.
    profile : Profile or None
        What the table that was fitted looked like; None if the model was saved by a version that did not keep it.
    kept : collection of str
        Columns that are only kept beside the predictions, which may be new.

    Examples
    --------
    >>> import pandas as pd
    >>> encoding = Encoding.fit(pd.DataFrame({"age": [30, 40, 50]}))
    >>> differences = Differences(encoding, Profile(("age", "churn"), {"age": (30.0, 50.0)}))
    >>> differences.add(pd.DataFrame({"age": [35, 900], "plan": ["a", "b"]}), unseen={})
    >>> differences.sentences()
    ['columns that the table of the fit did not have are ignored: plan',
     "column 'age' is far outside the range of the fit in 1 of 2 rows"]
    """

    encoding: Encoding
    profile: Profile | None
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
        self.missing.update({column.name: int(frame[column.name].isna().sum()) for column in self.encoding.columns})
        if self.profile is None:
            return
        self.new = [name for name in frame.columns if name not in (*self.profile.columns, *self.kept)]
        for column in self.encoding.columns:
            if column.is_measured:
                values = Encoding((column,), {}).transform(frame).values
                ends = np.array([self.profile.ranges[feature] for feature in column.features])
                with np.errstate(over="ignore"):  # a range may be wider than the largest number
                    width = ends[:, 1] - ends[:, 0]
                    far = (values < ends[:, 0] - width) | (values > ends[:, 1] + width)
                self.outside[column.name] += int(far.any(1).sum())

    @property
    def often_unseen(self) -> dict[str, int]:
        """The columns of which so many rows have an unknown category that it is worth a warning, and how many."""
        return {name: count for name, count in self.unseen.items() if count > _MANY_UNSEEN * self.rows}

    def sentences(self) -> list[str]:
        """Return warnings, one sentence each."""
        of = f"of {self.rows} rows"
        empty = [name for name, count in self.missing.items() if 0 < count == self.rows]
        new = f"columns that the table of the fit did not have are ignored: {', '.join(self.new)}"
        return [
            *([new] if self.new else []),
            *(f"column {name!r} is empty in all rows" for name in empty),
            *(
                f"column {name!r} is far outside the range of the fit in {n} {of}"
                for name, n in self.outside.items()
                if n
            ),
            *(
                f"column {name!r} has a category that the fit has not seen in {n} {of}"
                for name, n in self.often_unseen.items()
            ),
        ]
