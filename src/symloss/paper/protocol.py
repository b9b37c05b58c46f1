"""The settings of the paper's experiments, as data: what is printed, and what matches the published numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from symloss.corruption import Contamination
from symloss.losses import BarrierHinge, Hinge, Logistic, Loss, Savage, Sigmoid, Squared, Unhinged
from symloss.training import RISKS

# In the order of the paper's tables.
UCI_DATASETS = ("spambase", "phoneme", "phishing", "waveform", "susy", "w8a", "adult", "twonorm", "mushroom")
NOISES = (Contamination(1.0, 0.0), Contamination(0.8, 0.3), Contamination(0.7, 0.4), Contamination(0.65, 0.45))
LOSSES: tuple[Loss, ...] = (
    BarrierHinge(b=200, r=50),
    Unhinged(),
    Sigmoid(),
    Logistic(),
    Hinge(),
    Squared(),
    Savage(),
)
OBJECTIVES = RISKS
TRIALS = 20


@dataclass(frozen=True)
class Settings:
    """How the perceptrons of the UCI and LIBSVM experiments are trained and tested.

    Features are standardised on the training sample, initial weights are LeCun-normal, batches hold both classes in
    random proportion, and the last epoch is reported.

    Parameters
    ----------
    n_positive, n_negative : int
        Corrupted positives and negatives to train on.
    n_test : int
        Clean points to test on, half of either class.
    hidden_units, epochs, batch_size, learning_rate
        As printed.
    weight_decay : float
        L2 decay, added to the gradient; the paper prints none.

    Examples
    --------
    >>> PRINTED == replace(MATCHED, weight_decay=0.0)
    True
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
PROTOCOLS = {"matched": MATCHED, "printed": PRINTED}

__all__ = ["LOSSES", "MATCHED", "NOISES", "OBJECTIVES", "PRINTED", "PROTOCOLS", "TRIALS", "UCI_DATASETS", "Settings"]
