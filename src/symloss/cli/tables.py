"""The commands about tables: ``fit``, ``predict``, ``audit``, ``review`` and ``page``."""

from __future__ import annotations

import shlex
import shutil
import sys
import tempfile
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from symloss.cli import application as of
from symloss.messages import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pandas import DataFrame

    from symloss.tabular.documents import Documents
    from symloss.tabular.model import TableModel
    from symloss.tabular.reading import Read

_SHOWN = 10  # labels that an audit prints


@of.with_options(of.Fitting, of.Writing, of.WrongShares, of.Reading)
def fit(
    data: of.Data,
    label: of.Label,
    out: Annotated[Path, of.option("The folder to write the model into.", "FOLDER")],
    risk: Annotated[str, of.option("auc: rank rows well; ber: classify them well.", "auc|ber")] = "auc",
    **options: Any,
) -> None:
    """Fit a model to a table of which some labels are wrong, and write it into a folder.

    The folder also gets report.html, a page on labels, ranking, columns and thresholds, and labels.csv, the rows of the
    table, beginning with those whose label is most probably wrong.

    Texts, dates and amounts such as $1,000.52 become numbers, and what was done is printed. Models are chosen on the
    labels given, without knowledge of the noise. If you know how many labels are wrong, say so with --wrong-positive
    and --wrong-negative, here or later: symloss page writes the page anew.

    Example: `symloss fit data.csv --label churn --risk auc --out model`
    """
    from symloss.tabular.documents import print_summary
    from symloss.tabular.evaluation import evaluate

    model = _made(data, label, out, options, risk=risk).model
    print_summary(model, evaluate(model), of.new_console())
    _print_written(data, model, out)
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
    from symloss.tabular.predicting import Wanted, predict_file, scores_of_file
    from symloss.tabular.reading import ReadOptions, open_source

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


@of.with_options(of.Fitting, of.Writing, of.WrongShares, of.Reading)
def audit(
    data: of.Data,
    label: of.Label,
    out: Annotated[Path, of.option("The folder to write into.", "FOLDER")] = Path("audit"),
    each_class: Annotated[
        bool, of.option("Labels of several classes: each against the rest.", "", True, "--each-class")
    ] = False,
    **options: Any,
) -> None:
    """Say how many labels of a table seem wrong, and which: the most suspicious first, in labels.csv.

    The folder is that of symloss fit, but for what its page says of columns: it goes into symloss review. With
    --each-class, the column may have several labels, and only labels.csv and noise.json are written.

    Example: `symloss audit data.csv --label churn --id customer`
    """
    from symloss.tabular.documents import noise_summary
    from symloss.tabular.evaluation import label_table

    if each_class:
        _audit_classes(data, label, out, options)
        return
    made = _made(data, label, out, options, audit=True)
    found, unlabeled = noise_summary(made.model), made.model.rows is not None and made.model.rows.unlabeled
    for sentence in found["words"]:
        print(sentence)
    likely = f"rows look more likely {found['positive']!r} than not" if unlabeled else "labels look wrong"
    print(f"{found['suspicious'] or 'No'} {likely}. {found['when_to_stop']}")
    _print_first(label_table(made.model, made.frame, made.about.ids), made.about.ids)
    _print_written(data, made.model, out)


