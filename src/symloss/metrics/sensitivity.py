"""How far flip probabilities that vary from point to point can move the AUC."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from symloss.checking import check_fraction, check_probability


def clean_auc_bounds(
    auc: float, share: float, rates: Sequence[float], spread: float = 0.0, prior: float | None = None
) -> tuple[float, float]:
    """Return the lowest and the highest clean AUC that agree with an AUC on labels flipped at varying rates.

    Each positive is flipped with a probability within ``spread`` of ``rates[0]``, and each negative with one within
    ``spread`` of ``rates[1]``. Within these limits, the probabilities may depend on the features in any way. If all
    that is known is that none of them exceeds h, then the rates are (h / 2, h / 2), and the spread is h / 2.

    Parameters
    ----------
    auc : float
        The AUC of scores on the noisy labels.
    share : float
        The share of positives among the noisy labels.
    rates : two floats
        The middle of the flip probabilities of positives, and of negatives, such as ``FlipRates``. Their sum is less
        than 1.
    spread : float
        How far flip probabilities can be from these rates.
    prior : float, optional
        The share of positives among the clean labels. If it is known, the bounds are narrower.

    Returns
    -------
    low, high : float
        No clean AUC outside of them is possible. Both are attained by some distribution without ties, unless rates
        within the spread would be below 0 or above 1.

    Notes
    -----
    With the prior p, c = 1 - rates[0] - rates[1] and excess = share - rates[1] - c p, the clean AUC lies within

        1/2 + (share (1 - share) (auc - 1/2) +- (spread - excess^2 / spread) / 4) / (c p (1 - p)).

    If p is not known, the bounds are the lowest and the highest value over all p for which the excess is at most the
    spread. If the spread is 0, this is ``clean_auc``. The concept page on corruption has the proof.

    Examples
    --------
    >>> low, high = clean_auc_bounds(0.75, share=0.5, rates=(0.2, 0.1), spread=0.05)
    >>> print(f"{low:.2f} to {high:.2f}")
    0.79 to 0.94
    >>> low, high = clean_auc_bounds(0.75, share=0.5, rates=(0.1, 0.1), spread=0.1)  # flip probabilities up to 0.2
    >>> print(f"{low:.2f} to {high:.2f}")
    0.69 to 0.94
    """
    check_probability("auc", auc)
    check_fraction("share", share)
    positive, negative = rates
    check_probability("rates[0]", positive)
    check_probability("rates[1]", negative)
    check_probability("spread", spread)
    slope, offset = 1 - positive - negative, share - negative
    if not slope > 0:
        raise ValueError(f"rates must sum to less than 1, got {positive:g} and {negative:g}")
    least, most = max((offset - spread) / slope, 0.0), min((offset + spread) / slope, 1.0)
    if least > most or least == 1 or most == 0:
        raise ValueError(
            f"a share of {share:g} noisy positives cannot be: flip probabilities of {positive:g} and {negative:g}, "
            f"within {spread:g}, leave a share between {max(negative - spread, 0):g} and {1 - positive + spread:g}"
        )
    if prior is not None:
        check_fraction("prior", prior)
        if not least - 1e-9 <= prior <= most + 1e-9:
            raise ValueError(
                f"prior must be between {least:.6g} and {most:.6g} by share, rates and spread, got {prior!r}"
            )
        least = most = prior
    known = share * (1 - share) * (auc - 0.5)
    lowest, highest = (_extreme_auc(known, slope, offset, side * spread, least, most) for side in (-1, 1))
    if lowest > 1 or highest < 0:
        warnings.warn(
            f"an AUC of {auc:.3f} on noisy labels cannot be: flip probabilities of {positive:g} and {negative:g}, "
            f"within {spread:g}, are too large for it",
            stacklevel=2,
        )
    return min(max(lowest, 0.0), 1.0), min(max(highest, 0.0), 1.0)


def _extreme_auc(known: float, slope: float, offset: float, spread: float, least: float, most: float) -> float:
    """Return the highest clean AUC over priors from ``least`` to ``most``, or the lowest one if the spread is negative.

    At a prior p, it is 1/2 + (a + b p + c p^2) / (slope p (1 - p)), which is stationary where (b + c) p^2 + 2 a p = a.
    """
    least, most = max(least, 1e-12), min(most, 1 - 1e-12)
    a, b, c = 4 * spread * known + spread**2 - offset**2, 2 * slope * offset, -(slope**2)  # all times 4 * spread
    stationary = [p.real for p in np.roots([b + c, 2 * a, -a]) if p.imag == 0 and least < p.real < most]

    def clean(p: float) -> float:
        part = min(abs((offset - slope * p) / spread), 1.0) if spread else 1.0
        return 0.5 + (known + spread * (1 - part**2) / 4) / (slope * p * (1 - p))

    values = [clean(p) for p in (least, *stationary, most)]
    return float(max(values) if spread > 0 else min(values))
