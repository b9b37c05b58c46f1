"""The bounds of the clean AUC under flip probabilities that vary, and what instance-dependent noise leaves as it is."""

import itertools
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import symloss as sl
from symloss.metrics import clean_auc_bounds


def exact(mass, eta, scores, rho_positive, rho_negative):
    """The clean AUC and prior, and the noisy AUC and share, of a distribution on finitely many points."""
    noisy = eta * (1 - rho_positive) + (1 - eta) * rho_negative

    ranked = np.sign(scores[:, None] - scores) / 2 + 0.5

    def auc(positive):
        positives, negatives = mass * positive, mass * (1 - positive)
        return positives @ ranked @ negatives / (positives.sum() * negatives.sum())

    return auc(eta), mass @ eta, auc(noisy), mass @ noisy


def random_distribution(rng, points):
    """Masses, posteriors (some of them 0 or 1) and scores (some of them equal)."""
    mass, eta = rng.dirichlet(np.ones(points)), rng.random(points)
    eta = np.where(rng.random(points) < 0.4, eta.round(), eta)
    if eta.sum() in (0, points):
        eta[0] = 0.5
    return mass, eta, rng.integers(0, 3 * points, points).astype(float)


@pytest.mark.parametrize("seed", range(6))
def test_bounds_are_never_violated_by_any_extreme_flips(seed):
    """All 4^m choices of the lowest or highest flip probability for the positives and the negatives of m points."""
    rng = np.random.default_rng(seed)
    mass, eta, scores = random_distribution(rng, 4)
    rates, spread = rng.uniform(0.1, 0.4, 2), rng.uniform(0.01, 0.1)
    for signs in itertools.product([-1, 1], repeat=8):
        rho = rates[:, None] + spread * np.reshape(signs, (2, 4))
        clean, prior, noisy, share = exact(mass, eta, scores, *rho)
        for known in (None, prior):
            low, high = clean_auc_bounds(noisy, share, rates, spread, prior=known)
            assert low - 1e-9 <= clean <= high + 1e-9


@given(seed=st.integers(0, 10_000), points=st.integers(2, 40))
def test_bounds_hold_for_random_flips(seed, points):
    rng = np.random.default_rng(seed)
    mass, eta, scores = random_distribution(rng, points)
    highest = rng.uniform(0.01, 0.49)
    clean, prior, noisy, share = exact(mass, eta, scores, *rng.choice([0, 0.5, 1], (2, points)) * highest)
    for known in (None, prior):
        low, high = clean_auc_bounds(noisy, share, (highest / 2, highest / 2), highest / 2, prior=known)
        assert low - 1e-9 <= clean <= high + 1e-9


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize(("prior", "level", "rates", "spread", "excess"), [
    (0.5, 0.6, (0.1, 0.1), 0.1, 0.0), (0.3, 0.3, (0.3, 0.2), 0.1, 0.04), (0.6, 0.9, (0.05, 0.2), 0.05, -0.02),
])  # fmt: skip
def test_bounds_are_attained(side, prior, level, rates, spread, excess):
    """The worst flips of the proof, on a fine grid: errors of one sign below a rank, and of the other above it."""
    rank = (np.arange(1000) + 0.5) / 1000
    step = np.where(rank > 1 - prior, 1.0, 0.0)
    eta = level * step + (1 - level) * prior
    # More positive labels at low ranks hide a high AUC, and more at high ranks feign one.
    errors = np.where(rank > (1 + side * excess / spread) / 2, -side, side) * spread
    clean, p, noisy, share = exact(np.full(1000, 1 / 1000), eta, rank, rates[0] - errors, rates[1] + errors)
    assert p == pytest.approx(prior, abs=2e-3)
    assert share == pytest.approx(rates[1] + (1 - sum(rates)) * p + excess, abs=2e-3)
    assert clean_auc_bounds(noisy, share, rates, spread, prior=p)[side == 1] == pytest.approx(clean, abs=5e-3)


@pytest.mark.parametrize(("auc", "share", "rates", "spread", "prior"), [
    (0.75, 0.5, (0.1, 0.1), 0.1, 0.45), (0.62, 0.6, (0.3, 0.2), 0.1, 0.7), (0.8, 0.4, (0.05, 0.1), 0.05, 0.36),
])  # fmt: skip
def test_bounds_are_the_optima_of_a_linear_program(auc, share, rates, spread, prior):
    """Over all posteriors and flip probabilities of 60 points: the clean AUC is linear in them at a given prior."""
    n = 60
    rank, one, zero = (np.arange(n) + 0.5) / n - 0.5, np.ones(n), np.zeros(n)
    slope, identity = 1 - sum(rates), np.eye(n)
    limits = np.block([[slope * identity, -identity], [-slope * identity, identity]])  # of eta and the noisy eta
    bounds = np.r_[np.full(n, spread - rates[1]), np.full(n, spread + rates[1])]
    equal = np.array([np.r_[one, zero], np.r_[zero, one], np.r_[zero, rank]]) / n
    known = [prior, share, share * (1 - share) * (auc - 0.5)]
    for side, expected in zip((1, -1), clean_auc_bounds(auc, share, rates, spread, prior), strict=True):
        found = linprog(side * np.r_[rank, zero] / n, limits, bounds, equal, known, bounds=(0, 1))
        assert 0.5 + side * found.fun / (prior * (1 - prior)) == pytest.approx(expected, abs=1e-3)


