"""The sums of one small problem on a CPU in as few steps as possible: a step takes longer than its arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from torch import Tensor

from symloss.losses import Analytic, ExponentialDecay, Loss, Piecewise
from symloss.pairwise.bounds import in_range
from symloss.pairwise.counting import counted
from symloss.pairwise.expansion import by_expansion
from symloss.pairwise.exponentials import by_exponentials, form_of
from symloss.pairwise.few import LIMITS, by_signs, corner_tile, finite_margins, kinked_tile, mean_of
from symloss.pairwise.moments import one_exponential, one_line, one_polynomial
from symloss.pairwise.problem import Sums, in_one_block

Plan = Callable[[Tensor, Tensor], Sums | None]

_FEW, _FEW_SMOOTH = 1 << 13, 13_000  # pairs: up to this many, computing each one is the shortest way
_PLANS: dict[int, tuple[Loss, Plan | None]] = {}  # by identity, since hashing a loss takes as long as a step
_MOST_PLANS = 256
_MOST_SEARCHED = 1 << 11  # scores of both classes: more are ranked faster by one sort


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
        return partial(_kinked, loss=loss, structure=structure)
    if isinstance(structure, ExponentialDecay) or (isinstance(structure, Piecewise) and not structure.kinks):
        return partial(_separable, loss=loss, structure=structure)
    return None


def _smooth(pos: Tensor, neg: Tensor, loss: Loss, structure: Analytic) -> Sums | None:
    pairs, form = pos.shape[0] * neg.shape[0], form_of(loss)
    if form is not None and form.least <= pairs <= form.most:
        found = by_exponentials(pos, neg, form)
        if found is not None:
            return found
    if pairs > _FEW_SMOOTH:
        found = by_expansion(pos, neg, loss, structure)
        if found is not None or pairs > LIMITS["cpu"].smooth:
            return found
    return _every_pair(pos, neg, loss)


def _kinked(pos: Tensor, neg: Tensor, loss: Loss, structure: Piecewise) -> Sums | None:
    found = None
    if pos.shape[0] * neg.shape[0] <= _FEW:
        alone = len(structure.kinks) == 1 and structure.kinks[0].power == 1 and not any(structure.coefficients)
        found = corner_tile(pos, neg, structure.kinks[0]) if alone else kinked_tile(pos, neg, loss, structure)
    if found is not None or pos.shape[0] + neg.shape[0] > _MOST_SEARCHED:
        return found
    found = counted(pos, neg, structure)
    return _in_range(found, loss)


def _separable(pos: Tensor, neg: Tensor, loss: Loss, structure: Piecewise | ExponentialDecay) -> Sums | None:
    if not (pos.shape[0] and neg.shape[0] and in_one_block(pos, neg)):
        return None
    if isinstance(structure, Piecewise) and not any(structure.coefficients[2:]):
        return one_line(pos, neg, structure.coefficients)
    if pos.shape[0] * neg.shape[0] <= _FEW:
        return _every_pair(pos, neg, loss)
    if isinstance(structure, Piecewise):
        found = one_polynomial(pos, neg, structure.coefficients)
    else:
        found = one_exponential(pos, neg, structure.rate, structure.scale)
    return _in_range(found, loss)


def _in_range(found: Sums | None, loss: Loss) -> Sums | None:
    return None if found is None else (in_range(found[0], loss), found[1], found[2])


def _every_pair(pos: Tensor, neg: Tensor, loss: Loss) -> Sums | None:
    z = finite_margins(pos, neg)
    if z is None:
        return None
    values, slopes = loss.value_and_slope(z)
    slopes = slopes.mul_(1 / z.numel())
    return mean_of(values), slopes.sum(1), slopes.sum(0).neg_()
