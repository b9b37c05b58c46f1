"""Compare rules by which the CV estimators could weight their candidates, and further models, on the same draws.

python benchmarks/pool.py --trials 2 --jobs 2 --out benchmarks/results

Every candidate is scored once on folds of the noisy labels, and once on clean test labels; each rule then combines the
same scores.
"""

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch
from boosting_noisy_labels import DATASETS, draw
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

import symloss as sl
from symloss.estimators.folds import out_of_fold, split
from symloss.estimators.standard_errors import auc_contributions, standard_error_of_difference

NOISES = [(0.65, 0.45), (0.7, 0.4), (0.8, 0.3), (1.0, 0.0)]
FLEXIBLE = ("leaves of 5", "leaves of 1", "boosting", "alpha 0.03", "alpha 0.001", "alpha 0.0005", "alpha 5e-05")


class LeafModel:
    """Minimizes a loss over the weights of the leaves of extra trees; trees alone use the average label of a leaf."""

    def __init__(self, loss, alpha):
        self.loss, self.alpha = loss, alpha

    def fit(self, X, y):
        """Grow the forest, then minimize the AUC risk on its leaves."""
        forest = ExtraTreesClassifier(100, min_samples_leaf=20, random_state=0).fit(X, y)
        linear = sl.AUCClassifier(self.loss, alpha=self.alpha, threshold=0.0)
        self.model_ = make_pipeline(FunctionTransformer(forest.apply), OneHotEncoder(handle_unknown="ignore"), linear)
        self.model_.fit(X, y)
        return self

    def decision_function(self, X):
        """Return the scores."""
        return self.model_.decision_function(X)


LEAVES = [("leaf features, sigmoid", "sigmoid", 1.0), ("leaf features, logistic", "logistic", 1.0),
          ("leaf features, logistic, alpha 0.1", "logistic", 0.1)]  # fmt: skip


def scores_of(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict_proba(X)[:, 1]


def compare(dataset, noise, trial):
    """Return the noise, and the clean AUC of every rule and of every candidate."""
    torch.set_num_threads(1)
    X, y, X_test, y_test = draw(dataset, *noise, 5000 + trial)
    positive, ones = y > 0, np.ones(len(y))
    pool = sl.estimators.default_candidates(sl.AUCClassifier, X, random_state=trial)
    folds = split(5, X, positive, ones, trial)
    noisy, clean = [], []
    for _, candidate in pool:
        noisy.append(
            out_of_fold(lambda rows, points, c=candidate: scores_of(clone(c).fit(X[rows], y[rows]), points), X, folds)
        )
        clean.append(scores_of(clone(candidate).fit(X, y), X_test))
    noisy, clean = np.array(noisy), np.array(clean)
    clean = (clean - noisy.mean(1)[:, None]) / noisy.std(1)[:, None]
    found = {name: sl.metrics.auc(of, y_test) for (name, _), of in zip(pool, clean, strict=True)}
    for name, weights in rules([name for name, _ in pool], noisy, positive, folds).items():
        found[name] = sl.metrics.auc(weights @ clean, y_test)
    for name, loss, alpha in LEAVES:
        found[name] = sl.metrics.auc(LeafModel(loss, alpha).fit(X, y).decision_function(X_test), y_test)
    return noise, found


def rules(names, noisy, positive, folds):
    """Return the weights that each rule gives to the candidates."""
    means = np.array([np.mean([sl.metrics.auc(of[test], positive[test]) for _, test in folds]) for of in noisy])
    parts = [auc_contributions(of, positive, np.ones(len(positive))) for of in noisy]
    strong = np.array([not any(part in name for part in FLEXIBLE) for name in names])

    def behind(best):
        errors = [standard_error_of_difference(part, parts[best], positive, np.ones(len(positive))) for part in parts]
        return np.divide(means[best] - means, errors, out=np.zeros(len(means)), where=np.array(errors) > 0)

    best = int(np.argmax(means))
    strongest = int(np.argmax(np.where(strong, means, -1)))
    simplest = strongest if behind(best)[strongest] <= 1 else best
    average = np.exp(-0.5 * behind(best) ** 2)
    return {
        "RULE average, exp(-d^2 / 2)": average / average.sum(),
        "RULE the best alone": np.eye(len(means))[best],
        "RULE the best strongly regularized one within one standard error": np.eye(len(means))[simplest],
        "RULE average of all, equally": np.full(len(means), 1 / len(means)),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    cells = [(d, noise, t) for t in range(arguments.trials) for noise in NOISES for d in DATASETS]
    found = defaultdict(lambda: defaultdict(list))
    runs = Parallel(arguments.jobs, return_as="generator_unordered")(delayed(compare)(*cell) for cell in cells)
    for number, (noise, scores) in enumerate(runs, 1):
        for name, score in scores.items():
            found[name][noise].append(100 * score)
        print(f"{number} of {len(cells)}", flush=True)
    lines = [f"| clean AUC, {arguments.trials} trials of nine data sets | " + " | ".join(map(str, NOISES)) + " |",
             "|---|" + "--:|" * len(NOISES)]  # fmt: skip
    for name in sorted(found, key=lambda name: not name.startswith("RULE")):
        cells = " | ".join(f"{np.mean(found[name][noise]):.2f}" for noise in NOISES)
        lines.append(f"| {name.replace('RULE ', '**').replace('^2', '²')}{'**' if 'RULE' in name else ''} | {cells} |")
    table = "\n".join(lines) + "\n"
    print(table)
    if arguments.out:
        (arguments.out / "pool.md").write_text(table)


if __name__ == "__main__":
    main()
