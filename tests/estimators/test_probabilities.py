"""Scores, probabilities, importances and what a notebook shows: what scikit-learn users expect of the CV forms."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn import config_context
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import cross_val_score

import symloss as sl
from symloss.estimators import AUCClassifier, AUCClassifierCV, BERClassifier, BERClassifierCV, load, save
from symloss.estimators.calibration import Calibration, clean_probabilities

POOL = [("linear", BERClassifier("logistic", threshold=0.0)), ("<b>trees</b>", AUCClassifier(model="trees"))]
BOTH = [BERClassifierCV, AUCClassifierCV]


@pytest.fixture(scope="module")
def drawn():
    generator = np.random.default_rng(0)
    clean = generator.random(4000) < 0.4
    X = generator.normal(size=(4000, 3)) + np.outer(clean, [1.5, 0.5, 0.0])
    labels = np.where(np.where(clean, generator.random(4000) < 0.85, generator.random(4000) < 0.1), "yes", "no")
    return X, clean, labels


@pytest.mark.parametrize(
    ("classifier", "expected"),
    [
        (BERClassifier("logistic"), balanced_accuracy_score),
        (BERClassifierCV(POOL, random_state=0), balanced_accuracy_score),
        (AUCClassifier("logistic"), roc_auc_score),
        (AUCClassifierCV(POOL, random_state=0), roc_auc_score),
    ],
    ids=["BER", "BER CV", "AUC", "AUC CV"],
)
def test_the_score_is_one_that_corrupted_labels_can_be_used_for(drawn, classifier, expected):
    X, _, y = drawn
    fitted = classifier.fit(X[:500], y[:500])
    of = fitted.decision_function(X) if expected is roc_auc_score else fitted.predict(X)
    assert fitted.score(X, y) == pytest.approx(expected(y == "yes" if expected is roc_auc_score else y, of))
    weight = np.random.default_rng(0).random(4000)
    truth = y == "yes" if expected is roc_auc_score else y
    assert fitted.score(X, y, weight) == pytest.approx(expected(truth, of, sample_weight=weight))
    with pytest.raises(ValueError, match=r"y must hold the labels of the fit, \['no', 'yes'\], got \['maybe'\]"):
        fitted.score(X[:2], ["yes", "maybe"])


def test_a_search_of_scikit_learn_uses_this_score(drawn):
    X, _, y = drawn
    found = cross_val_score(AUCClassifier("logistic", threshold=0.0), X[:300], y[:300], cv=3)
    expected = cross_val_score(AUCClassifier("logistic", threshold=0.0), X[:300], y[:300], cv=3, scoring="roc_auc")
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("kind", BOTH)
def test_probabilities_are_those_of_the_observed_and_of_the_clean_labels(drawn, kind):
    X, clean, y = drawn
    labeled = y == "yes"
    pi, pi_prime = clean[labeled].mean(), clean[~labeled].mean()
    chosen = kind(POOL[:1], pi=pi, pi_prime=pi_prime, random_state=0).fit(X, y)
    observed, of_clean = chosen.predict_proba(X), chosen.predict_clean_proba(X)
    for found, truth in ((observed, labeled), (of_clean, clean)):
        np.testing.assert_allclose(found.sum(1), 1)
        for part in np.array_split(np.argsort(found[:, 1]), 8):
            assert abs(found[part, 1].mean() - truth[part].mean()) < 0.07
    assert of_clean[:, 1].std() > observed[:, 1].std()
    assert not hasattr(kind(POOL), "predict_clean_proba")


def test_clean_probabilities_invert_the_noise():
    generator = np.random.default_rng(0)
    clean, prior = generator.random(100), 0.3
    ratio = clean / (1 - clean) * (1 - prior) / prior  # of the densities of clean positives and clean negatives
    for pi, pi_prime, share in ((0.8, 0.3, 0.5), (1.0, 0.4, 0.2), (0.7, 0.0, 0.9)):
        new_prior = share * pi + (1 - share) * pi_prime
        positive, negative = pi * ratio + 1 - pi, pi_prime * ratio + 1 - pi_prime
        observed = share * positive / (share * positive + (1 - share) * negative)
        expected = new_prior * ratio / (new_prior * ratio + 1 - new_prior)
        np.testing.assert_allclose(clean_probabilities(observed, share, pi, pi_prime), expected, rtol=1e-9)
    assert clean_probabilities(np.array([0.0, 1.0]), 0.5, 0.8, 0.3).tolist() == [0.0, 1.0]


def test_the_curve_is_the_most_likely_one_and_never_falls():
    generator = np.random.default_rng(0)
    scores = 3 * generator.normal(size=20_000)
    positive = generator.random(20_000) < expit(0.7 * scores)
    found = Calibration.fit(scores, positive, np.ones(20_000))
    assert found.slope == pytest.approx(0.7, abs=0.02)
    assert found.intercept == pytest.approx(np.log(positive.mean() / (1 - positive.mean())))
    assert Calibration.fit(-scores, positive, np.ones(20_000)).slope == 0
    separated = Calibration.fit(np.array([-1.0, 1.0]), np.array([False, True]), np.ones(2))
    assert np.isfinite(separated.slope)
    assert separated.probabilities(np.array([1.0])) > 0.99
    for unit in (1e-300, 1e300):
        assert Calibration.fit(unit * scores[:500], positive[:500], np.ones(500)).slope * unit == pytest.approx(
            Calibration.fit(scores[:500], positive[:500], np.ones(500)).slope, rel=1e-6
        )


def test_saved_models_keep_their_probabilities(drawn, tmp_path):
    X, _, y = drawn
    chosen = AUCClassifierCV(POOL, cv=2, pi=0.9, pi_prime=0.1, random_state=0).fit(X[:300], y[:300])
    save(chosen, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(X), chosen.predict_proba(X))
    np.testing.assert_array_equal(again.predict_clean_proba(X), chosen.predict_clean_proba(X))
    assert type(again.best_estimator_) is type(chosen.best_estimator_)
    del again.calibration_
    with pytest.raises(ValueError, match="without probabilities: fit it again"):
        again.predict_proba(X)


@pytest.mark.parametrize("kind", BOTH)
def test_importances_on_noisy_folds(drawn, kind):
    X, _, y = drawn
    frame = pd.DataFrame(X[:600], columns=["strong", "weak", "none"])
    frame["text"] = np.where(frame["strong"] > 1, "high", "low")
    frame["constant"] = "same"
    chosen = kind(POOL[:1], cv=3, random_state=0).fit(frame, y[:600])
    found = chosen.permutation_importance(frame, y[:600], n_repeats=2)
    assert found.columns == ["strong", "weak", "none", "text", "constant"]
    assert found.importances.shape == (5, 6)
    mean = dict(zip(found.columns, found.importances_mean, strict=True))
    assert mean["strong"] > 0.03
    assert abs(mean["none"]) < 0.02
    assert mean["constant"] == 0
    np.testing.assert_allclose(found.importances.std(1), found.importances_std)
    with pytest.raises(ValueError, match="y must hold the labels of the fit"):
        chosen.permutation_importance(frame, np.where(y[:600] == "yes", "a", "b"))
    assert chosen.classes_.tolist() == ["no", "yes"]
    with pytest.raises(ValueError, match="n_repeats must be a whole number of at least 1, got 0"):
        chosen.permutation_importance(frame, y[:600], n_repeats=0)
    halves = (rows for rows in [(np.arange(300), np.arange(300, 600)), (np.arange(300, 600), np.arange(300))])
    once = kind(POOL[:1], cv=halves, random_state=0).fit(frame, y[:600])
    with pytest.raises(ValueError, match="a generator gives its folds only once"):
        once.permutation_importance(frame, y[:600])


def test_what_a_person_sees(drawn):
    X, _, y = drawn
    chosen = AUCClassifierCV(POOL, cv=2, random_state=0)
    assert "Candidates" not in chosen._repr_mimebundle_()["text/html"]
    chosen.fit(X[:300], y[:300])
    assert repr(chosen.members_[0]).startswith("Member('")
    assert len(repr(chosen.members_)) < 120
    assert chosen.best_estimator_ is chosen.members_[0].estimator
    for html in (chosen._repr_mimebundle_()["text/html"], chosen._repr_html_()):
        assert "&lt;b&gt;trees&lt;/b&gt;" in html
        assert "<td><b>trees" not in html
        assert "AUC on noisy folds" in html
    del chosen.cv_results_["points"]  # as in a model that an earlier version has saved
    assert "<td>all</td>" in chosen._repr_html_()
    with config_context(display="text"):
        assert set(chosen._repr_mimebundle_()) == {"text/plain"}


def test_probabilities_let_other_tools_use_the_estimators(drawn):
    """Where predict_proba is needed: the largest probability is the predicted label, if labels are equally frequent."""
    X, _, y = drawn
    rows = np.concatenate([np.flatnonzero(y == of)[:400] for of in ("yes", "no")])
    chosen = BERClassifierCV(POOL[:1], random_state=0).fit(X[rows], y[rows])
    assert (chosen.classes_[chosen.predict_proba(X).argmax(1)] == chosen.predict(X)).all()
    assert sl.metrics.auc(chosen.predict_proba(X)[:, 1], y == "yes") > 0.7


@pytest.mark.parametrize("score", [np.inf, -np.inf, np.nan])
def test_scores_that_are_not_finite_have_no_probability(score):
    with pytest.raises(ValueError, match="probabilities need finite scores"):
        Calibration(0.0, 0.5).probabilities(np.array([0.0, score]))


def test_scores_of_any_size_have_a_probability():
    np.testing.assert_array_equal(Calibration(2.0, 0.5).probabilities(np.array([-1.5e308, 1.5e308])), [0.0, 1.0])
