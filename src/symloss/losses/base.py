"""The base class of all margin losses, and the properties that a loss claims to have."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
import torch
from torch import Tensor

from symloss.checking import as_real, remember_signature
from symloss.losses.minimizer import Minimizer
from symloss.losses.structure import Piecewise, Structure


@dataclass(frozen=True)
class Properties:
    """What a loss claims about itself; ``symloss.theory.analyze`` checks each claim numerically.

    Parameters
    ----------
    convex, non_increasing, bounded : bool
        Whether the loss is convex, whether it never increases, and whether it is bounded from above and from below.
    minimizer : Minimizer
        The conditional risk minimizer f*(eta), with its inverse link where the loss recovers eta.
    symmetric_constant : float, optional
        K if l(z) + l(-z) = K for every z, else None.
    symmetric_radius : float
        l(z) + l(-z) is constant for z in [-radius, radius]. The radius is infinite for a symmetric loss, and 0 if no
        such interval exists.
    """

    convex: bool
    non_increasing: bool
    bounded: bool
    minimizer: Minimizer
    symmetric_constant: float | None = None
    symmetric_radius: float = 0.0

    def __post_init__(self) -> None:
        if (self.symmetric_constant is None) == math.isinf(self.symmetric_radius):
            raise ValueError(
                "symmetric_constant must be given exactly when symmetric_radius is infinite, "
                f"got {self.symmetric_constant!r} and {self.symmetric_radius!r}"
            )


def symmetric(constant: float, minimizer: Minimizer, *, convex: bool = False, bounded: bool = True) -> Properties:
    """Return the claims of a symmetric loss that never increases: l(z) + l(-z) = constant for every z."""
    return Properties(convex, True, bounded, minimizer, symmetric_constant=constant, symmetric_radius=math.inf)


class Loss:
    """A margin loss l(z), element-wise on tensors; immutable, hashable and picklable.

    To add a loss, write a subclass that defines ``value``; everything in symloss then works with it. Three more
    definitions are optional: ``slope``, the derivative, if automatic differentiation is slow or loses digits;
    ``structure``, to get the fast algorithms for all pairs; and ``properties``, the claims that
    ``symloss.theory.analyze`` checks. Parameters of the loss are the fields of a frozen dataclass.

    At a corner, the derivative is the mean of the two one-sided derivatives. So l'(z) = l'(-z) holds there too if the
    loss is symmetric.

    Examples
    --------
    >>> import torch, symloss as sl
    >>> class Algebraic(sl.Loss):
    ...     formula = "0.5 - 0.5*z/sqrt(1 + z^2)"
    ...     def value(self, z):
    ...         return 0.5 - 0.5 * z / torch.sqrt(1 + z**2)
    >>> Algebraic()(torch.tensor([0.0, 1.0]))
    tensor([0.5000, 0.1464])
    >>> Algebraic().derivative(torch.tensor(0.0))
    tensor(-0.5000)
    """

    name: ClassVar[str]
    title: ClassVar[str]
    formula: ClassVar[str] = ""
    properties: Properties | None = None
    structure: Structure | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in vars(cls):
            cls.name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()
        if "title" not in vars(cls):
            cls.title = cls.name.replace("_", " ").capitalize()
        if "value_and_slope" not in vars(cls) and {"value", "slope"} & vars(cls).keys():
            # An inherited value_and_slope would compute the parent's formulas.
            cls.value_and_slope = Loss.value_and_slope  # type: ignore[method-assign]

    def value(self, z: Tensor) -> Tensor:  # noqa: ARG002
        """Return l(z) for a float32 or float64 tensor of margins; every loss defines it."""
        raise TypeError(f"{type(self).__name__} must define value(z)")

    def slope(self, z: Tensor) -> Tensor:
        """Return l'(z) for a float32 or float64 tensor of margins, by automatic differentiation unless overridden."""
        with torch.inference_mode(False):  # nothing can be differentiated in inference mode
            margins = z.clone() if z.is_inference() else z
            pull_back = torch.func.vjp(self.checked_value, margins)[1]
            gradient: Tensor = pull_back(torch.ones_like(margins))[0]
        return gradient

    def value_and_slope(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Return l(z) and l'(z) for margins that need no gradient; override it if computing both together is faster."""
        if type(self).slope is not Loss.slope:
            return self.checked_value(z), self._checked(self.slope(z), z)
        value, pull_back, *_ = torch.func.vjp(self.checked_value, z)
        return value, pull_back(torch.ones_like(z))[0]

    def curvature(self, z: Tensor) -> Tensor:
        """Return l''(z) of the pieces between corners, from the structure or by automatic differentiation of l'."""
        if isinstance(self.structure, Piecewise):
            return self.structure.derivative().derivative()(z)
        pull_back = torch.func.vjp(self.slope, z)[1]
        gradient: Tensor = pull_back(torch.ones_like(z))[0]
        return gradient

    def __call__(self, z: Any) -> Tensor:
        """Return l(z), element-wise and differentiable; half precision is computed in float32."""
        z = as_real(z, "margins")
        if type(self).slope is Loss.slope:
            return self.checked_value(z)
        return cast(Tensor, _WithSlope.apply(z, self))  # type: ignore[no-untyped-call]

    def derivative(self, z: Any) -> Tensor:
        """Return l'(z), element-wise."""
        return self.slope(as_real(z, "margins"))

    def checked_value(self, z: Tensor) -> Tensor:
        """Return l(z) as ``value`` does, or raise a ValueError if ``value`` does not act element-wise."""
        return self._checked(self.value(z), z)

    def _checked(self, value: Any, z: Tensor) -> Tensor:
        if not isinstance(value, Tensor) or value.shape != z.shape:
            got = f"a tensor of shape {tuple(value.shape)}" if isinstance(value, Tensor) else repr(type(value).__name__)
            raise ValueError(
                f"loss {self!r} must act element-wise and return a tensor of the margins' shape {tuple(z.shape)}, "
                f"got {got}"
            )
        return value

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """The margins at which the formula changes."""
        return tuple(kink.where for kink in self.structure.kinks) if isinstance(self.structure, Piecewise) else ()

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(
            f"losses are immutable: cannot set {name!r} on {type(self).__name__}; "
            "declare parameters as fields of a @dataclass(frozen=True)"
        )

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).items()))

    def __repr__(self) -> str:
        parameters = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({parameters})"


