"""The theory: verdicts on built-in, own and random losses, against closed forms and brute force; the theorems."""

import dataclasses
import itertools
import math
import re

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import symloss as sl
from symloss import theory

BUILT_IN = [
    *(sl.get_loss(name) for name in sl.list_losses()),
    sl.BarrierHinge(b=10, r=1),
    sl.BarrierHinge(b=1.01, r=0.3),
]
SYMMETRIC = ["zero_one", "ramp", "sigmoid", "unhinged"]
probability = st.floats(0, 1)
sample = st.lists(st.floats(-20, 20) | st.sampled_from([0.0, 1.0, -1.0]), min_size=1, max_size=8)


@pytest.fixture(scope="module")
def reports():
    return {repr(loss): theory.analyze(loss) for loss in BUILT_IN}


@pytest.mark.parametrize("loss", [*BUILT_IN, theory.CounterexampleLoss()], ids=repr)
def test_declared_properties_agree_with_the_checks(loss, reports):
    report = reports[repr(loss)] if repr(loss) in reports else theory.analyze(loss)
    assert report.disagreements == ()
    claims = loss.properties
    assert bool(report.convex) == claims.convex
    assert bool(report.non_increasing) == claims.non_increasing
    assert bool(report.bounded) == claims.bounded
    assert bool(report.recovers_eta) == claims.minimizer.recovers_eta
    assert claims.symmetric_constant == report.K
    assert report.symmetric_interval == (-claims.symmetric_radius, claims.symmetric_radius)


