"""The families of models: each against a reference that is written out, and what all of them promise."""

import copy
import inspect
import io
from typing import NamedTuple

import numpy as np
import onnxruntime
import pytest
import torch
from scipy import sparse
from scipy.integrate import quad
from scipy.optimize import linprog
from scipy.spatial.distance import cdist
from scipy.stats import multivariate_normal
from sklearn.utils import get_tags
from torch import nn

import symloss as sl
from symloss.estimators import AUCClassifier, AUCClassifierCV, BERClassifier
from symloss.functional import auc_risk, ber_risk
from symloss.models import Perceptron, PerceptronStack, lecun_normal
from symloss.models.families import FAMILIES, family_of
from symloss.models.family import Family, PenalizedRisk, Standardization, TrainingData, check_above_zero
from symloss.models.linear import Rounded, fit_linear, minimize_risk, roundings
from symloss.models.networks import _batches
from symloss.models.process import _LENGTHS, _NOISES, fit_gaussian_process

BOTH = [BERClassifier, AUCClassifier]
FAST = {"n_estimators": 3, "min_samples_leaf": 5, "epochs": 1, "n_seeds": 2, "n_landmarks": 5, "hidden_units": 20,
        "threshold": 0.0, "random_state": 0}  # fmt: skip


@pytest.fixture(scope="module")
def noisy():
    drawn = sl.datasets.make_twonorm(4000, random_state=0)
    return sl.contaminated_split(
        drawn.data.astype(float), drawn.target, pi=0.75, pi_prime=0.35, n_positive=300, n_negative=200, n_test=1000,
        random_state=0,
    )  # fmt: skip


@pytest.fixture(scope="module")
def small():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(80, 2))
    return X, X[:, 0] + 0.5 * generator.normal(size=80) > 0, generator.integers(1, 4, 80).astype(float)


def balanced_weight(positive, weight):
    """Weights with which both classes have the same total."""
    return np.where(positive, weight[~positive].sum(), weight[positive].sum()) * weight


def fast(kind, model, **settings):
    loss = "squared" if model == "gaussian_process" else "unhinged"
    return kind(loss, model, **(FAST | settings))


# What every family promises


def test_every_parameter_of_the_constructor_is_used_by_a_family_or_by_all():
    used = {name for family in FAMILIES.values() for name in family.parameters}
    of_all = {"loss", "alpha", "threshold", "cv", "random_state"}
    assert used.isdisjoint(of_all)
    for kind in BOTH:
        assert set(inspect.signature(kind).parameters) == used | of_all


@pytest.mark.parametrize("model", [*FAMILIES, nn.Linear(2, 1), lambda d: nn.Linear(d, 1)])
def test_what_a_family_declares_is_what_it_does(small, model):
    X, y, _ = small
    family, classifier = family_of(model), fast(AUCClassifier, model)
    tags = get_tags(classifier).input_tags
    assert (tags.sparse, tags.allow_nan) == (family.takes_sparse, True)
    with_missing = np.where(X > 1, np.nan, X)
    assert np.isfinite(classifier.fit(with_missing, y).decision_function(with_missing)).all()
    assert (classifier.medians_ is None) == family.takes_missing
    if family.takes_sparse:
        features = sparse.csr_matrix(X)
        expected = classifier.fit(X, y).decision_function(X)
        np.testing.assert_allclose(classifier.fit(features, y).decision_function(features), expected, atol=1e-6)
    else:
        with pytest.raises((ValueError, TypeError), match=r"[Ss]parse"):
            classifier.fit(sparse.csr_matrix(X), y)
    assert type(classifier.fit(X, y).scorer_) is family.scorer
    alone = np.concatenate([classifier.decision_function(point[None]) for point in X])
    np.testing.assert_allclose(alone, classifier.decision_function(X), rtol=1e-5, atol=1e-6)
    if family.to_module is None:
        with pytest.raises(ValueError, match=f"needs model='linear', .* or a torch module, got {model!r}"):
            classifier.to_module()
    chosen = classifier.set_params(threshold="auto", cv=2).fit(X, y).threshold_
    assert (chosen == 0) == family.threshold_is_zero


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("model", ["linear", "gaussian_process", "mlp"])
def test_weights_are_repetitions(small, kind, model):
    X, y, weight = small
    settings = {"epochs": 30, "n_landmarks": 80, "threshold": 0.0}
    found = fast(kind, model, **settings).fit(X, y, weight).decision_function(X)
    rows = np.repeat(np.arange(80), weight.astype(int))
    repeated = fast(kind, model, **settings).fit(X[rows], y[rows]).decision_function(X)
    np.testing.assert_allclose(found, repeated, atol=1e-3 * np.abs(repeated).max())


