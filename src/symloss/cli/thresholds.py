"""The options that say where to draw the line between the labels, for the command ``predict``."""

from __future__ import annotations

from typing import Annotated

import typer

Threshold = Annotated[
    float | None,
    typer.Option("--threshold", help="Predict positive above this score.", metavar="VALUE", show_default="0"),
]
Share = Annotated[
    float | None,
    typer.Option("--share", help="Predict this share of the rows positive.", min=0, max=1, metavar="SHARE"),
]
TopK = Annotated[
    int | None, typer.Option("--top-k", help="Predict so many rows positive: the largest scores.", min=0, metavar="K")
]
CostFalsePositive = Annotated[
    float | None,
    typer.Option("--cost-false-positive", help="What it costs to predict a true negative positive.", show_default="1"),
]
CostFalseNegative = Annotated[
    float | None,
    typer.Option("--cost-false-negative", help="What it costs to predict a true positive negative.", show_default="1"),
]
