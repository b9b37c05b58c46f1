"""Fit a CV estimator here and on a cluster, new or running, a worker of which is killed; compare all numbers.

Arguments: the backend, and a number of workers, an address, or "joblib" for two workers and joblib's own words.
"""

import os
import sys
from collections import Counter
from contextlib import contextmanager

import numpy as np
from joblib import parallel_config

import symloss as sl
from symloss.machines import cluster, register_ray


def fitted(progress):
    from doomed import Doomed

    drawn = sl.datasets.make_twonorm(6000, random_state=0)
    X, y = sl.contaminate(
        drawn.data, drawn.target, pi=0.8, pi_prime=0.3, n_positive=500, n_negative=500, random_state=0
    )
    trees = sl.AUCClassifier(model="trees", n_estimators=20)
    pool = [("linear", sl.AUCClassifier()), ("doomed", Doomed()), ("trees", trees)]
    classifier = sl.AUCClassifierCV(
        pool, cv=2, random_state=0, callback=lambda stage, done, total, name: progress.update([stage])
    )
    classifier.fit(X, y)
    return [*classifier.cv_results_.values(), classifier.oof_scores_, classifier.decision_function(X)]


@contextmanager
def in_joblibs_words(backend):
    if backend == "dask":
        from distributed import Client

        with Client(n_workers=2, threads_per_worker=1, dashboard_address=None), parallel_config("dask"):
            yield
    else:
        import ray

        ray.init("local", num_cpus=2, include_dashboard=False)
        register_ray()
        with parallel_config("symloss-ray"):
            yield


def there(backend, where):
    if where == "joblib":
        return in_joblibs_words(backend)
    return cluster(backend, jobs=int(where)) if where.isdecimal() else cluster(backend, where)


if __name__ == "__main__":
    folder = os.environ.pop("DOOMED")
    told_here, told_there = Counter(), Counter()
    here = fitted(told_here)
    os.environ["DOOMED"] = folder
    with there(*sys.argv[1:]):
        far = fitted(told_there)
    for a, b in zip(here, far, strict=True):
        np.testing.assert_array_equal(a, b)
    assert told_here == told_there, (told_here, told_there)
