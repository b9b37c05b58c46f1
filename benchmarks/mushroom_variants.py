"""Try which reading of the mushroom data brings its scores nearer to the published ones.

    SYMLOSS_DATA=FOLDER python benchmarks/mushroom_variants.py [--variants NAME ...] [--losses NAME ...] --out FOLDER

Each variant reads the file or encodes its columns in another way; all else is the matched protocol with
20 trials. "As run" are the committed results. Rows that ``mushroom_variants.csv`` in the folder has already are not run
again. At the end it prints, for each variant, balanced accuracy of the unhinged loss, and root mean square differences
from the paper's: of this loss, and of all losses and both risks where they were run. The committed file is from
``--losses unhinged --risks ber``, and then ``--variants "edible positive" --pi 0.8 0.7 0.65``.
"""

import argparse
import csv
import math
import statistics
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

import symloss as sl
from symloss.corruption import Contamination
from symloss.functional import RISKS
from symloss.paper.compare import compare
from symloss.paper.experiment import standardized, trial_seeds
from symloss.paper.protocol import LOSSES, MATCHED, NOISES, TRIALS
from symloss.paper.published import LOSSES as HEADINGS
from symloss.paper.published import ROUNDING_VARIANCE, find_published
from symloss.paper.results import read_results
from symloss.paper.training import Risk, train

RESULTS = Path(__file__).parents[1] / "results" / "uci-matched"
METRICS = {"ber": sl.metrics.balanced_accuracy, "auc": sl.metrics.auc}
STALK_ROOT = 11  # the only column of the file that has "?"; the class is column 0
COLUMNS = ("variant", "dim", "objective", "pi", "pi_prime", "loss", "mean", "se", "paper", "paper_se")
Array = np.ndarray


class Variant(NamedTuple):
    """How the file is read: which class is positive, which rows and columns are kept."""

    positive: str = "p"
    keep_missing: bool = False
    without: tuple[int, ...] = ()
    drop_first: bool = False
    seed: int = 0

    def read(self) -> tuple[Array, Array]:
        """Return one-hot columns and labels."""
        (path,) = sl.datasets.fetch("mushroom", download=False)
        rows = np.array([line.split(",") for line in path.read_text().split()])
        if not self.keep_missing:
            rows = rows[(rows != "?").all(1)]
        blocks = [
            (column[:, None] == np.unique(column)[self.drop_first :]).astype(np.float32)
            for index, column in enumerate(rows.T)
            if index and index not in self.without
        ]
        return np.concatenate(blocks, 1), np.where(rows[:, 0] == self.positive, 1, -1)


VARIANTS = {
    "as run, seed 1": Variant(seed=1),
    "as run, seed 2": Variant(seed=2),
    "edible positive": Variant("e"),
    "edible positive, seed 1": Variant("e", seed=1),
    "? kept": Variant(keep_missing=True),
    "? kept, edible positive": Variant("e", keep_missing=True),
    "stalk-root dropped": Variant(keep_missing=True, without=(STALK_ROOT,)),
    "first level dropped": Variant(drop_first=True),
}


def run(variant: Variant, X: Array, y: Array, pi: float, pi_prime: float, risks: Sequence[Risk]) -> list[list[float]]:
    """Return the scores of all trials for each risk."""
    splits, tests, states = [], [], []
    for trial in range(TRIALS):
        of_draw, of_training, _ = map(np.random.default_rng, trial_seeds(variant.seed, "mushroom", pi, pi_prime, trial))
        X_train, y_train, X_test, y_test = sl.contaminated_split(
            X, y, pi=pi, pi_prime=pi_prime, n_positive=MATCHED.n_positive, n_negative=MATCHED.n_negative,
            n_test=MATCHED.n_test, random_state=of_draw,
        )  # fmt: skip
        scaled, scaled_test = standardized(X_train, X_test)
        splits.append((scaled, torch.as_tensor(y_train)))
        tests.append((scaled_test, torch.as_tensor(y_test)))
        states.append(of_training)
    stack = train(*map(torch.stack, zip(*splits, strict=True)), risks, states, weight_decay=MATCHED.weight_decay)
    X_test, y_test = map(torch.stack, zip(*tests, strict=True))
    with torch.no_grad():
        scores = [stack(X_test, slice(j * TRIALS, (j + 1) * TRIALS)) for j in range(len(risks))]
    return [
        [100 * METRICS[risk.name](*of_trial) for of_trial in zip(of_risk, y_test, strict=True)]
        for risk, of_risk in zip(risks, scores, strict=True)
    ]


