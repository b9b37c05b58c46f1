"""Boosting: gradients and bounds by their definitions, and real LightGBM and XGBoost in both of their interfaces."""

import pickle

import lightgbm
import numpy as np
import pytest
import torch
import xgboost
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import symloss as sl
from symloss.boosting import largest_curvature, score_limit
from symloss.functional import auc_risk, ber_risk
from symloss.losses import Piecewise


class Tangent(sl.Loss):
    def value(self, z):
        return (2 * torch.atan(z) - 1) ** 2


LOSSES = [
    *(sl.get_loss(name) for name in sl.list_losses() if name != "zero_one"),
    sl.BarrierHinge(b=10, r=1),
    Tangent(),
]
RISKS = ["ber", "auc"]
_V = (15 - 33**0.5) / 24  # where 8 v^2 (1 - v) (2 - 3 v), the savage loss's l'' by v = sigmoid(-2 z), is largest
SAVAGE = 8 * _V**2 * (1 - _V) * (2 - 3 * _V)
objective_of = sl.boosting.lightgbm_objective


def scaled_risk(scores, y, loss, risk, weight=None):
    """What boosting minimizes, by its definition, in float64: the matrix of all pairs for the AUC."""
    weight = torch.ones(len(y), dtype=torch.float64) if weight is None else weight
    of_pos, of_neg = weight[y == 1] / weight[y == 1].sum(), weight[y != 1] / weight[y != 1].sum()
    pos, neg = scores[y == 1], scores[y != 1]
    if risk == "ber":
        return weight.sum() * 0.5 * ((of_pos * loss(pos)).sum() + (of_neg * loss(-neg)).sum())
    return 0.5 * weight.sum() * of_pos @ loss(pos[:, None] - neg[None, :]) @ of_neg


def problem(n=60, seed=0, scale=2.0):
    generator = np.random.default_rng(seed)
    y = generator.permutation(np.arange(n) % 3 == 0).astype(int)
    return scale * generator.normal(size=n), y, generator.integers(0, 4, n).astype(float)


