"""Noise models: mutual contamination (pi, pi'), label flips, weak supervision, and conversions between them."""

from symloss.checking import check_contamination as check_contamination
from symloss.corruption.annotators import Annotations, from_annotators
from symloss.corruption.draws import (
    Contamination,
    FlipRates,
    border_rates,
    contaminate,
    contaminated_split,
    flip_by_instance,
    flip_labels,
    positive_unlabeled,
    to_contamination,
    to_flip_rates,
)
from symloss.corruption.draws import RandomState as RandomState
from symloss.corruption.two_sets import from_comparisons, from_keywords, from_similar_pairs, from_two_sets

__all__ = [
    "Annotations",
    "Contamination",
    "FlipRates",
    "border_rates",
    "contaminate",
    "contaminated_split",
    "flip_by_instance",
    "flip_labels",
    "from_annotators",
    "from_comparisons",
    "from_keywords",
    "from_similar_pairs",
    "from_two_sets",
    "positive_unlabeled",
    "to_contamination",
    "to_flip_rates",
]
