"""A classifier that fits nothing: a network that has read many noisy tables reads yours, and answers.

The network (`network.py`) takes the training rows with their given labels, and new rows, and gives the posterior of the
clean labels of both, in one pass. Here is what lies between a user's table and that pass: columns and rows are put into
an order of their own, what is larger than the network has seen is cut into random parts, and the answers of several
views (orders of columns, signs of the label, parts of the rows) are averaged.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import torch
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import expit, logit
from sklearn.ensemble import ExtraTreesClassifier

from pretraining.network import LEVELS, PLACE, Memory
from pretraining.weights import Weights, read_weights
from symloss.audit import Noise
from symloss.estimators.base import BinaryClassifier
from symloss.estimators.scoring import BALANCED_ACCURACY, Metric
from symloss.machines import one_thread
from symloss.models.family import TrainingData

Array = NDArray[np.float64]
WEIGHTS = Path(__file__).with_name("weights.npz")
ROWS = 3000  # in a part: the network has seen few tables with more
FEWEST = 50  # rows of a label in a part, if there are so many
KEPT = 16  # parts that new rows are scored against
MOST_ROWS = 100_000  # that rows of larger weight are repeated to
COLUMNS = 64  # in a view: the network has seen few tables with more
DENSE = 10**8  # entries that a sparse matrix may become
TILE = 64  # rows that are multiplied at once: with whole ones, a row has the same score alone and among others
BLOCK = {"cpu": 1024, "cuda": 16384}  # new rows that are scored at a time


class View(NamedTuple):
    """One pass of the network."""

    rows: NDArray[np.intp]  # that are its context
    columns: NDArray[np.intp]
    sign: int  # -1 if the labels are exchanged
    seed: int


class InContextClassifier(BinaryClassifier):
    """A classifier for noisy labels that was trained before it sees yours, on made-up tables with wrong labels.

    Parameters
    ----------
    n_views : int, default=4
        How many times the table is read, with other orders of the columns and with the labels exchanged. The answers
        are averaged; more views take more time. More than 3,000 rows are read in random parts, each at least once. Of
        more than 64 columns, each view reads 64, those more often that a forest finds relevant.
    device : str, default="auto"
        The torch device; ``"auto"`` is a GPU if there is one.
    n_jobs : int, default=None
        How many views are read at a time, each on one core.
    random_state : int or numpy RandomState, default=None
        The seed of orders and parts.
    weights : str, default=None
        A file that ``python -m pretraining.export`` has written; ``weights.npz`` beside this file by default.

    Attributes
    ----------
    classes_ : array of two labels
        The two labels; the second one is the positive one.
    label_quality_ : array of floats
        The probability that each given label is right, as labels occur. No row is held out for it.
    noise_ : Noise
        The shares of wrong labels, with 90% intervals.
    commit_, sha256_ : str
        The commit of the code that trained the weights, and their checksum.

    Notes
    -----
    ``predict_proba`` and ``decision_function`` (its log odds) are of the clean labels, as if either class were as
    frequent. So ``predict`` is for a high balanced accuracy.
    """

    _metric: ClassVar[Metric] = BALANCED_ACCURACY

    def __init__(
        self,
        n_views: int = 4,
        *,
        device: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        weights: str | None = None,
    ) -> None:
        self.n_views = n_views
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.weights = weights

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Read the training rows and their noisy labels.

        X is an array, a sparse matrix of at most 100 million entries (zeros included), or a pandas or polars DataFrame,
        whose columns may hold text, categories and dates. Values may be missing. A row of weight k is read k times; if
        weights are no whole numbers, each row is read about as often as it weighs.
        """
        if self.n_views < 1:
            raise ValueError(f"n_views must be at least 1, got {self.n_views!r}")
        self._memories: list[Memory] = []
        data = self._training(X, y, sample_weight)
        rng = np.random.default_rng(self._seed())
        X = self._dense(data.X)
        rows = _repeated(X, data)
        self._fit_columns(X[rows], data.positive[rows], rng)
        values = self._scaled(X)
        self._table = values, np.where(data.positive, 1.0, -1.0).astype(np.float32)
        self._views = self._draw_views(rows, data.positive[rows], rng)
        weights = self._weights()
        self.commit_, self.sha256_ = weights.commit, weights.sha256
        read = Parallel(self.n_jobs, require="sharedmem")(
            delayed(self._read)(view, k < KEPT) for k, view in enumerate(self._views)
        )
        self._memories = [memory for memory, _, _ in read if memory is not None]
        self.noise_ = _noise(np.mean([noise for _, _, noise in read], 0))
        total, times = np.zeros(len(values)), np.zeros(len(values))
        for view, (_, log_odds, _) in zip(self._views, read, strict=True):
            np.add.at(total, view.rows, log_odds)
            np.add.at(times, view.rows, 1)
        seen = times > 0
        log_odds = total / np.maximum(times, 1)
        if not seen.all():  # rows of little or no weight are answered as new ones, and their labels compared
            share = np.clip(expit(log_odds[seen]).mean(), 0.001, 0.999)
            log_odds[~seen] = self._answers(values[~seen]) + logit(share)
        self.label_quality_ = expit(np.where(data.positive, log_odds, -log_odds))
        self.threshold_ = 0.0
        return self

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the clean labels, as if either class were as frequent."""
        positive = expit(self.decision_function(X))
        return np.stack([1 - positive, positive], 1)

    def _scores(self, X: Any) -> Array:
        if not self._memories:  # after unpickling
            read = Parallel(self.n_jobs, require="sharedmem")(
                delayed(self._read)(view, True) for view in self._views[:KEPT]
            )
            self._memories = [memory for memory, _, _ in read]
        return self._answers(self._scaled(X))

    def _answers(self, values: NDArray[np.float32]) -> Array:
        """Return the log odds of new rows, averaged over views."""
        network, device = self._weights().network, self._device()
        padded = np.pad(values, ((0, -len(values) % TILE), (0, 0)), mode="edge")
        most = BLOCK.get(device, BLOCK["cpu"])
        blocks = [padded[start : start + most] for start in range(0, len(padded), most)]

        def answer(view: View, memory: Memory) -> Array:
            with _running(device):
                parts = [network.answer(_tensor(block[:, view.columns], device), memory)[0] for block in blocks]
                log_odds = view.sign * torch.cat(parts)[: len(values)].double()
            return np.asarray(log_odds.cpu())

        pairs = zip(self._views, self._memories, strict=False)
        answers = Parallel(self.n_jobs, require="sharedmem")(delayed(answer)(*pair) for pair in pairs)
        return np.asarray(np.mean(answers, 0))

    def _read(self, view: View, keep: bool) -> tuple[Memory | None, Array, Array]:
        """Read a context: what new rows need of it, log odds of its clean labels, quantiles of wrong labels."""
        values, label = self._table
        device = self._device()
        random = torch.Generator().manual_seed(view.seed)
        network = self._weights().network
        place = torch.randn(1, -(-len(view.columns) // network.shape.pair), PLACE, generator=random).to(device)
        with _running(device):
            columns = _tensor(values[np.ix_(view.rows, view.columns)], device)
            memory, log_odds, noise = network.read(columns, _tensor(view.sign * label[view.rows], device), place)
        shares = (noise[0] if view.sign > 0 else noise[0].flip(0)).double().cpu().numpy()
        return memory if keep else None, view.sign * log_odds[0].double().cpu().numpy(), shares

    def _fit_columns(self, X: Array, positive: NDArray[np.bool_], rng: np.random.Generator) -> None:
        """Choose the columns that vary, and measure their center, scale and relevance."""
        known = np.isfinite(X)
        filled = np.where(known, X, 0.0)
        first = filled[known.argmax(0), np.arange(X.shape[1])]
        varies = ((filled != first) & known).any(0) | (known.any(0) & ~known.all(0))
        self._columns = np.flatnonzero(varies) if varies.any() else np.arange(1)
        self._center = np.nanmedian(X[:, self._columns], 0) if varies.any() else np.zeros(1)
        self._scale = np.maximum(np.nanstd(X[:, self._columns], 0), np.finfo(np.float32).tiny)
        self._relevance = np.ones(len(self._columns))
        if len(self._columns) > COLUMNS:
            seed, few = int(rng.integers(2**31)), rng.permutation(len(X))[: 2 * ROWS]
            forest = ExtraTreesClassifier(100, min_samples_leaf=5, n_jobs=self.n_jobs, random_state=seed)
            forest.fit(np.nan_to_num(self._scaled(X[few])), positive[few])
            self._relevance = forest.feature_importances_

    def _draw_views(self, rows: NDArray[np.intp], positive: NDArray[np.bool_], rng: np.random.Generator) -> list[View]:
        """Draw parts of the rows, and orders of the columns, for each view."""
        parts = math.ceil(len(rows) / ROWS)
        by_label = []
        for label in (rows[positive], rows[~positive]):
            label, fewest = rng.permutation(label), min(len(label), FEWEST)
            cuts = np.linspace(0, len(label), parts + 1).astype(int)
            by_label.append([np.take(label, np.arange(a, max(b, a + fewest)), mode="wrap") for a, b in pairwise(cuts)])
        views = []
        for k in range(parts * math.ceil(self.n_views / parts)):
            likely = self._relevance + 0.01 * self._relevance.mean() + 1e-9
            most = min(len(likely), COLUMNS)
            chosen = rng.choice(len(likely), most, replace=False, p=likely / likely.sum())  # other ones for each view
            context = np.concatenate([of_label[k % parts] for of_label in by_label])
            sign = 1 - 2 * ((k + k // parts) % 2)
            views.append(View(context, chosen, sign, int(rng.integers(2**31))))
        return views

    def _scaled(self, X: Any) -> NDArray[np.float32]:
        values = (self._dense(X)[:, self._columns] - self._center) / self._scale
        return np.asarray(np.clip(values, -1e30, 1e30), dtype=np.float32)

    def _dense(self, X: Any) -> Array:
        if not issparse(X):
            return np.asarray(X)
        if X.shape[0] * X.shape[1] > DENSE:
            raise ValueError(f"a sparse X may have {DENSE:,} entries, zeros included, got {X.shape[0]} x {X.shape[1]}")
        return np.asarray(X.toarray())

    def _device(self) -> str:
        return ("cuda" if torch.cuda.is_available() else "cpu") if self.device == "auto" else self.device

    def _weights(self) -> Weights:
        return read_weights(str(self.weights or WEIGHTS), self._device())

    def _allows(self) -> tuple[bool, bool]:
        return True, True

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_memories": []}  # read again where it is unpickled


def _repeated(X: Array, data: TrainingData) -> NDArray[np.intp]:
    """Return the rows as often as they weigh, in an order that does not depend on the one they came in."""
    key = (np.nan_to_num(X, nan=-7.0) * np.sqrt(np.arange(2, X.shape[1] + 2))).sum(1)
    order = np.lexsort((data.positive, key))
    weight = data.weight[order] * min(1.0, max(MOST_ROWS, len(X)) / data.weight.sum())
    counts = np.diff(np.floor(np.cumsum(weight) + 0.5), prepend=0)
    return np.repeat(order, counts.astype(int))


def _noise(shares: Array) -> Noise:
    """Return the noise of quantiles of the shares of wrong labels, of those labeled negative and positive."""
    (low_prime, prime, high_prime), (low, middle, high) = shares[:, [LEVELS.index(q) for q in (0.05, 0.5, 0.95)]]
    return Noise(1 - middle, 1 - high, 1 - low, prime, low_prime, high_prime)


@contextmanager
def _running(device: str) -> Iterator[None]:
    """Run on one thread, without gradients, in half precision where that is faster."""
    half = device != "cpu" or _has_bfloat16()
    with (
        one_thread() if device == "cpu" else nullcontext(),
        torch.inference_mode(),
        torch.autocast(torch.device(device).type, torch.bfloat16, enabled=half),
    ):
        yield


@lru_cache(maxsize=1)
def _has_bfloat16() -> bool:
    """Return whether the CPU multiplies in bfloat16."""
    capabilities: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))


def _tensor(array: NDArray[np.float32], device: str) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(array))[None].to(device)
