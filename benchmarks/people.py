"""Prepare tables whose labels people or rules made, one ``NAME.npz`` each with `X`, `y` (true labels) and `given`.

    python -m benchmarks.people DATA FOLDER

DATA holds what is public: ``cifar10n.npz`` (arrays `clean_label` and `worse_label` of CIFAR-10N) with CIFAR-10's
``cifar-10-batches-bin``, ``products_answers.csv``, ``products_truth.csv`` and ``products_table.txt`` (crowds say which
products are the same), and ``hausa_train.json``, ``yoruba_train.json`` and their ``_test.json`` (headlines, topics, and
rules that vote for a topic or abstain). What is missing is left out. No feature has seen a true label.
"""

import argparse
import ast
import csv
import json
import re
from collections import defaultdict
from difflib import SequenceMatcher
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

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
    x = [alike(*(table[part] for part in q.split("_")[:2])) for q in questions]
    y, given = ([of[q] for q in questions] for of in (truth, {q: answers[q][0] for q in questions}))
    return {"products": (np.array(x, np.float32), np.array(y), np.array(given))}


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
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


if __name__ == "__main__":
    main()
