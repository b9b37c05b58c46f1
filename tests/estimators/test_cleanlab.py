"""cleanlab takes the CV estimators as its classifier: they have probabilities of the observed label."""

import numpy as np
import pytest
from cleanlab.classification import CleanLearning
from sklearn.datasets import make_classification

import symloss as sl


@pytest.mark.parametrize("kind", [sl.AUCClassifierCV, sl.BERClassifierCV])
def test_cleanlab_finds_flipped_labels_with_a_cv_estimator(kind):
    X, y = make_classification(400, 8, n_informative=6, class_sep=2.0, flip_y=0, random_state=0)
    flipped = np.random.default_rng(0).random(400) < 0.15
    noisy = np.where(flipped, 1 - y, y)
    pool = [
        ("trees", sl.AUCClassifier(model="trees", n_estimators=30, min_samples_leaf=5, threshold=0.0, random_state=0)),
        ("linear", sl.AUCClassifier(threshold=0.0, random_state=0)),
    ]
    learner = CleanLearning(
        kind(pool, cv=2, random_state=0), cv_n_folds=2, seed=0, find_label_issues_kwargs={"n_jobs": 1}
    ).fit(X, noisy)
    marked = learner.get_label_issues()["is_label_issue"].to_numpy()
    assert flipped[marked].mean() > 0.6
    assert marked[flipped].mean() > 0.6
    assert (learner.predict(X) == y).mean() > (noisy == y).mean()
