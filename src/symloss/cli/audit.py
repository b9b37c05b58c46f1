"""The command ``audit``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from symloss.cli.application import Json
from symloss.cli.arguments import command_line
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
from symloss.cli.terminal import new_console, plain_table
from symloss.extras import require

_SHOWN = 10


def audit(
    data: Annotated[Path, typer.Argument(help=DATA, metavar="DATA")],
    label: Label,
    out: Annotated[Path, typer.Option(help="The folder to write into.", metavar="FOLDER")] = Path("audit"),
    positive: Positive = None,
    ids: Ids = None,
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
    """Say how many labels of a table seem wrong, and which: the least credible first, in labels.csv.

    Models are fitted to score every row by some that have not seen its label, but none is kept.

    Example: [bold]symloss audit data.csv --label churn --id customer[/bold]
    """
    from symloss.columns import as_text
    from symloss.tabular.documents import (
        check_audit_folder,
        check_data_apart,
        check_writable,
        noise_summary,
        write_audit,
    )
    from symloss.tabular.labels import label_table
    from symloss.tabular.page import About
    from symloss.tabular.reading import ReadOptions

    check_data_apart(data, out)
    check_audit_folder(out)
    check_writable(out)
    require("all", "symloss audit needs pandas", "pandas")
    fitted, frame, kept = fit_file(
        data, ReadOptions(sep, decimal, encoding, sheet), label, ids, drop, jobs, as_json, positive=positive,
        unlabeled=unlabeled, weight=weight, pi=pi, pi_prime=pi_prime, max_categories=max_categories,
        time_limit=time_limit, seed=seed,
    )  # fmt: skip
    written = write_audit(fitted, frame, out, About(data.name, command_line(), kept))
    found, worst = noise_summary(fitted), label_table(fitted, frame, kept).head(_SHOWN)
    if as_json:
        print(json.dumps(found | {"files": [str(path) for path in written]}, indent=2))
        return
    for sentence in found["words"]:
        print(sentence)
    if found["suspicious"] is not None:
        which = f"unlabeled rows are more likely {found['positive']!r} than not"
        print(f"{found['suspicious']} {which if fitted.unlabeled else 'labels are more likely wrong than right'}")
    ranks = "" if fitted.model.rates else " (their quality ranks them, and is no probability)"
    print(f"the {len(worst)} {'rows to look at first' if fitted.unlabeled else 'least credible labels'}{ranks}:")
    suggested = [] if fitted.model.rates is None else ["suggested_label"]
    columns = ["row", *kept, "given_label", *suggested, "label_quality"]
    table = plain_table(*(name.replace("_", " ") if name not in kept else name for name in columns))
    for line in worst.to_dict(orient="records"):
        table.add_row(*(f"{line[name]:.2f}" if name == "label_quality" else as_text(line[name]) for name in columns))
    new_console().print(table, markup=False)
    print(f"wrote {out}: {', '.join(path.name for path in written)}")
