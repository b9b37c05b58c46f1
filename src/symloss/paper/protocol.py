"""The settings of the paper's experiments, as data: those that it prints, and those that match its numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from symloss.corruption import Contamination
from symloss.losses import BarrierHinge, Hinge, Logistic, Loss, Savage, Sigmoid, Squared, Unhinged

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
TRIALS = 20
CIFAR10_PAIRS = ("automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")  # each against airplanes
IMAGE_TRIALS = 10


@dataclass(frozen=True)
class Settings:
    """How the perceptrons of the UCI and LIBSVM experiments are trained and tested.

    Features are standardized on the training sample, initial weights are LeCun-normal, batches hold both classes in
    random proportion, and the last epoch is reported.

    Parameters
    ----------
    n_positive, n_negative : int
        Corrupted positives and negatives to train on.
    n_test : int
        Clean points to test on, half of them from each class.
    hidden_units, epochs, batch_size, learning_rate
        As printed in the paper.
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


@dataclass(frozen=True)
class ImageSettings:
    """How the convolutional networks of the MNIST and CIFAR-10 experiments are trained.

    The paper prints the network, the number of images, AMSGrad and 10 trials; the rest is from the authors' script. All
    test images are used. Their scores are recorded after every epoch, with dropout off and with dropout on; the
    published scores are those with dropout on.

    Parameters
    ----------
    n_positive, n_negative : int
        Corrupted positives and negatives to train on.
    epochs, batch_size : int
    balanced : bool
        Whether a batch has ``batch_size`` images of each class, instead of ``batch_size`` images in all.
    one_by_one : bool
        Whether the AUC risk of a balanced batch is over ``batch_size`` pairs, the k-th positive with the k-th negative,
        instead of over all pairs.
    learning_rate, weight_decay, dropout : float
    mean, sd : tuple of float
        Mean and standard deviation that normalize each channel, for pixels from 0 to 1.

    Examples
    --------
    >>> CIFAR10.n_positive, MNIST.n_positive
    (4540, 15000)
    """

    n_positive: int = 4540
    n_negative: int = 4540
    epochs: int = 50
    batch_size: int = 128
    balanced: bool = False
    learning_rate: float = 1e-4
    weight_decay: float = 1e-4
    dropout: float = 0.5
    mean: tuple[float, ...] = (0.4914, 0.4822, 0.4465)
    sd: tuple[float, ...] = (0.247, 0.243, 0.261)
    one_by_one: bool = False

    def __post_init__(self) -> None:
        if self.one_by_one and not self.balanced:
            raise ValueError("pairs one by one need batches with as many positives as negatives: balanced=True")


CIFAR10 = ImageSettings()
# Pixels are left unscaled, from 0 to 255, as the authors' script does for MNIST.
MNIST_PRINTED = ImageSettings(15000, 15000, balanced=True, weight_decay=0.0, mean=(0.0,), sd=(1 / 255,))
# The paper's AUC risk is over all pairs, but its numbers on MNIST are those of pairs one by one.
MNIST = replace(MNIST_PRINTED, one_by_one=True)
IMAGES = {"cifar10": {"matched": CIFAR10}, "mnist": {"matched": MNIST, "printed": MNIST_PRINTED}}

__all__ = [
    "CIFAR10",
    "CIFAR10_PAIRS",
    "IMAGES",
    "IMAGE_TRIALS",
    "LOSSES",
    "MATCHED",
    "MNIST",
    "MNIST_PRINTED",
    "NOISES",
    "PRINTED",
    "PROTOCOLS",
    "TRIALS",
    "UCI_DATASETS",
    "ImageSettings",
    "Settings",
]
