"""Weak supervision as contaminated sets: the rates that functions state are those of large simulated samples."""

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from sklearn.linear_model import LogisticRegression

import symloss as sl
from symloss import corruption
from symloss.corruption import from_annotators, from_comparisons, from_keywords, from_similar_pairs

N = 200_000


def classes(prior, shape, seed=0):
    return np.where(np.random.default_rng(seed).random(shape) < prior, 1, -1)


def shares(y, clean, weight=None):
    """The share of clean positives among the labels +1 and among the labels -1."""
    weight = np.ones(len(y)) if weight is None else weight
    return [np.average(clean[y == label] == 1, weights=weight[y == label]) for label in (1, -1)]


@pytest.mark.parametrize("prior", [0.7, 0.55, 0.2])
def test_similar_pairs_have_the_stated_rates(prior):
    pairs = classes(prior, (N, 2))
    pairs = pairs[pairs[:, 0] == pairs[:, 1]]
    clean, y, rates = from_similar_pairs(*pairs.T, classes(prior, N, seed=1), prior=prior)
    assert shares(y, clean) == pytest.approx(rates, abs=0.006)
    assert rates.pi > rates.pi_prime
    other = from_similar_pairs(*pairs.T, classes(prior, N, seed=1), prior=0.99 if prior > 0.5 else 0.01)
    np.testing.assert_array_equal(other[1], y)


@pytest.mark.parametrize("reordered", [False, True])
@pytest.mark.parametrize("prior", [0.7, 0.5, 0.2])
def test_comparisons_have_the_stated_rates(prior, reordered):
    pairs = classes(prior, (N, 2))
    pairs = -np.sort(-pairs, axis=1) if reordered else pairs[pairs[:, 0] >= pairs[:, 1]]
    clean, y, rates = from_comparisons(*pairs.T, prior=prior, reordered=reordered)
    assert shares(y, clean) == pytest.approx(rates, abs=0.005)
    np.testing.assert_array_equal(y, np.repeat([1, -1], len(pairs)))


@pytest.mark.parametrize("container", [np.asarray, torch.tensor, pd.DataFrame, sp.csr_matrix, np.ndarray.tolist])
def test_pairs_in_any_container(container):
    first, second, unlabeled = np.arange(4.0).reshape(2, 2), np.arange(4.0, 8).reshape(2, 2), np.full((1, 2), 9.0)

    def dense(X):
        return X.toarray() if hasattr(X, "toarray") else np.asarray(X)

    parts = [container(part) for part in (first, second, unlabeled)]
    X, y, _ = from_similar_pairs(*parts, prior=0.8)
    np.testing.assert_array_equal(dense(X), np.concatenate([first, second, unlabeled]))
    np.testing.assert_array_equal(y, [1, 1, 1, 1, -1])
    X, y, _ = from_similar_pairs(*parts, prior=0.2)
    np.testing.assert_array_equal(dense(X), np.concatenate([unlabeled, first, second]))
    np.testing.assert_array_equal(y, [1, -1, -1, -1, -1])
    X, _, _ = from_comparisons(*parts[:2], prior=0.5)
    np.testing.assert_array_equal(dense(X), np.concatenate([first, second]))


POINTS = np.zeros((3, 2))


