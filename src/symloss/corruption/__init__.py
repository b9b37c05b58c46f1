"""Noise models: mutual contamination (pi, pi'), label flips, weak supervision, and conversions between them."""

from symloss.corruption.draws import RandomState as RandomState
from symloss.corruption.draws import contaminate, contaminated_split, positive_unlabeled, unlabeled_unlabeled
from symloss.corruption.flips import flip_labels
from symloss.corruption.rates import Contamination, FlipRates, to_contamination, to_flip_rates
from symloss.corruption.rates import check_contamination as check_contamination
from symloss.corruption.two_sets import from_two_sets

__all__ = [
    "Contamination",
    "FlipRates",
    "contaminate",
    "contaminated_split",
    "flip_labels",
    "from_two_sets",
    "positive_unlabeled",
    "to_contamination",
    "to_flip_rates",
    "unlabeled_unlabeled",
]
