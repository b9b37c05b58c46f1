"""Networks: any module, weights, early stopping on corrupted labels, and going on from the last fit."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

import symloss as sl
from symloss.estimators import AUCClassifier, BERClassifier
from symloss.estimators.networks import _batches
from symloss.functional import auc_risk, ber_risk

FAST = {"model": "mlp", "hidden_units": 20, "n_seeds": 2, "threshold": 0.0, "random_state": 0}


@pytest.fixture(scope="module")
def noisy():
    drawn = sl.datasets.make_twonorm(4000, random_state=0)
    return sl.contaminated_split(
        drawn.data.astype(float), drawn.target, pi=0.75, pi_prime=0.35, n_positive=300, n_negative=200, n_test=1000,
        random_state=0,
    )  # fmt: skip


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


@pytest.mark.parametrize("kind", [BERClassifier, AUCClassifier])
def test_weights_are_repetitions_up_to_adams_rounding(noisy, kind):
    X, y = noisy[0][:60], noisy[1][240:300]
    weight = np.random.default_rng(0).integers(0, 4, 60)
    expected = kind(**FAST).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight)).decision_function(X)
    found = kind(**FAST).fit(X, y, weight).decision_function(X)
    np.testing.assert_allclose(found, expected, atol=1e-3 * np.abs(expected).max())


def test_the_score_is_the_mean_of_the_networks(noisy):
    X, y = noisy[:2]
    fitted = AUCClassifier(**{**FAST, "epochs": 2}).fit(X, y)
    rows = torch.from_numpy(fitted.scorer_.standard.transform(X)).float()
    stack = fitted.scorer_.networks
    alone = torch.stack([stack.perceptron(k)(rows) for k in range(2)]).mean(0)
    np.testing.assert_allclose(fitted.decision_function(X), alone.detach().numpy(), atol=1e-5)


def test_a_score_does_not_depend_on_the_batch(noisy):
    X, y = noisy[0][200:400], noisy[1][200:400]
    fitted = AUCClassifier(**{**FAST, "epochs": 2}).fit(X, y)
    together = fitted.decision_function(X)
    alone = np.concatenate([fitted.decision_function(point[None]) for point in X])
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_allclose(alone, together, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(fitted.decision_function(X[order]), together[order], rtol=1e-12, atol=1e-14)


class Shapes(nn.Module):
    """A network that notes the shape of what it is given."""

    def __init__(self, d):
        super().__init__()
        self.layer = nn.Linear(d, 1)
        self.seen = set()

    def forward(self, X):
        self.seen.add(tuple(X.shape))
        return self.layer(X)


def test_networks_of_ones_own_always_score_as_many_points_at_a_time(noisy):
    X, y = noisy[:2]
    fitted = AUCClassifier("sigmoid", Shapes(20), epochs=1, threshold=0.0).fit(X, y)
    (network,) = fitted.scorer_.networks.networks
    expected = ((X - X.mean(0)) / X.std(0)) @ network.layer.weight[0].detach().numpy() + network.layer.bias.item()
    network.seen.clear()
    for n in (1, 3, 64, 65, 500):
        np.testing.assert_allclose(fitted.decision_function(X[:n]), expected[:n], rtol=1e-4, atol=1e-5)
    assert len(network.seen) == 1
    alone = np.concatenate([fitted.decision_function(point[None]) for point in X])
    np.testing.assert_allclose(alone, fitted.decision_function(X), rtol=1e-6, atol=1e-7)


def test_early_stopping_returns_to_the_best_epoch_on_labels_held_out(noisy):
    X, y = noisy[:2]
    long = {**FAST, "epochs": 60, "learning_rate": 0.02, "early_stopping": True, "validation_fraction": 0.3}
    stopped = AUCClassifier("squared", **long, patience=3).fit(X, y)
    patient = AUCClassifier("squared", **long, patience=60).fit(X, y)
    last = AUCClassifier("squared", **{**long, "early_stopping": False}).fit(X, y)
    clean = [sl.metrics.auc(fitted.decision_function(noisy[2]), noisy[3]) for fitted in (stopped, patient, last)]
    assert min(clean[:2]) > clean[2] + 0.05


def test_early_stopping_needs_two_points_of_each_class():
    X, y = np.arange(10.0)[:, None], np.arange(10) == 0
    with pytest.raises(ValueError, match="early stopping needs two points of each class, got 1"):
        AUCClassifier(**FAST, early_stopping=True).fit(X, y)


@pytest.mark.parametrize("model", ["linear", "kernel", "mlp", "trees"])
def test_a_warm_start_goes_on_from_the_last_fit(noisy, model):
    X, y = noisy[:2]
    settings = {**FAST, "model": model, "epochs": 3, "n_estimators": 10, "warm_start": True}
    warm = AUCClassifier(**settings).fit(X, y)
    first = warm.decision_function(X)
    scorer = warm.scorer_
    warm.set_params(n_estimators=20).fit(X, y)
    np.testing.assert_array_equal(scorer.scores(X), first)  # the last model is copied, not changed
    if model == "mlp":
        longer = AUCClassifier(**{**settings, "epochs": 6, "warm_start": False}).fit(X, y)
        cold = AUCClassifier(**{**settings, "warm_start": False}).fit(X, y)
        np.testing.assert_array_equal(cold.decision_function(X), first)
        assert np.corrcoef(warm.decision_function(X), longer.decision_function(X))[0, 1] > 0.99
        assert np.abs(warm.decision_function(X) - first).max() > 1e-3
    elif model == "trees":
        assert len(warm.scorer_.forest.estimators_) == 20
        np.testing.assert_array_equal(
            warm.scorer_.forest.estimators_[0].predict(X), scorer.forest.estimators_[0].predict(X)
        )
    else:
        np.testing.assert_allclose(warm.decision_function(X), first, atol=1e-3 * np.abs(first).max())
    with pytest.raises(ValueError, match="has 5 features, but AUCClassifier is expecting 20"):
        warm.fit(X[:, :5], y)
    assert np.isfinite(warm.set_params(n_estimators=30).fit(X, y).decision_function(X)).all()
    other = "linear" if model != "linear" else "trees"
    with pytest.raises(ValueError, match=f"a warm start needs the model of the last fit, got '{other}'"):
        warm.set_params(model=other).fit(X, y)


def test_batches_hold_both_classes_in_proportion():
    positive = np.arange(1000) < 100
    for epoch in range(3):
        batches = list(_batches(positive, 200, np.random.default_rng(epoch)))
        assert sorted(np.concatenate(batches).tolist()) == list(range(1000))
        assert all(19 <= positive[batch].sum() <= 21 and len(batch) == 200 for batch in batches)


def test_training_leaves_the_global_generator_alone(noisy):
    X, y = noisy[:2]
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    AUCClassifier(model=lambda d: nn.Linear(d, 1), n_seeds=2, epochs=1, threshold=0.0).fit(X, y)
    torch.testing.assert_close(torch.rand(1), expected, rtol=0, atol=0)


@pytest.mark.gpu
@pytest.mark.parametrize("model", ["mlp", lambda d: nn.Linear(d, 1)])
def test_networks_on_a_gpu_score_as_on_a_cpu(noisy, model):
    X, y = noisy[:2]
    settings = {**FAST, "model": model, "epochs": 5}
    expected = AUCClassifier(**settings).fit(X, y).decision_function(X)
    found = AUCClassifier(**settings, device="cuda").fit(X, y).decision_function(X)
    np.testing.assert_allclose(found, expected, atol=1e-3 * np.abs(expected).max())
