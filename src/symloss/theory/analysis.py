"""The analysis of a loss: each property checked on its values, and the theorem that follows from the checks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from symloss.losses import LossLike, Properties, get_loss
from symloss.theory.conditional import ROUNDING, TOLERANCE, Array
from symloss.theory.counterexamples import three_point_risk, three_points
from symloss.theory.shape import Report, Shape, Verdict, plain, shortest

# Dense, and with points close to 1/2 and to the ends, where a loss may no longer prefer the right sign.
_ETAS: Array = np.unique(np.concatenate([[0.0, 0.499, 0.49995, 0.50005, 0.501, 1.0], np.arange(1, 200) / 200]))
_ETAS = _ETAS[_ETAS != 0.5]
_UPPER = _ETAS[(_ETAS > 0.5) & (_ETAS < 1)]
_CLOSE = 0.004  # this close to 1/2, rounding may hide which sign is better


def analyze(loss: LossLike) -> Report:
    """Return a report on the properties of a loss, built in or a user's own, with the reason for each verdict.

    Everything is checked on the loss's values in float64, at about 3,000 margins up to 1e12 times the loss's own unit
    of length. The loss's claims about itself are compared with what is found, and never trusted. The verdict is "cannot
    tell" if the loss is NaN somewhere, if its limits cannot be found, if it varies less than its values are rounded, or
    if no theorem and no counterexample is known. Every witness is checked by plain evaluation of the loss.

    Parameters
    ----------
    loss : str, Loss or callable
        The loss.

    Examples
    --------
    >>> report = analyze("barrier_hinge")
    >>> print(report.symmetric.answer, report.symmetric_interval, report.convex.answer)
    no (-50.0, 50.0) yes
    >>> print(analyze("hinge").auc_consistent.reason)
    on three points, scores that do not rank by eta minimize the pairwise risk
    """
    from symloss.machines import one_thread  # needs threadpoolctl; importing symloss must not need it

    with one_thread():  # thousands of operations, on a few thousand numbers each
        return _Analysis(get_loss(loss)).report()


class _Analysis(Shape):
    """What follows from the shape of a loss and from its conditional risk, each computed once."""

    def report(self) -> Report:
        names = [name for name, kind in Report.__annotations__.items() if kind == "Verdict"]
        if self.unknown is not None:
            verdict: Any = Verdict("cannot tell", self.unknown)
            return Report(self.loss, **dict.fromkeys(names, verdict))
        return Report(
            loss=self.loss,
            **{name: getattr(self, name) for name in names},
            K=2 * self.at_zero if self.symmetric else None,
            symmetric_interval=(-self.symmetric_radius, self.symmetric_radius),
            excess_risk_constant=self.excess_risk_constant,
            M=self.bayes_scale,
            link=self.link,
            disagreements=self.disagreements,
        )

    @cached_property
    def calibrated(self) -> Verdict:
        if self.symmetric:
            return self._calibrated_by_theorem_5
        if self.convex:
            left, right = self.slopes_at_zero
            if self.falls_at_zero:
                return Verdict("yes", f"convex, and l'(0) = {(left + right) / 2:.4g} < 0 (Bartlett et al., 2006)")
            witness = f"slopes {left:.4g} and {right:.4g} at 0"
            return Verdict("no", "a convex loss needs l'(0) < 0 (Bartlett et al., 2006)", witness)
        return self._calibrated_by_definition

    @cached_property
    def _calibrated_by_theorem_5(self) -> Verdict:
        right, wrong = self.infimum_positive.value, self.infimum_rest.value
        if math.isnan(right) or math.isnan(wrong):
            return Verdict("cannot tell", "theorem 5 needs the infima of the loss, which cannot be read off")
        compared = f"inf over a > 0 of l is {right:g}, over a <= 0 it is {wrong:g}"
        if right < wrong - TOLERANCE * self.scale:
            also = "; corollary 6: non-increasing, l'(0) < 0" if self.non_increasing and self.falls_at_zero else ""
            return Verdict("yes", f"theorem 5: {compared}{also}")
        return Verdict("no", "theorem 5 (symmetric losses)", compared)

    def _size(self, values: Array) -> Array:
        """Return how far values of the conditional risk may be off by rounding."""
        size: Array = ROUNDING * (abs(self.at_zero) + np.abs(np.where(np.isfinite(values), values, 0.0)))
        return size

    @cached_property
    def _calibrated_by_definition(self) -> Verdict:
        right, _, wrong, wrong_at = self.infima(_ETAS)
        size, distance, unknown = self._size(wrong), np.abs(_ETAS - 0.5), np.isnan(right) | np.isnan(wrong)
        with np.errstate(invalid="ignore"):
            told, refuted = wrong - right > size, wrong - right < -size
            # Where neither is lower, the wrong sign is as good, unless the difference is too small to be seen, near 1/2
            # or where 0 is best.
            refuted |= ~told & ~unknown & (distance > _CLOSE) & ((wrong < self.at_zero - size) | (distance == 0.5))
        if refuted.any():
            i = int(np.argmax(np.where(refuted, distance, -1.0)))
            return self._wrong_sign(float(_ETAS[i]), float(wrong_at[i]), float(wrong[i]))
        if unknown.any():
            eta = _ETAS[unknown][0]
            return Verdict("cannot tell", f"the infima of the conditional risk at eta = {eta:g} cannot be read off")
        hidden = _ETAS[~told & (distance > _CLOSE)]
        if len(hidden):
            return Verdict("cannot tell", f"at eta = {hidden[0]:g} the differences of the risk drown in rounding")
        return Verdict("yes", f"definition: H⁻(eta) > H(eta) at {told.sum()} values of eta from 0 to 1")

    def _wrong_sign(self, eta: float, a: float, value: float) -> Verdict:
        """Return the verdict that at eta the score a, which has the wrong sign, is as good as any."""
        if math.isinf(a):
            reached = f"as the score goes to {'-' if a < 0 else ''}infinity"
        else:
            (a,) = shortest(lambda a: bool(self.risk(eta, a) <= value + self._size(np.array(value))), a)
            reached = f"at the score {plain(a)}"
        witness = f"H⁻({plain(eta)}) = {value + 0.0:.6g} = H({plain(eta)}), {reached}"
        return Verdict("no", "definition: a wrong sign is as good", witness)

    @cached_property
    def excess_risk_constant(self) -> float | None:
        if not (self.symmetric and self.calibrated):
            return None
        return self.infimum_rest.value - self.infimum_positive.value

    @cached_property
    def _psi_values(self) -> str:
        theta = np.array([0.25, 0.5, 1.0])
        return ", ".join(f"psi({t:g}) = {v:.4g}" for t, v in zip(theta, self.psi(theta), strict=True))

    @cached_property
    def excess_risk_bound(self) -> Verdict:
        constant = self.excess_risk_constant
        if not self.calibrated:
            why = "a bound exists exactly for a calibrated loss (Bartlett et al., 2006)"
            return Verdict(self.calibrated.answer, why, self.calibrated.witness)
        if self.lowest_value == -math.inf:
            because = "theorem 7's denominator is infinite" if constant is not None else "the loss has no lower bound"
            return Verdict("no", f"{because}: with R_l* = -infinity the bound says nothing", self.bounded.witness)
        if math.isnan(self.lowest_value):
            return Verdict("cannot tell", "a bound needs the infimum of the loss, which cannot be read off")
        if constant is not None:
            return Verdict("yes", f"theorem 7: R01 - R01* <= (R_l - R_l*) / {constant:g}")
        return Verdict("yes", f"psi(R01 - R01*) <= R_l - R_l* (Bartlett et al., 2006), {self._psi_values}")

    @cached_property
    def _optima(self) -> tuple[Array, Array]:
        """H and f* at the values of eta above 1/2; those below 1/2 mirror them."""
        best, at, _ = self.best(_UPPER)
        return best, at

    @cached_property
    def bayes_scale(self) -> float | None:
        """M, if f*(eta) = M sign(eta - 1/2)."""
        if not self.calibrated:
            return None
        if self.symmetric:
            return None if math.isnan(self.infimum_positive.at) else self.infimum_positive.at
        found = self._optima[1]
        same = np.isinf(found).all() or (np.isfinite(found).all() and np.ptp(found) <= 1e-6 * np.abs(found).max())
        return float(found[len(found) // 2]) if same and found[0] > 0 else None

    @cached_property
    def _told(self) -> NDArray[np.bool_]:
        """Where rounding does not hide f*: the lowest risk is far below that of the score 0, or clearly that of 0."""
        best, at = self._optima
        size = self._size(best)
        beside = np.minimum(self.risk(_UPPER, 1e-6 * self.unit), self.risk(_UPPER, -1e-6 * self.unit))
        told: NDArray[np.bool_] = np.where(at == 0, beside > best + 10 * size, best < self.at_zero - 100 * size)
        return told

    @cached_property
    def recovers_eta(self) -> Verdict:
        if self.symmetric and self.calibrated:
            why = "theorem 8: f*(eta) = M sign(eta - 1/2) knows only whether eta > 1/2"
            return Verdict("no", why, "eta = 0.6 and 0.9")
        at, told = self._optima[1], self._told
        if np.isnan(at).any():
            return Verdict("cannot tell", "the minimizer of the conditional risk cannot be read off")
        if shared := self._shared_minimizer:
            return Verdict("no", "f* takes one value at several eta", shared)
        if told.mean() < 0.9:
            return Verdict("cannot tell", "the conditional risk is too flat to find its minimizer")
        etas, at = _UPPER[told], at[told]
        steps = np.diff(at) / np.where(np.isfinite(at[1:]), np.maximum(self.unit, np.abs(at[1:])), 1.0) / np.diff(etas)
        rises, falls = (steps > 1e-7).all() and at.min() > 0, (steps < -1e-7).all() and at.max() < 0
        if not (rises or falls):
            why = "f* is not seen to rise or fall strictly, and no two eta are seen to share it"
            return Verdict("cannot tell", why)
        if rises and self.calibrated.answer == "no":
            return Verdict("cannot tell", "f* rises strictly, but the loss is not calibrated")
        if self.corners:
            where = ", ".join(f"{corner:g}" for corner in self.corners[:3])
            return Verdict("cannot tell", f"at a corner ({where}) f* may take one value at several eta")
        known = ", ".join(f"f*({eta:g}) = {float(np.interp(eta, etas, at)):.4g}" for eta in (0.7, 0.8, 0.9))
        how = "increases" if rises else "decreases"
        return Verdict("yes", f"f* {how} strictly: {self.link + '; ' if self.link else ''}{known}")

    @cached_property
    def _shared_minimizer(self) -> str | None:
        """Two neighboring values of eta at which one score minimizes the conditional risk, as text; None if none do."""
        best, at = self._optima
        finite = np.where(np.isfinite(at), at, 0.0)
        forward = self.risk(_UPPER[1:], finite[:-1]) <= (best + self._size(best))[1:]
        backward = self.risk(_UPPER[:-1], finite[1:]) <= (best + self._size(best))[:-1]
        unbounded = np.isinf(at)
        shared = np.where(unbounded[1:] | unbounded[:-1], at[1:] == at[:-1], forward | backward)
        shared &= self._told[1:] & self._told[:-1]
        if not shared.any():
            return None
        i = int(np.argmax(shared))
        a = at[i] if unbounded[i] or forward[i] else at[i + 1]
        return f"f*({_UPPER[i]:g}) = {a:.4g}, f*({_UPPER[i + 1]:g}) = {a:.4g}"

    @cached_property
    def link(self) -> str | None:
        """The formula of f* that the loss claims, or None if the claim is wrong."""
        claims = self.loss.properties
        return claims.minimizer.formula if claims and not self._wrong_minimizer(claims) else None

    @cached_property
    def auc_consistent(self) -> Verdict:
        if self.calibrated.answer == "no":
            source = "lemma 9" if self.symmetric else "Gao and Zhou, 2015"
            return Verdict("no", f"{source}: an AUC-consistent loss is calibrated", self.calibrated.witness)
        if self.lowest_value == -math.inf:
            return self._no_lower_bound
        if not math.isnan(self.lowest_value) and self.calibrated and (reason := self._reason_for_consistency):
            return Verdict("yes", reason)
        found = three_points(self.loss, (*self.corners, *self.loss.breakpoints))
        if found is not None:
            return Verdict(
                "no",
                "on three points, scores that do not rank by eta minimize the pairwise risk",
                f"eta = {_tuple(found.eta)}: the scores {_tuple(found.scores)} reach its minimum, {found.risk:.6g}",
            )
        return Verdict("cannot tell", "no theorem covers this loss, and no counterexample is known")

    @cached_property
    def _reason_for_consistency(self) -> str | None:
        if self.symmetric and self.non_increasing:
            more = "l'(0) < 0" if self.falls_at_zero else "not constant (the remark after its proof)"
            return f"theorem 11: symmetric, non-increasing, {more}"
        if self.convex and self.non_increasing and self.falls_at_zero and not self.corners:
            return "convex, differentiable, non-increasing, l'(0) < 0 (Gao and Zhou, 2015)"
        if self._is_quadratic and self.convex and self.falls_at_zero:
            return "the squared loss, up to scale (Gao et al., 2013)"
        if self._has_logit_link:
            return (
                "f*(eta) is a multiple of logit(eta), so that f* minimizes the conditional risk of every pair at once"
            )
        if self.lowest_at_infinity:
            return (
                "the ray condition: C(eta, a) tends to H(eta) as a grows, for every eta > 1/2, so that scores far "
                "apart minimize the conditional risk of every pair at once"
            )
        return None

    @cached_property
    def _no_lower_bound(self) -> Verdict:
        """The verdict on a loss without a lower bound: the pairwise risk of tied scores goes to -infinity, too."""
        eta, scores = (1.0, 0.5, 0.0), [float(f"{t * self.unit:.4g}") for t in (1e1, 1e4)]
        risks = [float(three_point_risk(self, eta, (np.zeros(1), np.full(1, t)))[0]) for t in scores]
        shown = " and ".join(f"{risk:.6g} at t = {t:g}" for risk, t in zip(risks, scores, strict=True))
        return Verdict(
            "no",
            "the loss has no lower bound: the pairwise risk goes to its infimum, -infinity, for scores with ties, too",
            f"eta = {_tuple(eta)}: the scores (t, t, 0) have the pairwise risk {shown}",
        )

    @cached_property
    def auc_regret_bound(self) -> Verdict:
        if self.auc_consistent.answer == "no":
            return Verdict("no", "a bound exists only for an AUC-consistent loss", self.auc_consistent.witness)
        if not self.auc_consistent:
            return Verdict("cannot tell", "it is not known whether the loss is AUC-consistent")
        if not (self._has_logit_link or self.lowest_at_infinity):
            why = "no bound is known: the conditional risks of pairs need not be lowest at once"
            return Verdict("cannot tell", why)
        constant = self.excess_risk_constant
        if constant is None:
            return Verdict("yes", f"psi(AUC regret) <= R - R*, {self._psi_values}")
        bound = f"(R - R*) / {constant:g}, from corrupted labels (R - R*) / ({constant:g} (pi - pi'))"
        return Verdict("yes", f"AUC regret <= {bound}")

    @cached_property
    def _is_quadratic(self) -> bool:
        z, values = self.margins[self.near] / self.unit, self.values[self.near]
        at = np.searchsorted(z, (-2.0, 0.0, 2.0))
        fitted = np.polynomial.Polynomial.fit(z[at], values[at], 2)
        return bool((np.abs(fitted(z) - values) <= self.rounding(values)).all() and fitted.convert().coef[-1] > 0)

    @cached_property
    def _has_logit_link(self) -> bool:
        close = 1e-5 + 10 * math.sqrt(ROUNDING * abs(self.at_zero) / self.scale) if self.scale else 0.0
        clear = _UPPER >= 0.55  # closer to 1/2 the minimum is too flat to find f* to many digits
        with np.errstate(invalid="ignore"):
            ratios = (self._optima[1] / np.log(_UPPER / (1 - _UPPER)))[clear]
            return bool(np.isfinite(ratios).all() and ratios[0] > 0 and np.ptp(ratios) <= close * ratios[-1])

    @cached_property
    def disagreements(self) -> tuple[str, ...]:
        claims = self.loss.properties
        found = list(self._wrong_claims(claims)) if claims else []
        if callable(self.loss.structure):
            z = self.margins[self.near]
            off = np.abs(self.loss.structure(torch.from_numpy(z)).numpy() - self(z)) > self.rounding(self(z))
            if off.any():
                found.append(f"structure gives another value than the loss at z = {float(z[int(np.argmax(off))]):g}")
        return tuple(found)

    def _wrong_claims(self, claims: Properties) -> Iterator[str]:
        for name in ("convex", "non_increasing", "bounded"):
            verdict: Verdict = getattr(self, name)
            if verdict.answer != "cannot tell" and bool(verdict) != getattr(claims, name):
                yield f"{name} is claimed {getattr(claims, name)}, but {verdict}"
        constant = 2 * self.at_zero if self.symmetric else None
        if not _same(claims.symmetric_constant, constant):
            yield f"symmetric_constant is claimed {claims.symmetric_constant}, but {self.symmetric}"
        if not _same(claims.symmetric_radius, self.symmetric_radius):
            yield f"symmetric_radius is claimed {claims.symmetric_radius:g}, but {self.symmetric_radius:g} is found"
        if claims.minimizer.recovers_eta != bool(self.recovers_eta) and self.recovers_eta.answer != "cannot tell":
            yield f"recovers eta is claimed {claims.minimizer.recovers_eta}, but {self.recovers_eta}"
        if wrong := self._wrong_minimizer(claims):
            yield wrong

    def _wrong_minimizer(self, claims: Properties) -> str | None:
        etas = np.array([0.1, 0.3, 0.7, 0.9])
        claim = claims.minimizer(torch.from_numpy(etas)).tolist()
        for eta, claimed, at in zip(etas, claim, self.best(etas)[1], strict=True):
            near = claimed == at or abs(claimed - at) <= 1e-5 * max(self.unit, abs(claimed))
            if not near and not math.isnan(at):
                return f"f*({eta:g}) is claimed {claimed:g}, but {at:g} is found"
        return None


def _same(claimed: float | None, found: float | None) -> bool:
    if claimed is None or found is None:
        return claimed is found
    return claimed == found or (math.isfinite(found) and abs(claimed - found) <= 1e-6 * abs(claimed))


def _tuple(numbers: tuple[float, ...]) -> str:
    """Return numbers with few digits where these are enough, else with all."""
    exact = (abs(float(f"{number:g}") - number) <= ROUNDING * abs(number) for number in numbers)
    texts = (f"{number:g}" if short else plain(number) for number, short in zip(numbers, exact, strict=True))
    return "(" + ", ".join(texts) + ")"
