"""Scores are the same to the last bit: for rows alone and in batches, and for any number of jobs and of threads."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from torch import nn

import symloss as sl
from symloss.estimators.family_table import FAMILIES

FITTED = {
    "linear": sl.AUCClassifier("logistic"),
    "linear far from zero": sl.BERClassifier("logistic"),
    "kernel": sl.AUCClassifier("logistic", "kernel", n_landmarks=37),
    "gaussian_process": sl.BERClassifier("squared", "gaussian_process", n_landmarks=37),
    "relevance_process": sl.AUCClassifier("squared", "relevance_process", n_landmarks=37),
    "trees": sl.AUCClassifier(model="trees", n_estimators=30, min_samples_leaf=3),
    "boosting": sl.AUCClassifier("logistic", "boosting", n_estimators=30, min_samples_leaf=3, max_leaf_nodes=31),
    "cells": sl.AUCClassifier(model="cells", n_estimators=30),
    "mlp": sl.AUCClassifier("sigmoid", "mlp", hidden_units=33, n_seeds=3, epochs=2),
}  # fmt: skip


def table(n, d, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, d))
    return X, np.where(X[:, 0] + X[:, -1] ** 2 + generator.normal(size=n) > 1, 1, -1)


def assert_same_scores(model, X):
    """Score rows alone, in sevens, from the end, from the middle, and in another layout of memory."""
    scores = model.decision_function(X)
    assert len(set(scores.tolist())) > 20
    for size in (1, 7):
        parts = [model.decision_function(X[start : start + size]) for start in range(0, len(X), size)]
        np.testing.assert_array_equal(np.concatenate(parts), scores)
    np.testing.assert_array_equal(model.decision_function(X[::-1])[::-1], scores)
    np.testing.assert_array_equal(model.decision_function(X[5:]), scores[5:])
    np.testing.assert_array_equal(model.decision_function(np.asfortranarray(X)), scores)


@pytest.mark.parametrize("d", [1, 3, 20, 101])
@pytest.mark.parametrize("name", FITTED)
def test_rows_alone_and_in_batches(name, d):
    X, y = table(150, d)
    X += 1e6 * ("far" in name)
    assert_same_scores(FITTED[name].set_params(random_state=0, threshold=0.0).fit(X, y), X)


def test_every_family_is_tested():
    assert FAMILIES.keys() <= FITTED.keys()


def test_a_network_of_ones_own_scores_alike_up_to_rounding():
    X, y = table(150, 20)
    network = nn.Sequential(nn.Linear(20, 19), nn.ReLU(), nn.Linear(19, 1))
    model = sl.BERClassifier("sigmoid", network, epochs=2, random_state=0, threshold=0.0).fit(X, y)
    alone = [model.decision_function(X[row : row + 1])[0] for row in range(150)]
    np.testing.assert_allclose(alone, model.decision_function(X), rtol=0, atol=1e-5)


def test_sparse_rows_alone_and_in_batches():
    X, y = table(150, 30)
    X = scipy.sparse.csr_matrix(np.where(np.abs(X) > 1, X, 0.0))
    model = sl.AUCClassifier("logistic").fit(X, y)
    parts = [model.decision_function(X[row]) for row in range(150)]
    np.testing.assert_array_equal(np.concatenate(parts), model.decision_function(X))


def test_an_average_of_all_families():
    X, y = table(150, 6)
    pool = [(name, FITTED[name]) for name in ("linear", "kernel", "gaussian_process", "trees")]
    model = sl.AUCClassifierCV(pool, temperature=10.0, cv=2, random_state=0).fit(X, y)
    assert len(model.members_) == 4
    assert_same_scores(model, X)
    names = list("abcdef")
    frame = pd.DataFrame(X, columns=names).assign(y=y)
    fitted = sl.tabular.fit(frame, label="y", candidates=pool)
    scores = fitted.predict(frame[names]).scores
    alone = [fitted.predict(frame[names].iloc[[row]]).scores[0] for row in range(20)]
    np.testing.assert_array_equal(alone, scores[:20])


PROGRAM = """
import sys
import numpy as np
import symloss as sl

X = np.random.default_rng(0).normal(size=(300, 8))
y = X[:, 0] + X[:, 1] ** 2 + np.random.default_rng(1).normal(size=300) > 1
model = sl.AUCClassifierCV(random_state=0, n_jobs=int(sys.argv[1])).fit(X, y)
for numbers in (model.decision_function(X), model.label_quality_, [model.threshold_]):
    print(*(float(number).hex() for number in numbers))
"""


@pytest.mark.slow
def test_any_number_of_jobs_and_threads():
    printed = set()
    for jobs, threads in (("1", "1"), ("2", "1"), ("1", "2")):
        environment = os.environ | {"OMP_NUM_THREADS": threads}
        result = subprocess.run([sys.executable, "-c", PROGRAM, jobs], capture_output=True, text=True, env=environment)
        assert result.returncode == 0, result.stderr
        assert len(result.stdout.split()) == 601
        printed.add(result.stdout)
    assert len(printed) == 1
