"""The analysis of a loss: each property checked on its values, and the theorem that follows from the checks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from symloss.losses import Loss, LossLike, Properties, get_loss
from symloss.theory.conditional import (
    Array,
    Infimum,
    all_infima,
    as_function,
    infima,
    minimizers,
    probes,
    psi_transform,
    unit,
)
from symloss.theory.report import Report, Verdict
from symloss.theory.three_points import three_points

_TOLERANCE = 1e-9
_ROUNDING = 64 * float(np.finfo(np.float64).eps)
# Dense, and with points close to 1/2 and to the ends, where a loss may no longer prefer the right sign.
_ETAS: Array = np.unique(np.concatenate([np.arange(0.005, 1, 0.005).round(3), [0.499, 0.49995, 0.50005, 0.501]]))
_ETAS = _ETAS[_ETAS != 0.5]
_UPPER = _ETAS[_ETAS > 0.5]


def analyze(loss: LossLike) -> Report:
    """Return a report on the properties of a loss, built in or a user's own, with the reason for each verdict.

    Everything is checked on the loss's values in float64, at about 3,000 margins up to 1e12 times the loss's own unit
    of length. The loss's claims about itself are compared with what is found, and never trusted. The verdict is "cannot
    tell" if the loss is NaN somewhere, if its limits cannot be found, or if it varies less than its values are rounded.

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
        return _Analysis(get_loss(loss)).report()


def symmetry(loss: Loss) -> tuple[float | None, Verdict]:
    """Return K if l(z) + l(-z) = K for all z, else None; and the verdict on which this is based.

    Examples
    --------
    >>> symmetry(get_loss("unhinged"))[0], symmetry(get_loss("hinge"))[0]
    (2.0, None)
    """
    analysis = _Analysis(loss)
    return (2 * analysis.at_zero if analysis.symmetric else None), analysis.symmetric


