"""Formulas as programs, evaluated in Python; the browser's tests evaluate the same trees as JavaScript."""

import numpy as np
import pytest
import torch

import symloss as sl
from symloss.report.formulas import Formula

LOSSES = [
    *(sl.get_loss(name) for name in sl.list_losses()),
    sl.BarrierHinge(b=10, r=1),
    sl.BarrierHinge(b=1.5, r=0.3),
    sl.GeneralizedCrossEntropy(q=0.2),
    sl.Focal(gamma=0.5),
    sl.HuberizedHinge(delta=0.5),
]
MARGINS = np.concatenate([np.linspace(-6, 6, 97), [-1e3, -300.0, -50.0, 50.0, 300.0, 1e3]])


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_a_declared_formula_gives_the_loss_and_its_slope(loss):
    formula = Formula.read(loss.formula, tuple(vars(loss)))
    z = torch.from_numpy(MARGINS)
    np.testing.assert_allclose(formula(MARGINS, vars(loss)), loss(z).numpy(), rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(
        formula.derivative()(MARGINS, vars(loss)), loss.derivative(z).numpy(), rtol=1e-12, atol=1e-300
    )


@pytest.mark.parametrize(
    "text",
    [
        "(2*atan(z) - 1)^2", "sqrt(1 + z^2) - z", "abs(1.3 - z)", "tanh(-z)", "sin(z)*cos(2*z)", "max(0, 1 - z, -2*z)",
        "z/(1 + z^2)", "2^(-z)", "(1 + z^2)^(z/5)", "log(exp(-z) + 1)", "3/(exp(2*z) + 1)", "min(1, 2 - z, 3 - 2*z)",
        "+z^0 + 1/2/(1 + exp(z))^3", "-z - -2", "1 - exp(-z^2)", "exp(z)/(exp(z) + 3)", "z^2/(z^2 + cos(z))",
    ],
)  # fmt: skip
def test_derivatives_against_differences(text):
    formula, z, step = Formula.read(text), np.linspace(-3, 3, 50), 1e-6
    differences = (formula(z + step) - formula(z - step)) / (2 * step)
    np.testing.assert_allclose(formula.derivative()(z), differences, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    "text",
    [
        "z.real",
        "__import__('os')",
        "lambda: z",
        "[z]",
        "y",
        "exp(z, z)",
        "max(z)",
        "steeper(z)",
        "exp",
        "True",
        "'z'",
        "z if z else z",
    ],
)
def test_nothing_but_arithmetic_is_read(text):
    with pytest.raises(ValueError, match="a formula holds numbers, z, "):
        Formula.read(text)


@pytest.mark.parametrize("text", ["2 z", "", "z +"])
def test_a_text_that_is_no_formula(text):
    with pytest.raises(ValueError, match="not a formula of z"):
        Formula.read(text)
