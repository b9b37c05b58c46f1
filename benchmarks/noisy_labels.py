"""Compare symloss's estimators with others on nine UCI and LIBSVM data sets: trained on noisy, scored on clean labels.

python benchmarks/noisy_labels.py --trials 5 --jobs 2 --out benchmarks/results

Every data set is drawn at four noise levels, with 1,000 points per corrupted class (500 if the data set is too small).
Finished draws are kept in noisy_labels.csv: run the script again to continue. LightGBM, cleanlab and LibAUC take part
if they are installed.
"""

import argparse
import csv
import os
import time
import warnings
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # several processes run at once

import numpy as np
import torch
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import symloss as sl

DATASETS = ["spambase", "phoneme", "phishing", "waveform", "susy", "w8a", "adult", "twonorm", "mushroom"]
NOISES = [(0.65, 0.45), (0.7, 0.4), (0.8, 0.3), (1.0, 0.0)]
FIELDS = ["dataset", "pi", "pi_prime", "trial", "method", "auc", "balanced_accuracy", "seconds"]


def methods(seed):
    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    found = {
        "AUCClassifierCV": sl.AUCClassifierCV(random_state=seed),
        "BERClassifierCV": sl.BERClassifierCV(random_state=seed),
        "AUCClassifier()": sl.AUCClassifier(random_state=seed),
        "BERClassifier(model='trees')": sl.BERClassifier(model="trees", random_state=seed),
        "AUCClassifier(model='mlp')": sl.AUCClassifier(model="mlp", random_state=seed),
        "logistic regression": logistic,
        "MLP": make_pipeline(StandardScaler(), MLPClassifier(random_state=seed)),
        "MLP, early stopping": make_pipeline(StandardScaler(), MLPClassifier(early_stopping=True, random_state=seed)),
        "HistGradientBoosting": HistGradientBoostingClassifier(random_state=seed),
        "random forest": RandomForestClassifier(random_state=seed),
        "random forest, leaf 20": RandomForestClassifier(min_samples_leaf=20, random_state=seed),
        "extra trees": ExtraTreesClassifier(random_state=seed),
        "extra trees, leaf 20": ExtraTreesClassifier(min_samples_leaf=20, random_state=seed),
    }
    if find_spec("lightgbm"):
        from lightgbm import LGBMClassifier

        found["LightGBM"] = LGBMClassifier(random_state=seed, verbose=-1, n_jobs=1)
    if find_spec("cleanlab"):
        from cleanlab.classification import CleanLearning

        settings = {"seed": seed, "verbose": False, "find_label_issues_kwargs": {"n_jobs": 1}}
        found["cleanlab, logistic regression"] = CleanLearning(logistic, **settings)
        found["cleanlab, random forest"] = CleanLearning(RandomForestClassifier(random_state=seed), **settings)
    if find_spec("libauc"):
        found["LibAUC, AUCM"] = LibAUC(seed)
    return found


class LibAUC(BaseEstimator):
    """LibAUC's AUC margin loss with its optimizer, both at their defaults, around a perceptron of 200 units."""

    def __init__(self, seed=0):
        self.seed = seed

    def fit(self, X, y):
        """Train for 30 epochs in shuffled batches of 100."""
        from libauc.losses import AUCMLoss
        from libauc.optimizers import PESG

        torch.manual_seed(self.seed)
        self.scaler_ = StandardScaler().fit(X)
        data = torch.utils.data.TensorDataset(
            torch.from_numpy(self.scaler_.transform(X)).float(), torch.from_numpy(y).float()
        )
        self.network_ = torch.nn.Sequential(
            torch.nn.Linear(X.shape[1], 200), torch.nn.ReLU(), torch.nn.Linear(200, 1), torch.nn.Sigmoid()
        )
        loss = AUCMLoss(device="cpu")
        optimizer = PESG(self.network_.parameters(), loss_fn=loss, verbose=False, device="cpu")
        for _ in range(30):
            for rows, labels in torch.utils.data.DataLoader(data, 100, shuffle=True):
                optimizer.zero_grad()
                loss(self.network_(rows), labels[:, None]).backward()
                optimizer.step()
        return self

    @torch.no_grad()
    def predict_proba(self, X):
        """Return the outputs in the form of probabilities, which they are not."""
        scores = self.network_(torch.from_numpy(self.scaler_.transform(X)).float()).numpy()
        return np.hstack([1 - scores, scores])


def draw(name, pi, pi_prime, seed):
    """Return points with corrupted labels to train on, and points with clean labels to test on."""
    dataset = sl.datasets.load(name, download=False)
    X = dataset.data.astype(np.float64)
    for n in (1000, 500):
        try:
            return sl.contaminated_split(
                X, dataset.target, pi=pi, pi_prime=pi_prime, n_positive=n, n_negative=n, n_test=n, random_state=seed
            )
        except ValueError as error:
            problem = error
    raise problem