class _Analysis:
    """The checks, each computed once, from the loss's values alone."""

    def __init__(self, loss: Loss) -> None:
        self.loss = loss
        self.function = as_function(loss)
        self.unit = unit(self.function)
        self.positive = probes(loss)
        self.margins = np.concatenate([-self.positive[::-1], [0.0], self.positive])
        self.values = self.function(self.margins)
        self.near = np.abs(self.margins) <= 10 * self.unit
        self.scale = float(np.ptp(self.values[self.near]))
        self.at_zero = float(self.function(np.zeros(1))[0]) + 0.0  # turns -0 into 0

    def report(self) -> Report:
        unknown = np.isnan(self.values) | (np.isinf(self.values) & self.near)
        if not unknown.any() and _ROUNDING * np.abs(self.values[self.near]).max() > 1e-6 * self.scale > 0:
            return self._report_of_nothing("the loss's differences drown in the rounding of its values")
        if max(map(abs, self.loss.breakpoints), default=0.0) > 1e10 * self.unit:
            return self._report_of_nothing("the loss's breakpoints lie beyond the margins that are looked at")
        if unknown.any():
            i = int(np.argmin(np.where(unknown, np.abs(self.margins), np.inf)))
            return self._report_of_nothing(f"l({self.margins[i]:g}) is {self.values[i]:g}")
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
            link=self.link,
            disagreements=self.disagreements,
        )

    def _report_of_nothing(self, reason: str) -> Report:
        verdict = Verdict("cannot tell", reason)
        verdicts = {name: verdict for name, kind in Report.__annotations__.items() if kind == "Verdict"}
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

    def _asymmetric(self, z: Array) -> NDArray[np.bool_]:
        """Return where l(z) + l(-z) differs from 2 l(0) by more than rounding."""
        there, back = self.function(z), self.function(-z)
        with np.errstate(invalid="ignore"):
            size = self._rounding(there, back)
            return ~(np.abs(there + back - 2 * self.at_zero) <= size) | np.isinf(size)

    def _rounding(self, *values: Array) -> Array:
        """Return the allowed error of a sum of values: a billionth of the loss's range, and the values' rounding."""
        size: Array = np.full((), _TOLERANCE * self.scale)
        for value in values:
            size = size + _ROUNDING * np.abs(value)
        return size

    @cached_property
    def _broken(self) -> NDArray[np.bool_]:
        return self._asymmetric(self.positive)

    @cached_property
    def symmetric(self) -> Verdict:
        constant = f"l(z) + l(-z) = {2 * self.at_zero:g}"
        if not self._broken.any():
            return Verdict("yes", f"{constant} at {len(self.positive):,} margins up to {self.positive[-1]:g}")
        worst = self.positive[self._broken]
        z = float(worst[np.argmin(np.abs(np.log(worst / (2 * self.symmetric_radius or 1.0))))])
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
        # If l(z) + l(-z) bends smoothly at 0, it equals 2 l(0) close to 0 by rounding alone: that is no interval.
        return float(f"{low:.7g}") if low > 1e-2 * self.unit else 0.0

    @cached_property
    def convex(self) -> Verdict:
        close = self.unit * np.linspace(-5, 5, 101)
        grid = np.unique(
            np.concatenate([close, *(side * self.positive[::11] for side in (-1, 1)), self.loss.breakpoints])
        )
        values = self.function(grid)
        middle = self.function(((grid[:, None] + grid) / 2).ravel()).reshape(len(grid), -1)
        with np.errstate(invalid="ignore"):
            excess = middle - (values[:, None] + values) / 2
            far = self.unit + np.abs(grid)[:, None] + np.abs(grid)
            # Divided by the distance, so that the witness is near 0.
            excess = np.where(excess > self._rounding(values[:, None], values), excess, 0.0) / far
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
            size = self._rounding(self.values[1:])
            rising = rises > np.where(np.isfinite(size), size, 0.0)
        if not rising.any():
            return Verdict("yes", f"no rise between {len(self.margins):,} margins in order")
        plain = rising & (rises > 1e-3 * self.scale) if (rises > 1e-3 * self.scale).any() else rising
        i = int(np.argmin(np.where(plain, np.abs(self.margins[1:]), np.inf)))
        x, y, low, high = self.margins[i], self.margins[i + 1], self.values[i], self.values[i + 1]
        return Verdict("no", "the loss rises", f"l({x:.10g}) = {low:.6g} < l({y:.10g}) = {high:.6g}")

    def _infimum(self, side: int, sign: int = 1) -> Infimum:
        value, at = infima(self.loss, np.ones(1), side, sign)
        return Infimum(float(value[0]), float(at[0]))

    @cached_property
    def infimum_positive(self) -> Infimum:
        """The infimum of l over a > 0."""
        return self._infimum(1)

    @cached_property
    def infimum_rest(self) -> Infimum:
        """The infimum of l over a <= 0."""
        below = self._infimum(-1)
        return Infimum(self.at_zero, 0.0) if self.at_zero <= below.value else below

    @cached_property
    def bounded(self) -> Verdict:
        suprema = [self._infimum(side, sign=-1) for side in (1, -1)]
        infima_ = [self.infimum_positive, self.infimum_rest]
        for name, ends in (("below", infima_), ("above", suprema)):
            for end in ends:
                if math.isinf(end.value):
                    z = math.copysign(1e4 * self.unit, end.at)
                    return Verdict("no", f"unbounded {name}", f"l({z:g}) = {float(self.function(np.array([z]))[0]):g}")
                if math.isnan(end.value):
                    return Verdict(
                        "cannot tell", f"the limit {name} cannot be read off at margins up to {1e12 * self.unit:g}"
                    )
        low, high = min(end.value for end in infima_), max(-end.value for end in suprema)
        tidy = 1e-12 * self.scale
        low, high = (0.0 if abs(value) < tidy else value for value in (low, high))
        return Verdict("yes", f"values between {low:g} and {high:g}")

    @cached_property
    def slopes_at_zero(self) -> tuple[float, float]:
        """The slopes just left and just right of 0; NaN where the loss jumps."""
        step = 1e-9 * self.unit
        left, right = self.function(np.array([-step, step]))
        if abs(left - self.at_zero) + abs(right - self.at_zero) > 1e-3 * self.scale:
            return math.nan, math.nan
        below, above = self._slopes(np.array([-step, step]))
        return float(below), float(above)

    @cached_property
    def falls_at_zero(self) -> bool:
        """Whether l'(0) exists and is negative."""
        left, right = self.slopes_at_zero
        return left < 0 and right < 0 and abs(left - right) <= 1e-6 * abs(left)

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
        etas = np.concatenate([[0.0], _ETAS, [1.0]])
        best, _, wrong, _ = all_infima(self.loss, etas)
        if np.isnan(best).any() or np.isnan(wrong).any():
            eta = etas[np.isnan(best) | np.isnan(wrong)][0]
            return Verdict("cannot tell", f"the infima of the conditional risk at eta = {eta:g} cannot be read off")
        equal = ~(wrong > best + 1e-12 * self.scale)
        if equal.any():
            eta, h = etas[equal][0], best[equal][0]
            return Verdict("no", "definition: a wrong sign is as good", f"H⁻({eta:g}) = {h:.6g} = H({eta:g})")
        return Verdict("yes", f"definition: H⁻(eta) > H(eta) at {len(etas)} values of eta from 0 to 1")

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
    def _minimizers(self) -> Array:
        """f* at the values of eta above 1/2; those below 1/2 mirror them."""
        return minimizers(self.loss, _UPPER)

    @cached_property
    def bayes_scale(self) -> float | None:
        """M, if f*(eta) = M sign(eta - 1/2)."""
        if not self.calibrated:
            return None
        if self.symmetric:
            return self.infimum_positive.at
        found = self._minimizers
        same = np.isinf(found).all() or (np.isfinite(found).all() and np.ptp(found) <= 1e-6 * np.abs(found).max())
        return float(found[len(found) // 2]) if same and found[0] > 0 else None

    @cached_property
    def recovers_eta(self) -> Verdict:
        if self.symmetric and self.calibrated:
            return Verdict(
                "no", "theorem 8: f*(eta) = M sign(eta - 1/2) knows only whether eta > 1/2", "eta = 0.6 and 0.9"
            )
        etas, at = _UPPER, self._minimizers
        if np.isnan(at).any():
            return Verdict("cannot tell", "the minimizer of the conditional risk cannot be read off")
        with np.errstate(invalid="ignore"):
            flat = ~(np.diff(at) > 1e-7 * np.maximum(self.unit, np.abs(at[1:])) * np.diff(etas))
        if flat.any():
            i = int(np.argmax(flat))
            same = f"f*({etas[i]:g}) = {at[i]:.4g}, f*({etas[i + 1]:g}) = {at[i + 1]:.4g}"
            return Verdict("no", "f* takes one value at several eta", same)
        if self.corners:
            where = ", ".join(f"{corner:g}" for corner in self.corners[:3])
            return Verdict("cannot tell", f"at a corner ({where}) f* may take one value at several eta")
        known = ", ".join(f"f*({eta:g}) = {float(np.interp(eta, etas, at)):.4g}" for eta in (0.7, 0.8, 0.9))
        return Verdict("yes", f"f* increases strictly: {self.link + '; ' if self.link else ''}{known}")

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
                "f*(eta) is a multiple of logit(eta), so that f* minimizes the conditional risk of every pair at once",
            )
        found = three_points(self.loss, (*corners, *self.loss.breakpoints))
        if found is not None:
            return Verdict(
                "no",
                "on three points, scores that do not rank by eta minimize the pairwise risk",
                f"eta = {_tuple(found.eta)}: the scores {_tuple(found.scores)} reach its minimum, {found.risk:.6g}",
            )
        return Verdict("cannot tell", "no theorem covers this loss, and no counterexample is known")

    @cached_property
    def _is_quadratic(self) -> bool:
        z, values = self.margins[self.near] / self.unit, self.values[self.near]
        if not np.isfinite(values).all():
            return False
        at = np.searchsorted(z, (-2.0, 0.0, 2.0))
        fitted = np.polynomial.Polynomial.fit(z[at], values[at], 2)
        return bool((np.abs(fitted(z) - values) <= self._rounding(values)).all() and fitted.convert().coef[-1] > 0)

    @cached_property
    def _has_logit_link(self) -> bool:
        plain = _UPPER >= 0.55  # closer to 1/2 the minimum is too flat to find f* to many digits
        with np.errstate(invalid="ignore"):
            ratios = (self._minimizers / torch.logit(_double(_UPPER)).numpy())[plain]
            return bool(np.isfinite(ratios).all() and ratios[0] > 0 and np.ptp(ratios) <= 1e-5 * ratios[-1])

    @cached_property
    def corners(self) -> tuple[float, ...]:
        """Margins at which the slope jumps: gaps between probes are bisected toward the larger change of slope."""
        offset = 0.00314 * self.unit  # away from round numbers, where corners often are
        grid = self.margins[np.abs(self.margins) <= 1e3 * self.unit] + offset
        low, high = grid[:-1], grid[1:]
        for _ in range(50):
            middle = (low + high) / 2
            left, center, right = self._slopes(low), self._slopes(middle), self._slopes(high)
            in_left = np.abs(center - left) >= np.abs(right - center)
            low, high = np.where(in_left, low, middle), np.where(in_left, middle, high)
        left, right = self._slopes(low), self._slopes(high)
        steep = np.abs(self._slopes(self.unit * np.array([-1.0, 0.1, 1.0]))).max()
        jumps = np.abs(right - left) > 1e-8 * (np.abs(left) + np.abs(right) + steep)
        return tuple(sorted({float(f"{z:.9g}") for z in (low + high)[jumps] / 2}))

    def _slopes(self, z: Array) -> Array:
        slopes: Array = self.loss.derivative(_double(z)).detach().numpy()
        return slopes

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
    return "(" + ", ".join(f"{number:g}" for number in numbers) + ")"