# Calibrated; AUC-consistent; theorem 7's constant; M of theorem 8.
KNOWN = {
    "ZeroOne()": (True, "yes", 0.5, 1.0),
    "Squared()": (True, "yes", None, None),
    "Hinge()": (True, "no", None, 1.0),
    "SquaredHinge()": (True, "yes", None, None),
    "DoubleHinge()": (True, "no", None, 1.0),
    "Logistic()": (True, "yes", None, None),
    "Exponential()": (True, "yes", None, None),
    "Savage()": (True, "yes", None, None),
    "Ramp()": (True, "yes", 0.5, 1.0),
    "Sigmoid()": (True, "yes", 0.5, math.inf),
    "Unhinged()": (True, "no", math.inf, math.inf),
    "BarrierHinge(b=200, r=50)": (True, "no", None, 50.0),
    "BarrierHinge(b=10, r=1)": (True, "no", None, 1.0),
    "BarrierHinge(b=1.01, r=0.3)": (True, "no", None, 0.3),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_verdicts(reports, name):
    report = reports[name]
    found = (bool(report.calibrated), report.auc_consistent.answer, report.excess_risk_constant, report.M)
    assert found == KNOWN[name]
    for verdict in report.verdicts.values():
        assert verdict.reason
        assert (verdict.witness is not None) or verdict.answer != "no" or "theorem 7" in verdict.reason


def test_witnesses_are_true(reports):
    witness = reports["Hinge()"].symmetric.witness
    assert witness == "l(2) + l(-2) = 3"
    found = theory.three_points("hinge")
    eta, scores = found.eta, found.scores

    def risk(g):
        pairs = [(0, 1), (0, 2), (1, 2)]
        value = 0.0
        for i, j in pairs:
            gap = torch.tensor([g[i] - g[j], g[j] - g[i]], dtype=torch.float64)
            there, back = sl.Hinge()(gap).tolist()
            value += eta[i] * (1 - eta[j]) * there + eta[j] * (1 - eta[i]) * back
        return value

    assert risk(scores) == pytest.approx(found.risk, abs=1e-12)
    # A search by brute force over all scores finds nothing lower, and over rankings by eta nothing as low.
    everything = np.random.default_rng(0).uniform(-3, 3, (4000, 3))
    assert min(risk(g) for g in everything) >= found.risk
    assert min(risk(g) for g in np.sort(everything, axis=1)[:, ::-1]) > found.risk


@pytest.mark.parametrize(
    ("name", "psi"),
    [
        ("hinge", lambda t: t),
        ("squared", lambda t: t**2),
        ("squared_hinge", lambda t: t**2),
        ("exponential", lambda t: 1 - np.sqrt(1 - t**2)),
        ("logistic", lambda t: np.log(2) - sum(-p * np.log(np.maximum(p, 1e-300)) for p in ((1 + t) / 2, (1 - t) / 2))),
        ("savage", lambda t: t**2 / 4),
        ("sigmoid", lambda t: t / 2),
        ("ramp", lambda t: t / 2),
        ("zero_one", lambda t: t / 2),
        ("barrier_hinge", lambda t: 50 * t),
        ("double_hinge", lambda t: t / 2),
    ],
)
def test_psi_transforms_in_closed_form(name, psi):
    theta = np.array([0.0, 0.1, 0.5, 0.77, 1.0])
    np.testing.assert_allclose(theory.psi_transform(name, theta), psi(theta), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", ["squared", "logistic", "exponential", "savage", "hinge", "ramp", "barrier_hinge"])
@pytest.mark.parametrize("eta", [0.03, 0.3, 0.62, 0.97])
def test_minimizers(name, eta):
    claimed = float(sl.get_loss(name).properties.minimizer(torch.tensor(eta, dtype=torch.float64)))
    assert theory.minimizer(name, eta) == pytest.approx(claimed, rel=1e-6, abs=1e-6)


class TestOwnLosses:
    def test_wrong_claims_are_contradicted(self):
        class Boast(sl.Loss):
            properties = sl.Ramp.properties
            structure = sl.Ramp.structure

            def value(self, z):
                return torch.relu(1 - z)

        found = " ".join(theory.analyze(Boast()).disagreements)
        assert "convex is claimed False" in found
        assert "bounded is claimed True" in found
        assert "symmetric_constant is claimed 1.0" in found
        assert "structure gives another value" in found

    def test_a_scaled_and_shifted_sigmoid(self):
        report = theory.analyze(lambda z: 3 * torch.sigmoid(-z / 7) - 11)
        assert pytest.approx(-19) == report.K
        assert report.excess_risk_constant == pytest.approx(1.5)
        assert math.inf == report.M
        assert report.auc_consistent

    def test_a_hinge_by_any_other_name(self):
        report = theory.analyze(lambda z: torch.relu(2.5 - z))
        assert report.symmetric_interval == (-2.5, 2.5)
        assert report.auc_consistent.answer == "no"
        assert pytest.approx(2.5) == report.M

    def test_symmetric_but_not_calibrated(self):
        report = theory.analyze(lambda z: torch.sigmoid(z))
        assert report.symmetric
        assert report.calibrated.answer == "no"
        assert report.auc_consistent.answer == "no"
        assert "lemma 9" in report.auc_consistent.reason
        assert report.excess_risk_constant is None

    def test_neither_symmetric_nor_convex(self):
        report = theory.analyze(lambda z: (2 * torch.atan(z) - 1) ** 2)
        assert report.calibrated
        assert report.recovers_eta
        assert report.minimizer(0.8) == pytest.approx(math.tan(0.3), rel=1e-5)  # tangent loss: f* = tan(eta - 1/2)
        assert report.auc_consistent.answer == "cannot tell"

    def test_nan_is_not_a_verdict(self):
        report = theory.analyze(lambda z: torch.sqrt(z + 0.5))
        assert {verdict.answer for verdict in report.verdicts.values()} == {"cannot tell"}
        assert "is nan" in str(report)

    @pytest.mark.parametrize("c", [0.05, 100])
    @pytest.mark.parametrize("name", ["hinge", "sigmoid", "logistic", "barrier_hinge", "savage", "squared"])
    def test_verdicts_do_not_depend_on_the_unit(self, name, c, reports):
        loss = sl.get_loss(name)
        plain, scaled = reports[repr(loss)], theory.analyze(lambda z: loss(c * z))
        assert [v.answer for v in scaled.verdicts.values()] == [v.answer for v in plain.verdicts.values()]
        assert scaled.symmetric_interval[1] == pytest.approx(plain.symmetric_interval[1] / c, rel=1e-5)
        assert scaled.minimizer(0.8) == pytest.approx(plain.minimizer(0.8) / c, rel=1e-5)

    @pytest.mark.parametrize("name", ["hinge", "sigmoid", "logistic", "barrier_hinge", "ramp"])
    def test_verdicts_do_not_depend_on_an_affine_change(self, name, reports):
        loss = sl.get_loss(name)
        plain, changed = reports[repr(loss)], theory.analyze(lambda z: 0.001 * loss(z) + 1e3)
        assert [v.answer for v in changed.verdicts.values()] == [v.answer for v in plain.verdicts.values()]

    @pytest.mark.parametrize(("b", "r"), [(10, 0.005), (200, 1e5), (1.01, 3), (1e5, 1)])
    def test_barrier_hinge_for_any_parameters(self, b, r):
        report = theory.analyze(sl.BarrierHinge(b=b, r=r))
        assert report.disagreements == ()
        assert report.calibrated
        assert report.auc_consistent.answer == "no"
        assert pytest.approx(r) == report.M

    def test_a_small_corner_at_zero_is_still_a_corner(self):
        assert theory.analyze(lambda z: torch.relu(1 - z) + 0.005 * torch.relu(-z)).calibrated.answer == "no"
        report = theory.analyze(lambda z: z**2 - 0.001 * z)
        assert report.calibrated
        assert report.auc_consistent  # a convex quadratic with l'(0) < 0

    def test_flat_pieces_of_the_minimizer(self):
        for loss in (
            lambda z: (1 - z) ** 2 + 0.3 * z.abs(),
            lambda z: (1 - z) ** 2 + 0.1 * torch.relu(z - 0.3),
            lambda z: -torch.nn.functional.logsigmoid(z) + 0.1 * torch.relu(1 - z),
        ):
            assert theory.analyze(loss).recovers_eta.answer == "no"

    def test_differentiability_is_checked_everywhere(self):
        smooth = lambda z: -torch.nn.functional.logsigmoid(z)  # noqa: E731
        assert theory.analyze(smooth).auc_consistent
        assert not theory.analyze(lambda z: smooth(z) + 0.001 * torch.relu(5 - z)).auc_consistent
        assert (
            theory.analyze(lambda z: (1 - z) ** 2 + 0.01 * torch.sin(2 * math.pi * z)).auc_consistent.answer
            == "cannot tell"
        )

    def test_wrong_minimizer_claims(self):
        class Confident(sl.Sigmoid):
            properties = dataclasses.replace(sl.Sigmoid.properties, minimizer=sl.losses.Sign(7.0))

        class Linked(sl.Logistic):
            properties = dataclasses.replace(sl.Logistic.properties, minimizer=sl.losses.Linear(), non_increasing=False)

        assert "f*(0.1) is claimed -7, but -inf is found" in theory.analyze(Confident()).disagreements
        report = theory.analyze(Linked())
        assert any(claim.startswith("f*(0.1) is claimed -0.8") for claim in report.disagreements)
        assert any(claim.startswith("non_increasing is claimed False") for claim in report.disagreements)
        assert "2 eta - 1" not in str(report)


def logistic(z):
    return -torch.nn.functional.logsigmoid(z)


def values(loss, *z):
    return [float(loss(torch.tensor(at, dtype=torch.float64))) for at in z]


class TestVerdictsThatWereWrong:
    @pytest.mark.parametrize("loss", ["unhinged", lambda z: logistic(z) - 0.5 * z, lambda z: -torch.asinh(z)])
    def test_without_a_lower_bound_there_is_no_auc_consistency(self, loss):
        report, function = theory.analyze(loss), sl.get_loss(loss)
        for verdict in (report.auc_consistent, report.auc_regret_bound, report.excess_risk_bound):
            assert verdict.answer == "no"
        assert report.calibrated
        assert "no lower bound" in report.auc_consistent.reason
        # Scores (t, t, 0) at eta = (1, 1/2, 0): a tie, and yet the risk goes to -infinity.
        found = re.findall(r"(\S+) at t = (\S+)", report.auc_consistent.witness)
        (low, t), (lower, far) = ((float(risk), float(at)) for risk, at in found)
        for risk, at in ((low, t), (lower, far)):
            there, zero = values(function, at, 0.0)
            assert 1.5 * there + 0.5 * zero == pytest.approx(risk, rel=1e-5)
        assert lower < low

    def test_a_small_gap_is_still_a_gap(self):
        report = theory.analyze(lambda z: 1 + z**4 - z**3)
        assert report.calibrated
        assert report.recovers_eta
        assert report.excess_risk_bound

    @pytest.mark.parametrize("loss", [lambda z: 0.5 - torch.atan(z) / math.pi, lambda z: 0.5 - 0.5 * z / (1 + z.abs())])
    @pytest.mark.parametrize("c", [1.0, 300.0])
    def test_slow_tails_have_no_finite_minimizer(self, loss, c):
        report = theory.analyze(lambda z: loss(c * z))
        assert math.inf == report.M
        assert report.excess_risk_constant == pytest.approx(0.5, abs=1e-12)
        assert "theorem 5: inf over a > 0 of l is 0," in report.calibrated.reason

    def test_a_smooth_sum_is_constant_on_no_interval(self):
        for loss in (lambda z: torch.log1p((1 - z) ** 2), lambda z: 1 + z**4 - z**3):
            assert theory.analyze(loss).symmetric_interval == (0, 0)
        # Bends that are smooth, too, but where an interval ends.
        for power in (2, 3):
            bent = theory.analyze(lambda z, power=power: -torch.clamp(z, -2, 2) + torch.relu(-z - 1) ** power)
            assert bent.symmetric_interval == pytest.approx((-1, 1), rel=1e-5)

    def test_a_slope_that_vanishes_at_zero_is_not_negative(self):
        report = theory.analyze(lambda z: torch.sigmoid(-(z**3)))
        assert "l'(0) < 0" not in str(report)
        assert "remark" in report.auc_consistent.reason
        assert "corollary 6" not in report.calibrated.reason
        assert "corollary 6" in theory.analyze("sigmoid").calibrated.reason

    @pytest.mark.parametrize(
        "loss",
        [
            lambda z: (1 - z).clamp(0, 1),  # rho-margin
            lambda z: (z <= 1).to(z.dtype),
            lambda z: torch.clamp(logistic(z), max=2 * math.log(2)),
        ],
    )
    def test_the_ray_condition(self, loss):
        report = theory.analyze(loss)
        assert "the ray condition" in report.auc_consistent.reason
        assert report.auc_consistent
        assert report.auc_regret_bound
        for eta in (0.51, 0.7, 0.9):  # C(eta, a) goes to H(eta)
            risks = theory.conditional_risk(loss, eta, np.append(np.linspace(-40, 40, 4001), 1e4))
            assert risks[-1] == pytest.approx(risks.min(), abs=1e-12)


def jumping(at, height, slope):
    return lambda z: slope * torch.relu(1 - z) + height * (z <= at)


@pytest.mark.parametrize("loss", [
    "hinge", "double_hinge", theory.CounterexampleLoss(), jumping(1, 0.5, 1), jumping(0, 0.5, 1), jumping(1, 1, 0),
    jumping(-1, 0.3, 1), lambda z: (z <= 1).double() + (z <= -1), lambda z: torch.relu(2 - z.clamp(max=1)),
])  # fmt: skip
def test_three_points_are_true_for_losses_with_jumps(loss):
    function = sl.get_loss(loss)
    found = theory.three_points(loss, (-1.0, 0.0, 1.0))
    if found is None:
        return
    rng = np.random.default_rng(0)
    drawn = np.concatenate(
        [rng.integers(-6, 7, (4000, 3)) / 2 + rng.choice([0, 1e-7, -1e-7], (4000, 3)), [found.scores]]
    )
    gaps = torch.from_numpy(drawn[:, :, None] - drawn[:, None, :])
    eta = np.array(found.eta)
    risks = np.einsum("nij,ij->n", function(gaps).numpy(), np.outer(eta, 1 - eta) * (1 - np.eye(3)))
    assert risks[-1] == pytest.approx(found.risk)
    assert risks[-1] <= risks.min() + 1e-5
    assert not (np.diff(found.scores) < 0).all()


def test_auc_regret_bounds_of_the_losses(reports):
    bounds = {name: report.auc_regret_bound for name, report in reports.items()}
    assert "(R - R*) / 0.5, from corrupted labels (R - R*) / (0.5 (pi - pi'))" in bounds["Sigmoid()"].reason
    assert "psi(0.5) = 0.1308" in bounds["Logistic()"].reason
    answers = {name.partition("(")[0]: bound.answer for name, bound in bounds.items()}
    assert answers == {
        "ZeroOne": "yes", "Squared": "cannot tell", "Hinge": "no", "SquaredHinge": "cannot tell", "DoubleHinge": "no",
        "Logistic": "yes", "Exponential": "yes", "Savage": "yes", "Ramp": "yes", "Sigmoid": "yes", "Unhinged": "no",
        "BarrierHinge": "no", "GeneralizedCrossEntropy": "yes", "SymmetricCrossEntropy": "cannot tell",
        "NormalizedCrossEntropy": "yes", "ActivePassive": "yes", "Focal": "cannot tell", "Tangent": "cannot tell",
        "HuberizedHinge": "cannot tell",
    }  # fmt: skip


def test_a_report_prints_every_verdict(reports):
    for report in reports.values():
        assert all(name.replace("_", " ") in str(report) for name in report.verdicts)


@pytest.mark.parametrize("name", sl.list_losses())
@given(pos=sample, neg=sample, pi=probability, pi_prime=probability, data=st.data())
def test_theorems_1_and_3(name, pos, neg, pi, pi_prime, data):
    weights = [
        data.draw(st.none() | st.lists(st.floats(0.01, 1), min_size=len(side), max_size=len(side)))
        for side in (pos, neg)
    ]
    for decompose in (theory.ber_decomposition, theory.auc_decomposition):
        parts = decompose(name, pos, neg, pi, pi_prime, *weights)
        size = 1 + abs(parts.clean) + sum(abs(term) for term in parts.excess_terms.values())
        assert abs(parts.total - parts.corrupted) <= 1e-12 * size
        assert parts.excess == sum(parts.excess_terms.values())


@pytest.mark.parametrize("name", SYMMETRIC)
@given(pos=sample, neg=sample, pi=probability, pi_prime=probability)
def test_corollaries_2_and_4(name, pos, neg, pi, pi_prime):
    for corollary in (theory.ber_corollary, theory.auc_corollary):
        parts = corollary(name, pos, neg, pi, pi_prime)
        assert abs(parts.total - parts.corrupted) <= 1e-12 * (1 + abs(parts.clean))


def test_corollaries_refuse_other_losses():
    with pytest.raises(ValueError, match="needs a symmetric loss, and Hinge"):
        theory.ber_corollary("hinge", [1.0], [0.0], 0.8, 0.3)


def test_theorem_3_on_samples_drawn_from_the_corrupted_distribution():
    """The decomposition's corrupted risk is the one of data that `contaminate` draws."""
    rng = np.random.default_rng(0)
    y = np.repeat([1, -1], 40_000)
    scores = rng.normal(size=80_000) + y
    s, target = sl.contaminate(scores, y, pi=0.8, pi_prime=0.3, n_positive=30_000, n_negative=30_000, random_state=0)
    drawn = float(sl.functional.ber_risk(torch.from_numpy(s), target, "logistic"))
    parts = theory.ber_decomposition("logistic", scores[y == 1], scores[y == -1], 0.8, 0.3)
    assert drawn == pytest.approx(parts.corrupted, abs=0.01)
    assert abs(drawn - parts.clean) > 0.1


def test_proposition_10_as_printed():
    table = theory.proposition_10()
    printed = [
        ((1, 2), 0.5, (0, 0, 0.5, 0.5)),
        ((1, 3), 1, (0, 0.5, 0.5, 0)),
        ((2, 1), -0.5, (1, 1, 0.5, 0.5)),
        ((2, 3), 0.5, (0.5, 0, 0.5, 0)),
        ((3, 1), -1, (1, 0.5, 0.5, 1)),
        ((3, 2), -0.5, (0.5, 1, 0.5, 1)),
    ]
    assert [(row.pair, row.weight, row.losses) for row in table.rows] == printed
    assert table.scores == (-1.5, -1, 0, -1.5)


def test_the_counterexample_is_calibrated_and_inconsistent():
    report = theory.analyze(theory.CounterexampleLoss())
    assert report.symmetric
    assert report.calibrated
    assert report.auc_consistent.answer == "no"


def test_argument_ranges():
    with pytest.raises(ValueError, match="eta must be between"):
        theory.conditional_risk("hinge", 1.5, [0.0])
    with pytest.raises(ValueError, match="theta must be a number or a vector between 0 and 1"):
        theory.psi_transform("hinge", [2.0])
    assert theory.conditional_risk("exponential", 1, [-1e4, 1e4]).tolist() == [math.inf, 0]


THETA = np.concatenate([[1e-4], np.linspace(0.001, 1, 400)])  # theta = 2 eta - 1
AROUND = [*itertools.product((-1, 0, 1), repeat=2), (2, -1), (1, -2), (-2, 1), (-1, 2)]


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
        for dx, dy in AROUND if self.jumps else [(0, 0)]:
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
