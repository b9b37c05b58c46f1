"""The analysis of a loss: each property checked on its values, and the theorem that follows from the checks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from symloss.losses import Loss, LossLike, Properties, get_loss
from symloss.theory.conditional import Array, all_infima, minimizers, probes, psi_transform, sided_infima
from symloss.theory.counterexamples import pairwise_risk, three_points
from symloss.theory.report import Report, Verdict
from symloss.theory.shape import ROUNDING, TOLERANCE, Shape, plain, shortest

# Dense, and with points close to 1/2 and to the ends, where a loss may no longer prefer the right sign.
_ETAS: Array = np.unique(np.concatenate([np.arange(0.005, 1, 0.005).round(3), [0.499, 0.49995, 0.50005, 0.501]]))
_ETAS = _ETAS[_ETAS != 0.5]
_UPPER = _ETAS[_ETAS > 0.5]
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
    from symloss.threads import one_thread  # needs threadpoolctl; importing symloss must not need it

    with one_thread():  # thousands of operations, on a few thousand numbers each
        loss = get_loss(loss)
        return _Analysis(loss, probes(loss)).report()


def symmetry(loss: Loss) -> tuple[float | None, Verdict]:
    """Return K if l(z) + l(-z) = K for all z, else None; and the verdict on which this is based."""
    shape = Shape(loss, probes(loss))
    return (2 * shape.at_zero if shape.symmetric else None), shape.symmetric


class _Analysis(Shape):
    """What follows from the shape of a loss and from its conditional risk, each computed once."""

    def report(self) -> Report:
        names = [name for name, kind in Report.__annotations__.items() if kind == "Verdict"]
        if self.unknown is not None:
            verdict = Verdict("cannot tell", self.unknown)
            verdicts = dict.fromkeys(names, verdict)
            return Report(
                loss=self.loss,
                **verdicts,
                K=None,
                symmetric_interval=(0.0, 0.0),
                excess_risk_constant=None,
                M=None,
                link=None,
                disagreements=(),
            )
        verdicts = {name: getattr(self, name) for name in names}
        return Report(
            loss=self.loss,
            **verdicts,
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
            return Verdict(
                "no", "a convex loss needs l'(0) < 0 (Bartlett et al., 2006)", f"slopes {left:.4g} and {right:.4g} at 0"
            )
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
        if right < wrong - ROUNDING * (abs(right) + abs(wrong)):
            return Verdict("cannot tell", "theorem 5: the infima of the two sides are too close to each other")
        return Verdict("no", "theorem 5 (symmetric losses)", compared)

    def _risk(self, eta: Array | float, a: Array | float) -> Array:
        """Return C(eta, a) for finite scores; avoids zero times infinity."""
        eta, a = np.broadcast_arrays(np.asarray(eta, dtype=np.float64), np.asarray(a, dtype=np.float64))
        there, back = self.function(a.ravel()).reshape(a.shape), self.function(-a.ravel()).reshape(a.shape)
        with np.errstate(invalid="ignore", over="ignore"):
            risk: Array = np.where(eta == 0, 0.0, eta * there) + np.where(eta == 1, 0.0, (1 - eta) * back)
        return risk

    @cached_property
    def _calibrated_by_definition(self) -> Verdict:
        etas = np.concatenate([[0.0], _ETAS, [1.0]])
        right, _, wrong, wrong_at = sided_infima(self.loss, etas)
        unknown = np.isnan(right) | np.isnan(wrong)
        with np.errstate(invalid="ignore"):
            gap, size = wrong - right, ROUNDING * (abs(self.at_zero) + np.abs(np.where(np.isfinite(wrong), wrong, 0.0)))
            told = gap > size
            # Where neither is seen to be lower, the wrong sign is as good if its best score is not 0, or if eta is 0 or
            # 1 and the risk is the loss itself. Otherwise the difference may be too small to be seen, as near 1/2.
            elsewhere = (wrong < self.at_zero - size) & (np.abs(etas - 0.5) > _CLOSE)
            equal = (gap > -size) & (elsewhere | (etas == 0) | (etas == 1))
            refuted = ~unknown & ~told & (~(gap > -size) | equal)
        if refuted.any():
            i = int(np.argmax(refuted & (np.abs(etas - 0.5) >= np.abs(etas - 0.5)[refuted].max())))
            return self._wrong_sign(float(etas[i]), float(wrong_at[i]), float(wrong[i]))
        if unknown.any():
            eta = etas[unknown][0]
            return Verdict("cannot tell", f"the infima of the conditional risk at eta = {eta:g} cannot be read off")
        corner = self._corner_at_zero
        if corner:
            (eta,) = shortest(lambda eta: 0.5 < eta < 0.5 + corner / 2, 0.5 + corner / 4)
            return self._wrong_sign(eta, 0.0, self.at_zero)
        close = etas[~told]
        if (np.abs(close - 0.5) > _CLOSE).any():
            return Verdict("cannot tell", f"at eta = {close[0]:g} the differences of the risk drown in rounding")
        return Verdict("yes", f"definition: H⁻(eta) > H(eta) at {told.sum()} values of eta from 0 to 1")

    def _wrong_sign(self, eta: float, a: float, value: float) -> Verdict:
        """Return the verdict that at eta the score a, which is 0 or has the wrong sign, is as good as any."""
        size = ROUNDING * (abs(value) + abs(self.at_zero))
        if math.isinf(a):
            reached = f"as the score goes to {'-' if a < 0 else ''}infinity"
        else:
            (a,) = shortest(lambda a: bool(self._risk(eta, a) <= value + size), a)
            reached = f"at the score {plain(a)}"
        witness = f"H⁻({plain(eta)}) = {value + 0.0:.6g} = H({plain(eta)}), {reached}"
        return Verdict("no", "definition: a wrong sign is as good", witness)

    @cached_property
    def _corner_at_zero(self) -> float:
        """The theta = 2 eta - 1 below which a corner at 0 makes 0 the best score, or 0 if there is no such corner.

        C(eta, a) - l(0) is (even + theta odd) / 2, for even = l(a) + l(-a) - 2 l(0) and odd = l(a) - l(-a). It is
        positive for every a if theta is below every ratio of even to -odd. Near a corner, the ratio is a constant.
        """
        there, back = self.function(self.positive), self.function(-self.positive)
        with np.errstate(all="ignore"):
            even, odd = there + back - 2 * self.at_zero, there - back
            size = ROUNDING * (np.abs(there) + np.abs(back) + abs(self.at_zero))
            ratios = np.where(odd < 0, (even - size) / -odd, np.where(even > size, np.inf, -np.inf))
        near = np.searchsorted(self.positive, self.unit * np.array([1e-6, 1e-3]))
        smallest = float(ratios.min())
        constant = smallest > 0 and ratios[near[0]] > 0.5 * ratios[near[1]]
        return min(smallest, 1.0) if constant else 0.0

    @cached_property
    def excess_risk_constant(self) -> float | None:
        if not (self.symmetric and self.calibrated):
            return None
        return self.infimum_rest.value - self.infimum_positive.value

    def _psi(self) -> str:
        theta = np.array([0.25, 0.5, 1.0])
        return ", ".join(f"psi({t:g}) = {v:.4g}" for t, v in zip(theta, psi_transform(self.loss, theta), strict=True))

    @cached_property
    def excess_risk_bound(self) -> Verdict:
        constant = self.excess_risk_constant
        if not self.calibrated:
            return Verdict(
                self.calibrated.answer,
                "a bound exists exactly for a calibrated loss (Bartlett et al., 2006)",
                self.calibrated.witness,
            )
        if self.lowest == -math.inf:
            because = "theorem 7's denominator is infinite" if constant is not None else "the loss has no lower bound"
            return Verdict("no", f"{because}: with R_l* = -infinity the bound says nothing", self.bounded.witness)
        if math.isnan(self.lowest):
            return Verdict("cannot tell", "a bound needs the infimum of the loss, which cannot be read off")
        if constant is not None:
            return Verdict("yes", f"theorem 7: R01 - R01* <= (R_l - R_l*) / {constant:g}")
        return Verdict("yes", f"psi(R01 - R01*) <= R_l - R_l* (Bartlett et al., 2006), {self._psi()}")

    @cached_property
    def _optima(self) -> tuple[Array, Array]:
        """H and f* at the values of eta above 1/2; those below 1/2 mirror them."""
        best, at, _, _ = all_infima(self.loss, _UPPER)
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
    def recovers_eta(self) -> Verdict:
        if self.symmetric and self.calibrated:
            return Verdict(
                "no", "theorem 8: f*(eta) = M sign(eta - 1/2) knows only whether eta > 1/2", "eta = 0.6 and 0.9"
            )
        best, at = self._optima
        if np.isnan(at).any():
            return Verdict("cannot tell", "the minimizer of the conditional risk cannot be read off")
        if shared := self._shared_minimizer:
            return Verdict("no", "f* takes one value at several eta", shared)
        told = self._told(best)
        if told.mean() < 0.9:
            return Verdict("cannot tell", "the conditional risk is too flat to find its minimizer")
        etas, at = _UPPER[told], at[told]
        steps = np.diff(at) / np.where(np.isfinite(at[1:]), np.maximum(self.unit, np.abs(at[1:])), 1.0) / np.diff(etas)
        rises, falls = (steps > 1e-7).all() and at.min() > 0, (steps < -1e-7).all() and at.max() < 0
        if not (rises or falls):
            return Verdict(
                "cannot tell", "f* is not seen to rise or fall strictly, and no two eta are seen to share it"
            )
        if rises and self.calibrated.answer == "no":
            return Verdict("cannot tell", "f* rises strictly, but the loss is not calibrated")
        if self.corners:
            where = ", ".join(f"{corner:g}" for corner in self.corners[:3])
            return Verdict("cannot tell", f"at a corner ({where}) f* may take one value at several eta")
        known = ", ".join(f"f*({eta:g}) = {float(np.interp(eta, etas, at)):.4g}" for eta in (0.7, 0.8, 0.9))
        how = "increases" if rises else "decreases"
        return Verdict("yes", f"f* {how} strictly: {self.link + '; ' if self.link else ''}{known}")

    def _told(self, best: Array) -> NDArray[np.bool_]:
        """Return where the lowest risk is so far below that of the score 0 that rounding does not hide f*."""
        size = ROUNDING * (abs(self.at_zero) + np.abs(np.where(np.isfinite(best), best, 0.0)))
        told: NDArray[np.bool_] = best < self.at_zero - 100 * size
        return told

    @cached_property
    def _shared_minimizer(self) -> str | None:
        """Two neighboring values of eta at which one score minimizes the conditional risk, as text; None if none do."""
        etas, (best, at) = _UPPER, self._optima
        told = self._told(best)
        size = ROUNDING * (abs(self.at_zero) + np.abs(np.where(np.isfinite(best), best, 0.0)))
        beside = self._risk(etas, 1e-6 * self.unit), self._risk(etas, -1e-6 * self.unit)
        at_zero = (np.abs(best - self.at_zero) <= size) & (np.minimum(*beside) > self.at_zero + 10 * size)
        for i in range(len(etas) - 1):
            pair = slice(i, i + 2)
            for a in (0.0, *at[pair]):
                if a == 0:
                    shared = at_zero[pair].all()
                elif math.isinf(a):
                    shared = told[pair].all() and (at[pair] == a).all()
                else:
                    shared = told[pair].all() and (self._risk(etas[pair], a) <= best[pair] + size[pair]).all()
                if shared:
                    return f"f*({etas[i]:g}) = {a:.4g}, f*({etas[i + 1]:g}) = {a:.4g}"
        return None

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
        if self.lowest == -math.inf:
            return self._no_lower_bound
        if not math.isnan(self.lowest) and self.calibrated and (reason := self._reason_for_consistency):
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
        gaps = [(np.zeros(1), np.array([t]), np.array([t])) for t in scores]
        risks = [float(pairwise_risk(self.function, eta, gap)[0]) for gap in gaps]
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
            return Verdict(
                "cannot tell", "no bound is known: the conditional risks of pairs need not be lowest at once"
            )
        constant = self.excess_risk_constant
        if constant is None:
            return Verdict("yes", f"psi(AUC regret) <= R - R*, {self._psi()}")
        return Verdict(
            "yes", f"AUC regret <= (R - R*) / {constant:g}, from corrupted labels (R - R*) / ({constant:g} (pi - pi'))"
        )

    @cached_property
    def _is_quadratic(self) -> bool:
        z, values = self.margins[self.near] / self.unit, self.values[self.near]
        if not np.isfinite(values).all():
            return False
        at = np.searchsorted(z, (-2.0, 0.0, 2.0))
        fitted = np.polynomial.Polynomial.fit(z[at], values[at], 2)
        return bool((np.abs(fitted(z) - values) <= self.rounding(values)).all() and fitted.convert().coef[-1] > 0)

    @cached_property
    def _has_logit_link(self) -> bool:
        close = 1e-5 + 10 * math.sqrt(ROUNDING * abs(self.at_zero) / self.scale) if self.scale else 0.0
        plain = _UPPER >= 0.55  # closer to 1/2 the minimum is too flat to find f* to many digits
        with np.errstate(invalid="ignore"):
            ratios = (self._optima[1] / torch.logit(_double(_UPPER)).numpy())[plain]
            return bool(np.isfinite(ratios).all() and ratios[0] > 0 and np.ptp(ratios) <= close * ratios[-1])

    @cached_property
    def disagreements(self) -> tuple[str, ...]:
        claims = self.loss.properties
        found = list(self._wrong_claims(claims)) if claims else []
        if callable(self.loss.structure):
            z = self.margins[self.near]
            built, value = self.loss.structure(_double(z)).numpy(), self.function(z)
            off = np.abs(built - value) > 1e-9 * (self.scale + np.abs(value))
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
        for eta, claimed, at in zip(
            etas, claims.minimizer(_double(etas)).tolist(), minimizers(self.loss, etas), strict=True
        ):
            near = claimed == at or abs(claimed - at) <= 1e-5 * max(self.unit, abs(claimed))
            if not near and not math.isnan(at):
                return f"f*({eta:g}) is claimed {claimed:g}, but {at:g} is found"
        return None


def _double(values: Array | float) -> torch.Tensor:
    return torch.as_tensor(values, dtype=torch.float64)


def _same(claimed: float | None, found: float | None) -> bool:
    if claimed is None or found is None:
        return claimed is found
    return claimed == found or (math.isfinite(found) and abs(claimed - found) <= 1e-6 * abs(claimed))


def _tuple(numbers: tuple[float, ...]) -> str:
    """Return numbers with few digits where these are enough, else with all."""
    exact = (abs(float(f"{number:g}") - number) <= ROUNDING * abs(number) for number in numbers)
    texts = (f"{number:g}" if short else plain(number) for number, short in zip(numbers, exact, strict=True))
    return "(" + ", ".join(texts) + ")"
