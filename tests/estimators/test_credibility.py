"""Which labels are credible, and classifiers that leave out those that are not."""

import numpy as np
import pytest
from scipy import sparse

import symloss as sl
from symloss.estimators import AUCClassifier, BERClassifier
from symloss.estimators.base import TrainingData
from symloss.estimators.candidates import fit_together
from symloss.estimators.credibility import credibility, credible


@pytest.fixture(scope="module")
def flipped():
    """Two classes that overlap little, and which of their labels are wrong."""
    generator = np.random.default_rng(0)
    y = np.arange(400) % 2 == 0
    X = generator.normal(size=(400, 3)) + 1.5 * y[:, None]
    wrong = generator.random(400) < 0.25
    return X, y, wrong


@pytest.mark.parametrize("form", ["dense", "sparse", "missing"])
def test_wrong_labels_are_less_credible(flipped, form):
    X, y, wrong = flipped
    if form == "missing":
        X = np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X)
    given = TrainingData(sparse.csr_matrix(X) if form == "sparse" else X, y ^ wrong, np.ones(400))
    scores = credibility(given, seed=0).scores
    support = np.where(given.positive, scores, -scores)
    assert sl.metrics.auc(support, ~wrong) > 0.93


def test_a_score_does_not_depend_on_the_points_own_label(flipped):
    """Out-of-bag and leave-one-out scores change little if a label is flipped; scores of a fit would follow it."""
    X, y, _ = flipped
    changes = []
    for k in range(5):
        other = y.copy()
        other[k] = ~other[k]
        pair = [credibility(TrainingData(X, of, np.ones(400)), seed=0).scores for of in (y, other)]
        scale = pair[0].std()
        changes.append((pair[0][k] - pair[1][k]) / scale * (1 if y[k] else -1))
    assert np.mean(changes) < 0.1


def test_a_share_of_each_class_is_left_out_by_weight():
    generator = np.random.default_rng(0)
    data = TrainingData(np.arange(100.0)[:, None], np.arange(100) < 30, generator.integers(1, 4, 100).astype(float))
    scores = generator.normal(size=100)
    kept = credible(data, scores, 0.3)
    for of_class, sign in ((data.positive, 1), (~data.positive, -1)):
        rows = np.flatnonzero(of_class)
        left_out = np.setdiff1d(rows, kept.X[:, 0].astype(int))
        share = data.weight[left_out].sum() / data.weight[rows].sum()
        assert 0.2 < share <= 0.3
        assert (sign * scores[left_out]).max() < (sign * scores[np.setdiff1d(rows, left_out)]).min()
    assert credible(data, scores, 0.0).X.shape == data.X.shape


@pytest.mark.parametrize("kind", [BERClassifier, AUCClassifier])
def test_pruned_classifiers_learn_more_from_wrong_labels(kind):
    generator = np.random.default_rng(1)
    y = np.arange(3000) % 2 == 0
    X = generator.normal(size=(3000, 10)) + 0.6 * y[:, None] * (np.arange(10) < 3)
    noisy = y ^ (generator.random(3000) < 0.35)
    plain, pruned = (
        kind(model="trees", min_samples_leaf=5, prune=share, n_estimators=50, random_state=0).fit(
            X[:1000], noisy[:1000]
        )
        for share in (0.0, 0.3)
    )
    gain = [sl.metrics.auc(of.decision_function(X[1000:]), y[1000:]) for of in (plain, pruned)]
    assert gain[1] > gain[0] + 0.02


def test_candidates_share_what_is_known_and_score_the_same_as_alone(flipped, monkeypatch):
    X, y, wrong = flipped
    pool = [
        BERClassifier("squared", "gaussian_process", prune=0.2, n_landmarks=300, threshold=0.0, random_state=0),
        AUCClassifier("logistic", prune=0.1, threshold=0.0, random_state=0),
    ]
    calls = []
    monkeypatch.setattr(
        sl.estimators.candidates, "credibility", lambda *given: calls.append(given) or credibility(*given)
    )
    together = fit_together(pool, X, y ^ wrong, np.ones(400))
    assert len(calls) == 1
    (linear,) = fit_together(pool[1:], X, y ^ wrong, np.ones(400))
    np.testing.assert_array_equal(together[1].decision_function(X), linear.decision_function(X))


def test_wrong_shares_are_named_and_probabilities_are_not_given(flipped):
    X, y, _ = flipped
    with pytest.raises(ValueError, match="prune must be at least 0 and below 1, got 1"):
        BERClassifier(prune=1.0).fit(X, y)
    with pytest.raises(ValueError, match=r"prune must be at least 0 and below 1, got '0\.1'"):
        BERClassifier(prune="0.1").fit(X, y)
    assert hasattr(BERClassifier("logistic"), "predict_proba")
    assert not hasattr(BERClassifier("logistic", prune=0.1), "predict_proba")


@pytest.mark.parametrize("share", [0.5, 0.1, 0.02])
def test_labels_of_chance_are_not_seen_by_the_scores(share):
    generator = np.random.default_rng(0)
    X, positive = generator.normal(size=(1000, 4)), np.arange(1000) < 1000 * share
    scores = credibility(TrainingData(X, positive, np.ones(1000)), seed=0).scores
    assert 0.25 < sl.metrics.auc(scores, positive) < 0.65


def test_features_and_weights_of_any_size(flipped):
    X, y, wrong = flipped
    expected = credibility(TrainingData(X, y ^ wrong, np.ones(400)), seed=0).scores
    found = credibility(TrainingData(1e300 * X, y ^ wrong, np.ones(400)), seed=0).scores
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())
    for weight in (1e-200, 1e150):
        assert np.isfinite(credibility(TrainingData(X, y ^ wrong, np.full(400, weight)), seed=0).scores).all()


def test_missing_values_are_pruned_alike_alone_and_in_a_pool(flipped):
    X, y, wrong = flipped
    X = np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X)
    pruned = AUCClassifier("logistic", prune=0.2, threshold=0.0, random_state=0)
    (member,) = fit_together([pruned], X, y ^ wrong, np.ones(400))
    found = AUCClassifier("logistic", prune=0.2, threshold=0.0, random_state=0).fit(X, y ^ wrong)
    assert np.corrcoef(member.decision_function(X), found.decision_function(X))[0, 1] > 0.99


def test_a_gaussian_process_in_a_pool_keeps_its_landmarks(flipped):
    X, y, _ = flipped
    settings = {"threshold": 0.0, "random_state": 0}
    pool = [
        AUCClassifier("squared", "gaussian_process", n_landmarks=20, **settings),
        AUCClassifier("squared", "gaussian_process", prune=0.1, n_landmarks=30, **settings),
    ]
    fitted = fit_together(pool, X, y, np.ones(400))
    assert [len(each.scorer_.landmarks) for each in fitted] == [20, 30]
