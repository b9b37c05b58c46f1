import dataclasses
import math
import re

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import symloss as sl
from symloss import theory
from symloss.theory.conditional import all_infima
from symloss.theory.implications import CONTRADICTIONS, reconciled

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


def test_reasons_name_the_theorem(reports):
    assert "theorem 5" in reports["Sigmoid()"].calibrated.reason
    assert "theorem 7" in reports["Ramp()"].excess_risk_bound.reason
    assert "infinite" in reports["Unhinged()"].excess_risk_bound.reason
    assert "theorem 8" in reports["Sigmoid()"].recovers_eta.reason
    assert "theorem 11" in reports["Sigmoid()"].auc_consistent.reason
    assert "infinity" in reports["Unhinged()"].auc_consistent.reason
    assert "l'(0)" in reports["Hinge()"].calibrated.reason
    assert "definition" in reports["Savage()"].calibrated.reason
    assert "Gao" in reports["Logistic()"].auc_consistent.reason
    assert "[-50, 50]" in reports["BarrierHinge(b=200, r=50)"].symmetric.reason
    assert "[-1, 1]" in reports["Hinge()"].symmetric.reason


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


def test_psi_of_unhinged_is_infinite():
    assert theory.psi_transform("unhinged", [0.0, 0.5]).tolist() == [0, math.inf]


def test_psi_is_infinite_only_where_the_conditional_risk_is():
    # C(eta, a) is bounded below for eta <= 2/3 only.
    psi = theory.psi_transform(lambda z: torch.maximum(-z, -2 * z - 1), [0.0, 0.25, 0.9])
    assert psi.tolist() == pytest.approx([0, 0.25, math.inf])


def test_psi_is_the_convex_hull_where_the_gap_is_not_convex():
    def loss(z):  # for weak preferences the shallow dip at 1 wins, for strong ones the deep one at -1 is given up late
        return torch.where(z > 0, torch.relu(1 - z), torch.where(z > -3, 1 - 0.2 * z, torch.full_like(z, 1.6)))

    theta = np.linspace(0, 1, 41)
    best, _, wrong, _ = all_infima(sl.get_loss(loss), (1 + theta[1:]) / 2)
    gaps = np.concatenate([[0.0], wrong - best])
    psi = theory.psi_transform(loss, theta)
    assert np.diff(gaps, 2).min() < -1e-3  # the gap itself is not convex
    assert np.diff(psi, 2).min() > -1e-12
    assert (psi <= gaps + 1e-12).all()
    assert psi[-1] == pytest.approx(gaps[-1])


@pytest.mark.parametrize("name", ["squared", "logistic", "exponential", "savage", "hinge", "ramp", "barrier_hinge"])
@pytest.mark.parametrize("eta", [0.03, 0.3, 0.62, 0.97])
def test_minimizers(name, eta):
    claimed = float(sl.get_loss(name).properties.minimizer(torch.tensor(eta, dtype=torch.float64)))
    assert theory.minimizer(name, eta) == pytest.approx(claimed, rel=1e-6, abs=1e-6)


