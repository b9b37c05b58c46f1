"""Rounded corners: what becomes of a loss, and the optimum that they lead L-BFGS to."""

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.optimize import linprog

import symloss as sl
from symloss.estimators import AUCClassifier, BERClassifier
from symloss.estimators.family import PenalizedRisk
from symloss.estimators.linear import StandardizedFeatures, minimize_risk
from symloss.estimators.rounding import Rounded, roundings
from symloss.estimators.standardization import Standardization

CORNERED = [sl.Hinge(), sl.DoubleHinge(), sl.Ramp(), sl.BarrierHinge(), sl.BarrierHinge(10, 1)]


@pytest.mark.parametrize("loss", CORNERED, ids=repr)
def test_the_rounded_loss_is_a_moving_average(loss):
    width = 0.3
    for z in (-2.0, -1.1, 0.0, 0.5, 0.9, 1.0, 1.2, 3.0):
        area, _ = quad(lambda t: float(loss(torch.tensor(t, dtype=torch.float64))), z - width, z + width, limit=500)
        found = float(Rounded(loss, width)(torch.tensor(z, dtype=torch.float64)))
        assert found == pytest.approx(area / (2 * width), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("loss", [sl.BarrierHinge(10, 1), sl.Ramp()], ids=repr)
def test_a_symmetric_loss_stays_symmetric(loss):
    z = torch.linspace(-0.5, 0.5, 101, dtype=torch.float64)
    total = Rounded(loss, 0.2)(z) + Rounded(loss, 0.2)(-z)
    torch.testing.assert_close(total, total[:1].expand(101))


def test_losses_without_corners_are_left_alone():
    for name in ("logistic", "squared", "squared_hinge", "sigmoid", "unhinged"):
        assert roundings(sl.get_loss(name)) == [sl.get_loss(name)]


@pytest.mark.parametrize("risk", ["ber", "auc"])
@pytest.mark.parametrize("loss", [sl.Hinge(), sl.BarrierHinge(), sl.BarrierHinge(10, 1)], ids=repr)
def test_no_subgradient_leads_downhill_from_the_minimizer(loss, risk):
    """At the minimum of a convex risk zero is a subgradient: some slopes at the corners balance the penalty."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(40, 5))
    positive = X[:, 0] + generator.normal(size=40) > 0
    alpha = 0.05 * loss(torch.tensor(0.0)).item()
    features = StandardizedFeatures(X, Standardization.fit(X, np.ones(40)))
    weights, bias = minimize_risk(features, positive, np.ones(40), PenalizedRisk(risk, loss, alpha))
    Z = features.standardization.transform(X)
    scores = Z @ weights + bias
    if risk == "ber":
        margins = np.where(positive, scores, -scores)
        by_weights = np.where(positive, 1, -1)[:, None] * np.column_stack([Z, np.ones(40)])
        share = 0.5 / np.where(positive, positive.sum(), (~positive).sum())
    else:
        i, j = (part.ravel() for part in np.meshgrid(np.flatnonzero(positive), np.flatnonzero(~positive)))
        margins, by_weights = scores[i] - scores[j], np.column_stack([Z[i] - Z[j], np.zeros(len(i))])
        share = np.full(len(i), 1 / len(i))
    near = 2e-4 * max(abs(kink.where) for kink in loss.structure.kinks)
    low, high = (
        loss.derivative(torch.from_numpy(margins + side)).numpy() * share for side in (-near, near)
    )  # slopes of a convex loss rise
    penalty = np.append(alpha * weights, 0.0)
    # The smallest imbalance that slopes between the two sides leave: a linear program with slack on each equation.
    count, width = len(margins), len(penalty)
    slack = np.eye(width)
    solution = linprog(
        np.append(np.zeros(count), np.ones(2 * width)),
        A_eq=np.hstack([by_weights.T, slack, -slack]),
        b_eq=-penalty,
        bounds=[*zip(low, high, strict=True), *[(0, None)] * (2 * width)],
    )
    assert solution.fun < 1e-3 * np.abs(penalty).sum()


@pytest.mark.parametrize("kind", [BERClassifier, AUCClassifier])
@pytest.mark.parametrize("loss", ["barrier_hinge", "hinge", "double_hinge", "ramp"])
def test_small_data_sets_are_fitted(loss, kind):
    for seed in range(6):
        generator = np.random.default_rng(seed)
        y = np.arange(60) % 2
        X = generator.normal(size=(60, 4)) + 0.8 * y[:, None]
        assert kind(loss, threshold=0.0).fit(X, y).score(X, y) > 0.5


@pytest.mark.parametrize("loss", [sl.Hinge(), sl.BarrierHinge(b=200, r=50), sl.Ramp()], ids=str)
def test_rounded_corners_lose_no_digits(loss):
    width = 1e-4
    z = torch.linspace(-300, 300, 4001, dtype=torch.float64)
    away = torch.stack([(z - kink.where).abs() for kink in loss.structure.kinks]).amin(0) > width
    rounded = Rounded(loss, width)
    torch.testing.assert_close(rounded.value(z)[away], loss.value(z)[away], rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(rounded.slope(z)[away], loss.slope(z)[away], rtol=1e-10, atol=1e-10)
