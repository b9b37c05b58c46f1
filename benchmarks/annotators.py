"""Compare labels from several annotators with the truth: ``from_annotators``, majority vote, and crowd-kit.

    python -m benchmarks.annotators DATA [--out benchmarks/results/annotators.md]      # DATA: see people.py

Votes of people are on two classes; of the rules, which vote for a topic each or abstain, each topic is set against the
rest. What is printed is the share of right labels and, since one topic is rare, their mean over both classes.
``pip install crowd-kit`` for its columns.
"""

import argparse
import json
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from symloss.corruption import from_annotators

Votes = tuple[str, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
PAIRS = ((1, 9), (3, 5), (4, 7), (0, 8), (2, 4))  # of classes of CIFAR-10


def votes(data: Path) -> Iterator[Votes]:
    """Yield the name of a set, the item, the annotator and the label of each answer, and the true labels of items."""
    for name in ("bluebirds", "products"):
        answers, truth = (pd.read_csv(data / f"{name}_{what}.csv", dtype=str) for what in ("answers", "truth"))
        item = pd.Index(truth["question"]).get_indexer(answers["question"])
        known, worker = item >= 0, answers["worker"].factorize()[0]
        found = [each[known].astype(int) for each in (item, worker, answers["answer"].to_numpy(str))]
        yield name, *found, truth["truth"].astype(int).to_numpy()
    labels = np.load(data / "cifar10n.npz")
    people = np.stack([labels[f"random_label{k}"] for k in (1, 2, 3)], 1)
    for pair in PAIRS:
        rows = np.isin(labels["clean_label"], pair) & np.isin(people, pair).all(1)
        item, worker = np.indices((int(rows.sum()), 3)).reshape(2, -1)
        said, true = (people[rows] == pair[1]).ravel().astype(int), labels["clean_label"][rows] == pair[1]
        yield f"CIFAR-10N {pair[0]} against {pair[1]}", item, worker, said, true.astype(int)
    for language in ("hausa", "yoruba"):
        parts = [json.loads((data / f"{language}_{part}.json").read_text()) for part in ("train", "test")]
        items = [one for part in parts for one in part.values()]
        rules, topics = np.array([one["weak_labels"] for one in items]), np.array([one["label"] for one in items])
        item, worker = np.nonzero(rules >= 0)
        for topic in range(topics.max() + 1):
            said = (rules[item, worker] == topic).astype(int)
            yield f"{language}, topic {topic}", item, worker, said, (topics == topic).astype(int)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = []
    for name, item, worker, said, true in votes(options.data):
        found = from_annotators(said, items=item, annotators=worker)
        share = np.bincount(item, said) / np.maximum(np.bincount(item), 1)
        labels = {"symloss": found.posterior > 0.5, "majority": share[found.items] > 0.5}
        try:
            from crowdkit.aggregation import DawidSkene
        except ImportError:
            pass
        else:
            table = pd.DataFrame({"task": item, "worker": worker, "label": said})
            labels["crowd-kit"] = DawidSkene(100).fit_predict(table).loc[found.items].to_numpy() == 1
        right = {by: label == true[found.items] for by, label in labels.items()}
        line: dict[str, object] = {"set": name, "items": len(found.items)}
        line |= {f"{by}, right": each.mean() for by, each in right.items()}
        sides = [true[found.items] == k for k in (0, 1)]
        line |= {f"{by}, balanced": np.mean([each[side].mean() for side in sides]) for by, each in right.items()}
        lines.append(line)
    table = pd.DataFrame(lines)
    kind = table["set"].str.extract("(bluebirds|products|CIFAR-10N|topic)", expand=False).rename("mean of")
    means = table.groupby(kind, sort=False).mean(numeric_only=True).reset_index()
    text = "\n".join(each.to_markdown(index=False, floatfmt=".3f") + "\n" for each in (table, means))
    print(text)
    if options.out:
        options.out.write_text(text)


if __name__ == "__main__":
    main()
