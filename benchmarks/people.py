"""Compare methods on labels that people and rules made: ranking, and finding wrong labels.

    python -m benchmarks.people prepare DATA FOLDER     # one NAME.npz a table: `X`, `y` (true labels), `given`
    python -m benchmarks.people run FOLDER              # goes on where it was stopped
    python -m benchmarks.people page

DATA holds what is public: ``cifar10n.npz`` (arrays `clean_label` and `worse_label` of CIFAR-10N) with CIFAR-10's
``cifar-10-batches-bin``, ``products_answers.csv``, ``products_truth.csv`` and ``products_table.txt`` (crowds say which
products are the same), and ``hausa_train.json``, ``yoruba_train.json`` and their ``_test.json`` (headlines, topics, and
rules that vote for a topic or abstain). What is missing is left out. No feature has seen a true label.

Methods learn from the given labels of at most 1,000 rows, drawn at random, and are judged by true labels: AUC and
balanced accuracy on at most 2,000 other rows, average precision of the wrong labels that they learned from, precision
and recall of the labels that they would change. ``annotators.py`` compares what joins several votes.
"""

import argparse
import ast
import csv
import json
import os
import re
from collections import defaultdict
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import average_precision_score

from benchmarks.noisy_labels import fits, judged
from benchmarks.tables import Draw

RESULTS = Path(__file__).parent / "results" / "people.csv"
COLUMNS = ["table", "method", "auc", "balanced_accuracy", "average_precision", "precision", "recall", "seconds"]
METHODS = [
    "AUCClassifierCV", "BERClassifierCV", "tuned grid of 14", "tuned forest", "cleanlab, tuned forest", "LightGBM",
]  # fmt: skip
LEARNED, JUDGED = 1000, 2000  # rows at most
Table = tuple[NDArray[np.float32], NDArray[np.bool_], NDArray[np.bool_]]
CLASSES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
PAIRS = (("automobile", "truck"), ("cat", "dog"), ("deer", "horse"), ("airplane", "ship"), ("bird", "deer"))
CELL, DIRECTIONS = 8, 9


def images(data: Path) -> dict[str, Table]:
    """Pairs of classes of CIFAR-10, labeled by the least careful of three people."""
    labels = np.load(data / "cifar10n.npz")
    folder = data / "cifar-10-batches-bin"
    batches = [np.fromfile(folder / f"data_batch_{k}.bin", np.uint8) for k in range(1, 6)]
    pixels = np.concatenate(batches).reshape(-1, 3073)[:, 1:].reshape(-1, 3, 32, 32)
    found = {}
    for negative, positive in PAIRS:
        pair = CLASSES.index(negative), CLASSES.index(positive)
        rows = np.isin(labels["clean_label"], pair) & np.isin(labels["worse_label"], pair)
        x = np.concatenate([gradients(pixels[rows]), colors(pixels[rows])], 1)
        is_positive = [labels[name][rows] == pair[1] for name in ("clean_label", "worse_label")]
        found[f"{negative}_{positive}"] = (x, *is_positive)
    return found


