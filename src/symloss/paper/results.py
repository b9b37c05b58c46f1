"""The settings of the paper's experiments, as data, and the results of a run in one folder.

``run.json`` holds the settings, and how the scores were computed. ``scores.csv`` has one row for each data set, noise
rate, risk, loss and trial. ``curves.csv`` is there for images, with one row for each epoch. In both, the last columns
are the ways of scoring: ``score`` as published, and others beside it.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch
from filelock import FileLock

from symloss import __version__
from symloss.corruption import Contamination, check_contamination
from symloss.files import check_not_read, write_whole
from symloss.functional import RISKS
from symloss.losses import BarrierHinge, CallableLoss, Loss, get_loss, list_losses
from symloss.messages import require

# In the order of the paper's tables.
UCI_DATASETS = ("spambase", "phoneme", "phishing", "waveform", "susy", "w8a", "adult", "twonorm", "mushroom")
NOISES = (Contamination(1.0, 0.0), Contamination(0.8, 0.3), Contamination(0.7, 0.4), Contamination(0.65, 0.45))
LOSSES: tuple[Loss, ...] = (
    BarrierHinge(b=200, r=50),
    *map(get_loss, ("unhinged", "sigmoid", "logistic", "hinge", "squared", "savage")),
)
CIFAR10_PAIRS = ("automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")  # each against airplanes
TRIALS = {"uci": 20, "mnist": 10, "cifar10": 10}
CHANCE = 50.0  # the score of random guessing
PUBLISHED = "score"
# The ways of scoring: their columns, and what texts call them. The paper's images are scored with dropout on.
WAYS = {
    PUBLISHED: "as published",
    "dropout_off": "dropout off, last epoch",
    "chosen_epoch": "dropout off, epoch chosen on corrupted labels",
}
SCORES, CURVES, RUN = FILES = "scores.csv", "curves.csv", "run.json"
CELL_COLUMNS = ["dataset", "pi", "pi_prime", "risk", "loss"]  # the columns that name a cell of the paper's tables
DECIMALS = 4  # of scores from 0 to 100; 250 + 250 test points give steps of 0.0008 (AUC) and 0.1 (balanced accuracy)


@dataclass(frozen=True)
class Settings:
    """How the perceptrons of the UCI and LIBSVM experiments are trained and tested.

    Features are standardized on the training sample, initial weights are LeCun-normal, batches hold both classes in
    random proportion, and the last epoch is reported.
    The paper prints all of this but the weight decay, which is L2 and added to the gradient.
    """

    n_positive: int = 500
    n_negative: int = 500
    n_test: int = 500
    hidden_units: int = 500
    epochs: int = 100
    batch_size: int = 500
    learning_rate: float = 1e-3
    weight_decay: float = 0.05


MATCHED = Settings()
PRINTED = replace(MATCHED, weight_decay=0.0)


@dataclass(frozen=True)
class ImageSettings:
    """How the convolutional networks of the MNIST and CIFAR-10 experiments are trained.

    The paper prints the network, the number of images, AMSGrad and 10 trials; the rest is from the authors' script.
    Scores are recorded after every epoch, with dropout off and on; the published scores are those with dropout on.

    A ``balanced`` batch has ``batch_size`` images of each class, instead of ``batch_size`` images in all. With
    ``one_by_one``, the AUC risk of a balanced batch is over pairs of the k-th positive and negative, instead of
    over all pairs. ``mean`` and ``sd`` normalize each channel, for pixels from 0 to 1.
    """

    n_positive: int = 4540
    n_negative: int = 4540
    epochs: int = 50
    batch_size: int = 128
    balanced: bool = False
    learning_rate: float = 1e-4
    weight_decay: float = 1e-4
    dropout: float = 0.5
    mean: Sequence[float] = (0.4914, 0.4822, 0.4465)
    sd: Sequence[float] = (0.247, 0.243, 0.261)
    one_by_one: bool = False


CIFAR10 = ImageSettings()
# Pixels are left unscaled, from 0 to 255, as the authors' script does for MNIST.
MNIST_PRINTED = ImageSettings(15000, 15000, balanced=True, weight_decay=0.0, mean=(0.0,), sd=(1 / 255,))
# The paper's AUC risk is over all pairs, but its numbers on MNIST are those of pairs one by one.
MNIST = replace(MNIST_PRINTED, one_by_one=True)
PROTOCOLS: dict[str, dict[str, Settings | ImageSettings]] = {
    "uci": {"matched": MATCHED, "printed": PRINTED},
    "mnist": {"matched": MNIST, "printed": MNIST_PRINTED},
    "cifar10": {"matched": CIFAR10},
}


def trial_generators(seed: int, name: str, pi: float, pi_prime: float, trial: int) -> list[np.random.Generator]:
    """Return the three generators of a trial: of its sample, of its training, and of anything else that is random."""
    identity = f"{seed}/{name}/{float(pi)!r}/{float(pi_prime)!r}/{trial}"
    seeds = np.random.SeedSequence(int.from_bytes(identity.encode(), "big")).spawn(3)
    return [np.random.default_rng(of) for of in seeds]


def label(loss: Loss) -> str:
    """Return a loss's name in results: that of a built-in loss, else module and name; with parameters if not usual."""
    if isinstance(loss, CallableLoss):
        return f"{loss.function.__module__}:{loss.function.__qualname__}"
    kind = type(loss)
    built_in = loss.name in list_losses() and kind is type(get_loss(loss.name))
    try:
        usual = kind() == loss
    except TypeError:  # it has parameters without defaults
        usual = False
    if built_in and usual:
        return loss.name
    name = kind.__name__ if built_in else f"{kind.__module__}:{kind.__qualname__}"
    return name if usual else name + repr(loss).removeprefix(kind.__name__)


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run of experiments: what decides its scores, and the scores."""

    family: str  # uci, mnist or cifar10 for the paper's data sets, and any name for others
    trials: int
    seed: int = 0
    protocol: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    # For each data set and noise rate, how the scores were computed: source of the data, device, seconds, versions.
    made: Sequence[Mapping[str, Any]] = ()
    scores: Any = None  # data frames, as in the files; scores are from 0 to 100
    curves: Any = None

    @property
    def ways(self) -> list[str]:
        """The ways in which the trials are scored, the published one first."""
        return [way for way in WAYS if way in self.scores]

    @property
    def decisive(self) -> dict[str, Any]:
        """What decides the scores, as a file stores it."""
        names = ("family", "protocol", "trials", "seed", "settings")
        return dict(json.loads(json.dumps({name: getattr(self, name) for name in names})))

    def joined(self, other: Run) -> Run:
        """Return this run with the scores of another one; where both have a cell, the other's are kept."""
        import pandas as pd

        tables = {}
        for name, number in (("scores", "trial"), ("curves", "epoch")):
            if both := [of for of in (getattr(self, name), getattr(other, name)) if of is not None]:
                rows = pd.concat(both, ignore_index=True)
                tables[name] = rows.drop_duplicates([*CELL_COLUMNS, number], keep="last", ignore_index=True)
        return replace(self, made=[*self.made, *other.made], **tables)

    def lacking(
        self, dataset: str, pi: float, pi_prime: float, risks: Sequence[str], losses: Sequence[str]
    ) -> set[str]:
        """Return the losses that lack a risk, or trials of it, at a data set and noise rate."""
        if self.scores is None:
            return set(losses)
        trials = self.scores.groupby(CELL_COLUMNS)["trial"].nunique().to_dict()
        place = dataset, float(pi), float(pi_prime)
        return {loss for loss in losses if any(trials.get((*place, risk, loss), 0) < self.trials for risk in risks)}