@pytest.mark.parametrize(("call", "message"), [
    (lambda: from_similar_pairs(POINTS, POINTS, POINTS, prior=0.5), "prior must not be 0.5"),
    (lambda: from_similar_pairs(POINTS, POINTS, POINTS, prior=1.0), "prior must be between 0 and 1, got 1.0"),
    (lambda: from_similar_pairs(POINTS, POINTS[:2], POINTS, prior=0.6),
     "first and second must hold one point of each pair, got 3 and 2 points"),
    (lambda: from_similar_pairs(POINTS, POINTS, POINTS[:, :1], prior=0.6),
     "pairs and unlabeled must hold the same features, got shapes (6, 2) and (3, 1)"),
    (lambda: from_similar_pairs(POINTS[:0], POINTS[:0], POINTS, prior=0.6), "must hold points, got 0 and 0"),
    (lambda: from_comparisons(POINTS, POINTS[1:], prior=0.6),
     "better and worse must hold one point of each pair, got 3 and 2 points"),
    (lambda: from_comparisons(POINTS, POINTS, prior=0), "prior must be between 0 and 1, got 0"),
    (lambda: from_keywords(["a", "b"], "goal"), "keywords must be a list of one or more words, got 'goal'"),
    (lambda: from_keywords(["a", "b"], []), "keywords must be a list of one or more words, got []"),
    (lambda: from_keywords(["a", "b"], ["a", ""]), "keywords must be a list of one or more words, got ['a', '']"),
    (lambda: from_keywords("a b", ["a"]), "documents must be a list of texts, got 'a b'"),
    (lambda: from_keywords(["a", None], ["a"]), "documents must be a list of texts, got None"),
    (lambda: from_keywords(["a", "b"], ["c"]), "in some documents and not in others, got 0 of 2 documents"),
    (lambda: from_keywords(["a", "A."], ["a"]), "in some documents and not in others, got 2 of 2 documents"),
    (lambda: from_annotators([[1, 0], [0, 0]]), "labels must be of three annotators or more, got 2"),
    (lambda: from_annotators([1, 0, 1]), "one row per item and one column per annotator, got shape (3,)"),
    (lambda: from_annotators([[1, 2, 0]]), "labels must be {0, 1}, {-1, +1} or bool, got the values 0, 1, 2"),
    (lambda: from_annotators([["yes", "no", "no"]]), "labels must be numbers, NaN where there is none"),
    (lambda: from_annotators([[1, None, None], [None, 0, None]]), "labels must overlap"),
    (lambda: from_annotators([[1, 0, 1], [1, 0, 1]]), "labels must tell some items from others"),
    (lambda: from_annotators([[1, 1, 0], [0, 0, 1], [1, 0, 0]]), "annotators must agree more often than by chance"),
])  # fmt: skip
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


def test_keywords_are_whole_words_and_left_out():
    documents = ["Goal! A goal kick", "goalless", "no C++ here", "the Match-day", "rematch"]
    texts, y = from_keywords(documents, ["goal", "goal kick", "c++", "match"])
    assert texts == ["! A ", "goalless", "no  here", "the -day", "rematch"]
    np.testing.assert_array_equal(y, [1, -1, 1, 1, -1])


def test_keywords_that_occur_independently_of_other_words_are_contamination():
    """Words independent within a class: the AUC of another word on the labels is that of corollary 2."""
    rng = np.random.default_rng(1)
    clean = classes(0.3, 50_000)
    keyword = rng.random(len(clean)) < np.where(clean == 1, 0.4, 0.05)
    word = rng.random(len(clean)) < np.where(clean == 1, 0.6, 0.2)
    documents = [("goal " if k else "") + ("ball" if w else "") for k, w in zip(keyword, word, strict=True)]
    texts, y = from_keywords(documents, ["goal"])
    assert {text.strip() for text in texts} == {"", "ball"}
    pi, pi_prime = corruption.to_contamination((0.6, 0.05), prior=0.3)
    assert shares(y, clean) == pytest.approx([pi, pi_prime], abs=0.01)
    scores = ["ball" in text for text in texts]
    assert sl.metrics.auc(scores, y) - 0.5 == pytest.approx((pi - pi_prime) * 0.2, abs=0.01)


SKILLS = np.array([[0.1, 0.2], [0.3, 0.1], [0.2, 0.3], [0.4, 0.15], [0.25, 0.25]])


def annotated(prior, n, missing, seed=0):
    """Clean classes, and labels by five annotators with the flip rates SKILLS, some of them missing."""
    clean, rng = classes(prior, n, seed), np.random.default_rng([seed, 1])
    wrong = rng.random((n, 5)) < np.where(clean[:, None] == 1, SKILLS[:, 0], SKILLS[:, 1])
    labels = np.where(wrong, -1.0, 1.0) * clean[:, None]
    labels[rng.random(labels.shape) < missing] = np.nan
    return clean, labels