def test_unbounded_minimizers():
    for name in ("sigmoid", "unhinged"):
        assert theory.minimizer(name, 0.9) == math.inf
        assert theory.minimizer(name, 0.1) == -math.inf
    assert theory.minimizer("sigmoid", 0.5) == 0
    for eta in (0.9999, 0.99999):
        assert theory.minimizer("savage", eta) == pytest.approx(0.5 * math.log(eta / (1 - eta)), rel=1e-6)


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

    @pytest.mark.parametrize("gamma", [0.01, 0.05])
    def test_curvature_below_rounding_is_not_called_convex(self, gamma):
        """The focal loss bends the wrong way below -2 - 1/gamma, by about exp(-1/gamma)."""
        report = theory.analyze(sl.Focal(gamma))
        assert report.convex.answer == "cannot tell"
        assert "declared not convex" in report.convex.reason
        assert report.auc_consistent.answer != "yes"
        assert report.disagreements == ()

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

    def test_convex_but_not_calibrated(self):
        for loss in (torch.square, torch.abs, torch.exp):
            assert theory.analyze(loss).calibrated.answer == "no"

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

    def test_a_naive_logistic_overflows_and_is_still_understood(self):
        report = theory.analyze(lambda z: torch.log(1 + torch.exp(-z)))
        assert report.recovers_eta
        assert report.calibrated
        assert report.bounded.answer == "no"

    def test_slow_limits_are_not_mistaken(self):
        assert theory.analyze(lambda z: -torch.asinh(z)).bounded.answer == "no"  # grows like a logarithm
        assert theory.analyze(torch.cos).bounded.answer == "cannot tell"
        assert theory.analyze(lambda z: 1 / (1 + torch.exp(-z).clamp(max=1e300))).bounded.answer == "yes"

    @pytest.mark.parametrize("c", [0.05, *(pytest.param(c, marks=pytest.mark.slow) for c in (1e-6, 1e4))])
    @pytest.mark.parametrize("name", [name for name in sl.list_losses() if name != "zero_one"])
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

    @pytest.mark.parametrize(("b", "r"), [(10, 0.005), (10, 1e-6), (200, 1e5), (10, 1e13), (1.0001, 3), (1e5, 1)])
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

    def test_calibration_near_one_half_and_at_the_ends(self):
        def near_half(z):
            left = torch.where(z < -5, torch.full_like(z, 6.25), 1 - 1.05 * z)
            return torch.where(z >= 0, torch.relu(1 - z), left)

        assert theory.analyze(near_half).calibrated.answer == "no"

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

    def test_convex_and_differentiable_but_rising(self):
        report = theory.analyze(lambda z: torch.exp(-z) + torch.exp(z - 3))
        assert report.convex
        assert report.calibrated
        assert report.non_increasing.answer == "no"
        assert report.auc_consistent.answer == "cannot tell"

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

    def test_structure_is_not_believed(self):
        class Smooth(sl.Hinge):
            properties = None
            structure = sl.SquaredHinge.structure

        report = theory.analyze(Smooth())
        assert report.auc_consistent.answer == "no"
        assert "structure gives another value" in report.disagreements[0]

    def test_infinite_on_one_side(self):
        for loss in (lambda z: torch.where(z > 0, -torch.log(z), math.inf), lambda z: 1 / z):
            report = theory.analyze(loss)
            assert {verdict.answer for verdict in report.verdicts.values()} == {"cannot tell"}

    def test_inference_mode_changes_nothing(self):
        with torch.inference_mode():
            assert theory.analyze(lambda z: torch.relu(1 - z)).auc_consistent.answer == "no"

    def test_three_points_wants_straight_pieces(self):
        assert theory.three_points("squared_hinge") is None
        assert theory.three_points("logistic", (1.0,)) is None

    def test_what_rounding_hides_cannot_be_told(self):
        for loss in (lambda z: 1e12 + torch.sigmoid(-z), sl.BarrierHinge(b=200, r=1e300)):
            assert {verdict.answer for verdict in theory.analyze(loss).verdicts.values()} == {"cannot tell"}

    def test_far_steps_are_seen(self):
        report = theory.analyze(lambda z: torch.sigmoid(-z) + (z > 2e4).double())
        assert report.symmetric.answer == "no"
        assert report.non_increasing.answer == "no"

    def test_small_corners_and_weak_preferences(self):
        smooth = lambda z: -torch.nn.functional.logsigmoid(z)  # noqa: E731
        for loss in (lambda z: smooth(z) + 1e-4 * torch.relu(1 - z), lambda z: smooth(z) + 1e-6 * (z - 0.5).abs()):
            assert theory.analyze(loss).recovers_eta.answer == "cannot tell"
            assert theory.analyze(loss).auc_consistent.answer == "cannot tell"
        assert not theory.analyze(lambda z: torch.sigmoid(-z) + 1e-4 * z.abs() / (1 + z.abs())).calibrated

    def test_constant(self):
        report = theory.analyze(lambda z: 0 * z + 3)
        assert report.K == 6
        assert report.convex
        assert report.calibrated.answer == "no"


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

    def test_flat_at_zero_with_value_zero(self):
        report = theory.analyze(lambda z: -torch.tanh(z**3))
        assert report.bounded
        assert report.excess_risk_constant == pytest.approx(1)
        assert report.auc_consistent
        report = theory.analyze(lambda z: z**4 - z**3)
        eta = np.array([0.55, 0.7, 0.95])
        assert [report.minimizer(e) for e in eta] == pytest.approx(list(0.75 * (2 * eta - 1)), rel=1e-5)
        np.testing.assert_allclose(report.psi(2 * eta - 1), 27 / 256 * (2 * eta - 1) ** 4, rtol=1e-6)
        assert report.symmetric_interval == (0, 0)

    def test_a_small_gap_is_still_a_gap(self):
        report = theory.analyze(lambda z: 1 + z**4 - z**3)
        assert report.calibrated
        assert report.recovers_eta
        assert report.excess_risk_bound

    def test_a_gap_that_rounding_hides_cannot_be_told(self):
        report = theory.analyze(lambda z: 1e5 + z**4 - z**3)
        assert report.calibrated.answer == "cannot tell"
        assert "rounding" in report.calibrated.reason

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

    def test_two_eta_of_one_minimizer(self):
        report = theory.analyze(lambda z: torch.clamp(logistic(z), max=2))
        assert report.recovers_eta.witness == "f*(0.695) = inf, f*(0.7) = inf"
        report = theory.analyze(lambda z: (1 + z) ** 2)
        assert report.recovers_eta  # f* = 1 - 2 eta falls strictly
        assert report.calibrated.answer == "no"

    def test_a_step_is_not_where_the_lowest_risk_is(self):
        report = theory.analyze(lambda z: (z <= 1).to(z.dtype))
        assert values(report.loss, report.M, 1.0) == [0, 1]
        report = theory.analyze(lambda z: torch.relu(1 - z) + 0.5 * (z <= 1))  # approached from the right of 1 only
        assert report.M is None
        assert report.recovers_eta.answer == "cannot tell"

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

    def test_the_ray_condition_does_not_hold_for_a_higher_clamp(self):
        loss = lambda z: torch.clamp(logistic(z), max=2)  # noqa: E731
        assert theory.conditional_risk(loss, 0.6, [1e4])[0] > theory.conditional_risk(loss, 0.6, [math.log(1.5)])[0]
        assert theory.analyze(loss).auc_consistent.answer == "cannot tell"

    @pytest.mark.parametrize("name", ["hinge", "squared"])
    def test_a_formula_that_rounds_more_than_its_values_show(self, name):
        loss = sl.get_loss(name)
        report = theory.analyze(lambda z: loss(z + 1))  # 0 at z = 0, where 1 - (z + 1) has lost the digits of z
        assert report.calibrated.answer == "no"
        assert report.convex
        assert report.symmetric_interval == (0, 0)

    def test_a_tiny_corner_at_zero_is_seen(self):
        report = theory.analyze(lambda z: torch.where(z > 0, torch.relu(1 - z), 1 - (1 + 1e-6) * z.clamp(min=-5)))
        assert report.calibrated.witness == "H⁻(0.5000001) = 1 = H(0.5000001), at the score 0"


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


