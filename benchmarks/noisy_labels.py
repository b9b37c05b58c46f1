"""Compare the CV estimators with what people would pick instead, on real tables with noisy labels.

    python benchmarks/tables.py DOWNLOADS TABLES             # once
    python -m benchmarks.noisy_labels run TABLES/new --jobs 8
    python -m benchmarks.noisy_labels page                # tables of the page, from the results that are there
    python -m benchmarks.noisy_labels figure docs/images

All methods learn from the same noisy labels and are judged on the same clean ones. A method that has parameters is
tuned as ours is: by AUC on folds of the noisy labels; its threshold is that of a balanced logistic fit of the noisy
labels on its scores of rows that it has not seen. ``run`` continues where it was stopped: it adds a line to
``benchmarks/results/noisy_labels.csv`` for each table, noise, draw and method. Seconds are those of the processor, so
that other programs do not count. After a change of symloss, only its own methods need run again:

    python -m benchmarks.noisy_labels run TABLES/new --methods "AUCClassifierCV;BERClassifierCV" --again

Methods whose package is missing are left out, and it says so.
"""

import argparse
import csv
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # several processes run at once

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import symloss as sl
from benchmarks.tables import NOISES, Draw, draw

RESULTS = Path(__file__).parent / "results" / "noisy_labels.csv"
COLUMNS = ["table", "size", "noise", "draw", "method", "auc", "balanced_accuracy", "seconds", "rows"]
KEY = COLUMNS[:5]
OURS = {"auc": "AUCClassifierCV", "balanced_accuracy": "BERClassifierCV"}
Scores = NDArray[np.float64]
_FOUND: dict[str, tuple[Scores, float]] = {}  # out-of-fold scores on the draw at hand, and the seconds they took
_WAITED: list[float] = []  # seconds that a method would have taken for scores that were there


def scores_of(model: Any, x: NDArray[np.float32]) -> Scores:
    """Give a score for each row, larger for the positive class."""
    return model.decision_function(x) if hasattr(model, "decision_function") else model.predict_proba(x)[:, 1]


def out_of_fold(model: Any, x: NDArray[np.float32], y: NDArray[np.bool_]) -> Scores:
    """Give scores by models that have not seen the row; those of a model that several methods try are found once."""
    if repr(model) in _FOUND:
        _WAITED.append(_FOUND[repr(model)][1])
        return _FOUND[repr(model)][0]
    start = time.process_time()
    method = "decision_function" if hasattr(model, "decision_function") else "predict_proba"
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    found = cross_val_predict(clone(model), x, y, cv=folds, method=method)
    scores = found[:, 1] if found.ndim == 2 else found
    _FOUND[repr(model)] = scores, time.process_time() - start
    return scores


class Tuned(ClassifierMixin, BaseEstimator):
    """The model with the best AUC on noisy folds, or the mean of the standardized scores of all; with a threshold."""

    def __init__(self, models: list[Any], average: bool = False) -> None:
        self.models = models
        self.average = average

    def fit(self, x: NDArray[np.float32], y: NDArray[np.bool_]) -> "Tuned":
        found = [out_of_fold(model, x, y) for model in self.models]
        best = (
            [*range(len(found))] if self.average else [int(np.argmax([roc_auc_score(y, scores) for scores in found]))]
        )
        self.scales_ = [(found[i].mean(), found[i].std() + 1e-12) for i in best]
        self.fitted_ = [clone(self.models[i]).fit(x, y) for i in best]
        own = np.mean([(found[i] - mean) / scale for i, (mean, scale) in zip(best, self.scales_, strict=True)], 0)
        line = LogisticRegression(class_weight="balanced").fit(own[:, None], y)
        self.threshold_ = (
            float(-line.intercept_[0] / line.coef_[0, 0]) if line.coef_[0, 0] > 0 else float(np.median(own))
        )
        return self

    def decision_function(self, x: NDArray[np.float32]) -> Scores:
        parts = [(scores_of(m, x) - mean) / scale for m, (mean, scale) in zip(self.fitted_, self.scales_, strict=True)]
        return np.mean(parts, 0) - self.threshold_


