"""Times of the day, such as 13:45 and 1:45 pm, which become hours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_TIME = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?(?: ?([ap])\.?m\.?)?", re.ASCII | re.IGNORECASE)


class TimesOfDay(NamedTuple):
    """How a column of times of the day becomes a feature: hours since midnight.

    Examples
    --------
    >>> times = TimesOfDay.recognize(["13:45", "9:00:30", "1:45 pm"])
    >>> out = np.zeros((3, 1))
    >>> times.fill(["13:45", "1:30 am", "25:00"], np.arange(3), out), out[:2, 0]
    (array([False, False,  True]), array([13.75,  1.5 ]))
    """

    @classmethod
    def recognize(cls, texts: Sequence[str]) -> TimesOfDay | None:
        """Return how these texts become hours, or None if one of them is no time of the day."""
        return cls() if all(not np.isnan(_hours(text)) for text in texts) else None

    @property
    def what(self) -> str:
        """What the column must hold, in a word."""
        return "times of the day"

    @property
    def decision(self) -> str:
        """What the column becomes, in words."""
        return "times of the day, as hours"

    def features(self, name: str) -> list[str]:
        """Return the name of the feature of a column."""
        return [f"{name}: hour"]

    def fill(self, texts: Sequence[str], codes: NDArray[np.intp], out: Array) -> NDArray[np.bool_]:
        """Write the hours of ``texts[codes]`` into ``out`` (-1 is missing), and return which texts are no times."""
        hours = np.array([*map(_hours, texts), np.nan])  # the last one is that of missing values
        out[:, 0] = hours[codes]
        unread: NDArray[np.bool_] = np.isnan(hours[:-1])
        return unread


def _hours(text: str) -> float:
    found = _TIME.fullmatch(text.strip())
    if found is None:
        return np.nan
    hour, minutes, seconds, half = int(found[1]), int(found[2]), float(found[3] or 0), found[4]
    if minutes >= 60 or seconds >= 60 or hour > 23 or (half and not 1 <= hour <= 12):
        return np.nan
    if half:
        hour = hour % 12 + 12 * (half.lower() == "p")
    return hour + minutes / 60 + seconds / 3600