def test_three_points_look_beside_jumps():
    def loss(z):
        return 0.25 * torch.relu(-4 - z) + torch.relu(z.clamp(max=3.5) - 2) + (z <= 1)

    # At the corners of the pieces, a tied scoring is best, but scores whose differences are just above 1 are better.
    assert theory.three_points(loss, (-4.0, 1.0, 2.0, 3.5)) is None
    assert theory.analyze(loss).auc_consistent.answer == "cannot tell"


def test_every_printed_value_of_a_loss_is_its_value(reports):
    own = [lambda z: torch.log1p((1 - z) ** 2), lambda z: 1e-3 * torch.sin(z) - torch.tanh(z), lambda z: (1 + z) ** 2]
    for report in (*reports.values(), *map(theory.analyze, own)):
        for verdict in report.verdicts.values():
            for z, printed in re.findall(r"(?<!of )l\(([^)]+)\) = ([-+.\de]+)", verdict.witness or ""):
                if "+ l(" not in verdict.witness:
                    assert values(report.loss, float(z))[0] == pytest.approx(float(printed), rel=2e-3), verdict
            for z, back, printed in re.findall(r"l\(([^)]+)\) \+ l\(([^)]+)\) = ([-+.\de]+)", verdict.witness or ""):
                total = sum(values(report.loss, float(z), float(back)))
                assert total == pytest.approx(float(printed), rel=1e-5)
                assert float(printed) != pytest.approx(2 * values(report.loss, 0.0)[0], rel=1e-9)


def test_verdicts_that_contradict_each_other_are_not_given():
    for answers, _ in CONTRADICTIONS:
        verdicts = {name: theory.Verdict(answer, "a check") for name, answer in answers.items()}
        verdicts["other"] = theory.Verdict("yes", "a check")
        found = reconciled(verdicts)
        assert found.pop("other").answer == "yes"
        assert {verdict.answer for verdict in found.values()} == {"cannot tell"}
        assert all("contradict" in verdict.reason for verdict in found.values())
        for name in answers:  # without any one of them, the others stand
            rest = {key: verdict for key, verdict in verdicts.items() if key != name}
            assert reconciled(rest) == rest


def test_verdicts_of_the_losses_do_not_contradict_each_other(reports):
    for report in reports.values():
        assert not any("contradict" in verdict.reason for verdict in report.verdicts.values())


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


def test_report_prints_and_serializes(reports):
    for report in reports.values():
        text = str(report)
        assert all(name.replace("_", " ") in text for name in report.verdicts)
        data = report.to_dict()
        assert data["symmetric"]["answer"] in ("yes", "no")
        assert data["loss"] == repr(report.loss)


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


def test_weights_given_as_lists_keep_their_digits():
    p, q, w, v = [0.3, -1.2, 2.5], [0.1, -0.7], [0.1, 0.2, 0.7], [0.3, 0.7]
    clean = 0.5 * (
        sum(a * math.log1p(math.exp(-x)) for a, x in zip(w, p, strict=True))
        + sum(a * math.log1p(math.exp(x)) for a, x in zip(v, q, strict=True))
    )
    assert theory.ber_decomposition("logistic", p, q, 0.7, 0.2, w, v).clean == pytest.approx(clean, rel=1e-14)


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], [1.0], 0.8, 0.3), "pos must be a non-empty vector"),
        (([1.0], [math.nan], 0.8, 0.3), "neg must be a non-empty vector of finite scores"),
        (([1.0], [1.0], 1.8, 0.3), "pi must be between 0 and 1"),
        (([1.0], [1.0], 0.8, 0.3, [0.0]), "pos_weight must have a positive sum"),
        (([1.0], [1.0], 0.8, 0.3, [-1.0]), "pos_weight must hold finite numbers"),
    ],
)
def test_decompositions_refuse_bad_input(arguments, message):
    for decompose in (theory.ber_decomposition, theory.auc_decomposition):
        with pytest.raises(ValueError, match=message):
            decompose("sigmoid", *arguments)


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