def forests(seed: int) -> list[Any]:
    kinds = (ExtraTreesClassifier, RandomForestClassifier)
    return [kind(300, min_samples_leaf=leaf, random_state=seed) for kind in kinds for leaf in (1, 5, 20)]


def grid(seed: int) -> list[Any]:
    """What a careful person tries: forests, boosting, linear models and support vector machines."""
    boosting = [
        HistGradientBoostingClassifier(
            learning_rate=rate, max_leaf_nodes=leaves, l2_regularization=1, random_state=seed
        )
        for rate, leaves in ((0.1, 31), (0.05, 7), (0.03, 15))
    ]
    linear = [make_pipeline(StandardScaler(), LogisticRegression(C=c, max_iter=1000)) for c in (0.01, 1)]
    machines = [make_pipeline(StandardScaler(), SVC(C=c, random_state=seed)) for c in (0.1, 1, 10)]
    return [*forests(seed), *boosting, *linear, *machines]


def five(seed: int) -> list[Any]:
    every = grid(seed)
    return [every[2], every[5], every[7], every[9], every[12]]


def lightgbm(seed: int) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=seed, verbose=-1, n_jobs=1)


def cleanlab(seed: int) -> Any:
    from cleanlab.classification import CleanLearning

    class Cleaned(ClassifierMixin, BaseEstimator):
        """cleanlab around the forest with the best AUC on noisy folds."""

        def fit(self, x: NDArray[np.float32], y: NDArray[np.bool_]) -> "Cleaned":
            best = max(forests(seed), key=lambda model: roc_auc_score(y, out_of_fold(model, x, y)))
            self.model_ = CleanLearning(best, seed=seed, find_label_issues_kwargs={"n_jobs": 1}).fit(x, y.astype(int))
            return self

        def decision_function(self, x: NDArray[np.float32]) -> Scores:
            return self.model_.predict_proba(x)[:, 1] - 0.5

    return Cleaned()


def catboost(seed: int) -> Any:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(random_seed=seed, verbose=False, thread_count=1, allow_writing_files=False)


def tabpfn(seed: int) -> Any:
    """Version 1, which is made for fewer rows, up to 1,024, and up to 100 columns."""
    from tabpfn import TabPFNClassifier

    class TabPFN(TabPFNClassifier):
        def fit(self, x: NDArray[np.float32], y: NDArray[np.bool_]) -> "TabPFN":
            return super().fit(x, y, overwrite_warning=True)

    return TabPFN(seed=seed, subsample_features=True)


def realmlp(seed: int) -> Any:
    from pytabkit import RealMLP_TD_Classifier

    return RealMLP_TD_Classifier(
        random_state=seed, device="cpu", n_threads=1, use_ls=False, val_metric_name="cross_entropy"
    )


def autogluon(seed: int) -> Any:
    import tempfile

    from autogluon.tabular import TabularPredictor

    class AutoGluon:
        def fit(self, x: NDArray[np.float32], y: NDArray[np.bool_]) -> "AutoGluon":
            table = pd.DataFrame(x).add_prefix("x").assign(label=y)
            predictor = TabularPredictor("label", eval_metric="roc_auc", path=tempfile.mkdtemp(), verbosity=0)
            self.model_ = predictor.fit(table, time_limit=60, presets="best_quality", num_cpus=1)
            return self

        def predict_proba(self, x: NDArray[np.float32]) -> Scores:
            return self.model_.predict_proba(pd.DataFrame(x).add_prefix("x")).to_numpy()

    del seed
    return AutoGluon()


