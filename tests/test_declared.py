"""A structure that is not that of the loss is refused when it is first used, and never gives a wrong number."""

import math
from dataclasses import dataclass, field

import pytest
import torch

import symloss as sl
from symloss.losses import Analytic, ExponentialDecay, Kink, Piecewise, Slope, Structure
from symloss.pairwise import declared


@dataclass(frozen=True)
class Declared(sl.Loss):
    """A loss of symloss with a structure that somebody else wrote."""

    like: str
    structure: Structure = None

    def value(self, z):
        return sl.get_loss(self.like).value(z)

    def slope(self, z):
        return sl.get_loss(self.like).slope(z)


SIGMOID = {"pole_distance": math.pi, "left": (1.0, 0.0), "right": (0.0, 0.0)}
SCORES = torch.linspace(-2, 2, 600, dtype=torch.float64).view(2, -1)


@pytest.mark.parametrize(
    ("like", "structure", "reason"),
    [
        ("hinge", Piecewise(kinks=(Kink(where=1.0, weight=1.1),)), "the loss is 1001, and its structure says 1101.1"),
        ("hinge", Piecewise(kinks=(Kink(where=1.001),)), "structure says"),
        ("hinge", Piecewise(coefficients=(1.0, -1.0)), "structure says"),
        ("zero_one", Piecewise(kinks=(Kink(where=0.001, power=0),)), "structure says"),
        ("squared", Piecewise(coefficients=(1.0, -2.0)), "structure says"),
        ("exponential", ExponentialDecay(rate=1.0001), "structure says"),
        ("sigmoid", Analytic(**SIGMOID | {"left": (0.9, 0.0)}), "structure says"),
        ("sigmoid", Analytic(**SIGMOID | {"right": (0.0, 1e-6)}), "structure says"),
        ("sigmoid", Analytic(**SIGMOID | {"left_rate": 2.0}), "structure says"),
        ("sigmoid", Analytic(**SIGMOID | {"pole_distance": 60.0}), "is pole_distance = 60 right"),
    ],
)
def test_a_structure_that_differs_from_the_values_is_refused(like, structure, reason):
    with pytest.raises(ValueError, match=reason):
        sl.pairwise_risk(*SCORES, Declared(like, structure))
    assert sl.pairwise_risk(*SCORES, Declared(like, structure), method="tiles") == sl.pairwise_risk(
        *SCORES, like, method="tiles"
    )


@dataclass(frozen=True)
class Far(Declared):
    """A loss that leaves its structure far out only, on one side."""

    beyond: float = -1e4

    def value(self, z):
        far = z < self.beyond if self.beyond < 0 else z > self.beyond
        return torch.where(far, 1 + 3 * z * z, super().value(z))


@pytest.mark.parametrize(
    ("like", "beyond"),
    [(like, side) for like in ("hinge", "squared_hinge", "ramp", "logistic", "sigmoid") for side in (-1e29, -1e4, 1e4)]
    + [("exponential", 1e4), ("exponential", 1e29), ("hinge", 1e29), ("exponential", -600.0)],
)
def test_a_structure_that_is_wrong_only_far_out_is_refused(like, beyond):
    loss = Far(like, sl.get_loss(like).structure, beyond)
    with pytest.raises(ValueError, match="structure says"):
        sl.pairwise_risk(*SCORES, loss)


def test_a_true_structure_is_accepted_where_values_overflow_or_cancel_far_out():
    class Logistic(sl.Loss):
        structure = sl.Logistic().structure

        def value(self, z):
            return torch.log(1 + torch.exp(-z))  # infinite from z = -710 on

    class Difference(sl.Loss):
        structure = Analytic(pole_distance=math.pi, left=(1.0, 0.0), right=(0.0, 0.0))

        def value(self, z):
            softplus = torch.nn.functional.softplus
            return softplus(-z, threshold=50) - softplus(-1 - z, threshold=50)  # 0, and not 1, from z = -1e16 on

    class Positive(sl.Loss):
        structure = Piecewise(coefficients=(-1.0, 1.0), kinks=(Kink(where=1.0),))

        def value(self, z):
            return (z - 1).clamp(min=0)

    for loss in (Logistic(), Difference(), Positive()):
        declared.check_declared(loss)


def test_a_pole_too_close_for_a_grid_is_refused_before_memory_is_asked_for():
    with pytest.raises(ValueError, match=r"pole_distance of at least 0.001 .* got 1e-09: the spacing of the grid"):
        sl.pairwise_risk(*SCORES, Declared("sigmoid", Analytic(**SIGMOID | {"pole_distance": 1e-9})))
    steep = Analytic(**SIGMOID | {"pole_distance": math.pi * 1e-9, "left_rate": 1e9, "right_rate": 1e9})
    declared.check_declared(Steep("sigmoid", steep))


@dataclass(frozen=True)
class Steep(Declared):
    """A loss at a billion times the margin: its poles are close, but as far as before in lengths of its decay."""

    def value(self, z):
        return super().value(1e9 * z)

    def slope(self, z):
        return 1e9 * super().slope(1e9 * z)


@pytest.mark.parametrize("like", [name for name in sl.list_losses() if sl.get_loss(name).structure is not None])
def test_true_structures_of_losses_and_of_their_slopes_are_accepted(like):
    loss = Declared(like, sl.get_loss(like).structure)
    declared.check_declared(loss)
    declared.check_declared(Slope(loss))
    torch.testing.assert_close(sl.pairwise_risk(*SCORES, loss), sl.pairwise_risk(*SCORES, like), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("value", [-1.0, 0.0, math.nan, math.inf])
@pytest.mark.parametrize("name", ["pole_distance", "left_rate", "right_rate"])
def test_distances_and_rates_must_be_positive_numbers(name, value):
    with pytest.raises(ValueError, match=f"{name} must be a finite number above 0, got {value}"):
        Analytic(**SIGMOID | {name: value})


def test_numbers_of_a_structure_must_be_finite():
    for build in (
        lambda: Analytic(**SIGMOID | {"left": (math.nan, 0.0)}),
        lambda: ExponentialDecay(rate=math.inf),
        lambda: Piecewise(coefficients=(math.nan,)),
    ):
        with pytest.raises(ValueError, match="finite"):
            build()


def test_a_loss_is_compared_once_and_one_that_cannot_be_remembered_every_time():
    asked = []

    @dataclass(frozen=True)
    class Counting(Declared):
        parameters: object = field(default=None)

        def value(self, z):
            asked.append(1)
            return super().value(z)

    for parameters, more in ((None, 1), ([1.0], 2), (torch.ones(1), 2)):
        loss = Counting("hinge", sl.Hinge().structure, parameters)
        asked.clear()
        for _ in range(2):
            declared.check_declared(loss)
        assert len(asked) == more
