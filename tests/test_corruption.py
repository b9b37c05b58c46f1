"""Corrupted data drawn from clean data, and weak supervision: rates that functions state are those of large samples."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st

import symloss as sl
from symloss import corruption
from symloss.corruption import from_annotators, from_comparisons, from_keywords, from_similar_pairs

Y = np.repeat([1, -1], [700, 800])
IDS = np.arange(1500)


@given(
    pi=st.sampled_from([1.0, 0.8, 0.7, 0.65]),
    pi_prime=st.sampled_from([0.0, 0.3, 0.4, 0.45]),
    n=st.integers(0, 250),
    m=st.integers(0, 250),
    seed=st.integers(0, 99),
)
def test_exact_counts_and_no_point_twice(pi, pi_prime, n, m, seed):
    X, y, X_test, y_test = sl.contaminated_split(
        IDS, Y, pi=pi, pi_prime=pi_prime, n_positive=n, n_negative=m, n_test=100, random_state=seed
    )
    clean = Y[X]
    assert (np.sum((y == 1) & (clean == 1)), np.sum((y == -1) & (clean == 1))) == (round(pi * n), round(pi_prime * m))
    assert (np.sum(y == 1), np.sum(y == -1)) == (n, m)
    assert len(set(X) | set(X_test)) == n + m + 100
    assert (y_test == Y[X_test]).all()
    assert (np.diff(y_test) != 0).sum() > 10  # shuffled
    assert y_test.sum() == 0


def test_reproducible_and_shuffled():
    def draw(seed):
        return sl.contaminate(IDS, Y, pi=0.8, pi_prime=0.3, n_positive=500, n_negative=500, random_state=seed)

    (a, b), (c, d), (e, _) = draw(3), draw(3), draw(4)
    assert (a == c).all()
    assert (b == d).all()
    assert (a != e).any()
    assert (np.diff(b) != 0).sum() > 100  # the two labels alternate
    again = draw(np.random.default_rng(3))
    assert (again[0] == a).all()


def test_containers():
    arguments = {"pi": 0.8, "pi_prime": 0.3, "n_positive": 50, "n_negative": 50, "random_state": 0}
    dense = np.stack([IDS, IDS], axis=1).astype(float)
    expected, labels = sl.contaminate(dense, Y, **arguments)
    frame, _ = sl.contaminate(pd.DataFrame(dense, columns=["a", "b"], index=IDS[::-1]), Y, **arguments)
    assert (frame.to_numpy() == expected).all()
    assert list(frame.columns) == ["a", "b"]
    for kind in (sp.csr_matrix, sp.coo_matrix, sp.csc_array):
        sparse, _ = sl.contaminate(kind(dense), Y, **arguments)
        assert (sparse.toarray() == expected).all()
    _, from_series = sl.contaminate(dense, pd.Series(Y, index=IDS[::-1]), **arguments)
    assert (from_series == labels).all()
    tensor, y = sl.contaminate(torch.from_numpy(dense), torch.from_numpy(Y), **arguments)
    assert (tensor.numpy() == expected).all()
    assert (y.numpy() == labels).all()
    listed, _ = sl.contaminate(dense.tolist(), Y.tolist(), **arguments)
    assert (listed == expected).all()


DRAW = {"X": IDS, "y": Y, "pi": 0.8, "pi_prime": 0.3, "n_positive": 500, "n_negative": 500}
POINTS = np.zeros((3, 2))


@pytest.mark.parametrize(("call", "message"), [
    (lambda: sl.contaminate(**DRAW | {"n_positive": 800}), "this draw needs 790 positives and 510 negatives"),
    (lambda: sl.contaminate(**DRAW | {"pi": 0.3, "pi_prime": 0.8}), "swap the two labels"),
    (lambda: sl.contaminate(**DRAW | {"n_negative": 2.5}), "n_negative must be a whole number >= 0, got 2.5"),
    (lambda: sl.contaminate(**DRAW | {"X": IDS[:10]}), "X and y must have as many rows, got 10 and 1500"),
    (lambda: sl.contaminated_split(**DRAW, n_test=7), "n_test must be even"),
    (lambda: sl.flip_labels(Y, 0.1, 1.5), "rate_negative must be between 0 and 1, got 1.5"),
    (lambda: corruption.to_flip_rates((0.8, 0.3), prior=0.9), "prior must be between pi' = 0.3 and pi = 0.8"),
    (lambda: corruption.to_contamination((1.0, 0.0), prior=0.5), "leave only one label"),
    (lambda: corruption.flip_by_instance([1, 0], [0.1, 1.5]), "rate_positive must hold numbers between 0 and 1, got"),
    (lambda: corruption.flip_by_instance([1, 0], np.sin), "rate_positive is a function of X, but X is not given"),
    (lambda: corruption.border_rates([1.0], 0.5), "highest must be at least 0 and less than 0.5, got 0.5"),
    (lambda: sl.from_two_sets([[1.0, 2.0]], [[1.0]]), "the same features"),
    (lambda: sl.from_two_sets(pd.DataFrame({"a": [1]}), pd.DataFrame({"b": [1]})), "the same columns"),
    (lambda: from_similar_pairs(POINTS, POINTS, POINTS, prior=0.5), "prior must not be 0.5"),
    (lambda: from_similar_pairs(POINTS, POINTS[:2], POINTS, prior=0.6), "one point of each pair, got 3 and 2 points"),
    (lambda: from_keywords(["a", "b"], "goal"), "keywords must be a list of one or more words, got 'goal'"),
    (lambda: from_keywords(["a", "b"], ["c"]), "in some documents and not in others, got 0 of 2 documents"),
    (lambda: from_annotators([[1, 0], [0, 0]]), "labels must be of three annotators or more, got 2"),
    (lambda: from_annotators([1, 0, 1]), "a vector of answers needs items and annotators"),
    (lambda: from_annotators([[1, 2, 0]]), "labels must be {0, 1}, {-1, +1} or bool, got the values 0, 1, 2"),
    (lambda: from_annotators([["yes", "no", "no"]]), "labels must be numbers, NaN where there is none"),
    (lambda: from_annotators([[1, None, None], [None, 0, None]]), "labels must overlap"),
    (lambda: from_annotators([[1, 1, 1], [1, 1, 1]]), "labels must tell some items from others"),
    (lambda: from_annotators([[k & 1, k & 2 > 0, k & 4 > 0] for k in range(8)] * 9), "agree more often than by chance"),
])  # fmt: skip
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


def test_positive_unlabeled_data_are_a_special_case():
    X, y = corruption.positive_unlabeled(IDS, Y, prior=0.4, n_labeled=100, n_unlabeled=500, random_state=0)
    assert (Y[X[y == 1]] == 1).all()
    assert (Y[X[y == -1]] == 1).sum() == 200


@pytest.mark.parametrize(
    "labels", [Y, (Y == 1).astype(int), Y == 1, torch.from_numpy(Y), torch.from_numpy(Y == 1), Y.astype(float)]
)
def test_flip_labels(labels):
    flipped = sl.flip_labels(labels, 0.3, 0.1, random_state=0)
    assert type(flipped) is type(labels)
    assert flipped.dtype == labels.dtype
    assert set(np.unique(np.asarray(flipped))) == set(np.unique(np.asarray(labels)))
    changed = np.asarray(flipped) != np.asarray(labels)
    assert changed[Y == 1].mean() == pytest.approx(0.3, abs=0.06)
    assert changed[Y == -1].mean() == pytest.approx(0.1, abs=0.04)
    assert (np.asarray(sl.flip_labels(labels, 0.0, 0.0)) == np.asarray(labels)).all()


@given(positive=st.floats(0.01, 0.49), negative=st.floats(0.01, 0.49), prior=st.floats(0.05, 0.95))
def test_conversions_go_there_and_back(positive, negative, prior):
    contamination = corruption.to_contamination((positive, negative), prior)
    back = corruption.to_flip_rates(contamination, prior)
    assert back == pytest.approx((positive, negative), rel=1e-9)
    assert corruption.to_contamination(back, prior) == pytest.approx(contamination, rel=1e-9)


@pytest.mark.parametrize("container", ["array", "tensor", "frame", "sparse", "list"])
def test_two_sets_become_features_and_labels(container):
    A, B = np.arange(4.0).reshape(2, 2), np.arange(6.0).reshape(3, 2)
    as_container = {
        "array": np.asarray,
        "tensor": torch.tensor,
        "frame": lambda part: pd.DataFrame(part, columns=["a", "b"]),
        "sparse": sp.csr_matrix,
        "list": lambda part: part.tolist(),
    }[container]
    X, y = sl.from_two_sets(as_container(A), as_container(B))
    dense = X.toarray() if container == "sparse" else np.asarray(X)
    np.testing.assert_array_equal(dense, np.concatenate([A, B]))
    np.testing.assert_array_equal(y, [1, 1, -1, -1, -1])
    if container == "frame":
        assert list(X.columns) == ["a", "b"]
        assert list(X.index) == [0, 1, 2, 3, 4]


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


def test_keywords_are_whole_words_and_left_out():
    documents = ["Goal! A goal kick", "goalless", "no C++ here", "the Match-day", "rematch"]
    texts, y = from_keywords(documents, ["goal", "goal kick", "c++", "match"])
    assert texts == ["! A ", "goalless", "no  here", "the -day", "rematch"]
    np.testing.assert_array_equal(y, [1, -1, 1, 1, -1])


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


def test_codings_containers_and_the_long_format_agree():
    _, labels = annotated(0.4, 300, 0.2)
    labels = labels[~np.isnan(labels).all(axis=1)]
    zeros = np.where(labels == -1, 0, labels)
    expected = from_annotators(labels)
    frame = pd.DataFrame(zeros, columns=list("abcde"))
    for other in (zeros, frame, frame.astype("Int64"), torch.tensor(labels), [[None if v != v else v for v in row]
                                                                             for row in labels]):  # fmt: skip
        for ours, theirs in zip(expected, from_annotators(other), strict=True):
            np.testing.assert_array_equal(ours, theirs)
    item, annotator = np.nonzero(~np.isnan(labels))
    order = np.random.default_rng(0).permutation(len(item))
    names = np.array(["Ann", "Ben", "Cem", "Dan", "Eva"])
    found = from_annotators(
        zeros[item, annotator][order], items=[f"row {k:03}" for k in item[order]], annotators=names[annotator[order]]
    )
    assert (found.items[7], found.annotators.tolist()) == ("row 007", names.tolist())
    for ours, theirs in zip(expected[:7], found[:7], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    more = from_annotators(np.r_[labels, np.full((50, 5), np.nan)])  # items without labels change nothing
    assert (more.sample_weight[-50:] == 0).all()
    np.testing.assert_allclose(more.posterior[:-50], expected.posterior)
    np.testing.assert_allclose(more.posterior[-50:], more.prior)


def test_rules_that_fire_or_are_silent():
    """Rules of one class each: with their errors independent, the posterior is as good as one that knows the rates."""
    clean, rng = classes(0.3, 20_000), np.random.default_rng(5)
    says = np.array([1, 1, 1, -1, -1, -1])
    fires = np.array([[0.5, 0.05], [0.3, 0.1], [0.2, 0.02], [0.05, 0.4], [0.1, 0.3], [0.02, 0.1]])
    rates = np.where(clean[:, None] == 1, fires[:, 0], fires[:, 1])
    fired = rng.random((20_000, 6)) < rates
    found = from_annotators(np.where(fired, says, np.nan))
    known = (fired * np.log(fires[:, 0] / fires[:, 1]) + ~fired * np.log((1 - fires[:, 0]) / (1 - fires[:, 1]))).sum(1)
    labeled = fired.any(axis=1)
    assert (
        sl.metrics.auc(found.posterior[labeled], clean[labeled]) > sl.metrics.auc(known[labeled], clean[labeled]) - 0.01
    )
    assert (found.sample_weight[~labeled] == 0).all()
    with pytest.raises(ValueError, match="labels must tell some items from others"):  # silence that says nothing
        from_annotators(np.where(fired[:, :3], 1, np.nan), rules=False)


def test_few_items_are_a_warning():
    _, labels = annotated(0.4, 300, 0.0)
    with pytest.warns(UserWarning, match=r"5 of 5 annotators \(0, 1, 2, 3, 4\) are hardly known"):
        from_annotators(labels[:15])
    alone = np.full((300, 1), np.nan)
    alone[:9] = labels[:9, :1]
    with pytest.warns(UserWarning, match=r"1 of 6 annotators \(5\) are hardly known"):
        from_annotators(np.c_[labels, alone])


HUMAN = Path(os.environ.get("SYMLOSS_DATA") or Path(sl.__file__).parents[3] / "shared" / "data") / "human"


@pytest.mark.filterwarnings("ignore:the rates of")
@pytest.mark.parametrize(("name", "accuracy"), [("bluebirds", 0.889), ("products", 0.9395)])
def test_people_against_gold_labels(name, accuracy):
    """At least as good as the Dawid-Skene of crowd-kit 1.4, .889 and .940."""
    if not HUMAN.is_dir():
        pytest.skip("no labels of people at hand")
    answers, truth = (
        pd.read_csv(HUMAN / f"{name}_{which}.csv", dtype={"question": str}) for which in ("answers", "truth")
    )
    found = from_annotators(answers["answer"], items=answers["question"], annotators=answers["worker"])
    known = truth.set_index("question")["truth"].reindex(found.items)
    assert ((found.posterior > 0.5) == known).mean() >= accuracy


@pytest.mark.parametrize("name", ["hausa", "yoruba"])
def test_rules_of_topics_one_against_the_rest(name):
    """Better than the share of the votes in the mean over topics; the usual Dawid-Skene falls to chance."""
    if not HUMAN.is_dir():
        pytest.skip("no votes of rules at hand")
    texts = [
        text for part in ("train", "test") for text in json.loads((HUMAN / f"{name}_{part}.json").read_text()).values()
    ]
    votes, topic = np.array([text["weak_labels"] for text in texts]), np.array([text["label"] for text in texts])
    ours, shares_of_votes = [], []
    for of in np.unique(topic):
        yes, no = (votes == of).sum(axis=1), ((votes != of) & (votes != -1)).sum(axis=1)
        found = from_annotators(np.where(votes == -1, np.nan, votes == of))
        ours.append(sl.metrics.auc(found.posterior, topic == of))
        shares_of_votes.append(sl.metrics.auc((yes + 0.5) / (yes + no + 1), topic == of))
    assert np.mean(ours) > np.mean(shares_of_votes)
    assert min(ours) > 0.55


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


def test_border_rates_grow_towards_the_border():
    eta = np.linspace(0, 1, 201)
    rates = corruption.border_rates(eta, 0.45, border=0.5, scale=0.1)
    assert rates[100] == pytest.approx(0.45)
    assert rates[110] == pytest.approx(0.45 / np.e * np.exp(0.5), rel=1e-9)
    assert (np.diff(rates[:101]) > 0).all()
    assert (np.diff(rates[100:]) < 0).all()
    assert (np.diff(eta * (1 - rates) + (1 - eta) * rates) > 0).all()  # the noisy posterior keeps the order
    np.testing.assert_allclose(corruption.border_rates([1, 2, 4], 0.4), 0.4 * np.exp([-0.5, -1, -2]))