class _WithSlope(torch.autograd.Function):
    """Compute l(z), with the loss's own slope as its gradient: exact in the tails, a mean of both sides at corners."""

    generate_vmap_rule = True

    @staticmethod
    def forward(z: Tensor, loss: Loss) -> Tensor:
        return loss.checked_value(z)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Loss], output: Tensor) -> None:  # noqa: ARG004
        z, ctx.loss = inputs
        ctx.save_for_backward(z)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (z,) = ctx.saved_tensors
        return grad * ctx.loss.slope(z), None


remember_signature(_WithSlope)


@dataclass(frozen=True)
class CallableLoss(Loss):
    """A loss made from any element-wise function of a tensor.

    Examples
    --------
    >>> import torch, symloss as sl
    >>> loss = sl.CallableLoss(torch.cos)
    >>> loss
    CallableLoss(cos)
    >>> loss.derivative(torch.tensor(0.0))
    tensor(-0.)
    """

    function: Callable[[Tensor], Tensor]

    def value(self, z: Tensor) -> Tensor:
        """Return function(z)."""
        return self.function(z)

    def __repr__(self) -> str:
        return f"CallableLoss({getattr(self.function, '__name__', self.function)})"


@dataclass(frozen=True)
class Slope(Loss):
    """The derivative l' of a loss, itself treated as a loss with a structure and a slope.

    Its slope l'' is that of the smooth pieces. A corner of l is a step of l', and a step adds nothing to l''.
    """

    loss: Loss

    @property
    def structure(self) -> Structure | None:  # type: ignore[override]
        """The structure of l', or None if the loss declares no structure."""
        structure = self.loss.structure
        return None if structure is None else structure.derivative()

    def value(self, z: Tensor) -> Tensor:
        """Return l'(z)."""
        return self.loss.slope(z)

    def slope(self, z: Tensor) -> Tensor:
        """Return l''(z)."""
        return self.loss.curvature(z)


def check_number(
    loss: Any, name: str, *, above: float = -math.inf, below: float = math.inf, at_most: float = math.inf
) -> None:
    """Raise a ValueError unless a parameter of a loss is a finite number within its bounds."""
    value = getattr(loss, name)
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not abs(value) <= sys.float_info.max or not (above < value < below and value <= at_most):
        bounds = ((">", above), ("<", below), ("<=", at_most))
        asked = " and ".join(f"{sign} {bound:g}" for sign, bound in bounds if math.isfinite(bound))
        raise ValueError(f"{loss.title.lower()} needs a finite number {name} {asked}, got {name}={value!r}")