def tidy(
    values: Mapping[tuple[str, str], Mapping[str, Sequence[float]]],
    number: str,
    dataset: str,
    pi: float,
    pi_prime: float,
) -> Any:
    """Return a table with one row for each risk, loss and trial or epoch, from ``{(risk, loss): {column: values}}``."""
    require("tables", "results need pandas", "pandas")
    import pandas as pd

    parts = []
    for (risk, loss), columns in values.items():
        names = dict(zip(CELL_COLUMNS, (dataset, float(pi), float(pi_prime), risk, loss), strict=True))
        part = pd.DataFrame({name: np.asarray(of, dtype=float).round(DECIMALS) for name, of in columns.items()})
        parts.append(pd.DataFrame(names | {number: np.arange(1, len(part) + 1)}).join(part))
    return pd.concat(parts, ignore_index=True)


def read_run(folder: Path) -> Run:
    """Read the results in a folder; a missing or damaged file is an OSError or ValueError that names it."""
    require("tables", "results need pandas", "pandas")
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}")
    if not (folder / SCORES).exists():
        inside = sorted(path.parent.name for path in folder.glob(f"*/{SCORES}"))
        hint = f"; its folders {', '.join(inside)} do" if inside else ""
        raise FileNotFoundError(f"{folder} holds no results ({SCORES} and {RUN}){hint}")
    try:
        run = Run(**json.loads((folder / RUN).read_bytes()))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{folder / RUN} is damaged: {error}") from None
    curves = _read(folder / CURVES, "epoch") if (folder / CURVES).exists() else None
    return replace(run, scores=_read(folder / SCORES, "trial"), curves=curves)