METHODS: dict[str, Callable[[int], Any]] = {
    "AUCClassifierCV": lambda seed: sl.AUCClassifierCV(random_state=seed),
    "BERClassifierCV": lambda seed: sl.BERClassifierCV(random_state=seed),
    "tuned grid of 14": lambda seed: Tuned(grid(seed)),
    "average of five": lambda seed: Tuned(five(seed), average=True),
    "tuned forest": lambda seed: Tuned(forests(seed)),
    "cleanlab, tuned forest": cleanlab,
    "extra trees leaf 20": lambda seed: Tuned(forests(seed)[2:3]),
    "random forest": lambda seed: Tuned([RandomForestClassifier(300, random_state=seed)]),
    "LightGBM": lambda seed: Tuned([lightgbm(seed)]),
    "logistic regression": lambda seed: Tuned([grid(seed)[10]]),
    "CatBoost": catboost,
    "TabPFN v1": tabpfn,
    "RealMLP": lambda seed: realmlp(seed),
    "AutoGluon, 60 s": autogluon,
}
QUICK = tuple(METHODS)[:10]


def run_one(path: Path, size: int, noise: str, number: int, names: list[str]) -> list[list[Any]]:
    """Fit some methods to one draw of one table."""
    with np.load(path) as arrays:
        drawn = draw((arrays["X"], arrays["y"]), noise, size, number)
    if drawn is None or (size != 1000 and len(drawn.given) < 2 * size):  # too small for this size
        return []
    lines = []
    for name, model, seconds in fits(drawn, names, number):
        auc, accuracy = judged(model, drawn)
        where = [path.stem, size, noise, number, name]
        lines.append([*where, f"{auc:.2f}", f"{accuracy:.2f}", f"{seconds:.2f}", len(drawn.given)])
    return lines


def fits(drawn: Draw, names: list[str], seed: int) -> Iterator[tuple[str, Any, float]]:
    """Fit some methods to the noisy labels: name, model, and seconds of one core."""
    _FOUND.clear()
    for name in names:
        start = time.process_time()
        _WAITED.clear()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # models that have not converged
                model = METHODS[name](seed).fit(drawn.x, drawn.given)
        except Exception as error:  # the other methods go on
            print(f"{name} is left out: {error!r}", file=sys.stderr)
            continue
        yield name, model, time.process_time() - start + sum(_WAITED)


def judged(model: Any, drawn: Draw) -> tuple[float, float]:
    """Give AUC and balanced accuracy on clean labels, in percent."""
    scores = scores_of(model, drawn.x_new)
    border = 0 if hasattr(model, "decision_function") else 0.5
    predicted = scores > border
    accuracy = 50 * (predicted[drawn.y_new].mean() + (~predicted[~drawn.y_new]).mean())
    return 100 * roc_auc_score(drawn.y_new, scores), float(accuracy)


