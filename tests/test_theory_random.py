"""Verdicts on random losses against brute force on discrete distributions, and the bounds on random scores."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import symloss as sl
from symloss import theory

THETA = np.concatenate([[1e-4], np.linspace(0.001, 1, 400)])  # theta = 2 eta - 1
AROUND = (
    (0, 0),
    (1, 1),
    (-1, -1),
    (2, -1),
    (1, -2),
    (-2, 1),
    (-1, 2),
    (1, 0),
    (-1, 0),
    (0, 1),
    (0, -1),
    (1, -1),
    (-1, 1),
)


class Pieces:
    """A loss of straight pieces between corners, with jumps."""

    def __init__(self, corners, values, left, right, jumps):
        self.corners, self.values, self.left, self.right, self.jumps = corners, values, left, right, jumps
        self.marks = sorted({0.0, *map(abs, corners), *(abs(at) for at, _ in jumps)})

    def __call__(self, z):
        ends = self.left * (z - self.corners[0]).clamp(max=0) + self.right * (z - self.corners[-1]).clamp(min=0)
        total = self.values[0] + ends
        for a, b, low, high in zip(self.corners, self.corners[1:], self.values, self.values[1:], strict=False):
            total = total + (high - low) / (b - a) * (z.clamp(a, b) - a)
        for at, height in self.jumps:
            total = total + height * (z <= at).to(z.dtype)
        return total

    def at(self, z):
        return self(torch.from_numpy(np.asarray(z, dtype=np.float64))).numpy()

    def sided_infima(self):
        """The infima of the conditional risk over scores of the right sign, and over 0 and scores of the wrong sign."""
        a = np.array(sorted({z for mark in (*self.marks, 99.0) for z in (mark - 1e-9, mark, mark + 1e-9) if z > 0}))
        there, back, eta = self.at(a), self.at(-a), (1 + THETA[:, None]) / 2
        right, wrong = eta * there + (1 - eta) * back, eta * back + (1 - eta) * there
        ends = (eta * self.right - (1 - eta) * self.left)[:, 0], ((1 - eta) * self.right - eta * self.left)[:, 0]
        wrong = np.minimum(wrong.min(1), self.at([0.0]))
        return np.where(ends[0] < 0, -np.inf, right.min(1)), np.where(ends[1] < 0, -np.inf, wrong)

    def pairwise_infima(self, eta, share):
        """The infima of the pairwise risk of three points over scores that rank by eta, and over others."""
        marks = [*self.marks, self.marks[-1] + 1]
        signed = {*marks, *(-mark for mark in marks)}
        gaps = np.array(sorted({a + b for a in signed for b in signed}))
        x, y = (axis.ravel() for axis in np.meshgrid(gaps, gaps))
        ranking, other = [], []
        for dx, dy in AROUND if self.jumps else AROUND[:1]:
            first, second, both = x + 1e-7 * dx, y + 1e-7 * dy, x + y + 1e-7 * (dx + dy)
            risk = sum(
                share[i] * share[j] * (eta[i] * (1 - eta[j]) * self.at(gap) + eta[j] * (1 - eta[i]) * self.at(-gap))
                for i, j, gap in ((0, 1, first), (1, 2, second), (0, 2, both))
            )
            ranks = (first > 0) & (second > 0)
            ranking.append(risk[ranks].min(initial=np.inf))
            other.append(risk[~ranks].min(initial=np.inf))
        return min(ranking), min(other)


@st.composite
def pieces(draw):
    corners = sorted(draw(st.lists(st.integers(-6, 6), min_size=1, max_size=4, unique=True)))
    values = draw(st.lists(st.integers(0, 8), min_size=len(corners), max_size=len(corners)))
    if draw(st.booleans()):
        values = sorted(values, reverse=True)
    left, right = -draw(st.integers(0, 4)) / 4, draw(st.sampled_from([0.0, 0.0, 0.0, 0.5, -0.25]))
    jump = st.tuples(st.integers(-4, 4).map(lambda at: at / 2), st.sampled_from([-0.25, 0.5, 0.75]))
    jumps = draw(st.lists(jump, max_size=2, unique_by=lambda jump: jump[0])) if draw(st.booleans()) else []
    return Pieces([corner / 2 for corner in corners], [value / 4 for value in values], left, right, jumps)


three = st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1)).map(lambda eta: sorted(eta, reverse=True))


@settings(max_examples=8)
@given(loss=pieces(), eta=three, share=st.lists(st.floats(0.1, 1), min_size=3, max_size=3))
def test_losses_of_straight_pieces(loss, eta, share):
    report = theory.analyze(loss)
    right, wrong = loss.sided_infima()
    with np.errstate(invalid="ignore"):
        prefers = wrong - right > 1e-7 * THETA  # NaN where both are -infinity
    assert report.calibrated.answer in ("cannot tell", "yes" if prefers.all() else "no"), report.calibrated
    if report.calibrated:
        assert report.recovers_eta.answer != "yes"  # f* takes few values
    if loss.right < 0:
        assert report.auc_consistent.answer == "no"
        assert report.excess_risk_bound.answer == "no"
        return
    ranking, other = loss.pairwise_infima(eta, share)
    if report.auc_consistent and min(eta[0] - eta[1], eta[1] - eta[2]) > 0.01:
        assert other > ranking + 1e-7
    if "three points" in report.auc_consistent.reason:
        found = theory.three_points(loss, tuple(loss.marks))
        if found is not None:
            ranking, other = loss.pairwise_infima(found.eta, (1, 1, 1))
            assert other <= ranking + 1e-5
            assert found.risk == pytest.approx(other, abs=1e-5)


def atan(z):
    return 0.5 - torch.atan(z) / math.pi


PARTS = {
    "sigmoid": lambda z: torch.sigmoid(-z), "logistic": lambda z: torch.relu(-z) + torch.log1p(torch.exp(-z.abs())),
    "atan": atan, "bump": lambda z: 1 / (1 + z**2), "quartic": lambda z: 1 + z**4 - z**3,
    "squared": lambda z: (1 - z) ** 2,
}  # fmt: skip
part = st.tuples(
    st.sampled_from(sorted(PARTS)), st.sampled_from([-0.5, 0.25, 1.0, 2.0]), st.sampled_from([0.5, 1.0, 3.0]),
    st.sampled_from([-1.0, 0.0, 0.0, 0.5]),
)  # fmt: skip


@settings(max_examples=6)
@given(parts=st.lists(part, min_size=1, max_size=3), eta=three, seed=st.integers(0, 99))
def test_smooth_losses(parts, eta, seed):
    def loss(z):
        return sum(weight * PARTS[name](scale * (z - shift)) for name, weight, scale, shift in parts)

    def at(z):
        return loss(torch.from_numpy(z)).numpy()

    report = theory.analyze(loss)
    a = np.concatenate([np.geomspace(1e-5, 1e-2, 60), np.linspace(0.01, 12, 4000), np.geomspace(12, 1e6, 600)])
    there, back, zero = at(a), at(-a), at(np.zeros(1))[0]
    etas = (1 + np.concatenate([[0.002, 0.01], np.linspace(0.02, 1, 25)])[:, None]) / 2
    right, wrong = etas * there + (1 - etas) * back, etas * back + (1 - etas) * there
    gaps = np.minimum(wrong.min(1), zero) - right.min(1)
    if report.calibrated:
        assert gaps.min() > -1e-6
    if report.calibrated.answer == "no" and report.bounded:
        assert gaps.min() < 1e-4
    if report.recovers_eta:
        best = np.concatenate([a, -a])[np.concatenate([right, wrong], axis=1)[10:-1].argmin(1)]
        assert (np.diff(best) >= 0).all() or (np.diff(best) <= 0).all()
    if report.auc_consistent and min(eta[0] - eta[1], eta[1] - eta[2]) > 0.05:
        rng = np.random.default_rng(seed)
        first, second = rng.normal(size=(2, 20_000)) * rng.choice([0.3, 1, 3, 10, 300], size=20_000)
        first[:4000], second[4000:8000] = 0, 0
        risk = sum(
            eta[i] * (1 - eta[j]) * at(gap) + eta[j] * (1 - eta[i]) * at(-gap)
            for i, j, gap in ((0, 1, first), (1, 2, second), (0, 2, first + second))
        )
        ranks = (first > 0) & (second > 0)
        assert risk[~ranks].min() > risk[ranks].min()  # the best of many rankings beats the best of many others


def auc_risk(loss, eta, share, scores):
    weight = np.outer(share * eta, share * (1 - eta))
    gaps = torch.from_numpy(scores[:, None] - scores)
    return float((weight * loss(gaps).numpy()).sum() / weight.sum())


REGRET = [sl.get_loss(name) for name in ("zero_one", "sigmoid", "ramp", "logistic", "exponential", "savage")]
REGRET += [sl.CallableLoss(lambda z: (1 - z).clamp(0, 1)), sl.CallableLoss(atan)]


@pytest.fixture(scope="module")
def bounds():
    return {loss: theory.analyze(loss) for loss in REGRET}


@pytest.mark.parametrize("loss", REGRET, ids=lambda loss: loss.name)
def test_auc_regret_bounds_on_random_distributions(loss, bounds):
    report, rng = bounds[loss], np.random.default_rng(0)
    constant, (pi, pi_prime) = report.excess_risk_constant, (0.7, 0.4)
    assert report.auc_regret_bound
    regrets, excesses = [], []
    for _ in range(25):
        n = int(rng.integers(2, 7))
        eta, share = rng.uniform(0.02, 0.98, n), rng.dirichlet(np.ones(n))
        scores = rng.normal(size=n).round(1) * rng.choice([0.3, 1, 5]) + rng.choice([0, 3]) * eta
        best = 1e9 * eta  # far apart: the ray condition
        if report.M is None:
            best = np.log(eta / (1 - eta)) * float(loss.properties.minimizer(torch.tensor(0.75))) / math.log(3)
        regrets.append(auc_risk(sl.ZeroOne(), eta, share, scores) - auc_risk(sl.ZeroOne(), eta, share, best))
        excesses.append(auc_risk(loss, eta, share, scores) - auc_risk(loss, eta, share, best))
        if constant is not None:
            pos, neg = share * eta / (share @ eta), share * (1 - eta) / (share @ (1 - eta))
            mixed = [theory.auc_decomposition(loss, g, g, pi, pi_prime, pos, neg).corrupted for g in (scores, best)]
            assert regrets[-1] <= (mixed[0] - mixed[1]) / (constant * (pi - pi_prime)) + 1e-9
    assert min(regrets) >= 0
    assert max(regrets) > 0.1
    bounded = report.psi(regrets) if constant is None else constant * np.array(regrets)
    assert (bounded <= np.array(excesses) + 1e-7).all()


@pytest.mark.parametrize(("auc", "times"), [(0.75, 27), (0.95, 50), (0.995, 320)])
def test_how_many_times_the_points_it_takes_to_compare_rankers_under_noise(auc, times):
    """The numbers of the page on corruption: two rankers of Gaussian classes, 20 degrees apart, at (0.65, 0.45)."""
    rng, n, pi, pi_prime = np.random.default_rng(0), 200_000, 0.65, 0.45
    shift, cosine, sine = math.sqrt(2) * norm.ppf(auc), math.cos(math.radians(20)), math.sin(math.radians(20))

    def contributions(share, share_of_others):
        """How much each point adds to the difference of the two AUCs, up to sign."""
        along, across = rng.normal(size=(2, n))
        along = along + shift * (rng.random(n) < share)
        best, other = along, cosine * along + sine * across
        below = [
            share_of_others * norm.cdf(scores - mean) + (1 - share_of_others) * norm.cdf(scores)
            for scores, mean in ((best, shift), (other, cosine * shift))
        ]
        return below[0] - below[1]

    clean, corrupted = (contributions(p, q).var() + contributions(q, p).var() for p, q in ((1.0, 0.0), (pi, pi_prime)))
    assert corrupted / clean / (pi - pi_prime) ** 2 == pytest.approx(times, rel=0.05)
