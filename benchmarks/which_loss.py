"""Compare losses on a plain perceptron and flipped labels, without weight decay, on data that need no download.

    python benchmarks/which_loss.py --out benchmarks/results

The perceptron has 100 hidden units and is trained by Adam for 100 epochs on 1,000 points (fewer if a data set is
small), of which every fifth is held out. The tables show the AUC on clean test labels, as the mean over the data sets
and draws: after the epoch with the best AUC on the held-out noisy labels (of every fifth epoch), after the last epoch,
and for each data set at a flip rate of 30%.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from sklearn.datasets import load_breast_cancer, load_digits, make_classification, make_hastie_10_2
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import symloss as sl

FLIPS = (0.0, 0.2, 0.3, 0.4)
CRITERIA = {
    "`AUCLoss()`, sigmoid": sl.AUCLoss("sigmoid"),
    "`AUCLoss(\"barrier_hinge\")`": sl.AUCLoss("barrier_hinge"),
    "`AUCLoss(\"unhinged\")`": sl.AUCLoss("unhinged"),
    "`AUCLoss(\"logistic\")`": sl.AUCLoss("logistic"),
    "`BERLoss()`, sigmoid": sl.BERLoss("sigmoid"),
    "`BERLoss(\"barrier_hinge\")`": sl.BERLoss("barrier_hinge"),
    "cross-entropy": lambda scores, y: torch.nn.functional.binary_cross_entropy_with_logits(scores, y),
}  # fmt: skip
EPOCHS, BATCH = 100, 128


def datasets():
    """Return features and clean labels 0 and 1 of each data set."""
    digits, cancer = load_digits(), load_breast_cancer()
    hastie, is_far = make_hastie_10_2(5000, random_state=0)
    drawn = {name: getattr(sl.datasets, f"make_{name}")(5000, random_state=0) for name in ("twonorm", "waveform")}
    return {
        "digits, even or odd": (digits.data, digits.target % 2),
        "breast cancer": (cancer.data, cancer.target),
        "clusters": make_classification(5000, 20, n_informative=8, n_clusters_per_class=4, random_state=0),
        "hastie": (hastie, (is_far > 0).astype(int)),
        **{name: (of.data, (of.target > 0).astype(int)) for name, of in drawn.items()},
    }


def split(X, y, flips, seed):
    """Return training, held-out and test points with their labels; only the labels of the test points are clean."""
    size = min(1000, 2 * len(y) // 3)
    X, X_test, y, y_test = train_test_split(X, y, train_size=size, stratify=y, random_state=seed)
    scaler = StandardScaler().fit(X)
    noisy = sl.flip_labels(y, flips, flips, random_state=seed)
    X, X_test = (torch.from_numpy(scaler.transform(part)).float() for part in (X, X_test))
    held_out = np.arange(size) % 5 == 0
    return (X[~held_out], noisy[~held_out]), (X[held_out], noisy[held_out]), (X_test, y_test)


def train(criterion, parts, seed):
    """Return the clean AUC after the last epoch, and after the best epoch on the held-out labels."""
    (X, y), held_out, test = parts
    y = torch.from_numpy(y).float()
    torch.manual_seed(seed)
    network = torch.nn.Sequential(
        torch.nn.Linear(X.shape[1], 100), torch.nn.ReLU(), torch.nn.Linear(100, 1), torch.nn.Flatten(0)
    )
    optimizer = torch.optim.Adam(network.parameters())
    seen = []
    for epoch in range(1, EPOCHS + 1):
        for batch in torch.randperm(len(y)).split(BATCH):
            optimizer.zero_grad()
            criterion(network(X[batch]), y[batch]).backward()
            optimizer.step()
        if epoch % 5 == 0:
            with torch.no_grad():
                seen.append([sl.metrics.auc(network(part), labels) for part, labels in (held_out, test)])
    noisy, clean = np.transpose(seen)
    return clean[-1], clean[noisy.argmax()]


def means(table, column, by):
    """Return the means of a column over all else, as Markdown: a line a loss."""
    return table.pivot_table(column, "loss", by, sort=False).to_markdown(floatfmt=".3f") + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--out", type=Path, help="folder for which_loss.md")
    options = parser.parse_args()
    torch.set_num_threads(1)
    found = []
    for dataset, (X, y) in datasets().items():
        for flips in FLIPS:
            for seed in range(options.draws):
                parts = split(X, y, flips, seed)
                for name, criterion in CRITERIA.items():
                    last, early = train(criterion, parts, seed)
                    found.append((name, dataset, f"{flips:.0%} flipped", last, early))
    table = pd.DataFrame(found, columns=["loss", "data set", "flips", "last epoch", "stopped early"])
    text = "\n".join(f"{way}:\n\n{means(table, way, 'flips')}" for way in ("stopped early", "last epoch"))
    text += f"\nlast epoch, 30% flipped:\n\n{means(table[table['flips'] == '30% flipped'], 'last epoch', 'data set')}"
    print(text)
    if options.out:
        (options.out / "which_loss.md").write_text(text)


if __name__ == "__main__":
    main()
