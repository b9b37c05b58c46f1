"""One thread where the library works, as many as before afterwards, and nothing changed for other threads."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import ThreadpoolController, threadpool_info
from torch import nn

import symloss as sl
from symloss.estimators import networks, selection
from symloss.threads import one_thread, threads_for


def numbers():
    """The number of threads of each library, as the calling thread has it."""
    return {"torch": torch.get_num_threads(), **{each["filepath"]: each["num_threads"] for each in threadpool_info()}}


def in_new_thread(function):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()


@pytest.fixture(autouse=True)
def _several_threads():
    """Tests run on one thread; here there must be something to limit."""
    blas, openmp = (ThreadpoolController().select(user_api=kind) for kind in ("blas", "openmp"))
    limit = in_new_thread(lambda: blas.limit(limits=2))  # a thread that lives on would keep BLAS to itself
    with openmp.limit(limits=2):
        torch.set_num_threads(3)
        yield
    in_new_thread(limit.restore_original_limits)


def test_one_thread_within_and_as_many_as_before_after():
    before = numbers()
    assert 1 not in before.values()
    with one_thread():
        assert set(numbers().values()) == {1}
        with one_thread():
            assert set(numbers().values()) == {1}
        assert set(numbers().values()) == {1}
    assert numbers() == before
    assert before["torch"] == 3


PRODUCTS = """
import threading
import time
from pathlib import Path

import numpy as np
import torch

from symloss.threads import one_thread


def ticks():
    tasks = [task for task in Path("/proc/self/task").iterdir() if task.name != str(threading.get_native_id())]
    return sum(sum(map(int, (task / "stat").read_text().rpartition(")")[2].split()[11:13])) for task in tasks)


def products(matrix):
    before = ticks()
    for _ in range(40):
        matrix @ matrix
    return ticks() - before


def wait_for_sleep():
    before = -1
    while before < (before := ticks()):  # threads without work wait awake for a while
        time.sleep(0.5)


torch.set_num_threads(2)
A = np.random.default_rng(0).normal(size=(900, 900))
for matrix in (torch.from_numpy(A), A):
    products(matrix)
    with one_thread():
        wait_for_sleep()
        one = products(matrix)
    print(one, products(matrix))
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted as Linux does")
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core has one thread")
def test_products_are_done_by_the_calling_thread():
    """By the CPU time that other threads of the process take, in hundredths of a second."""
    environment = {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")}
    found = subprocess.run(
        [sys.executable, "-c", PRODUCTS], env=environment, capture_output=True, text=True, check=True
    ).stdout
    ticks = np.array([line.split() for line in found.splitlines()], dtype=int)
    assert ticks.shape == (2, 2)
    assert (4 * ticks[:, 0] < ticks[:, 1]).all()


def test_an_error_restores_them_too():
    before = numbers()
    with pytest.raises(ZeroDivisionError), one_thread():
        raise ZeroDivisionError
    assert numbers() == before


def test_other_threads_keep_theirs():
    with one_thread():
        assert in_new_thread(torch.get_num_threads) == 3
    assert in_new_thread(torch.get_num_threads) == 3


def test_blocks_of_many_threads_that_overlap():
    before = numbers()
    inside = threading.Barrier(4)

    def work(k):
        torch.set_num_threads(3)
        found = []
        for _ in range(10):
            with one_thread():
                inside.wait(30)
                found.append(set(numbers().values()))
            found.append({torch.get_num_threads()})
        return found

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(4))) == [[{1}, {3}] * 10] * 4
    assert numbers() == before
    assert in_new_thread(torch.get_num_threads) == 3


def test_only_large_steps_are_shared():
    with threads_for(1e6):
        assert torch.get_num_threads() == 1
    with threads_for(1e12):
        assert torch.get_num_threads() == 3


class Spy(nn.Module):
    """A network that notes the number of threads it is run on."""

    seen: list[int]

    def __init__(self, width):
        super().__init__()
        self.seen = []
        self.layers = nn.Sequential(nn.Linear(5, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, X):
        self.seen.append(torch.get_num_threads())
        return self.layers(X)


def drawn(n=60):
    X = np.random.default_rng(0).normal(size=(n, 5))
    return X, X[:, 0] > 0


@pytest.mark.parametrize(("worth", "threads"), [(2e9, 1), (100.0, 3)])
def test_networks_are_on_several_threads_if_large(monkeypatch, worth, threads):
    monkeypatch.setattr("symloss.threads._WORTH_SHARING", worth)
    spy = Spy(20)
    fitted = sl.AUCClassifier(model=lambda d: spy, n_seeds=1, epochs=2, threshold=0.0).fit(*drawn())
    assert spy.seen[1:] == [threads] * 2  # the first time, its multiplications are counted
    spy.seen.clear()
    fitted.decision_function(drawn()[0])
    assert spy.seen == [threads]


def test_multiplications_are_those_of_the_products():
    spy = Spy(20)
    assert networks._multiplications(spy, torch.zeros(7, 5)) == 7 * (5 * 20 + 20)
    assert networks._multiplications(spy, torch.zeros(14, 5)) == 14 * (5 * 20 + 20)
    assert len(spy.seen) == 1


@pytest.mark.parametrize("model", ["linear", "kernel"])
def test_linear_and_kernel_models_are_fitted_on_one_thread(monkeypatch, model):
    seen = []

    def risk(scores, labels, loss, weight):
        seen.append(torch.get_num_threads())
        return sl.functional.auc_risk(scores, labels, loss, weight)

    monkeypatch.setattr("symloss.estimators.linear.auc_risk", risk)
    sl.AUCClassifier("logistic", model, threshold=0.0).fit(*drawn())
    assert set(seen) == {1}


class Boosting(HistGradientBoostingClassifier):
    """Notes its number of threads."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y, sample_weight=None):
        self.seen.append(set(numbers().values()))
        return super().fit(X, y, sample_weight)


def test_scikit_learns_candidates_are_fitted_on_one_thread_and_others_are_left_alone(monkeypatch):
    before = numbers()
    pool = [("boosting", Boosting(max_iter=2))]
    Boosting.seen.clear()
    selection.AUCClassifierCV(pool, cv=2, random_state=0).fit(*drawn())
    assert Boosting.seen == [set(before.values())] * 3
    monkeypatch.setattr(Boosting, "__module__", "sklearn.ensemble")
    Boosting.seen.clear()
    selection.AUCClassifierCV(pool, cv=2, random_state=0).fit(*drawn())
    assert Boosting.seen == [{1}] * 3
    assert numbers() == before
