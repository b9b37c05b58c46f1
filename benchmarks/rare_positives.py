"""Compare what one can do where positives are rare, on clean labels and on noisy ones; no download is needed.

    python benchmarks/rare_positives.py --out benchmarks/results

8,000 points for training, of which .5% or 2% are positive, in clusters with 20 features (``make_classification``). A
linear model or a perceptron with 64 hidden units takes 1,000 steps with batches of 32 or 256 points. Each way has two
learning rates; the best of them and of every 125 steps is chosen by the AUC on 4,000 held-out points, whose labels are
as noisy as those for training. "Half of labels wrong" are those of the points labeled positive: 30% of the positives
lost their label, and about as many negatives have one as positives kept theirs. The tables show the AUC on 10,000 clean
test points: the mean over models, sizes of batches and seeds, then mean and standard deviation over the seeds. "Half
positive" means batches of half positives, half negatives, as LibAUC's DualSampler draws them. The last table is the
average precision of the network on three sets with clean labels, in batches of 128 with at least four positives, chosen
by average precision; it needs LibAUC (``pip install libauc``). AUCM and PESG are written here after their paper. All of
it takes twenty minutes on one core.
"""

import argparse
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from sklearn.datasets import load_digits, make_classification
from sklearn.metrics import average_precision_score
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

import symloss as sl

TRAIN, HELD_OUT, TEST, STEPS, EVERY = 8000, 4000, 10_000, 1000, 125
# The share of positives, and the chances that a positive and a negative get the other label.
SETTINGS = {
    ".5%": (0.005, 0, 0),
    "2%": (0.02, 0, 0),
    ".5%, half of labels wrong": (0.005, 0.3, 0.0035),
    ".5%, every tenth flipped": (0.005, 0.1, 0.1),
}
BATCHES, MODELS = (32, 256), ("linear", "network")


class AUCM(nn.Module):
    """The min-max loss of Yuan et al. (2021), version 2 of LibAUC, for scores in [0, 1]."""

    def __init__(self) -> None:
        super().__init__()
        self.means = nn.Parameter(torch.zeros(2))
        self.alpha = nn.Parameter(torch.zeros(()))

    def forward(self, scores: Tensor, y: Tensor) -> Tensor:
        pos, neg = torch.sigmoid(scores[y == 1]), torch.sigmoid(scores[y == 0])
        if not len(pos) or not len(neg):
            return 0 * scores.sum()
        spread = ((pos - self.means[0]) ** 2).mean() + ((neg - self.means[1]) ** 2).mean()
        return spread + 2 * self.alpha * (1 + neg.mean() - pos.mean()) - self.alpha**2


class PESG:
    """Its optimizer: gradient descent with a pull to earlier weights, and ascent in alpha."""

    def __init__(self, model: nn.Module, loss: AUCM, lr: float) -> None:
        self.weights, self.loss, self.lr, self.step_number = [*model.parameters(), loss.means], loss, lr, 0
        self.reference = [w.detach().clone() for w in self.weights]

    def zero_grad(self) -> None:
        for w in (*self.weights, self.loss.alpha):
            w.grad = None

    @torch.no_grad()
    def step(self) -> None:
        self.step_number += 1
        if self.step_number % 300 == 0:
            self.reference = [w.clone() for w in self.weights]
        if self.weights[0].grad is None:
            return
        for w, before in zip(self.weights, self.reference, strict=True):
            if w.grad is not None:
                w -= self.lr * (w.grad + 2e-3 * (w - before) + 1e-5 * w)
        if self.loss.alpha.grad is not None:
            self.loss.alpha.add_(self.lr * self.loss.alpha.grad).clamp_(min=0)


class SOAP(nn.Module):
    """LibAUC's loss for average precision, which keeps two numbers for each training point."""

    def __init__(self) -> None:
        from libauc.losses import APLoss

        super().__init__()
        self.loss, self.rows = APLoss(data_len=TRAIN), torch.zeros(0)

    def forward(self, scores: Tensor, y: Tensor) -> Tensor:
        return self.loss(torch.sigmoid(scores), y, torch.as_tensor(self.rows))


class Memory(nn.Module):
    """AUCLoss with a memory: each batch is also paired with scores of the newest points of either class.

    Scores in the memory are constants. Positives stay for at most ``age`` batches.
    """

    def __init__(self, loss: str = "sigmoid", size: int = 256, age: int = 50) -> None:
        super().__init__()
        self.loss, self.size, self.age, self.now = sl.get_loss(loss), size, age, 0
        self.kept = [(torch.zeros(0), torch.zeros(0)), (torch.zeros(0), torch.zeros(0))]

    def forward(self, scores: Tensor, y: Tensor) -> Tensor:
        self.now += 1
        terms, sides = [], [scores[y == 1], scores[y == 0]]
        past = [kept[born > self.now - self.age] for kept, born in self.kept]
        if len(sides[0]) and (len(sides[1]) or len(past[1])):
            terms.append(sl.pairwise_risk(sides[0], torch.cat([sides[1], past[1]]), self.loss))
        if len(sides[1]) and (len(sides[0]) or len(past[0])):
            terms.append(sl.pairwise_risk(torch.cat([sides[0], past[0]]), sides[1], self.loss))
        for k, side in enumerate(sides):
            kept, born = self.kept[k]
            born = torch.cat([born, torch.full((len(side),), float(self.now))])[-self.size :]
            self.kept[k] = torch.cat([kept, side.detach()])[-self.size :], born
        return torch.stack(terms).mean() if terms else 0 * scores.sum()