def as_run() -> list[dict[str, str]]:
    """Return the rows of the committed results."""
    cells = compare([result for result in read_results(RESULTS).whole if result.dataset == "mushroom"])
    return [row_of("as run", 98, cell.risk, cell.pi, cell.pi_prime, cell.loss, cell.scores) for cell in cells]


def rows_of(
    name: str, noise: Contamination, losses: Sequence[str], risks: Sequence[str], done: set[tuple[str, ...]]
) -> list[dict[str, str]]:
    """Return the rows of a variant at a noise rate that are not done."""
    wanted = [
        Risk(risk, loss) for risk in risks for loss in LOSSES
        if loss.name in losses and (name, risk, str(noise.pi), str(noise.pi_prime), loss.name) not in done
    ]  # fmt: skip
    if not wanted:
        return []
    variant = VARIANTS[name]
    X, y = variant.read()
    return [
        row_of(name, X.shape[1], risk.name, *noise, risk.loss.name, scores)
        for risk, scores in zip(wanted, run(variant, X, y, *noise, wanted), strict=True)
    ]


def row_of(
    name: str, dim: int, risk: str, pi: float, pi_prime: float, loss: str, scores: Sequence[float]
) -> dict[str, str]:
    paper = find_published("uci", "mushroom", risk, pi, pi_prime, loss)
    assert paper is not None
    mean, se = statistics.fmean(scores), statistics.stdev(scores) / math.sqrt(len(scores))
    values = (name, dim, risk, pi, pi_prime, loss, f"{mean:.3f}", f"{se:.3f}", paper.mean, paper.se)
    return dict(zip(COLUMNS, map(str, values), strict=True))


def rms(rows: Sequence[dict[str, str]]) -> str:
    differences = [float(row["mean"]) - float(row["paper"]) for row in rows]
    return f"{math.sqrt(statistics.fmean(difference**2 for difference in differences)):.2f}"


def largest_z(rows: Sequence[dict[str, str]]) -> str:
    """Return the largest |z|, with the sign of that z."""
    found = []
    for row in rows:
        mean, se, paper, paper_se = (float(row[name]) for name in ("mean", "se", "paper", "paper_se"))
        found.append((mean - paper) / math.sqrt(se**2 + paper_se**2 + 2 * ROUNDING_VARIANCE))
    return f"{max(found, key=abs):+.1f}"


def print_tables(rows: Sequence[dict[str, str]]) -> None:
    """Print balanced accuracy of unhinged, and root mean square differences over all losses and both risks."""
    names = dict.fromkeys(row["variant"] for row in rows)
    head = f"| {' | '.join(f'({noise.pi}, {noise.pi_prime})' for noise in NOISES)} |"
    print(f"| | columns {head} rms |\n{'|---' * 7}|")
    for name in names:
        of = [row for row in rows if row["variant"] == name and (row["loss"], row["objective"]) == ("unhinged", "ber")]
        if name == "as run":
            papers = [f"{row['paper']} ({row['paper_se']})" for row in of]
            print(f"| paper | 98 | {' | '.join(papers)} | |")
        shown = [f"{float(row['mean']):.1f} ({float(row['se']):.1f})" for row in of]
        print(f"| {name} | {of[0]['dim']} | {' | '.join(shown)} | {rms(of)} |")
    print(f"\n| rms and largest z, all losses and both risks {head}\n{'|---' * 5}|")
    for name in names:
        of_noises = [[row for row in rows if (row["variant"], row["pi"]) == (name, str(noise.pi))] for noise in NOISES]
        whole = [f"{rms(of)}, {largest_z(of)}" if len(of) == len(RISKS) * len(HEADINGS) else "" for of in of_noises]
        if any(whole):
            print(f"| {name} | {' | '.join(whole)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variants", nargs="*", default=list(VARIANTS), choices=VARIANTS, metavar="NAME")
    parser.add_argument("--losses", nargs="+", default=list(HEADINGS), metavar="NAME")
    parser.add_argument("--risks", nargs="+", default=list(RISKS), choices=RISKS)
    parser.add_argument(
        "--pi", nargs="+", type=float, default=[noise.pi for noise in NOISES], help="noise rates to run"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder of mushroom_variants.csv")
    options = parser.parse_args()
    path = options.out / "mushroom_variants.csv"
    rows = list(csv.DictReader(path.read_text().splitlines())) if path.exists() else as_run()
    for name, noise in product(options.variants, (noise for noise in NOISES if noise.pi in options.pi)):
        done = {tuple(row[key] for key in ("variant", "objective", "pi", "pi_prime", "loss")) for row in rows}
        rows += rows_of(name, noise, options.losses, options.risks, done)
        with path.open("w", newline="") as stream:  # after each noise rate, so that finished ones are kept
            writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    print_tables(rows)


if __name__ == "__main__":
    main()