def gradients(pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Histograms of the directions of gradients, in cells of 8 x 8 pixels that overlap by half."""
    gray = pixels.mean(1)
    down, right = np.gradient(gray, axis=(1, 2))
    size, direction = np.hypot(down, right), np.arctan2(down, right) % np.pi
    bins = np.minimum((direction / np.pi * DIRECTIONS).astype(int), DIRECTIONS - 1)
    cells = []
    for top in range(0, 32 - CELL + 1, CELL // 2):
        for left in range(0, 32 - CELL + 1, CELL // 2):
            part = np.s_[:, top : top + CELL, left : left + CELL]
            of = np.stack([(size[part] * (bins[part] == k)).sum((1, 2)) for k in range(DIRECTIONS)], 1)
            cells.append(of / (np.linalg.norm(of, axis=1, keepdims=True) + 1))
    return np.concatenate(cells, 1).astype(np.float32)


def colors(pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Mean and spread of each color in quarters of the image."""
    parts = pixels.reshape(len(pixels), 3, 2, 16, 2, 16)
    return np.concatenate([parts.mean((3, 5)).reshape(len(pixels), -1), parts.std((3, 5)).reshape(len(pixels), -1)], 1)


def products(data: Path) -> dict[str, Table]:
    """Pairs of products, of which one of three people said whether they are the same."""
    table = {}
    for line in (data / "products_table.txt").read_text().splitlines()[1:]:
        number, *fields = ast.literal_eval(line)
        table[str(number)] = [str(field) for field in fields]
    with (data / "products_truth.csv").open() as file:
        truth = {row["question"]: row["truth"] == "1" for row in csv.DictReader(file)}
    answers = defaultdict(list)
    with (data / "products_answers.csv").open() as file:
        for row in csv.DictReader(file):
            answers[row["question"]].append(row["answer"] == "1")
    questions = [q for q in truth if answers[q] and all(part in table for part in q.split("_")[:2])]
    x = np.array([alike(*(table[part] for part in q.split("_")[:2])) for q in questions], np.float32)
    y, given = ([of[q] for q in questions] for of in (truth, {q: answers[q][0] for q in questions}))
    return {"products": (np.where(np.isnan(x), np.nanmedian(x, 0), x), np.array(y), np.array(given))}


def alike(one: list[str], other: list[str]) -> list[float]:
    """How much the names, descriptions and prices of two products have in common."""
    found: list[float] = []
    for a, b in zip(one[:2], other[:2], strict=True):
        words = [set(re.findall(r"[a-z0-9]+", text.lower())) for text in (a, b)]
        both, either = words[0] & words[1], words[0] | words[1]
        digits = [{word for word in of if any(c.isdigit() for c in word)} for of in words]
        found += [len(both), len(both) / max(len(either), 1), len(both) / max(min(map(len, words)), 1)]
        found += [len(digits[0] & digits[1]), SequenceMatcher(None, a.lower(), b.lower()).ratio()]
    prices = [float(re.sub(r"[^0-9.]", "", of[2]) or "nan") for of in (one, other)]
    return [*found, *prices, abs(np.log(prices[0] / prices[1])) if min(prices) > 0 else np.nan]


def headlines(data: Path, language: str) -> dict[str, Table]:
    """Headlines with a rule's vote; one topic against the rest, labeled positive where the rule of the topic votes."""
    parts = [json.loads((data / f"{language}_{part}.json").read_text()) for part in ("train", "test")]
    every = [item for part in parts for item in part.values() if max(item["weak_labels"]) >= 0]
    words = TfidfVectorizer(sublinear_tf=True, min_df=2).fit_transform([item["data"]["text"] for item in every])
    x = TruncatedSVD(60, random_state=0).fit_transform(words).astype(np.float32)
    topics, votes = np.array([item["label"] for item in every]), np.array([item["weak_labels"] for item in every])
    tables = {f"{language}_{k}": (x, topics == k, (votes == k).any(1)) for k in range(topics.max() + 1)}
    return {name: table for name, table in tables.items() if min(table[2].sum(), table[1].sum()) >= 100}


def prepare(options: argparse.Namespace) -> None:
    """Write the tables."""
    options.out.mkdir(parents=True, exist_ok=True)
    sources = [images, products, lambda data: headlines(data, "hausa"), lambda data: headlines(data, "yoruba")]
    for source in sources:
        try:
            found = source(options.data)
        except FileNotFoundError as error:
            print(f"left out: {error}")
            continue
        for name, (x, y, given) in found.items():
            np.savez_compressed(options.out / f"{name}.npz", X=x, y=y, given=given)
            wrong = [(y != given)[given == side].mean() for side in (True, False)]
            print(
                f"{name}: {x.shape[0]:,} x {x.shape[1]}; "
                f"wrong: {wrong[0]:.1%} of positive, {wrong[1]:.1%} of negative labels"
            )


def run_one(path: Path, names: list[str]) -> list[list[Any]]:
    """Let methods learn from one table's given labels, rank new rows, and say which labels are wrong."""
    with np.load(path) as arrays:
        x, y, given = arrays["X"], arrays["y"].astype(bool), arrays["given"].astype(bool)
    rows = np.random.default_rng(0).permutation(len(y))
    new, rows = np.split(rows, [min(JUDGED, len(y) // 3)])
    rows = rows[:LEARNED]
    drawn = Draw(x[rows], given[rows], y[rows], x[new], y[new])
    wrong, lines = drawn.given != drawn.clean, []
    for name, model, seconds in fits(drawn, names, 0):
        scores = judged(model, drawn)
        found = [np.nan] * 3
        if hasattr(model, "label_quality_"):
            found = of_wrong(wrong, model.label_quality_, np.asarray(model.label_quality_) < 0.5)
        elif name.startswith("cleanlab"):
            issues = model.model_.get_label_issues()
            found = of_wrong(wrong, issues["label_quality"], issues["is_label_issue"].to_numpy())
        lines.append([path.stem, name, *(f"{number:.2f}" for number in (*scores, *found, seconds))])
    return lines


def of_wrong(wrong: NDArray[np.bool_], quality: Any, suggested: NDArray[np.bool_]) -> list[float]:
    """Give average precision, precision and recall in percent."""
    precision = wrong[suggested].mean() if suggested.any() else np.nan
    return [100 * average_precision_score(wrong, -np.asarray(quality)), 100 * precision, 100 * suggested[wrong].mean()]


def run(options: argparse.Namespace) -> None:
    """Run what the results do not have yet."""
    if not RESULTS.exists():
        RESULTS.write_text(",".join(COLUMNS) + "\n")
    done = set(pd.read_csv(RESULTS)[COLUMNS[:2]].itertuples(index=False, name=None))
    for path in sorted(options.folder.glob("*.npz")):
        lines = run_one(path, [name for name in options.methods.split(";") if (path.stem, name) not in done])
        with RESULTS.open("a", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(lines)
        print(path.stem, *(f"{line[1]} {line[2]}" for line in lines), flush=True)


def page(results: pd.DataFrame, score: str) -> pd.DataFrame:
    """Give a row a table and a column a method, and the mean over tables last."""
    wide = results.pivot(index="table", columns="method", values=score).dropna(how="all").dropna(axis=1, how="all")
    return pd.concat([wide, wide.mean().to_frame("mean").T]).rename_axis("table")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    preparing = commands.add_parser("prepare")
    preparing.add_argument("data", type=Path)
    preparing.add_argument("out", type=Path)
    running = commands.add_parser("run")
    running.add_argument("folder", type=Path)
    running.add_argument("--methods", default=";".join(METHODS), help="separated by semicolons")
    commands.add_parser("page")
    options = parser.parse_args()
    if options.command == "page":
        for score in COLUMNS[2:]:
            print(f"{score}\n{page(pd.read_csv(RESULTS), score).round(1).to_string()}\n")
    else:
        {"prepare": prepare, "run": run}[options.command](options)


if __name__ == "__main__":
    main()