def _read(path: Path, number: str) -> Any:
    import pandas as pd

    try:
        table = pd.read_csv(path, dtype={"dataset": str, "loss": str}, keep_default_na=False, na_values=[""])
        table = table.round(DECIMALS)
        scores = table[[way for way in WAYS if way in table]]
        good = table[[*CELL_COLUMNS, number]].notna().all(axis=1) & table["risk"].isin(RISKS)
        good &= ((scores >= 0) & (scores <= 100)).all(axis=1)
        if not good.all():
            raise ValueError(f"line {int(good.idxmin()) + 2} holds no score from 0 to 100 of {' or '.join(RISKS)}")
        for rates in table[["pi", "pi_prime"]].drop_duplicates().itertuples(index=False):
            check_contamination(*rates)
    except (KeyError, ValueError, TypeError) as error:  # pandas' errors are ValueErrors
        raise ValueError(f"{path} is damaged: {error}") from None
    return table


def write_run(folder: Path, run: Run) -> None:
    """Add results to a folder, which may hold others of the same settings already; each file is whole at any moment."""
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / ".lock"):  # another run may write into the folder, too
        if (folder / SCORES).exists():
            old = read_run(folder)
            check_same(folder, old, run)
            run = old.joined(run)
        made = ",\n  ".join(json.dumps(of) for of in run.made)
        text = json.dumps(run.decisive | {"made": []}, indent=1).replace('"made": []', f'"made": [\n  {made}\n ]')
        # Scores come last: what a killed run has not written there is run again.
        write_whole(folder / RUN, text + "\n")
        if run.curves is not None:
            write_whole(folder / CURVES, run.curves.to_csv(index=False))
        write_whole(folder / SCORES, run.scores.to_csv(index=False))


def check_same(folder: Path, there: Run, run: Run) -> None:
    """Raise ValueError if the scores in a folder are of other settings, or of data from another source."""
    if different := [name for name, value in run.decisive.items() if there.decisive[name] != value]:
        what = ", ".join(different)
        raise ValueError(f"{folder} holds results of another configuration ({what}); choose another folder")
    sources = {made.get("dataset"): made.get("data") for made in there.made}
    for made in run.made:
        if sources.get(made["dataset"], made["data"]) != made["data"]:
            before = sources[made["dataset"]]
            raise ValueError(f"{folder} has scores on data from {before}, and the data is now from {made['data']}")


def check_no_result(path: Path, folders: Sequence[Path] = ()) -> None:
    """Raise ValueError if a file to write is a file of results, in its own folder or in these folders."""
    around = [path.parent] if (path.parent / SCORES).exists() else []
    check_not_read(path, [folder / name for folder in (*around, *folders) for name in FILES], "a result")


def provenance(dataset: str, pi: float, pi_prime: float, data: str, device: str, seconds: float) -> dict[str, Any]:
    """Return how scores were computed: from what data, where, when, and by which versions."""
    return {
        "dataset": dataset,
        "pi": pi,
        "pi_prime": pi_prime,
        "data": data,
        "device": torch.cuda.get_device_name(device) if device.startswith("cuda") else device,
        "seconds": round(seconds, 2),
        "finished": datetime.now(tz=UTC).isoformat(timespec="seconds"),
        "versions": {
            "symloss": __version__,
            "torch": str(torch.__version__),
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
    }