@given(
    auc=st.floats(0.3, 0.8), share=st.floats(0.2, 0.8), positive=st.floats(0, 0.3), negative=st.floats(0, 0.3),
    spread=st.floats(0.001, 0.15),
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:an AUC of")
def test_without_the_prior_the_bounds_are_those_of_all_priors(auc, share, positive, negative, spread):
    slope = 1 - positive - negative
    priors = np.linspace((share - negative - spread) / slope, (share - negative + spread) / slope, 101)
    priors = priors[(priors > 1e-9) & (priors < 1 - 1e-9)]
    if not len(priors):
        return
    each = np.array([clean_auc_bounds(auc, share, (positive, negative), spread, prior=float(p)) for p in priors])
    low, high = clean_auc_bounds(auc, share, (positive, negative), spread)
    assert low <= each[:, 0].min() + 1e-9
    assert high >= each[:, 1].max() - 1e-9
    if priors[0] > 0.05 and priors[-1] < 0.95:  # elsewhere a grid is too coarse
        assert low == pytest.approx(each[:, 0].min(), abs=0.02)
        assert high == pytest.approx(each[:, 1].max(), abs=0.02)


@given(auc=st.floats(0.4, 0.6), positive=st.floats(0, 0.4), negative=st.floats(0, 0.4), prior=st.floats(0.2, 0.8))
def test_without_spread_the_bounds_are_corollary_2(auc, positive, negative, prior):
    pi, pi_prime = sl.corruption.to_contamination((positive, negative), prior)
    share = prior * (1 - positive) + (1 - prior) * negative
    clean = sl.metrics.clean_auc(auc, pi, pi_prime)
    if 0 <= clean <= 1:
        for spread in (0.0, 1e-13, 1e-310):
            bounds = clean_auc_bounds(auc, share, (positive, negative), spread)
            assert bounds == pytest.approx((clean, clean), abs=1e-7)


def test_bounds_widen_with_the_spread_and_grow_with_the_auc():
    bounds = np.array([clean_auc_bounds(0.6, 0.4, (0.2, 0.2), spread) for spread in (0, 0.05, 0.1, 0.15)])
    assert (np.diff(bounds[:, 0]) < 0).all()
    assert (np.diff(bounds[:, 1]) > 0).all()
    bounds = np.array([clean_auc_bounds(auc, 0.4, (0.2, 0.2), 0.02) for auc in (0.5, 0.55, 0.6, 0.65)])
    assert (np.diff(bounds, axis=0) > 0).all()


@pytest.mark.parametrize(("change", "message"), [
    ({"auc": 1.2}, "auc must be between 0 and 1, got 1.2"),
    ({"share": 0}, "share must be between 0 and 1, got 0"),
    ({"rates": (0.6, 0.5)}, "rates must sum to less than 1, got 0.6 and 0.5"),
    ({"rates": (0.1, -0.1)}, "rates[1] must be between 0 and 1, got -0.1"),
    ({"spread": -0.1}, "spread must be between 0 and 1, got -0.1"),
    ({"share": 0.05}, "a share of 0.05 noisy positives cannot be: flip probabilities of 0.2 and 0.1, within 0.02, "
                      "leave a share between 0.08 and 0.82"),
    ({"prior": 0.9}, "prior must be between 0.542857 and 0.6 by share, rates and spread, got 0.9"),
])  # fmt: skip
def test_bad_input(change, message):
    arguments = {"auc": 0.7, "share": 0.5, "rates": (0.2, 0.1), "spread": 0.02} | change
    with pytest.raises(ValueError, match=re.escape(message)):
        clean_auc_bounds(**arguments)


def test_an_auc_that_cannot_be_is_named():
    with pytest.warns(UserWarning, match=r"an AUC of 0\.990 on noisy labels cannot be"):
        assert clean_auc_bounds(0.99, 0.5, (0.2, 0.2), 0.01) == (1.0, 1.0)


def boundary_consistent(rng, eta):
    """Flip probabilities as the page on corruption asks: most noise at the border, and a difference that falls."""
    distance = np.abs(eta - 0.5)
    total = rng.uniform(0.1, 0.9) * np.exp(-distance / rng.uniform(0.05, 1))
    difference = -rng.uniform(0, 1) * total.min() * np.tanh(rng.uniform(0, 5) * (eta - rng.random()))
    return (total + difference) / 2, (total - difference) / 2


@given(seed=st.integers(0, 10_000), points=st.integers(2, 30))
def test_boundary_consistent_noise_keeps_the_order_and_bounds_the_regret(seed, points):
    rng = np.random.default_rng(seed)
    mass, eta = rng.dirichlet(np.ones(points)), np.sort(rng.uniform(0.01, 0.99, points))
    rho = boundary_consistent(rng, eta)
    noisy = eta * (1 - rho[0]) + (1 - eta) * rho[1]
    assert (np.diff(noisy) > 0).all()
    best, prior, best_noisy, share = exact(mass, eta, eta, *rho)
    clean, _, corrupted, _ = exact(mass, eta, rng.integers(0, points, points).astype(float), *rho)
    least = 1 - np.sum(rho, axis=0).max()
    factor = share * (1 - share) / (prior * (1 - prior) * least)
    assert best - clean <= factor * (best_noisy - corrupted) + 1e-12


def test_boundary_consistent_noise_can_swap_two_models_that_are_not_the_best():
    """The example on the page on corruption."""
    mass, eta, rho = np.full(4, 0.25), np.array([0.2, 0.4, 0.6, 0.8]), np.array([0, 0.45, 0.45, 0])
    for ranks, clean, noisy in (([1, 4, 2, 3], 0.6, 0.645), ([2, 1, 4, 3], 0.65, 0.5825)):
        found = exact(mass, eta, np.array(ranks, dtype=float), rho, rho)
        assert (found[0], found[2]) == pytest.approx((clean, noisy))
