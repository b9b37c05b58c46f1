"""The analysis of a loss: each property checked on its values, and the theorem that follows from the checks."""

from __future__ import annotations

import math
from functools import cached_property
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray

from symloss.losses import Logit, Loss, LossLike, Piecewise, get_loss
from symloss.theory.conditional import (
    Array,
    Infimum,
    as_function,
    conditional_infima,
    infimum,
    minimiser,
    probes,
    psi_transform,
)
from symloss.theory.report import Report, Verdict
from symloss.theory.three_points import three_points

_TOLERANCE = 1e-9


def analyze(loss: LossLike) -> Report:
    """Check what a loss satisfies, built in or a user's own, and say why.

    Everything is checked on the loss's values in float64, at some 3,000 margins up to 1e4 and limits up to 1e12; what
    the loss claims of itself is compared with the outcome and never believed. A loss that is NaN somewhere, or whose
    limits cannot be read off, gets "cannot tell".

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
    on three points, scores that do not rank by eta minimise the pairwise risk
    """
    return _Analysis(get_loss(loss)).report()


def symmetry(loss: LossLike) -> tuple[float | None, Verdict]:
    """Return K where l(z) + l(-z) = K for all z, else None, and the verdict behind it.

    Examples
    --------
    >>> symmetry("unhinged")[0], symmetry("hinge")[0]
    (2.0, None)
    """
    analysis = _Analysis(get_loss(loss))
    return (2 * analysis.at_zero if analysis.symmetric else None), analysis.symmetric


