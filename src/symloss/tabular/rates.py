"""The rates of the noise that a fitted model goes by."""

from __future__ import annotations

from typing import Any

from symloss.corruption import Contamination


def known_rates(estimator: Any) -> Contamination | None:
    """Return pi and pi': those given to the estimator, or else those that it has estimated, or None.

    Examples
    --------
    >>> import symloss as sl
    >>> known_rates(sl.AUCClassifierCV(pi=0.9, pi_prime=0.1))
    Contamination(pi=0.9, pi_prime=0.1)
    """
    pi, pi_prime = (getattr(estimator, name, None) for name in ("pi", "pi_prime"))  # of the CV forms alone
    if pi is not None and pi_prime is not None:
        return Contamination(float(pi), float(pi_prime))
    noise = getattr(estimator, "noise_", None)  # models of earlier versions have none
    return None if noise is None or noise.pi is None else Contamination(noise.pi, noise.pi_prime)
