import re

import numpy as np
import pandas
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st

import symloss as sl
from symloss import corruption

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


def test_every_point_is_equally_likely():
    counts = np.zeros(40)
    for seed in range(600):
        X, _ = sl.contaminate(
            np.arange(40), np.repeat([1, 0], 20), pi=0.75, pi_prime=0.25, n_positive=8, n_negative=8, random_state=seed
        )
        counts[X] += 1
    assert abs(counts - 600 * 8 / 20).max() < 5 * np.sqrt(600 * 0.4 * 0.6)


def test_containers():
    arguments = {"pi": 0.8, "pi_prime": 0.3, "n_positive": 50, "n_negative": 50, "random_state": 0}
    dense = np.stack([IDS, IDS], axis=1).astype(float)
    expected, labels = sl.contaminate(dense, Y, **arguments)
    frame, _ = sl.contaminate(pandas.DataFrame(dense, columns=["a", "b"], index=IDS[::-1]), Y, **arguments)
    assert (frame.to_numpy() == expected).all()
    assert list(frame.columns) == ["a", "b"]
    for kind in (sp.csr_matrix, sp.coo_matrix, sp.csc_array):
        sparse, _ = sl.contaminate(kind(dense), Y, **arguments)
        assert (sparse.toarray() == expected).all()
    _, from_series = sl.contaminate(dense, pandas.Series(Y, index=IDS[::-1]), **arguments)
    assert (from_series == labels).all()
    tensor, y = sl.contaminate(torch.from_numpy(dense), torch.from_numpy(Y), **arguments)
    assert (tensor.numpy() == expected).all()
    assert (y.numpy() == labels).all()
    listed, _ = sl.contaminate(dense.tolist(), Y.tolist(), **arguments)
    assert (listed == expected).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_positive": 800}, "this draw needs 790 positives and 510 negatives"),
        ({"pi": 0.3, "pi_prime": 0.8}, "swap the two labels"),
        ({"pi": 0.5, "pi_prime": 0.5}, "got 0.5 for both"),
        ({"pi": 1.2}, "pi must be between 0 and 1, got 1.2"),
        ({"pi": float("nan")}, "pi must be between 0 and 1, got nan"),
        ({"n_positive": float("inf")}, "n_positive must be a whole number >= 0, got inf"),
        ({"n_positive": None}, "n_positive must be a whole number >= 0, got None"),
        ({"X": np.array(3)}, "got one value and 1500"),
        ({"n_positive": -1}, "n_positive must be a whole number >= 0, got -1"),
        ({"n_negative": 2.5}, "n_negative must be a whole number >= 0, got 2.5"),
        ({"y": np.repeat([0, 1, 2], 500)}, "labels must be"),
        ({"X": IDS[:10]}, "X and y must have as many rows, got 10 and 1500"),
        ({"y": np.ones((10, 2))}, "y must have shape (n,), got (10, 2)"),
    ],
)
def test_bad_input(change, message):
    arguments = {"X": IDS, "y": Y, "pi": 0.8, "pi_prime": 0.3, "n_positive": 500, "n_negative": 500} | change
    with pytest.raises(ValueError, match=re.escape(message)):
        sl.contaminate(**arguments)


def test_odd_test_sets_are_refused():
    with pytest.raises(ValueError, match="n_test must be even"):
        sl.contaminated_split(IDS, Y, pi=1, pi_prime=0, n_positive=5, n_negative=5, n_test=7)


def test_pu_and_uu_are_special_cases():
    X, y = corruption.positive_unlabeled(IDS, Y, prior=0.4, n_labeled=100, n_unlabeled=500, random_state=0)
    assert (Y[X[y == 1]] == 1).all()
    assert (Y[X[y == -1]] == 1).sum() == 200
    X, y = corruption.unlabeled_unlabeled(IDS, Y, priors=(0.7, 0.2), sizes=(100, 300), random_state=0)
    assert (Y[X[y == 1]] == 1).sum() == 70
    assert (Y[X[y == -1]] == 1).sum() == 60


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


def test_flip_rates_are_checked():
    with pytest.raises(ValueError, match=r"rate_negative must be between 0 and 1, got 1\.5"):
        sl.flip_labels(Y, 0.1, 1.5)


@given(positive=st.floats(0.01, 0.49), negative=st.floats(0.01, 0.49), prior=st.floats(0.05, 0.95))
def test_conversions_go_there_and_back(positive, negative, prior):
    contamination = corruption.to_contamination((positive, negative), prior)
    back = corruption.to_flip_rates(contamination, prior)
    assert back == pytest.approx((positive, negative), rel=1e-9)
    assert corruption.to_contamination(back, prior) == pytest.approx(contamination, rel=1e-9)


def test_conversion_matches_flipped_data():
    y = np.repeat([1, -1], [60_000, 40_000])
    flipped = sl.flip_labels(y, 0.3, 0.1, random_state=0)
    expected = corruption.to_contamination((0.3, 0.1), prior=0.6)
    assert np.mean(y[flipped == 1] == 1) == pytest.approx(expected.pi, abs=0.01)
    assert np.mean(y[flipped == -1] == 1) == pytest.approx(expected.pi_prime, abs=0.01)


def test_conversions_refuse_what_cannot_be():
    with pytest.raises(ValueError, match=r"prior must be between pi' = 0\.3 and pi = 0\.8"):
        corruption.to_flip_rates((0.8, 0.3), prior=0.9)
    for prior in (0.3, 0.8):  # all corrupted labels would be the same
        with pytest.raises(ValueError, match="prior must be between"):
            corruption.to_flip_rates((0.8, 0.3), prior=prior)
    with pytest.raises(ValueError, match="two numbers each"):
        corruption.unlabeled_unlabeled(IDS, Y, priors=(0.7, 0.2, 0.1), sizes=(1, 1))
    with pytest.raises(ValueError, match="leave only one label"):
        corruption.to_contamination((1.0, 0.0), prior=0.5)
    with pytest.raises(ValueError, match="leave only one label"):
        corruption.to_contamination((0.0, 1.0), prior=0.5)
    with pytest.raises(ValueError, match="prior must be between 0 and 1"):
        corruption.to_contamination((0.1, 0.1), prior=1.0)


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


@pytest.mark.parametrize(
    ("A", "B", "message"),
    [
        ([[1.0, 2.0]], [[1.0]], "the same features"),
        (np.zeros((0, 2)), [[1.0, 2.0]], "must hold points, got 0 and 1"),
        (1.0, 2.0, "the same features"),
        (pd.DataFrame({"a": [1]}), pd.DataFrame({"b": [1]}), "the same columns"),
    ],
)
def test_two_sets_that_do_not_fit_are_named(A, B, message):
    with pytest.raises(ValueError, match=message):
        sl.from_two_sets(A, B)
