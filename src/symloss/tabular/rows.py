"""Find the row of a text file that has more or fewer values than there are names."""

from __future__ import annotations

import codecs
import io
from itertools import islice

import numpy as np

from symloss.naming import named
from symloss.tabular.dialect import SEPARATORS, Dialect, records, spelled
from symloss.tabular.sources import Source

_LIKE_ASCII = ("utf-8", "utf-8-sig", "cp1252", "latin-1")
_BLOCK, _LONGEST = 1 << 20, 1 << 24
_QUOTE, _END, _RETURN = b'"\n\r'


def check_rows(source: Source, dialect: Dialect, longer: bool = False) -> None:
    """Raise ValueError at the first row that has more or fewer values than there are names.

    Separators at the ends of all lines make no values; ``longer`` says that some lines have them and others not.
    """
    if not longer and rows_are_even(source, dialect):
        return
    most = least = len(dialect.names)
    while least > 1 and not dialect.names[least - 1]:
        least -= 1
    with source.open() as stream, io.TextIOWrapper(stream, dialect.encoding, newline="") as lines:
        for line, row in islice(records(lines, dialect.sep), dialect.skip, None):
            if len(row) < least or (len(row) > most and (longer or any(row[most:]))):
                raise ValueError(
                    f"{source.name} cannot be read as CSV: Expected {least} fields in line {line}, saw {len(row)} "
                    f"(separator: {spelled(dialect.sep)}); {_hint(dialect, len(row) > most)}"
                )


def first_row_is_longer(source: Source, dialect: Dialect) -> bool:
    """Return whether the first row has more values than there are names: pandas passes over them if they say NA."""
    with source.open() as stream, io.TextIOWrapper(stream, dialect.encoding, newline="") as lines:
        rows = islice(records(lines, dialect.sep), dialect.skip + 1, dialect.skip + 2)
        return any(len(row) > len(dialect.names) for _, row in rows)


def line_of(source: Source, dialect: Dialect, row: int) -> int | None:
    """Return the line where a row begins, counted from 0 after the names; None if the file can no longer be read."""
    try:
        with source.open() as stream, io.TextIOWrapper(stream, dialect.encoding, newline="") as lines:
            found = next(islice(records(lines, dialect.sep), dialect.skip + 1 + row, None), None)
    except (OSError, ValueError):
        return None
    return None if found is None else found[0]


def open_quote(source: Source, dialect: Dialect) -> int:
    """Return the line of the last row, in which the quote opens that is never closed."""
    line = 1
    with source.open() as stream, io.TextIOWrapper(stream, dialect.encoding, newline="") as lines:
        for line, _ in records(lines, dialect.sep):  # noqa: B007 - the last one
            pass
    return line


def rows_are_even(source: Source, dialect: Dialect) -> bool:
    """Return whether all rows surely have as many values as there are names; this is quick, and says no in doubt."""
    if dialect.encoding not in _LIKE_ASCII or dialect.sep not in SEPARATORS.values() or dialect.skip:
        return False
    sep, separators = ord(dialect.sep), len(dialect.names) - 1
    with source.open() as stream:
        data = stream.read(_BLOCK).removeprefix(codecs.BOM_UTF8)
        while data:
            block = stream.read(_BLOCK)
            if not block and not data.endswith(b"\n"):
                data += b"\n"
            bytes_ = np.frombuffer(data, np.uint8)
            outside = _outside_quotes(bytes_, sep)
            if outside is None:
                return False
            ends = np.flatnonzero((bytes_ == _END) & outside)
            if len(ends):
                starts = np.append(0, ends[:-1] + 1)
                found = ((bytes_ == sep) & outside)[: ends[-1] + 1].view(np.uint8)
                counts = np.add.reduceat(found, starts, dtype=np.int32)
                if not ((counts == separators) | (starts == ends)).all():
                    return False
                data = data[ends[-1] + 1 :]
            if (not block and data) or len(data) > _LONGEST:
                return False
            data += block
    return True


def _outside_quotes(data: np.typing.NDArray[np.uint8], sep: int) -> np.typing.NDArray[np.bool_] | np.bool_ | None:
    """Return which bytes are outside quotes, or None if a quote stands within a value."""
    quotes = data == _QUOTE
    if not quotes.any():
        return np.True_
    outside = np.cumsum(quotes, dtype=np.uint8) & 1 == 0  # modulo 256, which keeps odd and even apart
    places = np.flatnonzero(quotes)
    before, after = data[places[::2] - 1], data[np.minimum(places[1::2] + 1, len(data) - 1)]
    before[: int(places[0] == 0)] = _END
    fits = [(side == sep) | (side == _END) | (side == _QUOTE) | (side == _RETURN) for side in (before, after)]
    return outside if fits[0].all() and fits[1].all() else None


def _hint(dialect: Dialect, too_many: bool) -> str:
    for sep in SEPARATORS.values():
        if sep != dialect.sep and sep in "".join(dialect.names):
            return f"{named('sep', sep)} if {spelled(sep)}s separate them"
    if len(dialect.names) == 1:
        return f"delete what stands above the names of the columns, or say with {named('sep')} what separates them"
    advice = f"a value that holds a {spelled(dialect.sep)} needs quotes" if too_many else "the line may be cut off"
    return f"{advice}, and {named('sep')} says what separates values"