@of.with_options(of.Writing, of.Reading)
def review(
    data: of.Data,
    checked: Annotated[Path, typer.Argument(help="labels.csv of that model, or some of its rows.", metavar="CHECKED")],
    model: Annotated[Path, of.option("The folder that symloss fit or audit wrote.", "MODEL")],
    out: Annotated[Path, of.option("The folder to write the new model into.", "FOLDER")],
    **options: Any,
) -> None:
    """Take labels that somebody has checked: correct them, say how many others are wrong, and fit the model anew.

    First `symloss fit data.csv --label churn --out model`, or audit. Second, write the true labels into the column
    checked_label of model/labels.csv, from the top down: 50 to 100 are enough to begin with. Third, review them, as
    below. The new folder has what symloss fit writes, and corrected.csv, the table with corrected labels.

    Example: `symloss review data.csv model/labels.csv --model model --out reviewed`
    """
    from symloss.tabular import load
    from symloss.tabular import review as review_table
    from symloss.tabular.documents import About, Documents, check_data_apart, check_folder, lack_of_time, summary
    from symloss.tabular.evaluation import evaluate, noise_in_words, review_in_words, score_in_words, when_to_stop
    from symloss.tabular.model import CORRECTED, DOCUMENTS, MODEL
    from symloss.tabular.predicting import whole_table
    from symloss.tabular.reading import ReadOptions

    for path in (data, checked, model / MODEL):
        check_data_apart(path, out)
    check_folder(out, [MODEL, *DOCUMENTS], "a model", options["overwrite"])
    _check_packages()
    read, old, ids = ReadOptions(**of.taken(options, of.Reading)), load(model), Documents.ids(model)
    with of.fit_progress() as progress:
        found = review_table(data, checked, old, n_jobs=_jobs(options), progress=progress, options=read)
    found.model.save(out)
    made = Documents.of(found.model, found.frame, About(data.name, of.command_line(), ids))
    for trouble in made.write(out):
        of.warn(trouble)
    with whole_table(out / CORRECTED) as write:
        write(found.table)
    said = review_in_words(found.model.review, found.model.score_name) if found.model.review else []
    told, name = evaluate(found.model), found.model.score_name
    said.append("{} on true labels: {}. {}".format(name, *score_in_words(told, name)))
    said += [*noise_in_words(told, found.model.labels), when_to_stop(found.model)]
    for sentence in [*said, *lack_of_time(summary(found.model))]:
        print(sentence)
    _print_written(out / CORRECTED, found.model, out)


@of.with_options(of.WrongShares, of.Costs)
def page(model: of.Model, **options: Any) -> None:
    """Write the page and the labels of a model anew, with shares of wrong labels or costs that you know now.

    Nothing is fitted. Predictions of the model go by the new shares, too. What stands in the column checked_label of
    labels.csv is kept.

    Example: `symloss page model --wrong-positive 0.2 --wrong-negative 0.1 --cost-false-negative 5`
    """
    from symloss.tabular.documents import Documents
    from symloss.tabular.evaluation import evaluate, noise_in_words, with_rates
    from symloss.tabular.predicting import Wanted, cost_threshold

    pi, pi_prime = of.rates(options).values()
    wanted = Wanted(**options)
    wanted.check()
    _check_packages()
    made = Documents.read(model)
    if pi is not None and pi_prime is not None:
        made = made._replace(model=with_rates(made.model, pi, pi_prime))
    if wanted.costs is not None:
        cost_threshold(made.model, *wanted.costs)  # raises if the rates are not known
    if pi is not None:
        made.model.save(model)
    for trouble in made.write(model, wanted.costs, keep=True):
        of.warn(trouble)
    print(noise_in_words(evaluate(made.model), made.model.labels)[0])
    print(f"to look at: {model / 'report.html'}")


