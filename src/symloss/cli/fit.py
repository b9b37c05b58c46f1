"""The commands ``fit`` and ``predict``."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from symloss.cli.application import Json
from symloss.cli.arguments import command_line, listed
from symloss.cli.fitting import (
    Drop,
    Ids,
    Jobs,
    Label,
    MaxCategories,
    Pi,
    PiPrime,
    Positive,
    Seed,
    TimeLimit,
    Unlabeled,
    Weight,
    fit_file,
)
from symloss.cli.reading import DATA, Decimal, FileEncoding, Sep, Sheet
from symloss.cli.terminal import new_console
from symloss.cli.thresholds import CostFalseNegative, CostFalsePositive, Share, Threshold, TopK
from symloss.extras import require

_NEEDED = ("pandas", "jinja2", "skops", "safetensors")


def fit(
    data: Annotated[Path, typer.Argument(help=DATA, metavar="DATA")],
    label: Label,
    out: Annotated[Path, typer.Option(help="The folder to write the model into.", metavar="FOLDER")],
    ids: Ids = None,
    risk: Annotated[
        str,
        typer.Option("--risk", "--objective", help="auc: rank rows well; ber: classify them well.", metavar="auc|ber"),
    ] = "auc",
    positive: Positive = None,
    unlabeled: Unlabeled = None,
    drop: Drop = None,
    weight: Weight = None,
    pi: Pi = None,
    pi_prime: PiPrime = None,
    max_categories: MaxCategories = 50,
    time_limit: TimeLimit = None,
    seed: Seed = 0,
    jobs: Jobs = 1,
    sep: Sep = None,
    decimal: Decimal = None,
    encoding: FileEncoding = None,
    sheet: Sheet = None,
    as_json: Json = False,
) -> None:
    """Fit a model to a table whose labels may be corrupted, and write it into a folder.

    The folder also gets report.html, a page on labels, ranking, columns and thresholds, and labels.csv, all rows with
    the quality of their labels, the worst first.

    Texts, dates and amounts such as $1,000.52 become numbers, and what was done is printed. Models are chosen on the
    labels given, without knowledge of the noise. If --pi and --pi-prime are given, the score on clean labels is
    estimated too.

    Example: [bold]symloss fit data.csv --label churn --risk auc --out model[/bold]
    """
    from symloss.tabular.documents import add_documents, check_data_apart, check_writable
    from symloss.tabular.model import check_replaceable
    from symloss.tabular.page import About
    from symloss.tabular.reading import ReadOptions
    from symloss.tabular.summary import print_summary, summary

    check_data_apart(data, out)
    check_replaceable(out)
    check_writable(out)
    require("all", "symloss fit needs pandas, Jinja2, skops and safetensors", *_NEEDED)  # now, not after minutes
    fitted, frame, kept = fit_file(
        data, ReadOptions(sep, decimal, encoding, sheet), label, ids, drop, jobs, as_json, risk=risk, positive=positive,
        unlabeled=unlabeled, weight=weight, pi=pi, pi_prime=pi_prime, max_categories=max_categories,
        time_limit=time_limit, seed=seed,
    )  # fmt: skip
    fitted.model.save(out)  # first of all: whatever happens to the page, the model is not lost
    for trouble in add_documents(fitted, frame, out, About(data.name, command_line(), kept)):
        print("symloss: warning:", " ".join(trouble.split()), file=sys.stderr)
    written = sorted(out.iterdir())
    if as_json:
        print(json.dumps(summary(fitted) | {"files": [str(path) for path in written]}, indent=2))
        return
    print_summary(fitted, new_console())
    print(f"wrote {out}: {', '.join(path.name for path in written)}")
    if out / "report.html" in written:
        print(f"to look at: {out / 'report.html'}")
    print(f"to predict: symloss predict {shlex.quote(str(out))} DATA")


def predict(
    model: Annotated[Path, typer.Argument(help="A folder written by symloss fit.", metavar="MODEL")],
    data: Annotated[Path, typer.Argument(help=DATA, metavar="DATA")],
    out: Annotated[
        Path | None,
        typer.Option(help="A CSV or Parquet file to write.", metavar="FILE", show_default="standard output, as CSV"),
    ] = None,
    id_columns: Annotated[
        list[str] | None,
        typer.Option("--id", help="Columns to keep beside the predictions; may be repeated.", metavar="COLUMN,..."),
    ] = None,
    threshold: Threshold = None,
    share: Share = None,
    top_k: TopK = None,
    cost_false_positive: CostFalsePositive = None,
    cost_false_negative: CostFalseNegative = None,
    sep: Sep = None,
    decimal: Decimal = None,
    encoding: FileEncoding = None,
    sheet: Sheet = None,
) -> None:
    """Predict the score, the label and the probability of each row of a table, in the order of its rows.

    A score above 0 means the positive label. A file may be larger than memory. The column of probabilities is
    clean_probability (of the true label) if the rates of the noise are known, else given_probability (of the label
    that the row would be given).

    Another threshold than 0 can be given itself, as a share or a number of the rows of this table, or by what the two
    kinds of errors cost. The last needs the rates of wrong labels: given to the fit, or estimated by it.

    Example: [bold]symloss predict model new.csv --out predictions.csv[/bold]
    """
    from symloss.files import check_not_read, check_outside
    from symloss.tabular import load
    from symloss.tabular.predicting import predict_file, scores_of_file
    from symloss.tabular.reading import ReadOptions, open_source
    from symloss.tabular.thresholds import Asked, chosen_threshold

    asked = Asked(threshold, share, top_k, cost_false_positive, cost_false_negative)
    asked.check()
    if out is not None:
        check_not_read(out, [Path("/dev/stdin") if str(data) == "-" else data], "the data")
        check_outside(out, model, "the model")
    keep = list(dict.fromkeys(name for names in id_columns or () for name in listed(names)))
    fitted = load(model)
    options = ReadOptions(sep, decimal, encoding, sheet, usual_decimal=fitted.decimal)
    with tempfile.TemporaryDirectory() as folder, open_source(data) as source:  # a share of its rows is read twice
        chosen, reason = chosen_threshold(
            asked, fitted.estimator, lambda: scores_of_file(fitted, source, options=options)
        )
        path = Path(folder) / "predictions.csv" if out is None else out  # standard output gets all of them or none
        notes = predict_file(fitted, source, path, keep, chosen, options=options)
        if out is None:
            with path.open(encoding="utf-8", newline="") as written:
                shutil.copyfileobj(written, sys.stdout)
    for note in [*notes, *reason, *([] if out is None else [f"wrote {out}"])]:
        print(note, file=sys.stderr)
