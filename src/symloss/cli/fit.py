"""The commands ``fit`` and ``predict``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from symloss.cli.application import Json
from symloss.cli.arguments import listed
from symloss.cli.reading import DATA, Decimal, FileEncoding, Sep, Sheet
from symloss.cli.terminal import fit_progress, new_console
from symloss.extras import require

_NEEDED = ("pandas", "matplotlib", "skops", "safetensors")


def fit(
    data: Annotated[Path, typer.Argument(help=DATA, metavar="DATA")],
    label: Annotated[str, typer.Option(help="The column of labels, which has two values.", metavar="COLUMN")],
    out: Annotated[Path, typer.Option(help="The folder to write the model into.", metavar="FOLDER")],
    risk: Annotated[
        str,
        typer.Option("--risk", "--objective", help="auc: rank rows well; ber: classify them well.", metavar="auc|ber"),
    ] = "auc",
    positive: Annotated[
        str | None, typer.Option(help="The positive label.", metavar="VALUE", show_default="the larger")
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(help="Columns to leave out; may be repeated.", metavar="COLUMN,...")
    ] = None,
    weight: Annotated[
        str | None, typer.Option(help="A column of weights; a row of weight k counts as k rows.", metavar="COLUMN")
    ] = None,
    pi: Annotated[float | None, typer.Option(help="Share of clean positives among the rows labeled positive.")] = None,
    pi_prime: Annotated[
        float | None, typer.Option(help="Share of clean positives among the rows labeled negative.")
    ] = None,
    max_categories: Annotated[int, typer.Option(help="How many distinct texts a column may have.", min=2)] = 50,
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.", min=0)] = 0,
    jobs: Annotated[int, typer.Option(help="How many fits run at a time; -1 means one per core.")] = 1,
    sep: Sep = None,
    decimal: Decimal = None,
    encoding: FileEncoding = None,
    sheet: Sheet = None,
    as_json: Json = False,
) -> None:
    """Fit a model to a table whose labels may be corrupted, and write it into a folder.

    Columns of text are one-hot encoded. Models are chosen on the labels given, without knowledge of the noise. If
    --pi and --pi-prime are given, the score on clean labels is estimated too.

    Example: [bold]symloss fit data.csv --label churn --risk auc --out model[/bold]
    """
    from symloss.estimators.persistence import check_replaceable
    from symloss.tabular import fit_table
    from symloss.tabular.figures import scores_png
    from symloss.tabular.files import ReadOptions, read
    from symloss.tabular.summary import print_summary, summary

    check_replaceable(out)
    if jobs == 0:
        raise ValueError("--jobs must be a number of fits, or -1 for one per core; got 0")
    dropped = [name for names in drop or () for name in listed(names)]
    require("all", "symloss fit needs pandas, matplotlib, skops and safetensors", *_NEEDED)  # now, not after minutes
    table = read(data, text=[label], options=ReadOptions(sep, decimal, encoding, sheet))
    with fit_progress() as progress:
        fitted = fit_table(
            table.frame, label, risk=risk, positive=positive, drop=dropped, weight=weight, pi=pi, pi_prime=pi_prime,
            max_categories=max_categories, seed=seed, jobs=jobs, progress=progress,
        )  # fmt: skip
    fitted = fitted._replace(notes=[*table.notes, *fitted.notes])
    written = fitted.model.save(out, scores_png(fitted))
    if as_json:
        print(json.dumps(summary(fitted) | {"files": [str(path) for path in written]}, indent=2))
        return
    print_summary(fitted, new_console())
    print(f"wrote {out}: {', '.join(path.name for path in written)}")
    print(f"to predict: symloss predict {out} DATA")


def predict(
    model: Annotated[Path, typer.Argument(help="A folder written by symloss fit.", metavar="MODEL")],
    data: Annotated[Path, typer.Argument(help=DATA, metavar="DATA")],
    out: Annotated[
        Path | None,
        typer.Option(help="A CSV or Parquet file to write.", metavar="FILE", show_default="standard output, as CSV"),
    ] = None,
    id_column: Annotated[
        str | None, typer.Option("--id", help="A column to keep beside the predictions.", metavar="COLUMN")
    ] = None,
    sep: Sep = None,
    decimal: Decimal = None,
    encoding: FileEncoding = None,
    sheet: Sheet = None,
) -> None:
    """Predict the score and the label of each row of a table; a score above 0 means the positive label.

    Example: [bold]symloss predict model new.csv --out predictions.csv[/bold]
    """
    from symloss.tabular import TableModel, write_table
    from symloss.tabular.files import ReadOptions, read
    from symloss.tabular.predicting import prediction_notes, predictions

    if out is not None and out.resolve() == data.resolve():
        raise ValueError(f"--out {out} is the data; it is not overwritten")
    fitted = TableModel.load(model)
    text = [*fitted.encoding.categorical, *([id_column] if id_column else [])]
    frame, notes, _ = read(data, text=text, options=ReadOptions(sep, decimal, encoding, sheet))
    predicted = predictions(fitted, frame, id_column)
    if out is None:
        predicted.table.to_csv(sys.stdout, index=False, lineterminator="\n")
    else:
        write_table(predicted.table, out)
    for note in [*notes, *prediction_notes(fitted, frame, predicted, id_column)]:
        print(note, file=sys.stderr)
    if out is not None:
        print(f"wrote {out}", file=sys.stderr)