def corrupted(n=400, seed=0):
    """Points of which a label says little: X (n, 3), y, and clean test points."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(3 * n, 3))
    clean = (X[:, 0] + X[:, 1] > 0).astype(int)
    y = np.where(generator.random(3 * n) < 0.3, 1 - clean, clean)
    return X[:n], y[:n], X[n : 2 * n], y[n : 2 * n], X[2 * n :], clean[2 * n :]


@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_is_that_of_the_risk_by_its_definition(loss, risk, weighted):
    scores, y, weight = problem()
    leaf = torch.from_numpy(scores).float().double().requires_grad_()
    expected = torch.autograd.grad(
        scaled_risk(leaf, y, loss, risk, torch.from_numpy(weight) if weighted else None), leaf
    )[0]
    gradient, curvature = objective_of(loss, risk)(y, scores, weight if weighted else None)
    assert gradient.dtype == curvature.dtype == np.float32
    np.testing.assert_allclose(gradient, expected, rtol=2e-5, atol=1e-6 * float(expected.abs().max()))


@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@given(seed=st.integers(0, 2**32 - 1), scale=st.sampled_from([0.1, 1, 10]), length=st.sampled_from([0.01, 0.3, 1, 10]))
@example(seed=70_000, scale=10, length=0.01)  # a score beyond the limit of the exponential loss
def test_the_quadratic_lies_above_the_risk(loss, risk, seed, scale, length):
    scores, y, _ = problem(24, seed, scale)
    generator = np.random.default_rng(seed)
    step = length * generator.choice([-1, 0, 1, generator.normal()], size=24)
    if seed % 3 == 0:  # the direction in which the factor 2 is reached
        step = length * np.where(y == 1, 1.0, -1.0)
    if isinstance(loss, sl.Exponential):  # whose bound is for the steps that leaves take, and for scores below a limit
        step = np.clip(step, -0.5, 0.5) if risk == "auc" else np.clip(step, -1, 1)
        scores = np.clip(scores, 1 - score_limit(loss), score_limit(loss) - 1)
    scores, step = (torch.from_numpy(part).float().double() for part in (scores, step))
    gradient, curvature = objective_of(loss, risk)(y, scores)
    assert (curvature > 0).all()
    before, after = scaled_risk(scores, y, loss, risk), scaled_risk(scores + step, y, loss, risk)
    bound = before + float(
        torch.from_numpy(gradient).double() @ step + 0.5 * torch.from_numpy(curvature).double() @ step**2
    )
    kinks = loss.structure.kinks if isinstance(loss.structure, Piecewise) else ()
    rise = sum(max(0, kink.weight) for kink in kinks if kink.power == 1)
    slack = rise**2 / (2 * largest_curvature(loss)) * 24 / 2
    assert after <= bound + slack + 1e-5 * (1 + abs(before) + abs(bound))


@pytest.mark.parametrize(("name", "expected"), [
    ("squared", 2), ("squared_hinge", 2), ("hinge", 1), ("double_hinge", 0.5), ("ramp", 0.5), ("unhinged", 1),
    ("logistic", 0.25), ("sigmoid", 1 / (6 * 3**0.5)), ("savage", SAVAGE), ("barrier_hinge", 201),
])  # fmt: skip
def test_largest_curvature(name, expected):
    loss = sl.get_loss(name)
    assert largest_curvature(loss) == pytest.approx(expected, rel=1e-6)
    if isinstance(loss.structure, Piecewise) and name != "barrier_hinge":  # found without the structure, too
        assert largest_curvature(sl.CallableLoss(loss.value)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize("loss", ["sigmoid", "hinge", "exponential"])
def test_weight_k_is_k_repetitions(loss, risk):
    scores, y, weight = problem()
    repeated = np.repeat(np.arange(len(y)), weight.astype(int))
    weighted = objective_of(loss, risk)(y, scores, weight)
    plain = objective_of(loss, risk)(y[repeated], scores[repeated])
    for part, of_copies in zip(weighted, plain, strict=True):
        np.testing.assert_allclose(part[repeated], weight[repeated] * of_copies, rtol=1e-5, atol=1e-7)
        assert not part[weight == 0].any()


def test_errors():
    with pytest.raises(ValueError, match="risk must be one of ber, auc, got 'roc'"):
        objective_of("sigmoid", "roc")
    with pytest.raises(ValueError, match=r"ZeroOne\(\) is flat"):
        objective_of("zero_one")
    for risk in RISKS:
        with pytest.raises(ValueError, match="both classes, got no positive one"):
            objective_of(risk=risk)([0, 0], [0.0, 1.0])
        with pytest.raises(ValueError, match="both classes, got no negative one"):
            objective_of(risk=risk)([1, 0], [0.0, 1.0], [1.0, 0.0])
        for wrong in (np.nan, np.inf, -np.inf, 1e39):
            with pytest.raises(ValueError, match=r"scores must be finite in float32, got -?(nan|inf) in row 1"):
                objective_of(risk=risk)([1, 0], [0.0, wrong])
        gradient, _ = objective_of(risk=risk)([1, 1, 0], [3e38, 3e38, 0.0])  # their sum is not finite
        assert np.isfinite(gradient).all()
    with pytest.raises(ValueError, match=r"shape \(n,\), got \(2, 3\) and \(2,\)"):
        objective_of()([1, 0], np.zeros((2, 3)))
    for labels in ([1, 2], np.array([1, 2]), np.array([1.0, 0.5]), np.array([1.0, np.nan])):
        with pytest.raises(ValueError, match="labels must be"):
            objective_of()(labels, [0.0, 1.0])
    with pytest.raises(ValueError, match="metric must be one of auc, balanced_accuracy, got 'f1'"):
        sl.boosting.lightgbm_metric("f1")


def by_lightgbm(X, y, objective, weight, native):
    """Return a fitted model's raw scores, as a function."""
    settings = {"verbose": -1, "num_threads": 1, "min_child_samples": 5}
    if native:
        booster = lightgbm.train(
            {**settings, "objective": objective}, lightgbm.Dataset(X, 2 * y - 1, weight=weight), 10
        )
        return booster.predict
    model = lightgbm.LGBMClassifier(n_estimators=10, objective=objective, **settings).fit(X, y, sample_weight=weight)
    return lambda points: model.predict(points, raw_score=True)


def by_xgboost(X, y, objective, weight, native):
    settings = {"nthread": 1}
    if native:
        data = xgboost.DMatrix(X, 2 * y - 1, weight=weight)
        booster = xgboost.train({**settings, "base_score": 0}, data, 10, obj=objective)
        return lambda points: booster.predict(xgboost.DMatrix(points), output_margin=True)
    model = xgboost.XGBClassifier(n_estimators=10, objective=objective, **settings).fit(X, y, sample_weight=weight)
    return lambda points: model.predict(points, output_margin=True)


@pytest.mark.parametrize("fit", [by_lightgbm, by_xgboost])
@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize("loss", ["sigmoid", "logistic", "ramp", "exponential"])
def test_both_interfaces_learn_the_same(fit, risk, loss):
    X, y, _, _, X_test, y_test = corrupted()
    weight = np.random.default_rng(1).uniform(0.5, 2, len(y)).astype(np.float32)
    objective = objective_of(loss, risk)
    native, wrapped = (fit(X, y, objective, weight, native) for native in (True, False))
    np.testing.assert_allclose(native(X_test), wrapped(X_test), rtol=1e-4, atol=1e-5)
    assert sl.metrics.auc(native(X_test), y_test) > 0.75
    plain = fit(X, y, objective, None, False)
    assert np.abs(plain(X_test) - wrapped(X_test)).max() > 1e-3  # weights count