class _Analysis:
    """The checks, each computed once, from the loss's values alone."""

    def __init__(self, loss: Loss) -> None:
        self.loss = loss
        self.function = as_function(loss)
        positive = probes(loss)
        self.margins = np.concatenate([-positive[::-1], [0.0], positive])
        self.positive = positive
        self.values = self.function(self.margins)
        near = self.values[np.abs(self.margins) <= 10]
        self.scale = float(np.ptp(near[np.isfinite(near)])) if np.isfinite(near).any() else math.nan
        self.at_zero = float(self.function(np.zeros(1))[0]) + 0.0  # no negative zero

    def report(self) -> Report:
        unknown = np.isnan(self.values)
        if unknown.any():
            where = float(self.margins[unknown][np.argmin(np.abs(self.margins[unknown]))])
            return self._report_of_nan(where)
        return Report(
            loss=self.loss,
            symmetric=self.symmetric,
            convex=self.convex,
            non_increasing=self.non_increasing,
            bounded=self.bounded,
            calibrated=self.calibrated,
            excess_risk_bound=self.excess_risk_bound,
            recovers_eta=self.recovers_eta,
            auc_consistent=self.auc_consistent,
            K=2 * self.at_zero if self.symmetric else None,
            symmetric_interval=(-self.symmetric_radius, self.symmetric_radius),
            excess_risk_constant=self.excess_risk_constant,
            M=self.bayes_scale,
            disagreements=self.disagreements,
        )

    def _report_of_nan(self, where: float) -> Report:
        verdict = Verdict("cannot tell", f"l({where:g}) is NaN")
        verdicts = {name: verdict for name, kind in Report.__annotations__.items() if kind == "Verdict"}
        return Report(
            loss=self.loss,
            **verdicts,
            K=None,
            symmetric_interval=(0.0, 0.0),
            excess_risk_constant=None,
            M=None,
            disagreements=(),
        )

    def _asymmetric(self, z: Array) -> NDArray[np.bool_]:
        """Where l(z) + l(-z) differs from 2 l(0) by more than rounding."""
        there, back = self.function(z), self.function(-z)
        with np.errstate(invalid="ignore"):
            size = _TOLERANCE * (self.scale + np.abs(there) + np.abs(back))
            return ~(np.abs(there + back - 2 * self.at_zero) <= size) | np.isinf(size)

    @cached_property
    def _broken(self) -> NDArray[np.bool_]:
        return self._asymmetric(self.positive)

    @cached_property
    def symmetric(self) -> Verdict:
        constant = f"l(z) + l(-z) = {2 * self.at_zero:g}"
        if not self._broken.any():
            return Verdict("yes", f"{constant} at {len(self.positive):,} margins up to {self.positive[-1]:g}")
        worst = self.positive[self._broken]
        z = float(worst[np.argmin(np.abs(np.log(worst / max(1.0, 2 * self.symmetric_radius))))])
        total = float((self.function(np.array([z])) + self.function(np.array([-z])))[0])
        held = (
            f"on [{-self.symmetric_radius:g}, {self.symmetric_radius:g}] only"
            if self.symmetric_radius
            else "at z = 0 only"
        )
        return Verdict("no", f"{constant} {held}", f"l({z:.4g}) + l({-z:.4g}) = {total:.6g}")

    @cached_property
    def symmetric_radius(self) -> float:
        """The half-width of the interval on which l(z) + l(-z) is constant."""
        if not self._broken.any():
            return math.inf
        first = int(np.argmax(self._broken))
        low, high = (float(self.positive[first - 1]) if first else 0.0), float(self.positive[first])
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (low, middle) if self._asymmetric(np.array([middle]))[0] else (middle, high)
        # A sum that bends smoothly at 0 leaves 2 l(0) only beyond rounding: that is no interval.
        return float(f"{low:.7g}") if low > 1e-2 else 0.0

    @cached_property
    def convex(self) -> Verdict:
        grid = np.unique(np.concatenate([np.linspace(-5, 5, 101), *(side * self.positive[::9] for side in (-1, 1))]))
        values = self.function(grid)
        middle = self.function(((grid[:, None] + grid) / 2).ravel()).reshape(len(grid), -1)
        with np.errstate(invalid="ignore"):
            excess = middle - (values[:, None] + values) / 2
            size = _TOLERANCE * (self.scale + np.abs(values)[:, None] + np.abs(values))
            excess = np.where(excess > size, excess, 0.0) / (1 + np.abs(grid)[:, None] + np.abs(grid))  # a near witness
        if not excess.any():
            return Verdict("yes", f"no chord lies below the loss, for {len(grid) ** 2:,} chords")
        i, j = np.unravel_index(int(np.argmax(excess)), excess.shape)
        x, y = float(grid[i]), float(grid[j])
        chord = float(values[i] + values[j]) / 2
        return Verdict(
            "no", "a chord lies below the loss", f"l({(x + y) / 2:.4g}) = {middle[i, j]:.4g} > {chord:.4g}, "
            f"the mean of l({x:.4g}) and l({y:.4g})",
        )  # fmt: skip

    @cached_property
    def non_increasing(self) -> Verdict:
        with np.errstate(invalid="ignore"):
            rises = np.nan_to_num(np.diff(self.values), nan=0.0)
            size = _TOLERANCE * (self.scale + np.abs(self.values[1:]))
            rising = rises > np.where(np.isfinite(size), size, 0.0)
        if not rising.any():
            return Verdict("yes", f"no rise between {len(self.margins):,} margins in order")
        plain = rising & (rises > 1e-3 * self.scale) if (rises > 1e-3 * self.scale).any() else rising
        i = int(np.argmin(np.where(plain, np.abs(self.margins[1:]), np.inf)))
        x, y, low, high = self.margins[i], self.margins[i + 1], self.values[i], self.values[i + 1]
        return Verdict("no", "the loss rises", f"l({x:.10g}) = {low:.6g} < l({y:.10g}) = {high:.6g}")

    @cached_property
    def infimum_positive(self) -> Infimum:
        """Inf over a > 0 of l."""
        return infimum(self.function, self.positive)

    @cached_property
    def infimum_rest(self) -> Infimum:
        """Inf over a <= 0 of l."""
        below = infimum(self.function, -self.positive)
        return Infimum(self.at_zero, 0.0) if self.at_zero <= below.value else below

    @cached_property
    def bounded(self) -> Verdict:
        suprema = [infimum(lambda z: -self.function(z), side * self.positive) for side in (1, -1)]
        infima = [self.infimum_positive, self.infimum_rest]
        for name, ends, sign in (("below", infima, 1), ("above", suprema, -1)):
            for end in ends:
                if end.value == -math.inf:
                    z = math.copysign(1e4, end.at)
                    return Verdict("no", f"unbounded {name}", f"l({z:g}) = {float(self.function(np.array([z]))[0]):g}")
                if math.isnan(end.value):
                    return Verdict("cannot tell", f"the limit {name} cannot be read off at margins up to 1e12")
            if any(math.isinf(sign * end.value) for end in ends):
                return Verdict("no", f"infinite values {name}")
        low, high = min(end.value for end in infima), -min(end.value for end in suprema)
        return Verdict("yes", f"values between {round(low, 12) + 0.0:g} and {round(high, 12) + 0.0:g}")

    @cached_property
    def slopes_at_zero(self) -> tuple[float, float]:
        """The left and right difference quotients at 0."""
        return self._quotients(1e-6)

    def _quotients(self, step: float) -> tuple[float, float]:
        left, right = self.function(np.array([-step, step]))
        return (self.at_zero - float(left)) / step, (float(right) - self.at_zero) / step

    @cached_property
    def falls_at_zero(self) -> bool:
        """Whether l'(0) exists and is negative: the same quotient on both sides, at two steps."""
        quotients = np.array([*self.slopes_at_zero, *self._quotients(1e-4)])
        return bool(quotients.max() < 0 and np.ptp(quotients) <= 1e-2 * -quotients.min())

    @cached_property
    def calibrated(self) -> Verdict:
        if self.symmetric:
            right, wrong = self.infimum_positive.value, self.infimum_rest.value
            if math.isnan(right) or math.isnan(wrong):
                return Verdict("cannot tell", "theorem 5 needs the infima of the loss, which cannot be read off")
            compared = f"inf over a > 0 of l is {right:g}, over a <= 0 it is {wrong:g}"
            if right < wrong - _TOLERANCE * self.scale:
                return Verdict("yes", f"theorem 5: {compared}")
            return Verdict("no", "theorem 5 (symmetric losses)", compared)
        if self.convex:
            left, right = self.slopes_at_zero
            if self.falls_at_zero:
                return Verdict("yes", f"convex, and l'(0) = {(left + right) / 2:.4g} < 0 (Bartlett et al., 2006)")
            return Verdict(
                "no", "a convex loss needs l'(0) < 0 (Bartlett et al., 2006)", f"slopes {left:.4g} and {right:.4g} at 0"
            )
        return self._calibrated_by_definition

    @cached_property
    def _calibrated_by_definition(self) -> Verdict:
        for eta in self._etas:
            best, wrong = conditional_infima(self.loss, eta)
            if math.isnan(best.value) or math.isnan(wrong.value):
                return Verdict("cannot tell", f"the infima of the conditional risk at eta = {eta:g} cannot be read off")
            if not wrong.value > best.value + _TOLERANCE * self.scale:
                return Verdict(
                    "no", "definition: a wrong sign is as good", f"H⁻({eta:g}) = {wrong.value:.6g} = H({eta:g})"
                )
        return Verdict("yes", f"definition: H⁻(eta) > H(eta) at {len(self._etas)} values of eta")

    _etas = tuple(round(0.5 + side * step / 40, 3) for step in range(1, 20) for side in (-1, 1))

    @cached_property
    def excess_risk_constant(self) -> float | None:
        if not (self.symmetric and self.calibrated):
            return None
        return self.infimum_rest.value - self.infimum_positive.value

    @cached_property
    def excess_risk_bound(self) -> Verdict:
        constant = self.excess_risk_constant
        if constant is not None and math.isinf(constant):
            return Verdict(
                "no",
                "theorem 7's denominator is infinite: with R_l* = -infinity the bound says nothing",
            )
        if constant is not None:
            return Verdict("yes", f"theorem 7: R01 - R01* <= (R_l - R_l*) / {constant:g}")
        if self.calibrated:
            theta = np.array([0.25, 0.5, 1.0])
            known = ", ".join(
                f"psi({t:g}) = {v:.4g}" for t, v in zip(theta, psi_transform(self.loss, theta), strict=True)
            )
            return Verdict("yes", f"psi(R01 - R01*) <= R_l - R_l* (Bartlett et al., 2006), {known}")
        return Verdict(self.calibrated.answer, "a bound exists exactly for a calibrated loss (Bartlett et al., 2006)")

    @cached_property
    def _minimisers(self) -> list[tuple[float, float]]:
        return [(eta, minimiser(self.loss, eta)) for eta in (0.6, 0.7, 0.8, 0.9, 0.95)]

    @cached_property
    def bayes_scale(self) -> float | None:
        """M, if f*(eta) = M sign(eta - 1/2)."""
        if self.symmetric:
            if not self.calibrated:
                return None
            return math.inf if not self.infimum_positive.attained else self.infimum_positive.at
        found = [at for _, at in self._minimisers]
        mirrored = minimiser(self.loss, 0.2)
        same = all(at == found[0] or abs(at - found[0]) <= 1e-6 * abs(found[0]) for at in [*found, -mirrored])
        return found[0] if same and found[0] > 0 else None

    @cached_property
    def recovers_eta(self) -> Verdict:
        if self.symmetric and self.calibrated:
            return Verdict(
                "no", "theorem 8: f*(eta) = M sign(eta - 1/2) knows only whether eta > 1/2", "eta = 0.6 and 0.9"
            )
        if any(math.isnan(at) for _, at in self._minimisers):
            return Verdict("cannot tell", "the minimiser of the conditional risk cannot be read off")
        pairs = pairwise(self._minimisers)
        for (eta, at), (next_eta, next_at) in pairs:
            if not next_at > at + 1e-6 * max(1.0, abs(at)):
                return Verdict(
                    "no",
                    "f* takes one value at several eta",
                    f"f*({eta:g}) = {at:.4g}, f*({next_eta:g}) = {next_at:.4g}",
                )
        known = ", ".join(f"f*({eta:g}) = {at:.4g}" for eta, at in self._minimisers[1:4])
        link = self.loss.properties.minimiser.formula if self.loss.properties else None
        return Verdict("yes", f"f* increases strictly: {link + '; ' if link else ''}{known}")

    @cached_property
    def auc_consistent(self) -> Verdict:
        if self.calibrated.answer == "no":
            source = "lemma 9" if self.symmetric else "Gao and Zhou, 2015"
            return Verdict("no", f"{source}: an AUC-consistent loss is calibrated", self.calibrated.witness)
        if self.symmetric and self.non_increasing and self.calibrated:
            reason = "theorem 11: symmetric, non-increasing" + (
                ", l'(0) < 0" if self.falls_at_zero else ", not constant (the remark after its proof)"
            )
            if self.infimum_positive.value == -math.inf:
                reason += (
                    "; but the infimum is -infinity, so some scores with ties approach it too: "
                    "read it as 'every scoring that does not rank by eta can be improved'"
                )
            return Verdict("yes", reason)
        corners = self.corners
        if self.convex and self.non_increasing and self.falls_at_zero and not corners:
            return Verdict("yes", "convex, differentiable, non-increasing, l'(0) < 0 (Gao and Zhou, 2015)")
        if self._is_quadratic and self.convex and self.falls_at_zero:
            return Verdict("yes", "the squared loss, up to scale (Gao et al., 2013)")
        if self.calibrated and self._has_logit_link:
            return Verdict(
                "yes",
                "f*(eta) is a multiple of logit(eta), so that f* minimises the conditional risk of every pair at once",
            )
        found = three_points(self.loss, corners)
        if found is not None:
            return Verdict(
                "no",
                "on three points, scores that do not rank by eta minimise the pairwise risk",
                f"eta = {_tuple(found.eta)}: the scores {_tuple(found.scores)} reach its minimum, {found.risk:.6g}",
            )
        return Verdict("cannot tell", "no theorem covers this loss, and no counterexample is known")

    @cached_property
    def _is_quadratic(self) -> bool:
        values = self.function(np.arange(-20.0, 21.0))
        third = np.abs(np.diff(values, 3)).max()
        return bool(third <= 1e-9 * np.abs(values).max() < math.inf and np.abs(np.diff(values, 2)).min() > 0)

    @cached_property
    def _has_logit_link(self) -> bool:
        logits = np.array([Logit()(_double(eta)).item() for eta, _ in self._minimisers])
        ratios = np.array([at for _, at in self._minimisers]) / logits
        return bool(np.isfinite(ratios).all() and ratios[0] > 0 and np.ptp(ratios) <= 1e-5 * ratios[0])

    @cached_property
    def corners(self) -> tuple[float, ...]:
        """Margins at which the slope jumps: where the loss's derivative changes most, bisected."""
        if self.loss.breakpoints:
            smooth = isinstance(self.loss.structure, Piecewise) and all(
                kink.power == 2 for kink in self.loss.structure.kinks
            )
            return () if smooth else self.loss.breakpoints
        found = set()
        grid = np.arange(-1000, 1001) / 100 + 0.00314  # off the round numbers, where corners like to be
        slopes = self._slopes(grid)
        for cell in np.argsort(-np.abs(np.diff(slopes)))[:8]:
            low, high = float(grid[cell]), float(grid[cell + 1])
            for _ in range(40):
                middle = (low + high) / 2
                left, centre, right = self._slopes(np.array([low, middle, high]))
                low, high = (low, middle) if abs(centre - left) >= abs(right - centre) else (middle, high)
            left, right = self._slopes(np.array([low, high]))
            if abs(right - left) > 1e-4 * (1e-300 + np.abs(slopes).max()):
                found.add(round((low + high) / 2, 8))
        return tuple(sorted(found))

    def _slopes(self, z: Array) -> Array:
        slopes: Array = self.loss.derivative(_double(z)).detach().numpy()
        return slopes

    @cached_property
    def disagreements(self) -> tuple[str, ...]:
        claims = self.loss.properties
        if claims is None:
            return ()
        found: list[str] = []
        for name, verdict in (
            ("convex", self.convex),
            ("non_increasing", self.non_increasing),
            ("bounded", self.bounded),
        ):
            if verdict.answer != "cannot tell" and bool(verdict) != getattr(claims, name):
                found.append(f"{name} is claimed {getattr(claims, name)}, but {verdict}")
        constant = 2 * self.at_zero if self.symmetric else None
        if not _same(claims.symmetric_constant, constant):
            found.append(f"symmetric_constant is claimed {claims.symmetric_constant}, but {self.symmetric}")
        if not _same(claims.symmetric_radius, self.symmetric_radius):
            found.append(
                f"symmetric_radius is claimed {claims.symmetric_radius:g}, but {self.symmetric_radius:g} is found"
            )
        if claims.minimiser.recovers_eta != bool(self.recovers_eta) and self.recovers_eta.answer != "cannot tell":
            found.append(f"recovers eta is claimed {claims.minimiser.recovers_eta}, but {self.recovers_eta}")
        for eta in (0.1, 0.3, 0.7, 0.9):
            claimed, at = float(claims.minimiser(_double(eta))), minimiser(self.loss, eta)
            if not (claimed == at or abs(claimed - at) <= 1e-5 * max(1.0, abs(at))):
                found.append(f"f*({eta:g}) is claimed {claimed:g}, but {at:g} is found")
        if callable(self.loss.structure):
            z = self.margins[np.abs(self.margins) <= 100]
            built, value = self.loss.structure(_double(z)).numpy(), self.function(z)
            off = np.abs(built - value) > 1e-9 * (self.scale + np.abs(value))
            if off.any():
                at = float(z[int(np.argmax(off))])
                found.append(f"structure gives another value than the loss at z = {at:g}")
        return tuple(found)


def _double(values: Array | float) -> torch.Tensor:
    return torch.as_tensor(values, dtype=torch.float64)


def _same(claimed: float | None, found: float | None) -> bool:
    if claimed is None or found is None:
        return claimed is found
    return claimed == found or abs(claimed - found) <= 1e-6 * max(1.0, abs(found))


def _tuple(numbers: tuple[float, ...]) -> str:
    return "(" + ", ".join(f"{number:g}" for number in numbers) + ")"
