"""The command ``audit``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from symloss.cli.application import Json
from symloss.cli.arguments import command_line, listed
from symloss.cli.reading import DATA, Decimal, FileEncoding, Sep, Sheet
from symloss.cli.terminal import fit_progress, new_console, plain_table
from symloss.extras import require

_SHOWN = 10


def audit(
    data: Annotated[Path, typer.Argument(help=DATA, metavar="DATA")],
    label: Annotated[str, typer.Option(help="The column of labels, which has two values.", metavar="COLUMN")],
    out: Annotated[Path, typer.Option(help="The folder to write into.", metavar="FOLDER")] = Path("audit"),
    positive: Annotated[
        str | None, typer.Option(help="The positive label.", metavar="VALUE", show_default="the larger")
    ] = None,
    ids: Annotated[
        list[str] | None,
        typer.Option("--id", help="Columns that tell rows apart; they are not learned from.", metavar="COLUMN,..."),
    ] = None,
    unlabeled: Annotated[
        str | None,
        typer.Option(
            help="What rows without a label are: unlabeled data beside positive rows.",
            metavar="positive-unlabeled",
            show_default="left out",
        ),
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
    max_categories: Annotated[
        int, typer.Option(help="How many distinct texts of a column are one-hot encoded; more are hashed.", min=2)
    ] = 50,
    time_limit: Annotated[
        float | None,
        typer.Option(help="After so many seconds, no more candidates are tried.", metavar="SECONDS"),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.", min=0)] = 0,
    jobs: Annotated[int, typer.Option(help="How many fits run at a time; -1 means one per core.")] = 1,
    sep: Sep = None,
    decimal: Decimal = None,
    encoding: FileEncoding = None,
    sheet: Sheet = None,
    as_json: Json = False,
) -> None:
    """Say how many labels of a table seem wrong, and which: the least credible first, in labels.csv.

    Models are fitted to score every row by some that have not seen its label, but none is kept.

    Example: [bold]symloss audit data.csv --label churn --id customer[/bold]
    """
    from symloss.estimators.encoding import as_text
    from symloss.tabular import fit_table
    from symloss.tabular.documents import check_audit_folder, check_data_apart, noise_summary, write_audit
    from symloss.tabular.files import ReadOptions, read
    from symloss.tabular.labels import check_ids, label_table
    from symloss.tabular.page import About

    check_data_apart(data, out)
    check_audit_folder(out)
    if jobs == 0:
        raise ValueError("--jobs must be a number of fits, or -1 for one per core; got 0")
    require("all", "symloss audit needs pandas", "pandas")
    kept, dropped = ([name for names in given or () for name in listed(names)] for given in (ids, drop))
    frame, read_notes, _ = read(data, text=[label, *kept], options=ReadOptions(sep, decimal, encoding, sheet))
    check_ids(frame, kept)
    with fit_progress() as progress:
        fitted = fit_table(
            frame, label, positive=positive, unlabeled=unlabeled, drop=[*kept, *dropped], weight=weight, pi=pi,
            pi_prime=pi_prime, max_categories=max_categories, time_limit=time_limit, seed=seed, jobs=jobs,
            progress=progress, notes=read_notes,
        )  # fmt: skip
    written = write_audit(fitted, frame, out, About(data.name, command_line(), kept))
    found, worst = noise_summary(fitted), label_table(fitted, frame, kept).head(_SHOWN)
    if as_json:
        print(json.dumps(found | {"files": [str(path) for path in written]}, indent=2))
        return
    for note in fitted.notes:
        print(note)
    for sentence in found["words"]:
        print(sentence)
    if found["suspicious"] is not None:
        which = f"unlabeled rows are more likely {found['positive']!r} than not"
        print(f"{found['suspicious']} {which if fitted.unlabeled else 'labels are more likely wrong than right'}")
    print(f"the {len(worst)} {'rows to look at first' if fitted.unlabeled else 'least credible labels'}:")
    columns = ["row", *kept, "given_label", "suggested_label", "label_quality"]
    table = plain_table(*(name.replace("_", " ") if name not in kept else name for name in columns))
    for line in worst.to_dict(orient="records"):
        table.add_row(*(f"{line[name]:.2f}" if name == "label_quality" else as_text(line[name]) for name in columns))
    new_console().print(table, markup=False)
    print(f"wrote {out}: {', '.join(path.name for path in written)}")
