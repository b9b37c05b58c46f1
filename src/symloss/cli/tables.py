"""The commands about tables: ``fit``, ``predict``, ``audit`` and ``page``."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from symloss.cli import options as of
from symloss.cli.application import fit_progress, new_console, plain_table, warn
from symloss.extras import require

if TYPE_CHECKING:
    from symloss.tabular.documents import Documents

_SHOWN = 10  # labels that an audit prints


@of.with_options(of.Fitting, of.WrongShares, of.Reading)
def fit(
    data: of.Data,
    label: of.Label,
    out: Annotated[Path, of.option("The folder to write the model into.", "FOLDER")],
    risk: Annotated[str, of.option("auc: rank rows well; ber: classify them well.", "auc|ber")] = "auc",
    as_json: of.Json = False,
    **options: Any,
) -> None:
    """Fit a model to a table whose labels may be corrupted, and write it into a folder.

    The folder also gets report.html, a page on labels, ranking, columns and thresholds, and labels.csv, the rows of the
    table, beginning with those whose label is most probably wrong.

    Texts, dates and amounts such as $1,000.52 become numbers, and what was done is printed. Models are chosen on the
    labels given, without knowledge of the noise. If you know how many labels are wrong, say so with --wrong-positive
    and --wrong-negative, here or later: symloss page writes the page anew.

    Example: `symloss fit data.csv --label churn --risk auc --out model`
    """
    from symloss.tabular.evaluation import evaluate
    from symloss.tabular.summary import print_summary, summary

    model = _made(data, label, out, as_json, options, risk=risk).model
    written, found = sorted(out.iterdir()), evaluate(model)
    if as_json:
        print(json.dumps(summary(model, found) | {"files": [str(path) for path in written]}, indent=2))
        return
    print_summary(model, found, new_console())
    print(f"wrote {out}: {', '.join(path.name for path in written)}")
    if out / "report.html" in written:
        print(f"to look at: {out / 'report.html'}")
    print(f"to predict: symloss predict {shlex.quote(str(out))} DATA")


@of.with_options(of.Threshold, of.Reading)
def predict(
    model: of.Model,
    data: of.Data,
    out: Annotated[Path | None, of.option("A CSV or Parquet file to write.", "FILE", "standard output")] = None,
    ids: Annotated[of.Names, of.option("Columns to keep beside the predictions.", "COLUMN,...", True, "--id")] = None,
    **options: Any,
) -> None:
    """Predict the score, the label and the probability of each row of a table, in the order of its rows.

    A score above 0 means the positive label. A file may be larger than memory. The column
    clean_probability is that of the true label, by the shares of wrong labels that were given or estimated.

    Another threshold than 0 can be given itself, as a share or a number of the rows of this table, or by what the two
    kinds of errors cost. The last needs the rates of wrong labels: given to the fit, or estimated by it.

    Example: `symloss predict model new.csv --out predictions.csv`
    """
    from symloss.files import check_not_read, check_outside
    from symloss.tabular import load
    from symloss.tabular.dialect import ReadOptions
    from symloss.tabular.predicting import predict_file, scores_of_file
    from symloss.tabular.sources import open_source
    from symloss.tabular.thresholds import Wanted

    wanted = Wanted(**of.taken(options, of.Threshold))
    wanted.check()
    if out is not None:
        check_not_read(out, [Path("/dev/stdin") if str(data) == "-" else data], "the data")
        check_outside(out, model, "the model")
        if not out.absolute().parent.is_dir():
            raise ValueError(f"{out} cannot be written: there is no folder {out.parent}")
    fitted = load(model)
    read = ReadOptions(**options, usual_decimal=fitted.decimal)
    with tempfile.TemporaryDirectory() as folder, open_source(data) as source:  # a share of its rows is read twice
        chosen, reason = wanted.find(fitted, lambda: scores_of_file(fitted, source, options=read))
        path = Path(folder) / "predictions.csv" if out is None else out  # standard output gets all of them or none
        notes = predict_file(fitted, source, path, of.all_listed(ids), chosen, options=read)
        if out is None:
            with path.open(encoding="utf-8", newline="") as written:
                shutil.copyfileobj(written, sys.stdout)
    for note in [*notes, *reason, *([] if out is None else [f"wrote {out}"])]:
        print(note, file=sys.stderr)


@of.with_options(of.Fitting, of.WrongShares, of.Reading)
def audit(
    data: of.Data,
    label: of.Label,
    out: Annotated[Path, of.option("The folder to write into.", "FOLDER")] = Path("audit"),
    as_json: of.Json = False,
    **options: Any,
) -> None:
    """Say how many labels of a table seem wrong, and which: the most suspicious first, in labels.csv.

    Models are fitted to score every row by some that have not seen its label, but none is kept.

    Example: `symloss audit data.csv --label churn --id customer`
    """
    from symloss.columns import as_text
    from symloss.tabular.documents import noise_summary
    from symloss.tabular.evaluation import percent
    from symloss.tabular.labels import label_table

    made = _made(data, label, out, as_json, options, audit=True)
    found, ids, written = noise_summary(made.model), made.about.ids, sorted(out.iterdir())
    if as_json:
        print(json.dumps(found | {"files": [str(path) for path in written]}, indent=2))
        return
    for sentence in found["words"]:
        print(sentence)
    unlabeled = made.model.rows is not None and made.model.rows.unlabeled
    likely = f"rows look more likely {found['positive']!r} than not" if unlabeled else "labels look wrong"
    print(f"{found['suspicious']} {likely}. {found['when_to_stop']}")
    own = {"row": "row", "given_label": "given", "suggested_label": "suggested", "wrong_probability": "wrong"}
    table = plain_table(*own.values(), *ids)
    for line in label_table(made.model, made.frame, ids).head(_SHOWN).to_dict(orient="records"):
        line["wrong_probability"] = percent(line["wrong_probability"])
        table.add_row(*(as_text(line[name]) for name in (*own, *ids)))
    new_console().print(table, markup=False)
    print(f"wrote {out}: {', '.join(path.name for path in written)}")


@of.with_options(of.WrongShares, of.Costs)
def page(model: of.Model, **options: Any) -> None:
    """Write the page and the labels of a model anew, with shares of wrong labels or costs that you know now.

    Nothing is fitted. Predictions of the model go by the new shares, too. What stands in the column checked_label of
    labels.csv is kept.

    Example: `symloss page model --wrong-positive 0.2 --wrong-negative 0.1 --cost-false-negative 5`
    """
    from symloss.tabular.documents import Documents
    from symloss.tabular.evaluation import evaluate, with_rates
    from symloss.tabular.labels import noise_in_words
    from symloss.tabular.thresholds import Wanted, cost_threshold

    pi, pi_prime = of.rates(options).values()
    wanted = Wanted(**options)
    wanted.check()
    require("all", "symloss page needs pandas, Jinja2 and safetensors", "pandas", "jinja2", "safetensors")
    made = Documents.read(model)
    if pi is not None and pi_prime is not None:
        made = made._replace(model=with_rates(made.model, pi, pi_prime))
    if wanted.costs is not None:
        cost_threshold(made.model, *wanted.costs)  # raises if the rates are not known
    if pi is not None:
        made.model.save(model)
    for trouble in made.write(model, wanted.costs):
        warn(trouble)
    print(noise_in_words(evaluate(made.model), made.model.labels)[0])
    print(f"to look at: {model / 'report.html'}")


def _made(
    data: Path, label: str, out: Path, quiet: bool, options: dict[str, Any], risk: str = "auc", audit: bool = False
) -> Documents:
    """Fit a model to the table in a file, and write it and what it is good for into a folder; an audit keeps no model.

    What is found in the table is printed at once, unless it is to be quiet.
    """
    from symloss.tabular import fit
    from symloss.tabular.dialect import ReadOptions
    from symloss.tabular.documents import Documents, check_data_apart, check_folder
    from symloss.tabular.model import DOCUMENTS, MODEL
    from symloss.tabular.page import About
    from symloss.tabular.reading import check_columns, labeled_table

    overwrite, seed, jobs, *names = (options.pop(name) for name in ("overwrite", "seed", "jobs", "ids", "drop"))
    ids, dropped = map(of.all_listed, names)
    options |= of.rates(options)
    check_data_apart(data, out)
    files, what = (DOCUMENTS, "an audit of labels") if audit else ([MODEL, *DOCUMENTS], "a model")
    check_folder(out, files, what, overwrite)
    require("all", "tables need pandas, Jinja2, skops and safetensors", "pandas", "jinja2", "skops", "safetensors")
    if jobs == 0:
        raise ValueError("--jobs must be a number of fits, or -1 for one per core; got 0")
    read = labeled_table(data, label, ids, ReadOptions(**of.taken(options, of.Reading)))
    check_columns(ids, read.frame, "to keep")

    def tell(note: str) -> None:
        if not quiet:
            print(note, flush=True)

    for note in read.notes:
        tell(note)
    with fit_progress() as progress:
        model = fit(
            read, label, risk=risk, drop=[*ids, *dropped], random_state=seed, n_jobs=jobs, progress=progress,
            tell=tell, **options,
        )  # fmt: skip
    if not audit:
        model.save(out)  # first of all: whatever happens to the page, the model is not lost
    made = Documents.of(model, read.frame, About(data.name, of.command_line(), ids, options["weight"]), audit)
    for trouble in made.write(out):
        warn(trouble)
    return made
