"""The sums of one small problem on a CPU in as few steps as possible: a step takes longer than its arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import torch

from symloss.losses import Analytic, ExponentialDecay, Loss, Piecewise
from symloss.pairwise.arrays import MOST_SCORES, Arrays, Scores
from symloss.pairwise.bounds import in_range, range_of
from symloss.pairwise.counting import counted
from symloss.pairwise.expansion import by_expansion
from symloss.pairwise.exponentials import by_exponentials, form_of
from symloss.pairwise.few import LIMITS, by_signs, finite_margins, mean_of
from symloss.pairwise.moments import one_exponential, one_line, one_polynomial
from symloss.pairwise.problem import Sums

Plan = Callable[[Scores, Scores], Arrays | None]
Range = tuple[float, float] | None  # of the values of a loss, where it is known

_FEW_SMOOTH = 13_000  # pairs: up to this many, computing each one is the shortest way
_PLANS: dict[int, tuple[Loss, Plan | None]] = {}  # by identity, since hashing a loss takes as long as a step
_MOST_PLANS = 256
_MOST_SEPARABLE = 1 << 16  # scores of both classes: more do not stay in the cache


def plan_of(loss: Loss) -> Plan | None:
    """Return how to compute the sums for scores (n,) and (m,) of equal weight, or None if there is no short way.

    The plan returns None where other ways are faster, and where a score is not finite. It is for losses of symloss
    only, which are what they declare and never change.
    """
    made_for, plan = _PLANS.get(id(loss), (None, None))
    if made_for is not loss:
        if len(_PLANS) >= _MOST_PLANS:
            _PLANS.clear()
        plan = _made(loss)
        _PLANS[id(loss)] = loss, plan
    return plan


def _made(loss: Loss) -> Plan | None:
    structure = loss.structure
    if not type(loss).__module__.startswith("symloss.losses."):
        return None
    if isinstance(structure, Analytic):
        return partial(_smooth, loss=loss, structure=structure)
    if by_signs(structure):
        return partial(_kinked, loss=loss, structure=structure, ends=range_of(loss))
    if isinstance(structure, ExponentialDecay) or (isinstance(structure, Piecewise) and not structure.kinks):
        return partial(_separable, loss=loss, structure=structure, ends=range_of(loss))
    return None


def _smooth(s: Scores, t: Scores, loss: Loss, structure: Analytic) -> Arrays | None:
    pairs, form = len(s) * len(t), form_of(loss)
    if form is not None and 0 < pairs <= form.most and len(s) + len(t) <= MOST_SCORES:
        found = by_exponentials(s, t, form)
        if found is not None:
            return found
    if pairs > _FEW_SMOOTH:
        found = _arrays(by_expansion(torch.from_numpy(s), torch.from_numpy(t), loss, structure))
        if found is not None or pairs > LIMITS["cpu"].smooth:
            return found
    return _every_pair(s, t, loss)


def _kinked(s: Scores, t: Scores, loss: Loss, structure: Piecewise, ends: Range) -> Arrays | None:
    return _in_range(counted(s, t, structure), ends, loss) if len(s) + len(t) <= MOST_SCORES else None


@np.errstate(over="ignore", invalid="ignore")
def _separable(s: Scores, t: Scores, loss: Loss, structure: Piecewise | ExponentialDecay, ends: Range) -> Arrays | None:
    if not (len(s) and len(t)) or len(s) + len(t) > _MOST_SEPARABLE:
        return None
    if isinstance(structure, ExponentialDecay):
        return _in_range(one_exponential(s, t, structure.rate, structure.scale), ends, loss)
    if any(structure.coefficients[2:]):
        return _in_range(one_polynomial(s, t, structure.coefficients), ends, loss)
    return one_line(s, t, structure.coefficients)


def _in_range(found: Arrays | None, ends: Range, loss: Loss) -> Arrays | None:
    """Return the sums with a value that is in the range of the loss, which rounding may pass."""
    if found is None or ends is None or ends[0] <= found[0] <= ends[1]:
        return found
    return in_range(torch.tensor(found[0], dtype=torch.float64), loss).item(), found[1], found[2]


def _every_pair(s: Scores, t: Scores, loss: Loss) -> Arrays | None:
    z = finite_margins(torch.from_numpy(s), torch.from_numpy(t))
    if z is None:
        return None
    values, slopes = loss.value_and_slope(z)
    slopes = slopes.mul_(1 / z.numel())
    return _arrays((mean_of(values), slopes.sum(1), slopes.sum(0).neg_()))


def _arrays(sums: Sums | None) -> Arrays | None:
    return None if sums is None else (sums[0].item(), sums[1].numpy(), sums[2].numpy())