@pytest.mark.parametrize(("prior", "missing"), [(0.5, 0.0), (0.3, 0.0), (0.4, 0.3)])
def test_rates_of_annotators_are_found_without_clean_labels(prior, missing):
    clean, labels = annotated(prior, N, missing)
    found = from_annotators(labels)
    assert found.prior == pytest.approx(prior, abs=0.015)
    np.testing.assert_allclose(np.array(found.rates), SKILLS, atol=0.02)
    assert shares(found.y, clean, found.sample_weight) == pytest.approx([found.pi, found.pi_prime], abs=0.015)
    for part in (found.posterior < 0.3, np.abs(found.posterior - 0.5) < 0.2, found.posterior > 0.7):
        assert np.mean(clean[part] == 1) == pytest.approx(found.posterior[part].mean(), abs=0.03)


def test_codings_and_containers_of_annotators_agree():
    _, labels = annotated(0.4, 300, 0.2)
    zeros = np.where(labels == -1, 0, labels)
    expected = from_annotators(labels)
    frame = pd.DataFrame(zeros, columns=list("abcde"))
    for other in (zeros, frame, frame.astype("Int64"), torch.tensor(labels), [[None if v != v else v for v in row]
                                                                             for row in labels]):  # fmt: skip
        for ours, theirs in zip(expected, from_annotators(other), strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_items_without_labels_have_no_weight_and_change_nothing():
    _, labels = annotated(0.4, 300, 0.2)
    labels = labels[~np.isnan(labels).all(axis=1)]
    expected, found = from_annotators(labels), from_annotators(np.r_[labels, np.full((50, 5), np.nan)])
    assert (found.sample_weight[300:] == 0).all()
    np.testing.assert_allclose(found.sample_weight[: len(labels)], expected.sample_weight)
    assert found.rates == pytest.approx(np.array(expected.rates))
    np.testing.assert_allclose(found.posterior[len(labels) :], found.prior)


def test_few_items_are_a_warning():
    _, labels = annotated(0.4, 300, 0.0)
    with pytest.warns(UserWarning, match=r"5 of 5 annotators \(columns 0, 1, 2, 3, 4\) are hardly known"):
        from_annotators(labels[:15])
    alone = np.full((300, 1), np.nan)
    alone[:9] = labels[:9, :1]
    with pytest.warns(UserWarning, match=r"1 of 6 annotators \(columns 5\) are hardly known"):
        from_annotators(np.c_[labels, alone])
    more = np.full((200, 6), np.nan)
    more[:, 5] = 1  # of items that nobody else has labeled
    with pytest.warns(UserWarning, match=r"1 of 6 annotators \(columns 5\)"):
        from_annotators(np.r_[np.c_[labels, alone], more])


def test_weights_say_more_than_the_majority():
    """Mean scores of the two sets estimate the classes' difference: the variance per squared difference is smaller."""
    _, labels = annotated(0.15, 20_000, 0.3)
    found = from_annotators(labels)

    def precision(y, weight):
        contrast = np.where(y == 1, weight / weight[y == 1].sum(), -weight / weight[y == -1].sum())
        return (contrast @ found.posterior) ** 2 / (contrast @ contrast)

    ours, one = precision(found.y, found.sample_weight), np.ones(len(labels))
    majority = np.where(np.nansum(labels, axis=1) > 0, 1, -1)
    probable = np.where(found.posterior > 0.5, 1, -1)
    assert ours > 1.2 * precision(majority, one)
    assert ours > 1.1 * precision(probable, one)
    assert ours > 1.1 * precision(probable, np.abs(2 * found.posterior - 1))
    assert found.sample_weight[found.y == 1].sum() == pytest.approx(found.sample_weight.sum() / 2, rel=1e-3)


def test_training_sets_go_straight_into_estimators():
    rng = np.random.default_rng(0)
    prior, test = 0.7, classes(0.5, 4000, seed=9)

    def draw(clean):
        return clean[..., None] * [1.0, 0.5, 0.0] + rng.normal(size=(*clean.shape, 3))

    X_test = draw(test)
    pairs = classes(prior, (4000, 2), seed=1)
    similar = draw(pairs[pairs[:, 0] == pairs[:, 1]])
    unlabeled = draw(classes(prior, 4000, seed=2))
    ordered = draw(-np.sort(-pairs, axis=1))
    clean, labels = annotated(0.4, 2000, 0.3)
    found, X = from_annotators(labels), draw(clean)
    sets = {
        "similar": (*from_similar_pairs(similar[:, 0], similar[:, 1], unlabeled, prior=prior)[:2], None),
        "compared": (*from_comparisons(ordered[:, 0], ordered[:, 1], prior=prior, reordered=True)[:2], None),
        "annotated": (X, found.y, found.sample_weight),
    }
    for name, (X, y, weight) in sets.items():
        for model in (sl.AUCClassifier(model="linear", random_state=0), LogisticRegression()):
            scores = model.fit(X, y, sample_weight=weight).decision_function(X_test)
            assert sl.metrics.auc(scores, test) > 0.92, name  # the best possible is 0.943


@pytest.mark.parametrize("labels", [
    np.array([1, -1] * 5000), np.array([1, 0] * 5000), np.array([True, False] * 5000), torch.tensor([1.0, -1.0] * 5000),
])  # fmt: skip
def test_flips_have_the_probabilities_of_their_points(labels):
    x = np.random.default_rng(1).random(10_000)
    flipped = corruption.flip_by_instance(labels, x / 2, lambda X: 1 - X, X=x, random_state=0)
    assert type(flipped) is type(labels)
    assert flipped.dtype == labels.dtype
    wrong, positive = np.asarray(flipped) != np.asarray(labels), np.arange(10_000) % 2 == 0
    for low in (0.0, 0.5, 0.8):
        near = (x >= low) & (x < low + 0.2)
        assert wrong[near & positive].mean() == pytest.approx(low / 2 + 0.05, abs=0.04)
        assert wrong[near & ~positive].mean() == pytest.approx(0.9 - low, abs=0.04)
    again = corruption.flip_by_instance(labels, x / 2, 1 - x, random_state=0)
    np.testing.assert_array_equal(np.asarray(again), np.asarray(flipped))


def test_flips_at_one_rate_are_those_of_flip_labels():
    y = classes(0.4, 1000)
    np.testing.assert_array_equal(
        corruption.flip_by_instance(y, np.full(1000, 0.3), np.full(1000, 0.1), random_state=5),
        sl.flip_labels(y, 0.3, 0.1, random_state=5),
    )


def test_border_rates_grow_towards_the_border():
    eta = np.linspace(0, 1, 201)
    rates = corruption.border_rates(eta, 0.45, border=0.5, scale=0.1)
    assert rates[100] == pytest.approx(0.45)
    assert rates[110] == pytest.approx(0.45 / np.e * np.exp(0.5), rel=1e-9)
    assert (np.diff(rates[:101]) > 0).all()
    assert (np.diff(rates[100:]) < 0).all()
    assert (np.diff(eta * (1 - rates) + (1 - eta) * rates) > 0).all()  # the noisy posterior keeps the order
    np.testing.assert_allclose(corruption.border_rates([1, 2, 4], 0.4), 0.4 * np.exp([-0.5, -1, -2]))


@pytest.mark.parametrize(("call", "message"), [
    (lambda: corruption.flip_by_instance([1, 0], [0.1, 1.5]),
     "rate_positive must hold numbers between 0 and 1, got 1.5"),
    (lambda: corruption.flip_by_instance([1, 0], [0.1, 0.2], [0.1, np.nan]),
     "rate_negative must hold numbers between 0 and 1, got nan"),
    (lambda: corruption.flip_by_instance([1, 0], [0.1]),
     "rate_positive must hold one probability per label, shape (2,), got (1,)"),
    (lambda: corruption.flip_by_instance([1, 0], np.sin), "rate_positive is a function of X, but X is not given"),
    (lambda: corruption.flip_by_instance([1, 2], [0.1, 0.1]), "labels must be"),
    (lambda: corruption.border_rates([1.0], 0.5), "highest must be at least 0 and less than 0.5, got 0.5"),
    (lambda: corruption.border_rates([], 0.4), "scores must have shape (n,) with n >= 1, got (0,)"),
    (lambda: corruption.border_rates([[1.0]], 0.4), "scores must have shape (n,) with n >= 1, got (1, 1)"),
    (lambda: corruption.border_rates([1.0, np.inf], 0.4), "scores must be finite numbers, got inf"),
    (lambda: corruption.border_rates([0.0, 0.0], 0.4), "scale must be a finite number > 0, got 0.0"),
    (lambda: corruption.border_rates([1.0], 0.4, scale=-1), "scale must be a finite number > 0, got -1"),
])  # fmt: skip
def test_bad_flips_are_named(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()
