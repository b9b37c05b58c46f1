"""The mean of l(s_i - t_j) over all pairs, and its gradient, never the matrix.

``choose.py`` has the table of what computes it; ``risk.py`` says which functions other rooms call.
"""

from symloss.pairwise.risk import (
    Derivatives,
    check_constant,
    derivatives_of_pairs,
    gradients_of_pairs,
    pairwise_derivatives,
    pairwise_risk,
    risk_of_pairs,
    risk_of_points,
)

__all__ = [
    "Derivatives",
    "check_constant",
    "derivatives_of_pairs",
    "gradients_of_pairs",
    "pairwise_derivatives",
    "pairwise_risk",
    "risk_of_pairs",
    "risk_of_points",
]
