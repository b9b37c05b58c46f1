"""Work through joblib: here, and on real local clusters of Dask and Ray, in processes of their own."""

import os
import secrets
import subprocess
import sys
from pathlib import Path

import pytest
from joblib import Parallel, delayed

import symloss as sl
from symloss.machines import cluster, completed

FIT = """
import sys
from contextlib import nullcontext

import numpy as np
import symloss as sl
from joblib.parallel import get_active_backend

drawn = sl.datasets.make_twonorm(400, random_state=0)
pool = [("linear", sl.AUCClassifier()), ("trees", sl.AUCClassifier(model="trees", n_estimators=20))]

def fitted():
    classifier = sl.AUCClassifierCV(pool, cv=2, random_state=0).fit(drawn.data, drawn.target)
    return classifier.oof_scores_, classifier.decision_function(drawn.data)

if __name__ == "__main__":
    here = fitted()
    with sl.machines.cluster(sys.argv[1], jobs=2):
        print(type(get_active_backend()[0]).__name__)
        there = fitted()
    for a, b in zip(here, there, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
"""
CELLS = ["--datasets", "twonorm", "--noise", "1,0", "--noise", "0.8,0.3", "--losses", "unhinged", "--no-download"]
REPRODUCE = [sys.executable, "-m", "symloss", "reproduce", "uci", *CELLS, "--trials", "1", "--jobs", "2"]


def run(command, folder):
    environment = os.environ | {
        "PYTHONPATH": str(Path(sl.__file__).parents[1]),
        "OMP_NUM_THREADS": "1",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),  # else Ray writes one into the home folder
    }
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.cluster
@pytest.mark.parametrize(("backend", "name"), [("dask", "DaskDistributedBackend"), ("ray", "RayBackend")])
def test_a_fit_on_a_cluster_is_the_local_fit(backend, name, tmp_path):
    (tmp_path / "fit.py").write_text(FIT)
    assert run([sys.executable, "fit.py", backend], tmp_path).split()[0] == name


@pytest.mark.cluster
def test_an_experiment_on_a_cluster_gives_the_local_scores(tmp_path):
    for backend in ("loky", "dask", "ray"):
        run([*REPRODUCE, "--backend", backend, "--out", backend], tmp_path)
        run([sys.executable, "-m", "symloss", "compare", backend, "--csv", f"{backend}.csv"], tmp_path)
    loky, dask, ray = ((tmp_path / f"{backend}.csv").read_text() for backend in ("loky", "dask", "ray"))
    assert len(loky.splitlines()) == 5  # two noise rates, two risks
    assert loky == dask == ray


def test_processes_of_this_machine():
    with cluster("loky", jobs=3):
        assert Parallel().n_jobs == 3
        assert os.getpid() not in Parallel()(delayed(os.getpid)() for _ in range(3))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"backend": "slurm"}, "backend must be loky, dask or ray, got 'slurm'"),
        ({"address": "tcp://host:8786"}, "an address is for dask or ray"),
        ({"backend": "dask", "address": "tcp://host:8786", "jobs": 2}, "the cluster at tcp://host:8786 has its own"),
        ({"jobs": 0}, "or -1 for one per core; got 0"),
    ],
)
def test_clusters_that_cannot_be_had(options, message):
    with pytest.raises(ValueError, match=message), cluster(**options):
        pass


def test_results_come_with_the_numbers_of_their_tasks():
    assert dict(completed(divmod, [(7, 2), (9, 2)], jobs=2)) == {0: (3, 1), 1: (4, 1)}


def test_an_error_of_the_function_is_raised():
    with pytest.raises(ZeroDivisionError):
        list(completed(divmod, [(1, 1), (1, 0)], jobs=2))