def compare(dataset, noise, trial):
    """Return one row per method, all fitted to the same points."""
    torch.set_num_threads(1)
    X, y, X_test, y_test = draw(dataset, *noise, 1000 + trial)
    y = (y > 0).astype(int)
    rows = []
    for name, method in methods(trial).items():
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # perceptrons that have not converged
            method.fit(X, y)
        seconds = time.perf_counter() - start
        if hasattr(method, "decision_function"):
            scores = method.decision_function(X_test)
        else:
            scores = method.predict_proba(X_test)[:, 1] - 0.5
        auc, accuracy = sl.metrics.auc(scores, y_test), sl.metrics.balanced_accuracy(scores, y_test)
        rows.append(
            [dataset, *map(str, noise), str(trial), name, f"{100 * auc:.2f}", f"{100 * accuracy:.2f}", f"{seconds:.2f}"]
        )
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--datasets", default=",".join(DATASETS))
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    arguments = parser.parse_args()
    path = arguments.out / "noisy_labels.csv"
    rows = list(csv.reader(path.open()))[1:] if path.exists() else []
    done = {tuple(row[:4]) for row in rows}
    cells = [
        (dataset, noise, trial)
        for trial in range(arguments.trials)
        for noise in NOISES
        for dataset in arguments.datasets.split(",")
        if (dataset, *map(str, noise), str(trial)) not in done
    ]
    arguments.out.mkdir(parents=True, exist_ok=True)
    tasks = (delayed(compare)(*cell) for cell in cells)
    for finished, found in enumerate(Parallel(arguments.jobs, return_as="generator_unordered")(tasks), 1):
        rows += found
        write(path, sorted(rows, key=lambda row: (row[3], row[1], row[0])))
        print(f"{finished} of {len(cells)}: {', '.join(found[0][:4])}", flush=True)
    table = markdown(rows)
    (arguments.out / "noisy_labels.md").write_text(table)
    (arguments.out / "noisy_labels_by_dataset.md").write_text(by_dataset(rows))
    print(table)


def write(path, rows):
    part = path.with_suffix(".part")
    with part.open("w", newline="") as file:
        csv.writer(file).writerows([FIELDS, *rows])
    part.replace(path)


def markdown(rows):
    """Return one table per noise level: means over data sets and trials, and how far each method is behind the first.

    Standard errors are over the trials; the value of a trial is its mean over the data sets.
    """
    lines = []
    for noise in NOISES:
        scores = defaultdict(dict)
        for dataset, pi, pi_prime, trial, method, *numbers in rows:
            if (pi, pi_prime) == tuple(map(str, noise)):
                scores[method][trial, dataset] = np.array(numbers, float)
        first = next(iter(scores))
        draws = set.intersection(*(set(of) for of in scores.values()))
        trials = sorted({trial for trial, _ in draws})
        lines += [
            f"### (π, π′) = {noise}: {len({d for _, d in draws})} data sets, {len(trials)} trials",
            "",
            f"| | AUC | behind `{first}` | balanced accuracy | behind `BERClassifierCV` | seconds |",
            "|---|--:|--:|--:|--:|--:|",
        ]
        for method, of in sorted(scores.items(), key=lambda item: -np.mean([item[1][key][0] for key in draws])):
            auc, accuracy, seconds = np.mean([of[key] for key in draws], 0)
            behind = [
                lead([scores[best][key][column] - of[key][column] for key in draws], draws, trials)
                for best, column in ((first, 0), ("BERClassifierCV", 1))
            ]
            name = f"`{method}`" if "Classifier" in method else method
            lines.append(f"| {name} | {auc:.2f} | {behind[0]} | {accuracy:.2f} | {behind[1]} | {seconds:.1f} |")
        lines.append("")
    return "\n".join(lines)


def by_dataset(rows):
    """Return tables with the mean and the standard error over trials of every method on every data set."""
    datasets = sorted({row[0] for row in rows})
    lines = []
    for column, score in ((5, "AUC"), (6, "balanced accuracy")):
        for noise in NOISES:
            found = defaultdict(list)
            for row in rows:
                if (row[1], row[2]) == tuple(map(str, noise)):
                    found[row[4], row[0]].append(float(row[column]))
            lines += [f"## {score} at (π, π′) = {noise}", "", "| | " + " | ".join(datasets) + " |"]
            lines.append("|---|" + "--:|" * len(datasets))
            for method in dict.fromkeys(method for method, _ in found):
                numbers = [found[method, dataset] for dataset in datasets]
                cells = [f"{np.mean(of):.1f} ({np.std(of, ddof=1) / np.sqrt(len(of)):.1f})" for of in numbers]
                lines.append(f"| {f'`{method}`' if 'Classifier' in method else method} | {' | '.join(cells)} |")
            lines.append("")
    return "\n".join(lines)


def lead(differences, draws, trials):
    by_trial = [np.mean([d for d, key in zip(differences, draws, strict=True) if key[0] == t]) for t in trials]
    error = f" ± {np.std(by_trial, ddof=1) / np.sqrt(len(by_trial)):.2f}" if len(by_trial) > 1 else ""
    return f"{np.mean(by_trial):.2f}{error}"


if __name__ == "__main__":
    main()
