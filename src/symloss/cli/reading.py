"""The options that tell how a file of data is written."""

from __future__ import annotations

from typing import Annotated

import typer

DATA = "A CSV, Parquet or Excel file, possibly compressed; - is the standard input."

Sep = Annotated[
    str | None,
    typer.Option(
        "--sep", help="What separates values: a sign, or tab, semicolon, ...", metavar="SIGN", show_default="found"
    ),
]
Decimal = Annotated[
    str | None, typer.Option("--decimal", help="The decimal mark of numbers.", metavar=".|,", show_default="found")
]
FileEncoding = Annotated[
    str | None,
    typer.Option("--encoding", help="The encoding of text, such as cp1252.", metavar="NAME", show_default="found"),
]
Sheet = Annotated[
    str | None,
    typer.Option("--sheet", help="The sheet of an Excel file.", metavar="NAME|NUMBER", show_default="the first"),
]
