"""Columns of a table as features: what is missing, a number, a date or a category, in files and in data frames."""

from symloss.columns.encoding import Column, Encoded, Encoding, as_text
from symloss.columns.frames import check_collected, column_names, has_only_numbers, library_of

__all__ = [
    "Column",
    "Encoded",
    "Encoding",
    "as_text",
    "check_collected",
    "column_names",
    "has_only_numbers",
    "library_of",
]
