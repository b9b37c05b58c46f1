"""Fit a CV estimator here and on a cluster, new or running, a worker of which is killed; compare all numbers."""

import os
import sys
from collections import Counter

import numpy as np

import symloss as sl
from symloss.machines import cluster


def fitted(progress):
    from doomed import Doomed

    drawn = sl.datasets.make_twonorm(6000, random_state=0)
    X, y = sl.contaminate(
        drawn.data, drawn.target, pi=0.8, pi_prime=0.3, n_positive=500, n_negative=500, random_state=0
    )
    trees = sl.AUCClassifier(model="trees", n_estimators=20)
    pool = [("linear", sl.AUCClassifier()), ("doomed", Doomed()), ("trees", trees)]
    classifier = sl.AUCClassifierCV(pool, cv=2, random_state=0)
    classifier._progress = lambda title, done, total: progress.update([title])
    classifier.fit(X, y)
    return [*classifier.cv_results_.values(), classifier.oof_scores_, classifier.decision_function(X)]


if __name__ == "__main__":
    folder = os.environ.pop("DOOMED")
    told_here, told_there = Counter(), Counter()
    here = fitted(told_here)
    os.environ["DOOMED"] = folder
    backend, where = sys.argv[1:]
    with cluster(backend, jobs=int(where)) if where.isdecimal() else cluster(backend, where):
        there = fitted(told_there)
    for a, b in zip(here, there, strict=True):
        np.testing.assert_array_equal(a, b)
    assert told_here == told_there, (told_here, told_there)
