"""Columns of a table as features: what is missing, a number, a date or a category, in files and in data frames."""

from symloss.columns.encoding import (
    Encoded,
    Encoding,
    as_pandas,
    as_text,
    check_range,
    column_names,
    has_only_numbers,
    library_of,
)
from symloss.columns.values import MISSING, NO_NUMBER, Categories, Form, Numbers, are_codes, is_number

__all__ = [
    "MISSING",
    "NO_NUMBER",
    "Categories",
    "Encoded",
    "Encoding",
    "Form",
    "Numbers",
    "are_codes",
    "as_pandas",
    "as_text",
    "check_range",
    "column_names",
    "has_only_numbers",
    "is_number",
    "library_of",
]