def weighted_bce(scores: Tensor, y: Tensor) -> Tensor:
    """Cross-entropy in which both classes of the training set weigh the same."""
    return binary_cross_entropy_with_logits(scores, y, pos_weight=weighted_bce.factor)


def focal(scores: Tensor, y: Tensor) -> Tensor:
    """The focal loss with its usual parameters, gamma = 2 and alpha = .25."""
    each = binary_cross_entropy_with_logits(scores, y, reduction="none")
    right = torch.exp(-each)
    return ((0.25 * y + 0.75 * (1 - y)) * (1 - right) ** 2 * each).mean()


def squared_probabilities(scores: Tensor, y: Tensor) -> Tensor:
    """What AUCM minimizes, by all pairs: (1 - (sigmoid(s) - sigmoid(t)))^2."""
    return sl.AUCLoss("squared", validate=False)(torch.sigmoid(scores), y)


class Way(NamedTuple):
    """A loss, the share of positives in its batches (None: as they come, 0: at least four), and learning rates."""

    loss: Callable[[], Callable[[Tensor, Tensor], Tensor]]
    share: float | None = None
    rates: tuple[float, float] = (0.002, 0.02)


def quiet(loss: str) -> Callable[[], nn.Module]:
    """Return what makes an AUCLoss that says nothing of batches without a positive."""
    return lambda: sl.AUCLoss(loss, validate=False)


WAYS = {
    "`AUCLoss()`": Way(quiet("sigmoid")),
    "`AUCLoss()`, at least 4 positives": Way(quiet("sigmoid"), 0),
    "`AUCLoss()`, half positive": Way(quiet("sigmoid"), 0.5),
    "`AUCLoss()` with a memory": Way(Memory),
    "`AUCLoss(\"squared\")`": Way(quiet("squared")),
    "squares of probabilities": Way(lambda: squared_probabilities),
    "squares of probabilities, half positive": Way(lambda: squared_probabilities, 0.5),
    "AUCM + PESG": Way(AUCM, None, (0.03, 0.2)),
    "AUCM + PESG, half positive": Way(AUCM, 0.5, (0.03, 0.2)),
    "cross-entropy": Way(lambda: binary_cross_entropy_with_logits),
    "cross-entropy, weighted": Way(lambda: weighted_bce),
    "focal": Way(lambda: focal),
}  # fmt: skip

PRECISION = {
    "`AUCLoss()`": Way(quiet("sigmoid"), 0),
    '`AUCLoss("logistic")`': Way(quiet("logistic"), 0),
    '`PartialAUCLoss("logistic", max_fpr=0.1)`': Way(lambda: sl.PartialAUCLoss("logistic"), 0),
    "LibAUC's APLoss + SOAP": Way(SOAP, 0),
    "cross-entropy": Way(lambda: binary_cross_entropy_with_logits, 0),
}


def precision_sets(seed):
    """Return training, held-out and test points of three sets with rare positives."""
    rng = np.random.default_rng(seed)
    digits, ring = load_digits(return_X_y=True), rng.normal(size=(12_000, 4))
    radius = np.hypot(*ring.T[:2]) + 0.05 * rng.normal(size=12_000)
    sets = {
        "digits, 8 against the rest": (digits[0] / 16, digits[1] == 8),
        "clusters, 5% positive": make_classification(
            12_000, 20, n_informative=8, n_clusters_per_class=4, class_sep=0.8, weights=[0.95], random_state=seed
        ),
        "a ring, 3% positive": (ring, (radius > 1) & (radius < 1.05)),
    }
    for name, (X, y) in sets.items():
        order = torch.from_numpy(rng.permutation(len(y)))
        X, y = torch.from_numpy(X).float()[order], torch.from_numpy(y).float()[order]
        ends = len(y) // 2, 2 * len(y) // 3
        yield name, list(zip(torch.tensor_split(X, ends), torch.tensor_split(y, ends), strict=True))


def precision_table(seeds):
    """Return the average precision of the network on test points, with its deviation over the seeds, as Markdown."""
    found = defaultdict(list)
    for seed in range(seeds):
        for data, parts in precision_sets(seed):
            for name, way in PRECISION.items():
                tried = [train(way, rate, "network", 128, parts, seed, average_precision) for rate in way.rates]
                found[name, data].append(max(tried)[1])
    names = list(dict.fromkeys(data for _, data in found))
    lines = [f"| average precision | {' | '.join(names)} |", "|---|" + "--:|" * len(names)]
    for name in PRECISION:
        cells = [np.array(found[name, data]) for data in names]
        lines.append(f"| {name} | {' | '.join(f'{c.mean():.3f} ± {c.std(ddof=1):.3f}' for c in cells)} |")
    return "\n".join(lines) + "\n"


