"""The paper's theory as executable checks: what a loss satisfies, and what corruption does to its risks."""

from symloss.theory.analysis import analyze
from symloss.theory.conditional import (
    Infimum,
    conditional_infima,
    conditional_risk,
    minimizer,
    psi_transform,
)
from symloss.theory.counterexamples import (
    CounterexampleLoss,
    PairRow,
    Proposition10,
    ThreePoints,
    proposition_10,
    three_points,
)
from symloss.theory.decomposition import (
    Decomposition,
    auc_corollary,
    auc_decomposition,
    ber_corollary,
    ber_decomposition,
)
from symloss.theory.shape import Report, Verdict

__all__ = [
    "CounterexampleLoss",
    "Decomposition",
    "Infimum",
    "PairRow",
    "Proposition10",
    "Report",
    "ThreePoints",
    "Verdict",
    "analyze",
    "auc_corollary",
    "auc_decomposition",
    "ber_corollary",
    "ber_decomposition",
    "conditional_infima",
    "conditional_risk",
    "minimizer",
    "proposition_10",
    "psi_transform",
    "three_points",
]