@pytest.mark.parametrize("fit", [by_lightgbm, by_xgboost])
@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize("loss", ["sigmoid", "savage", "squared"])
def test_rounds_never_raise_the_risk_even_at_full_steps(fit, risk, loss):
    """At a learning rate of 1: the quadratic lies above the risk, so its least point cannot be higher."""
    X, y, *_ = corrupted()
    seen = []

    class Watched(sl.boosting.Objective):
        def __call__(self, first, second, sample_weight=None):
            scores = first if hasattr(second, "get_label") else second
            function = ber_risk if self.risk == "ber" else auc_risk
            seen.append(float(function(torch.from_numpy(np.array(scores, np.float64)), y, self.loss)))
            return super().__call__(first, second, sample_weight)

    settings = {"learning_rate": 1.0, "verbose": -1, "num_threads": 1}
    watched = Watched(sl.get_loss(loss), risk)
    if fit is by_lightgbm:
        lightgbm.train({**settings, "objective": watched}, lightgbm.Dataset(X, y), 15)
    else:
        xgboost.train({"eta": 1.0, "nthread": 1, "base_score": 0}, xgboost.DMatrix(X, y), 15, obj=watched)
    assert len(seen) == 15
    assert (np.diff(seen) < 1e-6).all()
    assert seen[-1] < seen[0] - 0.05


def test_metrics_are_those_of_symloss_in_every_call():
    scores, y, weight = problem()
    X = np.zeros((len(y), 1))
    dataset = lightgbm.Dataset(X, y, weight=weight, params={"verbose": -1}).construct()
    matrix = xgboost.DMatrix(X, y, weight=weight)
    for name, expected, reported in (
        ("auc", sl.metrics.auc(scores, y, weight), ("auc", False)),
        ("balanced_accuracy", sl.metrics.balanced_accuracy(scores, y, weight, 0.4), ("balanced_error", True)),
    ):
        ours, theirs = sl.boosting.lightgbm_metric(name, 0.4), sl.boosting.xgboost_metric(name, 0.4)
        assert ours(y, scores, weight) == ours(scores, dataset) == (name, expected, True)
        value = 1 - expected if reported[1] else expected
        assert theirs(scores, matrix) == (reported[0], value)
        assert theirs(y, scores, sample_weight=weight) == value
        assert theirs.__name__ == reported[0]


@pytest.mark.parametrize("metric", ["auc", "balanced_accuracy"])
def test_early_stopping_keeps_the_best_round_of_noisy_labels(metric):
    X, y, X_noisy, y_noisy, *_ = corrupted()
    settings = {"n_estimators": 60, "learning_rate": 0.3, "n_jobs": 1}
    ours = lightgbm.LGBMClassifier(objective=objective_of(), metric="None", verbose=-1, **settings)
    stop = lightgbm.early_stopping(5, verbose=False)
    ours.fit(X, y, eval_X=X_noisy, eval_y=y_noisy, eval_metric=sl.boosting.lightgbm_metric(metric), callbacks=[stop])
    history = ours.evals_result_["valid_0"]
    assert list(history) == [metric]
    assert ours.best_iteration_ == 1 + int(np.argmax(history[metric])) < 55
    theirs = xgboost.XGBClassifier(
        objective=sl.boosting.xgboost_objective(),
        eval_metric=sl.boosting.xgboost_metric(metric),
        early_stopping_rounds=5,
        **settings,
    ).fit(X, y, eval_set=[(X_noisy, y_noisy)], verbose=False)
    name, values = list(theirs.evals_result()["validation_0"].items())[-1]  # by which XGBoost stops
    values = np.array(values) if name == "auc" else 1 - np.array(values)
    assert theirs.best_iteration == int(np.argmax(values)) < 55
    kept = theirs.predict(X_noisy, output_margin=True)
    assert getattr(sl.metrics, metric)(kept, y_noisy) == pytest.approx(values.max(), abs=1e-6)


def test_models_are_cloned_searched_and_pickled():
    X, y, _, _, X_test, y_test = corrupted()
    model = lightgbm.LGBMClassifier(objective=objective_of(), verbose=-1, n_jobs=1, n_estimators=5)
    assert clone(model).objective == model.objective

    def score(fitted, points, labels):
        return sl.metrics.auc(fitted.predict(points, raw_score=True), labels)

    grid = {"objective": [objective_of(), objective_of("hinge", "ber")], "num_leaves": [4, 8]}
    search = GridSearchCV(model, grid, scoring=score, cv=3).fit(X, y)
    assert search.best_score_ > 0.6
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(
        again.predict(X_test, raw_score=True), search.best_estimator_.predict(X_test, raw_score=True)
    )
    assert score(again, X_test, y_test) > 0.75
    theirs = xgboost.XGBClassifier(objective=sl.boosting.xgboost_objective(), n_estimators=5, n_jobs=1).fit(X, y)
    again = pickle.loads(pickle.dumps(theirs))
    # Scores are above 0 exactly where XGBoost predicts the positive class.
    np.testing.assert_array_equal(again.predict(X_test), (theirs.predict(X_test, output_margin=True) > 0).astype(int))