def average_precision(scores, y):
    """Return it; NaN scores, of a training that has diverged, have none."""
    return average_precision_score(y, scores) if scores.isfinite().all() else 0.0


def draw(setting, seed):
    """Return training, held-out and test points; labels of the first two are noisy."""
    rate, lost, wrong = SETTINGS[setting]
    X, y = make_classification(
        70_000, 20, n_informative=8, n_redundant=4, n_clusters_per_class=3, class_sep=0.8, flip_y=0, random_state=seed
    )
    rng = np.random.default_rng(seed)
    parts = []
    for n, noisy in ((TRAIN, True), (HELD_OUT, True), (TEST, False)):
        positives = round(n * rate)
        own = np.concatenate([rng.choice(np.flatnonzero(y == 1), positives, replace=False),
                              rng.choice(np.flatnonzero(y == 0), n - positives, replace=False)])  # fmt: skip
        labels = y[own]
        if noisy:
            flipped = rng.random(n) < np.where(labels == 1, lost, wrong)
            labels = np.where(flipped, 1 - labels, labels)
        parts.append((torch.from_numpy(X[own]).float(), torch.from_numpy(labels).float()))
        y = y.copy()
        y[own] = -1  # drawn once
    return parts


def batches(labels, size, share, seed):
    """Yield the rows of one batch after the other."""
    generator = torch.Generator().manual_seed(seed)
    options = {"min_positives": min(4, int(labels.sum()))} if share == 0 else {"positive_share": share}
    sampler = sl.StratifiedBatchSampler(labels, size, random_state=seed, **options) if share is not None else None
    while True:
        rows = torch.randperm(len(labels), generator=generator).split(size) if sampler is None else sampler
        yield from rows


def train(way, rate, model_name, size, parts, seed, score=sl.metrics.auc):
    """Return the held-out score, on noisy labels, and the clean test score of the best step."""
    (X, y), held_out, test = parts
    weighted_bce.factor = (len(y) - y.sum()) / y.sum()
    torch.manual_seed(seed)
    d = X.shape[1]
    layers = [nn.Linear(d, 1)] if model_name == "linear" else [nn.Linear(d, 64), nn.ReLU(), nn.Linear(64, 1)]
    model, loss = nn.Sequential(*layers, nn.Flatten(0)), way.loss()
    optimizer = torch.optim.Adam(model.parameters(), rate, foreach=True)
    if isinstance(loss, AUCM):
        optimizer = PESG(model, loss, rate)
    elif isinstance(loss, SOAP):
        from libauc.optimizers import SOAP as SOAPOptimizer  # noqa: N811

        optimizer = SOAPOptimizer(model.parameters(), lr=rate, mode="adam")
    best = (0.0, 0.0)
    for step, rows in zip(range(1, STEPS + 1), batches(y, size, way.share, seed), strict=False):
        optimizer.zero_grad()
        if isinstance(loss, SOAP):
            loss.rows = rows
        loss(model(X[rows]), y[rows]).backward()
        optimizer.step()
        if step % EVERY == 0:
            with torch.no_grad():
                best = max(best, tuple(score(model(part), labels) for part, labels in (held_out, test)))
    return best


def summary(found):
    """Return the means over models, sizes of batches and seeds as Markdown."""
    lines = [f"| mean | {' | '.join(SETTINGS)} |", "|---|" + "--:|" * len(SETTINGS)]
    for name in WAYS:
        cells = [[found[name, setting, model, size] for model in MODELS for size in BATCHES] for setting in SETTINGS]
        lines.append(f"| {name} | {' | '.join(f'{np.mean(cell):.3f}' for cell in cells)} |")
    return "\n".join(lines) + "\n"


def table(found, model_name):
    """Return the means and deviations of one model as Markdown."""
    columns = [(setting, size) for setting in SETTINGS for size in BATCHES]
    head = " | ".join(f"{setting}, batch {size}" for setting, size in columns)
    lines = [f"| {model_name} | {head} |", "|---|" + "--:|" * len(columns)]
    for name in WAYS:
        cells = [np.array(found[name, setting, model_name, size]) for setting, size in columns]
        lines.append(f"| {name} | {' | '.join(f'{c.mean():.3f} ± {c.std(ddof=1):.3f}' for c in cells)} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, help="folder for rare_positives.md")
    options = parser.parse_args()
    torch.set_num_threads(1)
    found = defaultdict(list)
    for setting in SETTINGS:
        for seed in range(options.seeds):
            parts = draw(setting, seed)
            for model_name in MODELS:
                for size in BATCHES:
                    for name, way in WAYS.items():
                        tried = [train(way, rate, model_name, size, parts, seed) for rate in way.rates]
                        found[name, setting, model_name, size].append(max(tried)[1])
    text = "\n".join([summary(found), *(table(found, name) for name in MODELS), precision_table(options.seeds)])
    print(text)
    if options.out:
        (options.out / "rare_positives.md").write_text(text)


if __name__ == "__main__":
    main()