def run(options: argparse.Namespace) -> None:
    """Run what the results do not have yet."""
    if not options.results.exists():
        options.results.write_text(",".join(COLUMNS) + "\n")
    names = options.methods.split(";")
    if options.again:
        kept = pd.read_csv(options.results, dtype=str)
        kept[~kept["method"].isin(names)].to_csv(options.results, index=False)
    done = set(pd.read_csv(options.results)[KEY].itertuples(index=False, name=None))
    paths = sorted(options.tables.glob("*.npz"))[: options.first]
    todo = []
    for number in range(options.draws):
        for path in paths:
            for noise in options.noises.split(","):
                keys = [(path.stem, options.size, noise, number, name) for name in names]
                missing = [key[4] for key in keys if key not in done]
                if missing:
                    todo.append(delayed(run_one)(path, options.size, noise, number, missing))
    for count, lines in enumerate(Parallel(options.jobs, return_as="generator_unordered", batch_size=1)(todo), 1):
        with options.results.open("a", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(lines)
        print(f"{count} of {len(todo)}", *(f"{line[4]} {line[5]}" for line in lines), flush=True)


def differences(results: pd.DataFrame, size: int, noise: str, score: str) -> pd.DataFrame:
    """Give how far ours is ahead in the same draws: a row a table, a column a peer, means over draws."""
    part = results[(results["size"] == size) & (results["noise"] == noise)]
    wide = part.pivot_table(index=["table", "draw"], columns="method", values=score)
    peers = [name for name in METHODS if name in wide and name not in OURS.values()]
    return wide[peers].rsub(wide[OURS[score]], axis=0).groupby("table").mean()


def page(results: pd.DataFrame) -> str:
    """Write, for each size and noise, means and how far ours is ahead ± its standard error over tables."""
    blocks = []
    for (size, noise), part in results.groupby(["size", "noise"], sort=False):
        of = part.groupby("method")
        found = of.agg(tables=("table", "nunique"), draws=("draw", "nunique"), auc=("auc", "mean")).round(1)
        for score in OURS:
            found[f"{score}: ahead by"] = cells(differences(results, size, noise, score))
        found["seconds, median"] = of["seconds"].median().round(1)
        found = found.sort_values("auc", ascending=False).fillna("").to_string(index_names=False)
        blocks.append(f"{noise}, at most {size:,} rows of either label\n{found}\n")
    return "\n".join(blocks)


def cells(ahead: pd.DataFrame) -> pd.Series:
    """Write the mean over tables ± its standard error, for each peer that has results."""
    return pd.Series({peer: f"{of.mean():.1f} ± {of.sem():.1f}" for peer, of in ahead.items() if of.notna().any()})


def table_of_differences(results: pd.DataFrame, score: str, size: int = 1000) -> pd.DataFrame:
    """Give a row a peer and a column a noise: mean difference over tables ± its standard error."""
    noises = [noise for noise in NOISES if noise in set(results["noise"][results["size"] == size])]
    ahead = {noise: differences(results, size, noise, score) for noise in noises}
    count = pd.DataFrame({noise: of.notna().sum() for noise, of in ahead.items()}).fillna(0).astype(int)
    table = pd.DataFrame({noise: cells(of) for noise, of in ahead.items()})
    table = table.loc[[name for name in METHODS if name in table.index]].fillna("")
    return table.rename(index=fewer(count.max(axis=1)), columns=fewer(count.max()))


def fewer(count: pd.Series) -> dict[str, str]:
    """Name those that ran on fewer tables than the others, and on how many."""
    return {name: f"{name}, {of} tables" for name, of in count.items() if of < count.max()}


def losses(results: pd.DataFrame, noise: str, peer: str, size: int = 1000, most: int = 5) -> pd.DataFrame:
    """Name the tables on which ours is furthest behind one peer: both AUCs."""
    part = results[(results["size"] == size) & (results["noise"] == noise)]
    wide = part.pivot_table(index="table", columns="method", values="auc")[[OURS["auc"], peer]].dropna()
    wide["difference"] = wide[OURS["auc"]] - wide[peer]
    return wide.sort_values("difference").head(most).round(1)


def figure(results: pd.DataFrame, folder: Path) -> None:
    """Draw AUC against noise, and one dot a table: how far ahead of each peer."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update(
        {"font.size": 10, "svg.hashsalt": "symloss", "axes.spines.top": False, "axes.spines.right": False}
    )
    noises = [noise for noise in tuple(NOISES)[:3] if noise in set(results["noise"])]
    part = results[(results["size"] == 1000) & results["noise"].isin(noises)]
    wide = part.pivot_table(index=["table", "noise"], columns="method", values="auc")
    wide = wide.drop(columns="BERClassifierCV").dropna(axis=1)  # methods that ran on all tables
    mean = wide.groupby("noise").mean().loc[noises]
    # Tables differ more than methods do: what all methods have in common on a table is no error of theirs.
    error = wide.sub(wide.mean(axis=1), axis=0).groupby("noise").sem().loc[noises]
    known = {
        "AUCClassifierCV": "#C40F2E",
        "LightGBM": "#0072B2",
        "cleanlab, tuned forest": "#007A56",
        "tuned grid of 14": "#B36B00",
        "logistic regression": "#7B5EA7",
    }
    drawn = plt.figure(figsize=(5.8, 4.6), layout="constrained")
    axes = drawn.subplots()
    order = mean.iloc[-1].sort_values()
    heights, gap = order.to_numpy(copy=True), 0.043 * np.ptp(mean.to_numpy())
    for _ in range(200):  # labels that overlap push each other away
        overlap = np.maximum(gap - np.diff(heights), 0) / 2
        heights[:-1] -= overlap
        heights[1:] += overlap
    for method, height in zip(order.index, heights, strict=True):
        color, of_note = known.get(method, "0.65"), method in known
        look = {"color": color, "lw": 2.5 if method == "AUCClassifierCV" else 1.6 if of_note else 1}
        axes.errorbar(range(len(noises)), mean[method], 1.96 * error[method], **look, elinewidth=1, zorder=2 + of_note)
        name = "symloss" if method == "AUCClassifierCV" else method.replace(" leaf ", ", leaves of ")
        size, weight = (11, "bold") if name == "symloss" else (9, None) if of_note else (8, None)
        arrow = {"arrowstyle": "-", "color": color, "lw": 0.5, "shrinkA": 0, "shrinkB": 2}
        axes.annotate(name, (len(noises) - 1, mean[method].iloc[-1]), (len(noises) - 0.9, height), size=size,
                      color=color if of_note else "0.4", va="center", weight=weight, arrowprops=arrow)  # fmt: skip
    axes.set_xticks(range(len(noises)), ["clean labels", "25% wrong", "40% wrong"][: len(noises)])
    axes.set(xlim=(-0.12, len(noises) + 0.35), ylabel="AUC on true labels, %")
    axes.spines["bottom"].set_bounds(-0.12, len(noises) - 1)
    axes.set_title("symloss is ahead as labels get worse", loc="left", weight="bold", size=12)
    drawn.savefig(folder / "noise_against_auc.svg", metadata={"Date": None})

    noises = [noise for noise in NOISES if noise in set(results["noise"])]
    every = set(results["table"])
    order = [name for name in METHODS if name in set(results["method"]) - {*OURS.values()}][::-1]
    drawn = plt.figure(figsize=(8.4, 7), layout="constrained")
    places, rng = drawn.subplots(2, 3, sharey=True).ravel(), np.random.default_rng(0)
    for axes, noise in zip(places, noises, strict=False):
        ahead = differences(results, 1000, noise, "auc").reindex(columns=order)
        for i, peer in enumerate(order):
            of, place = ahead[peer], i + rng.uniform(-0.22, 0.22, len(ahead))
            axes.scatter(of, place, s=9, lw=0, rasterized=True, color=np.where(of > 0, "#C40F2E", "0.45"), alpha=0.6)
            axes.errorbar(of.mean(), i, xerr=2 * of.sem(), fmt="|", color="black", ms=11)
        axes.axvline(0, color="0.3", lw=1)
        axes.set_xscale("symlog", linthresh=3)
        axes.set_xticks([-10, -3, -1, 0, 1, 3, 10, 30], ["-10", "-3", "", "0", "", "3", "10", "30"])
        axes.set_yticks(range(len(order)), order)
        axes.set_title(noise if len(ahead) == len(every) else f"{noise}, {len(ahead)} tables", loc="left", fontsize=9)
    for axes in places[len(noises) :]:
        axes.set_axis_off()
    drawn.supxlabel("AUC points that symloss is ahead of each method: a dot a table, mean ± 2 standard errors", size=9)
    drawn.savefig(folder / "noisy_labels_by_table.svg", dpi=150, metadata={"Date": None})


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=RESULTS)
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("tables", type=Path, help="folder of NAME.npz")
    running.add_argument("--size", type=int, default=1000, help="rows of either label")
    running.add_argument("--noises", default=",".join(tuple(NOISES)[:3]))
    running.add_argument("--first", type=int, help="only so many tables, the first by name")
    running.add_argument("--draws", type=int, default=1)
    running.add_argument("--methods", default=";".join(QUICK), help="separated by semicolons")
    running.add_argument("--again", action="store_true", help="first remove the results of these methods")
    running.add_argument("--jobs", type=int, default=1)
    commands.add_parser("page")
    commands.add_parser("figure").add_argument("folder", type=Path)
    options = parser.parse_args(words)
    if options.command == "run":
        run(options)
    elif options.command == "page":
        print(page(pd.read_csv(options.results)), end="")
    else:
        figure(pd.read_csv(options.results), options.folder)


if __name__ == "__main__":
    main()