@of.with_options(of.Reading)
def annotators(
    answers: of.Data,
    item: Annotated[str, of.option("The column that says which row an answer is about.", "COLUMN")],
    out: Annotated[Path, of.option("The CSV or Parquet file to write.", "FILE")],
    annotator: Annotated[
        str | None, of.option("The column that says whose answer it is.", "COLUMN", "each column is an annotator")
    ] = None,
    label: Annotated[str, of.option("The column of answers; also the column of labels to write.", "COLUMN")] = "label",
    abstain: Annotated[str | None, of.option("What means no answer, such as -1.", "VALUE", "empty cells")] = None,
    data: Annotated[Path | None, of.option("A table with that column, to add labels to.", "FILE")] = None,
    positive: Annotated[str | None, of.option("The positive label.", "VALUE", "the larger")] = None,
    **options: Any,
) -> None:
    """Make one label and weight for each row of what several people or rules have said of it.

    The answers stand in one line each, with --annotator, or in one column for each annotator. Nobody has to have
    answered everything, and rules may say one label or nothing. Each annotator is believed as often as it is right,
    which is found out from how they agree (Dawid and Skene, 1979). --sep, --encoding and so on are of the answers.

    Example: `symloss annotators answers.csv --item question --annotator worker --label answer --out labels.csv`
    """
    from symloss.corruption import from_annotators
    from symloss.files import check_not_read
    from symloss.tabular.evaluation import percent
    from symloss.tabular.given_labels import read_labels
    from symloss.tabular.predicting import whole_table
    from symloss.tabular.reading import ReadOptions, check_columns, read_written

    require("tables", "tables need pandas and pyarrow", "pandas", "pyarrow")
    import pandas as pd

    check_not_read(out, [answers, *([data] if data else [])], "the data")
    frame, names = read_written(answers, ReadOptions(**options)), [item, *([annotator, label] if annotator else [])]
    check_columns(names, frame, "of the answers")
    if missing := int(frame[names[:2]].isna().any(axis=1).sum()):
        print(f"left out, as they have no {' or no '.join(names[:2])}: {missing} of {len(frame)} rows of the answers")
        frame = frame.dropna(subset=names[:2])
    if annotator is None:
        annotator = "annotator"
        if label in frame:
            raise ValueError(f"an annotator has the name {label!r}, too: name the column of labels with --label")
        frame = frame.melt(id_vars=[item], var_name=annotator, value_name=label)
    given = read_labels(frame[label].mask(frame[label] == abstain), positive)
    used = frame.iloc[given.rows]
    found = from_annotators(given.positive, items=used[item], annotators=used[annotator])
    labels = [given.values[int(y > 0)] for y in found.y]
    table = pd.DataFrame({item: found.items, label: labels, "weight": found.sample_weight.round(6)})
    table["probability"] = found.posterior.round(6)
    if data is not None:
        beside = read_written(data, ReadOptions())
        check_columns([item], beside, "of the table")
        if twice := [name for name in table if name != item and name in beside]:
            raise ValueError(f"{data} has a column {twice[0]!r}, which is to be written: rename it")
        table, rows = beside.merge(table, on=item), len(beside)
        if table.empty:
            raise ValueError(f"no row of {data} has an answer: {item} has no value that it has in {answers}")
        print(f"{len(table)} of the {rows} rows of {data} have an answer, and are written")
    with whole_table(out) as write:
        write(table)
    wrong = of.plain_table("annotator", "answers", f"wrong about {given.values[1]!r}", f"about {given.values[0]!r}")
    counts = used[annotator].value_counts()
    for name, rates in list(zip(found.annotators, found.rates, strict=True))[:_SHOWN]:
        wrong.add_row(str(name), str(counts[name]), percent(rates.positive), percent(rates.negative))
    of.new_console().print(wrong, markup=False)
    more = f" (the first {_SHOWN} are above)" if len(found.rates) > _SHOWN else ""
    print(
        f"{len(found.items)} rows by {len(found.rates)} annotators{more}; {percent(found.prior)} are "
        f"{given.values[1]!r}. If all of them find the same rows hard, more labels are wrong than the shares below say."
    )
    shares = f"--wrong-positive {1 - found.pi:.3f} --wrong-negative {found.pi_prime:.3f}"
    print(f"wrote {out}; to fit: --label {label} --weight weight --id {item},probability {shares}")


def _audit_classes(data: Path, label: str, out: Path, options: dict[str, Any]) -> None:
    from symloss.tabular.documents import write_labels
    from symloss.tabular.evaluation import percent, wrong_in_blocks
    from symloss.tabular.fitting import audit_classes
    from symloss.tabular.model import LABELS, NOISE

    for name in ("positive", "unlabeled", *get_type_hints(of.WrongShares)):
        if options[name] is not None:
            raise ValueError(f"--{name.replace('_', '-')} is for two labels: it cannot be used with --each-class")
    read, ids = _opened(data, label, out, [LABELS, NOISE], "an audit of labels", options)
    with of.fit_progress() as progress:
        table, found = audit_classes(read, label, ids, print, progress=progress, **options)
    write_labels(out, table, {name: asdict(noise) for name, (_, noise) in found.items()})
    shares = of.plain_table("label", "rows", "seem wrong", "90% interval")
    counts = {name: rows for name, (rows, _) in found.items()} | {"all": len(table)}
    wrong = {name: (1 - each.pi, 1 - each.pi_high, 1 - each.pi_low) for name, (_, each) in found.items()}
    parts = [[counts[name] / len(table) * share for share in each] for name, each in wrong.items()]
    for name, (value, low, high) in (wrong | {"all": tuple(map(sum, zip(*parts, strict=True)))}).items():
        shares.add_row(name, f"{counts[name]:,}", percent(value), f"{percent(low)} to {percent(high)}")
    of.new_console().print(shares, markup=False)
    print(wrong_in_blocks(table["wrong_probability"].to_numpy()))
    _print_first(table, ids)
    print(f"wrote {out / LABELS}")