# What families share


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
def test_means_and_deviations(container):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(5000, 3)) * [1.0, 100.0, 0.0] + [1e8, 1.7e9, 1 / 3]
    weight = generator.integers(0, 3, 5000).astype(float)
    repeated = np.repeat(X, weight.astype(int), axis=0)
    found = Standardization.fit(container(X), weight)
    np.testing.assert_allclose(found.mean, repeated.mean(0), rtol=1e-12)
    np.testing.assert_allclose(found.scale[:2], repeated.std(0)[:2], rtol=1e-6)
    assert (found.mean[2], found.scale[2]) == (1 / 3, 1.0)  # a constant feature


# Linear scores

CORNERED = [sl.Hinge(), sl.DoubleHinge(), sl.Ramp(), sl.BarrierHinge(), sl.BarrierHinge(10, 1)]


@pytest.mark.parametrize("loss", CORNERED, ids=repr)
def test_a_rounded_loss_is_a_moving_average(loss):
    width = 0.3
    for z in (-2.0, -1.1, 0.0, 0.5, 0.9, 1.0, 1.2, 3.0):
        area, _ = quad(lambda t: float(loss(torch.tensor(t, dtype=torch.float64))), z - width, z + width, limit=500)
        found = float(Rounded(loss, width)(torch.tensor(z, dtype=torch.float64)))
        assert found == pytest.approx(area / (2 * width), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("loss", [sl.Hinge(), sl.BarrierHinge(b=200, r=50), sl.Ramp()], ids=str)
def test_a_rounded_loss_is_the_loss_away_from_its_corners(loss):
    z, width = torch.linspace(-300, 300, 4001, dtype=torch.float64), 1e-4
    away = torch.stack([(z - kink.where).abs() for kink in loss.structure.kinks]).amin(0) > width
    rounded = Rounded(loss, width)
    torch.testing.assert_close(rounded.value(z)[away], loss.value(z)[away], rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(rounded.slope(z)[away], loss.slope(z)[away], rtol=1e-6, atol=1e-6)
    assert roundings(sl.get_loss("squared_hinge")) == [sl.get_loss("squared_hinge")]


@pytest.mark.parametrize("risk", ["ber", "auc"])
@pytest.mark.parametrize("loss", [sl.Hinge(), sl.BarrierHinge(), sl.BarrierHinge(10, 1)], ids=repr)
def test_no_subgradient_leads_downhill_from_the_minimizer(loss, risk):
    """At the minimum of a convex risk zero is a subgradient: some slopes at the corners balance the penalty."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(40, 5))
    positive = X[:, 0] + generator.normal(size=40) > 0
    alpha = 0.05 * loss(torch.tensor(0.0)).item()
    Z = (X - X.mean(0)) / X.std(0)
    weights, bias = minimize_risk(Z, positive, np.ones(40), PenalizedRisk(risk, loss, alpha))
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


def test_features_far_from_zero_and_losses_without_a_minimum(small):
    X, y, weight = small
    objective = PenalizedRisk("auc", sl.Logistic(), 0.01)
    expected = fit_linear(TrainingData(X, y, weight), objective).scores(X)
    found = fit_linear(TrainingData(X + 1.7e9, y, weight), objective).scores(X + 1.7e9)
    np.testing.assert_allclose(found - found.mean(), expected - expected.mean(), atol=1e-4)
    with pytest.raises(ValueError, match=r"at alpha = 0.01 cannot be minimized: it must be finite"):
        AUCClassifier(lambda z: -z.exp(), threshold=0.0).fit(X, y)


# Trees


def test_a_forest_is_the_mean_label_of_leaves(small):
    X, y, weight = small
    for splits in ("random", "best"):
        fitted = BERClassifier(model="trees", n_estimators=5, min_samples_leaf=10, splits=splits, random_state=0)
        forest = fitted.fit(X, y, weight).scorer_.forest
        balanced, expected = balanced_weight(y, weight), []
        for tree in forest.estimators_ if splits == "random" else ():  # without a bootstrap, leaves hold all points
            leaf = tree.apply(X)
            same = (leaf[:, None] == leaf) * balanced
            assert ((leaf[:, None] == leaf) @ (balanced * weight.sum() / balanced.sum())).min() > 9.99
            expected.append(same @ np.where(y, 1.0, -1.0) / same.sum(1))
        if expected:
            np.testing.assert_allclose(fitted.decision_function(X), np.mean(expected, 0), atol=1e-12)
        assert sl.metrics.auc(fitted.decision_function(X), y) > 0.8
    with pytest.raises(ValueError, match="splits must be one of random, best, got 'worst'"):
        BERClassifier(splits="worst").fit(X, y)
    with pytest.raises(ValueError, match="model='trees' needs one of these, got Hinge"):
        BERClassifier("hinge", "trees").fit(X, y)


# Gaussian processes


def precision_of(positive, weight):
    """Weights with which both classes have the same total, and all together the same as before."""
    return balanced_weight(positive, weight) * weight.sum() / balanced_weight(positive, weight).sum()


def noise_of(model, X, positive, weight):
    """The noise on the grid that gives these scores, if every point is a landmark."""
    points = model.standard.transform(X)
    kernel, y = np.exp(-cdist(points, points) / model.length), np.where(positive, 1.0, -1.0)
    fits = [kernel @ np.linalg.solve(kernel + np.diag(v / precision_of(positive, weight)), y) for v in _NOISES]
    errors = [np.abs(fit - model.scores(X)).max() for fit in fits]
    assert min(errors) < 1e-6  # the scores are those of the regression
    return _NOISES[int(np.argmin(errors))], kernel, y


def test_left_out_scores_are_those_of_fits_without_one_repetition_of_the_point(small):
    X, positive, weight = small
    model, left_out = fit_gaussian_process(TrainingData(X, positive, weight), 0, 100)
    noise, kernel, y = noise_of(model, X, positive, weight)
    precision = precision_of(positive, weight)
    for k in range(10):
        without = np.where(np.arange(80) == k, precision * (weight - 1) / weight, precision)
        rest = without > 0
        dual = np.linalg.solve(kernel[np.ix_(rest, rest)] + np.diag(noise / without[rest]), y[rest])
        np.testing.assert_allclose(left_out()[k], kernel[k, rest] @ dual, atol=1e-6)


def test_length_and_noise_are_the_most_likely_ones(small):
    X, positive, _ = small
    weight = np.ones(80)
    model, _ = fit_gaussian_process(TrainingData(X, positive, weight), 0, 100)
    noise, _, y = noise_of(model, X, positive, weight)
    points = model.standard.transform(X)
    between = cdist(points, points)
    unit = np.median(between[between > 0])

    def likelihood(length, noise):
        covariance = np.exp(-between / length) + np.diag(noise / precision_of(positive, weight))
        variance = y @ np.linalg.solve(covariance, y) / len(y)
        return multivariate_normal(np.zeros(len(y)), variance * covariance).logpdf(y)

    every = {(a * unit, b): likelihood(a * unit, b) for a in _LENGTHS for b in _NOISES}
    assert max(every, key=every.get) == (pytest.approx(model.length), noise)


@pytest.mark.parametrize("spread", [1e-6, 1e-12, 5e-16])
def test_points_that_are_nearly_equal(spread):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(20, 3)).repeat(10, 0) * (1 + spread * generator.normal(size=(200, 3)))
    model, left_out = fit_gaussian_process(TrainingData(X, X[:, 0] > 0, np.ones(200)), 0, 100)
    assert sl.metrics.auc(model.scores(X), X[:, 0] > 0) > 0.9
    assert np.isfinite(left_out()).all()


def test_processes_of_constant_features_and_of_many_points():
    model, left_out = fit_gaussian_process(TrainingData(np.zeros((2, 3)), np.array([True, False]), np.ones(2)), 0, 5)
    assert np.isfinite(model.scores(np.ones((1, 3)))).all()
    assert np.isfinite(left_out()).all()
    X = np.random.default_rng(0).normal(size=(6000, 2))  # length and noise are chosen on 4,000 of them
    model, _ = fit_gaussian_process(TrainingData(X, X[:, 0] * X[:, 1] > 0, np.ones(6000)), 0, 50)
    assert sl.metrics.auc(model.scores(X), X[:, 0] * X[:, 1] > 0) > 0.97
    with pytest.raises(ValueError, match="needs loss='squared', got Unhinged"):
        BERClassifier(model="gaussian_process").fit([[0.0], [1.0]], [0, 1])


# Networks


@pytest.mark.parametrize(("kind", "risk"), [(BERClassifier, ber_risk), (AUCClassifier, auc_risk)])
def test_one_batch_of_a_linear_network_is_one_step_of_amsgrad(noisy, kind, risk):
    X, y = noisy[:2]
    network = nn.Linear(20, 1)
    before = network.weight.detach().clone()
    weight = np.random.default_rng(0).integers(1, 4, len(X))
    fitted = kind("sigmoid", network, alpha=0.1, epochs=1, batch_size=1000, threshold=0.0).fit(X, y, weight)
    expected = copy.deepcopy(network)
    repeated = np.repeat(X, weight, axis=0)
    rows = torch.from_numpy((repeated - repeated.mean(0)) / repeated.std(0)).float()
    optimizer = torch.optim.Adam(expected.parameters(), lr=1e-3, weight_decay=0.1, amsgrad=True)
    risk(expected(rows).squeeze(1), np.repeat(y, weight), "sigmoid").backward()
    optimizer.step()
    (found,) = fitted.scorer_.networks.networks
    torch.testing.assert_close(found.weight, expected.weight, rtol=1e-4, atol=1e-6)
    assert torch.equal(network.weight, before)  # a copy was trained
    assert not torch.equal(found.weight, before)


def test_early_stopping_returns_to_the_best_epoch_on_labels_held_out(noisy):
    X, y = noisy[:2]
    long = {"epochs": 60, "learning_rate": 0.02, "early_stopping": True, "validation_fraction": 0.3}
    settings = FAST | long | {"loss": "squared", "model": "mlp"}
    stopped = AUCClassifier(**settings, patience=3).fit(X, y)
    patient = AUCClassifier(**settings, patience=60).fit(X, y)
    last = AUCClassifier(**(settings | {"early_stopping": False})).fit(X, y)
    clean = [sl.metrics.auc(fitted.decision_function(noisy[2]), noisy[3]) for fitted in (stopped, patient, last)]
    assert min(clean[:2]) > clean[2] + 0.05
    with pytest.raises(ValueError, match="early stopping needs two points of each class, got 1"):
        AUCClassifier(**settings).fit(np.arange(10.0)[:, None], np.arange(10) == 0)


def test_batches_hold_both_classes_and_training_leaves_the_global_generator_alone(noisy):
    positive = np.arange(1000) < 100
    batches = list(_batches(positive, 200, np.random.default_rng(0)))
    assert sorted(np.concatenate(batches).tolist()) == list(range(1000))
    assert all(19 <= positive[batch].sum() <= 21 and len(batch) == 200 for batch in batches)
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    AUCClassifier(model=lambda d: nn.Linear(d, 1), n_seeds=2, epochs=1, threshold=0.0).fit(*noisy[:2])
    assert torch.equal(torch.rand(1), expected)


def test_networks_that_diverge_or_give_more_than_one_score(noisy):
    X, y = noisy[:2]
    with pytest.raises(ValueError, match=r"training diverged with learning_rate=1e\+30; give a smaller one"):
        AUCClassifier("squared", "mlp", **(FAST | {"epochs": 5}), learning_rate=1e30).fit(X, y)
    with pytest.raises(ValueError, match="a network must give one score per point, got shape"):
        AUCClassifier(model=lambda d: nn.Linear(d, 2), epochs=1, threshold=0.0).fit(X, y)


@pytest.mark.gpu
@pytest.mark.parametrize("model", ["mlp", lambda d: nn.Linear(d, 1)])
def test_networks_on_a_gpu_score_as_on_a_cpu(noisy, model):
    X, y = noisy[:2]
    settings = FAST | {"model": model, "epochs": 5}
    expected = AUCClassifier(**settings).fit(X, y).decision_function(X)
    found = AUCClassifier(**settings, device="cuda").fit(X, y).decision_function(X)
    np.testing.assert_allclose(found, expected, atol=1e-3 * np.abs(expected).max())


def test_the_papers_perceptron():
    model = Perceptron(100, 2000, random_state=0)
    assert abs(model.hidden.weight.std() * 10 - 1) < 0.01
    assert abs(model.output.weight.std() * 2000**0.5 - 1) < 0.05
    assert model.hidden.weight.abs().max() * 10 > 3  # not truncated
    assert not model.hidden.bias.any()
    assert not model.output.bias.any()
    one, two, other = (Perceptron(5, random_state=seed).hidden.weight for seed in (1, 1, 2))
    assert torch.equal(one, two)
    assert not torch.equal(one, other)


def test_a_stack_says_what_its_perceptrons_say():
    stack = PerceptronStack([lecun_normal(6, 30, np.random.default_rng(seed)) for seed in range(4)])
    for parameter in stack.parameters():
        torch.nn.init.normal_(parameter)
    shared, own = torch.randn(9, 6), torch.randn(4, 9, 6)
    assert len(stack) == 4
    for k in range(4):
        alone = stack.perceptron(k)
        torch.testing.assert_close(stack(shared)[k], alone(shared), rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(stack(own)[k], alone(own[k]), rtol=1e-5, atol=1e-5)
    with torch.no_grad():
        stack.perceptron(0).output.weight.zero_()
    assert stack.layers.output.all()  # what was taken was a copy


# Modules to export

LOC, SCALE = np.array([5.0, -300.0, 0.0, 1.7e9, 2.0]), np.array([1.0, 40.0, 0.01, 1e6, 1.0])  # one is a time in seconds
MODELS = {
    "linear": {"model": "linear"},
    "gaussian_process": {"model": "gaussian_process", "n_landmarks": 60, "loss": "squared"},
    "mlp": {"model": "mlp", "n_seeds": 3, "hidden_units": 20, "epochs": 3},
    "factory": {"model": lambda d: nn.Sequential(nn.Linear(d, 4), nn.Dropout(0.5), nn.ReLU(), nn.Linear(4, 1)),
                "n_seeds": 2, "epochs": 2},
}  # fmt: skip


@pytest.fixture(scope="module", params=[*MODELS, "average"])
def exported(request):
    generator = np.random.default_rng(0)
    y = generator.random(300) < 0.5
    X = (generator.standard_normal((300, 5)) + 0.7 * y[:, None]) * SCALE + LOC
    X[:20, 0] = np.nan
    if request.param == "average":
        pool = [(name, BERClassifier(**MODELS[name], threshold=0.0)) for name in ("linear", "mlp")]
        return sl.BERClassifierCV(pool, cv=2, temperature=10.0, random_state=0).fit(X, y)
    kind = AUCClassifier if request.param == "mlp" else BERClassifier
    return kind(**MODELS[request.param], threshold=0.25, random_state=0).fit(X, y)


def points(n):
    X = np.random.default_rng(n).standard_normal((n, 5)) * 2 * SCALE + LOC
    X[::3, 0] = np.nan
    return X


def check(call, fitted):
    for n in (1, 2, 50):  # the batch size is free
        X = points(n)
        scores = np.asarray(call(torch.from_numpy(X)))
        assert scores.shape == (n,)
        assert scores.dtype == np.float32
        np.testing.assert_allclose(scores, fitted.decision_function(X), rtol=1e-5, atol=1e-5)


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_a_module_scores_as_its_estimator(exported):
    module = exported.to_module()
    assert not module.training
    with torch.no_grad():
        check(module, exported)
        script = torch.jit.script(module)
        check(script, exported)
    for X in (torch.zeros(3, 1), torch.zeros(3, 6), torch.zeros(5)):
        with pytest.raises(ValueError, match=r"X must have shape \(n, 5\), got \["):
            module(X)
    before = exported.decision_function(points(50))
    for parameter in module.parameters():
        parameter.data.zero_()  # a copy: the estimator keeps its own
    np.testing.assert_array_equal(exported.decision_function(points(50)), before)


@pytest.mark.filterwarnings("ignore:.*isinstance.treespec, LeafSpec:FutureWarning")  # the exporter's own
def test_torch_export_and_onnx(exported, tmp_path):
    batch = torch.export.Dim("batch", min=1)
    arguments = exported.to_module(), (torch.from_numpy(points(3)),)
    program = torch.export.export(*arguments, dynamic_shapes=({0: batch},))
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    buffer.seek(0)
    with torch.no_grad():
        check(torch.export.load(buffer).module(), exported)
    path = tmp_path / "scores.onnx"
    torch.onnx.export(*arguments, dynamo=True, dynamic_shapes=({0: batch},), verbose=False).save(path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (name,) = (value.name for value in session.get_inputs())
    check(lambda X: session.run(None, {name: X.numpy()})[0], exported)


class Steepness(NamedTuple):
    """The first feature, times a number."""

    steepness: float

    def scores(self, X):
        return self.steepness * np.asarray(X)[:, 0]


def steep(data, objective, seed, *, learning_rate):
    assert (objective.risk, objective.alpha) == ("auc", 0.01)
    return Steepness(learning_rate)


def test_another_family_is_one_more_entry(small, monkeypatch):
    X, y, _ = small
    monkeypatch.setitem(FAMILIES, "steep", Family(steep, Steepness, {"learning_rate": check_above_zero}))
    classifier = AUCClassifier(model="steep", learning_rate=2.0, threshold=0.0)
    np.testing.assert_array_equal(classifier.fit(X, y).decision_function(X), 2 * X[:, 0])
    (member,) = AUCClassifierCV([("steep", classifier)], cv=2).fit(X, y).members_
    assert member.estimator.scorer_ == Steepness(2.0)
