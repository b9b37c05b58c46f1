"""Measure what a review of labels tells, and what it brings: ``symloss review`` with labels that are known.

    python -m benchmarks.checked_labels PEOPLE [--draws 10] [--out benchmarks/results/checked_labels.md]

PEOPLE is the folder that people.py writes: tables whose labels people or rules made, with the truth. Of each, half of
at most 2,000 rows is fitted by a linear model with the logistic loss, and the head of its list is checked; the AUC is
that on true labels of the other half. The same is done with labels that are flipped at random, and mostly near the
border.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import symloss as sl
from benchmarks.noise_shares import corrupted
from symloss.tabular.evaluation import evaluate
from symloss.tabular.predicting import choices

ROWS = 2000


def reviews(x: np.ndarray, true: np.ndarray, given: np.ndarray, seed: int) -> list[dict[str, float]]:
    """What comes out of reviews of 50 and 100 rows of a table."""
    half = np.random.default_rng(seed).permutation(len(true))[:ROWS] % 2 == 0
    frame = pd.DataFrame(x).add_prefix("x").assign(y=given)
    candidates = [("linear", sl.AUCClassifier("logistic", alpha=0.001, random_state=seed))]
    model = sl.tabular.fit(frame[half].reset_index(drop=True), "y", candidates=candidates, tell=str)
    own, test = frame[half].reset_index(drop=True), frame[~half]
    listed, truth = sl.tabular.label_table(model, own), true[half]
    found = []
    for size in (50, 100):
        looked = listed[:size].assign(checked_label=truth[listed["row"][:size] - 1])
        now = sl.tabular.review(own, looked, model).model
        said, noise, positive = now.review, now.noise, now.rows.positive
        assert said is not None
        if said.wrong_before is None:
            continue
        wrong = (own["y"] != truth).mean()
        left = [(positive & ~truth).sum() / positive.sum(), (~positive & truth).sum() / (~positive).sum()]
        ends = [(1 - noise.pi_high, 1 - noise.pi_low), (noise.pi_prime_low, noise.pi_prime_high)]
        found.append({
            "checked": size, "wrong": wrong, "corrected": len(said.changed),
            "holds": said.wrong_before[1] <= wrong <= said.wrong_before[2],
            "width": said.wrong_before[2] - said.wrong_before[1],
            "error": abs(said.wrong_before[0] - wrong),
            "by comparison": abs(evaluate(model).wrong_share.value - wrong),
            "left holds": np.mean([low <= value <= high for value, (low, high) in zip(left, ends, strict=True)]),
            "true before": said_of_true_labels(model, truth),
            "true after": said_of_true_labels(now, truth),
            "AUC before": sl.metrics.auc(model.predict(test).scores, true[~half]),
            "AUC after": sl.metrics.auc(now.predict(test).scores, true[~half]),
        })  # fmt: skip
    return found


def said_of_true_labels(model: sl.tabular.TableModel, truth: np.ndarray) -> float:
    """How often what the page says of true labels holds: the AUC, and the numbers of each threshold."""
    found = evaluate(model)
    held = [found.clean_auc.low <= sl.metrics.auc(found.scores, truth) <= found.clean_auc.high]
    for choice in choices(found, model):
        above = found.scores > choice.threshold
        for share, told in (
            (above[truth], choice.found),
            (above[~truth], choice.false),
            (truth[above], choice.precision),
        ):
            held += [told.low <= share.mean() <= told.high] if told and len(share) else []
    return float(np.mean(held))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("people", type=Path)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = []
    for path in sorted(options.people.glob("*.npz")):
        table = np.load(path)
        for seed in range(options.draws):
            rng = np.random.default_rng(seed)
            rows = rng.permutation(len(table["y"]))[:ROWS]
            x, true = np.nan_to_num(table["X"][rows].astype(float)), table["y"][rows].astype(bool)
            labels = {"people and rules": table["given"][rows].astype(bool)}
            labels |= {kind: corrupted(kind, x, true, rng) for kind in ("flips", "border")}
            for kind, given in labels.items():
                if min(given.sum(), (~given).sum()) >= 40:
                    lines += [{"labels": kind, **line} for line in reviews(x, true, given, seed)]
    means = pd.DataFrame(lines).astype({"holds": float})
    table = means.groupby(["checked", "labels"]).mean().round(3)
    table.insert(0, "draws", means.groupby(["checked", "labels"]).size())
    text = table.reset_index().to_markdown(index=False) + "\n"
    print(text)
    if options.out:
        options.out.write_text(text)


if __name__ == "__main__":
    main()