def _print_first(listed: DataFrame, ids: Sequence[str]) -> None:
    """Print the most suspicious rows of a list of labels."""
    from symloss.columns import as_text
    from symloss.tabular.evaluation import percent

    own = {"row": "row", "given_label": "given", "suggested_label": "suggested", "wrong_probability": "wrong"}
    table = of.plain_table(*own.values(), *ids)
    for line in listed[listed["why"] == "ranked"].head(_SHOWN).to_dict(orient="records"):
        line["wrong_probability"] = percent(line["wrong_probability"])
        table.add_row(*(as_text(line[name]) for name in (*own, *ids)))
    of.new_console().print(table, markup=False)


def _print_written(data: Path, model: TableModel, out: Path) -> None:
    """Print what a folder holds now, and how to go on."""
    from symloss.tabular.model import LABELS, PAGE

    print(f"wrote {out}: {', '.join(sorted(path.name for path in out.iterdir()))}")
    if (out / PAGE).exists():
        print(f"to look at: {out / PAGE}")
    if model.rows is not None and not model.rows.unlabeled:
        command = ["symloss", "review", data, out / LABELS, "--model", out, "--out", f"{out}-reviewed"]
        print(f"to check: fill in checked_label in {out / LABELS}, then {shlex.join(map(str, command))}")


def _made(
    data: Path, label: str, out: Path, options: dict[str, Any], risk: str = "auc", audit: bool = False
) -> Documents:
    """Fit a model to the table in a file, and write it and what it is good for into a folder.

    What is found in the table is printed at once.
    """
    from symloss.tabular import fit
    from symloss.tabular.documents import About, Documents
    from symloss.tabular.model import LABELS, MODEL, NOISE, PAGE

    read, ids = _opened(data, label, out, [MODEL, LABELS, NOISE, PAGE], "a model", options)
    tell = partial(print, flush=True)
    for note in read.notes:
        tell(note)
    with of.fit_progress() as progress:
        model = fit(read, label, risk=risk, progress=progress, tell=tell, **options)
    model.save(out)  # first of all: whatever happens to the page, the model is not lost
    made = Documents.of(model, read.frame, About(data.name, of.command_line(), ids), audit)
    for trouble in made.write(out):
        of.warn(trouble)
    return made


def _opened(
    data: Path, label: str, out: Path, files: list[str], what: str, options: dict[str, Any]
) -> tuple[Read, list[str]]:
    """Check where to write, and read the table; of the options those of a fit are left, under its names."""
    from symloss.tabular.documents import check_data_apart, check_folder
    from symloss.tabular.reading import ReadOptions, check_columns, labeled_table

    ids, dropped = (of.all_listed(options.pop(name)) for name in ("ids", "drop"))
    fitting = {"drop": [*ids, *dropped], "random_state": options.pop("seed"), "n_jobs": _jobs(options)}
    options |= fitting | of.rates(options)
    check_data_apart(data, out)
    check_folder(out, files, what, options.pop("overwrite"))
    _check_packages()
    read = labeled_table(data, label, ids, ReadOptions(**of.taken(options, of.Reading)))
    check_columns(ids, read.frame, "to keep")
    return read, ids


def _check_packages() -> None:
    require("all", "tables need pandas, Jinja2, skops and safetensors", "pandas", "jinja2", "skops", "safetensors")


def _jobs(options: dict[str, Any]) -> int:
    jobs: int = options.pop("jobs")
    if jobs == 0:
        raise ValueError("--jobs must be a number of fits, or -1 for one per core; got 0")
    return jobs
