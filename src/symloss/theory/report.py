"""The result of an analysis: verdicts with their reasons, and the report that holds them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from symloss.losses import Loss
from symloss.theory.conditional import Array, minimizer, psi_transform

Answer = Literal["yes", "no", "cannot tell"]


@dataclass(frozen=True)
class Verdict:
    """An answer, the reason for it, and a witness where the answer is no; as a bool, it is True for yes."""

    answer: Answer
    reason: str
    witness: str | None = None

    def __bool__(self) -> bool:
        return self.answer == "yes"

    def __str__(self) -> str:
        return f"{self.answer}: {self.reason}" + (f" ({self.witness})" if self.witness else "")


@dataclass(frozen=True)
class Report:
    """What ``analyze`` found; printing it shows every verdict with its reason.

    Parameters
    ----------
    loss : Loss
        The loss analyzed.
    symmetric, convex, non_increasing, bounded : Verdict
        The shape of the loss.
    calibrated, excess_risk_bound, recovers_eta : Verdict
        What it says about classification.
    auc_consistent, auc_regret_bound : Verdict
        What it says about ranking.
    K : float or None
        The constant l(z) + l(-z), if the loss is symmetric.
    symmetric_interval : tuple of float
        The largest interval around 0 on which l(z) + l(-z) is constant.
    excess_risk_constant : float or None
        (inf over a <= 0 of l) - (inf over a > 0 of l) (theorem 7), for a calibrated symmetric loss.
    M : float or None
        The scale in f*(eta) = M sign(eta - 1/2) (theorem 8), infinite if scores are unbounded; None if f* does not
        have this form.
    link : str or None
        The formula of f* that the loss claims, or None if the claim is wrong.
    disagreements : tuple of str
        Claims of ``loss.properties`` that the checks contradict.

    Examples
    --------
    >>> import symloss as sl
    >>> report = sl.theory.analyze("ramp")
    >>> report.K, report.M, report.excess_risk_constant
    (1.0, 1.0, 0.5)
    """

    loss: Loss
    symmetric: Verdict
    convex: Verdict
    non_increasing: Verdict
    bounded: Verdict
    calibrated: Verdict
    excess_risk_bound: Verdict
    recovers_eta: Verdict
    auc_consistent: Verdict
    auc_regret_bound: Verdict
    K: float | None = None
    symmetric_interval: tuple[float, float] = (0.0, 0.0)
    excess_risk_constant: float | None = None
    M: float | None = None
    link: str | None = None
    disagreements: tuple[str, ...] = ()

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """The verdicts by name, in the order of the report."""
        return {name: value for name, value in vars(self).items() if isinstance(value, Verdict)}

    def minimizer(self, eta: float) -> float:
        """Return f*(eta), found numerically; infinite if unbounded."""
        return minimizer(self.loss, eta)

    def psi(self, theta: Any) -> Array:
        """Return the psi-transform at ``theta`` in [0, 1], found numerically."""
        return psi_transform(self.loss, theta)

    @property
    def minimizer_formula(self) -> str:
        """f*(eta) as text: the form of theorem 8, the formula that the loss claims, or values found numerically."""
        if self.M is not None:
            return "M sign(eta - 0.5), " + ("M unbounded" if math.isinf(self.M) else f"M = {self.M:g}")
        if self.link is not None:
            return self.link
        return ", ".join(f"f*({eta:g}) = {self.minimizer(eta):.4g}" for eta in (0.1, 0.3, 0.7, 0.9))

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data for JSON; infinite numbers become the string "infinity"."""

        def plain(number: float | None) -> Any:
            return number if number is None or math.isfinite(number) else "infinity" if number > 0 else "-infinity"

        return {
            "loss": repr(self.loss),
            "formula": self.loss.formula,
            **{name: vars(verdict) for name, verdict in self.verdicts.items()},
            "K": self.K,
            "symmetric_interval": [plain(end) for end in self.symmetric_interval],
            "excess_risk_constant": plain(self.excess_risk_constant),
            "M": plain(self.M),
            "minimizer": self.minimizer_formula,
            "disagreements": list(self.disagreements),
        }

    def __str__(self) -> str:
        lines = [f"{self.loss!r}" + (f": l(z) = {self.loss.formula}" if self.loss.formula else "")]
        lines += [f"  {name.replace('_', ' ')}: {verdict}" for name, verdict in self.verdicts.items()]
        lines += [f"  minimizer f*(eta): {self.minimizer_formula}"]
        lines += [f"  claim contradicted: {disagreement}" for disagreement in self.disagreements]
        return "\n".join(lines)
