"""One thread where the library works, as many as before afterwards, and nothing changed for other threads."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import ThreadpoolController, threadpool_info
from torch import nn

import symloss as sl
from symloss import threads
from symloss.estimators import candidates, kernel, linear, networks, selection, standard_errors, standardization
from symloss.paper import run as paper_run
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


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted as Linux does")
@pytest.mark.skipif(len(getattr(os, "sched_getaffinity", set)(0)) < 2, reason="one core has one thread")
def test_products_are_done_by_the_calling_thread():
    """By the CPU time that other threads of the process take, in hundredths of a second."""
    environment = {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")}
    found = subprocess.run(
        [sys.executable, "-c", PRODUCTS], env=environment, capture_output=True, text=True, check=True, timeout=120
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


def test_a_limit_of_another_thread_that_ends_meanwhile_is_not_kept():
    """scikit-learn limits BLAS to one thread in some of its loops."""
    before = numbers()
    blas = ThreadpoolController().select(user_api="blas")
    limited = in_new_thread(lambda: blas.limit(limits=1))
    with one_thread():
        in_new_thread(limited.restore_original_limits)
    assert numbers() == before


class OfEachThread:
    """A library whose number of threads every thread has for itself, such as an OpenBLAS with OpenMP."""

    user_api, internal_api, threading_layer, prefix, filepath = "blas", "openblas", "openmp", "libopenblas", "there"

    def __init__(self):
        self._numbers = threading.local()

    @property
    def num_threads(self):
        return getattr(self._numbers, "now", 8)

    def set_num_threads(self, number):
        self._numbers.now = number

    def info(self, **_):
        return {"user_api": "blas", "prefix": self.prefix, "filepath": self.filepath, "num_threads": self.num_threads}


def test_libraries_with_a_number_for_each_thread(monkeypatch):
    library = OfEachThread()
    controller = ThreadpoolController()
    controller.lib_controllers.append(library)
    monkeypatch.setattr(threads, "_loaded", lambda modules: controller)
    inside = threading.Barrier(2)

    def work(k):
        with one_thread():
            inside.wait(30)
            found = library.num_threads
            inside.wait(30)
        return found, library.num_threads

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(work, range(2))) == [(1, 8)] * 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_is_in_no_block():
    blas = ThreadpoolController().select(user_api="blas")
    before = blas.info()
    inside, left = threading.Event(), threading.Event()

    def work():
        with one_thread():
            inside.set()
            left.wait(30)

    other = threading.Thread(target=work)
    other.start()
    inside.wait(30)
    child = os.fork()
    if not child:
        os._exit(0 if blas.info() == before and not threads._SHARED._blocks else 1)
    left.set()
    other.join()
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_process_forked_within_a_block_has_blocks_of_its_own():
    with one_thread():
        child = os.fork()
    if not child:
        with one_thread():
            os._exit(0 if set(numbers().values()) == {1} else 1)
    assert os.waitpid(child, 0)[1] == 0


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
    assert spy.seen == [threads] * 2
    spy.seen.clear()
    fitted.decision_function(drawn()[0])
    assert spy.seen == [threads]


def test_multiplications_are_points_times_parameters():
    assert networks._multiplications(nn.Linear(5, 20), 7) == 7 * (5 * 20 + 20)


@pytest.mark.parametrize("model", ["linear", "kernel"])
def test_linear_and_kernel_models_are_fitted_on_one_thread(monkeypatch, model):
    seen = []

    def risk(scores, labels, loss, weight, **settings):
        seen.append(torch.get_num_threads())
        return sl.functional.auc_risk(scores, labels, loss, weight, **settings)

    monkeypatch.setattr("symloss.estimators.linear.auc_risk", risk)
    sl.AUCClassifier("logistic", model, threshold=0.0).fit(*drawn())
    assert set(seen) == {1}


def noting(seen, function):
    def noted(*args, **options):
        seen.append(torch.get_num_threads())
        return function(*args, **options)

    return noted


def test_means_scores_and_standard_errors_are_on_one_thread(monkeypatch):
    seen: list[int] = []
    places = (
        (standardization, "blocks"), (linear, "rows_times_vector"), (kernel, "rows_times_matrix"),
        (networks, "rows_times_matrix"), (standard_errors, "share_below"),
    )  # fmt: skip
    for module, name in places:
        monkeypatch.setattr(module, name, noting(seen, getattr(module, name)))
    X, y = drawn()
    standardization.Standardization.fit(X, np.ones(len(X)))
    fitted = sl.AUCClassifier("logistic", "kernel", threshold=0.0).fit(X, y)
    fitted.decision_function(X)
    sl.AUCClassifier("sigmoid", "mlp", threshold=0.0, epochs=1, hidden_units=5).fit(X, y).decision_function(X)
    selection.AUCClassifierCV([("linear", sl.AUCClassifier())], cv=2).fit(X, y)
    assert len(seen) > 5
    assert set(seen) == {1}


def test_the_papers_perceptrons_are_trained_and_scored_on_one_thread(monkeypatch):
    seen: list[int] = []
    monkeypatch.setattr(paper_run, "train", noting(seen, paper_run.train))
    X, y = drawn(200)
    quick = paper_run.Settings(epochs=1, n_positive=20, n_negative=20, n_test=20)
    paper_run.run_trials(X, np.where(y, 1, -1), 0.8, 0.3, [sl.Sigmoid()], ["auc"], trials=1, settings=quick)
    assert seen == [1]


def test_an_analysis_runs_on_one_thread(monkeypatch):
    seen: list[int] = []
    analysis = sys.modules["symloss.theory.analysis"]
    monkeypatch.setattr(analysis, "probes", noting(seen, analysis.probes))
    sl.theory.analyze("hinge")
    assert seen == [1]


def test_networks_are_built_copied_and_moved_on_one_thread(monkeypatch):
    seen: list[int] = []
    for name in ("as_tensor", "build_networks", "hold_out"):
        monkeypatch.setattr(networks, name, noting(seen, getattr(networks, name)))
    monkeypatch.setattr(networks.copy, "deepcopy", noting(seen, networks.copy.deepcopy))
    X, y = drawn(100)
    quick = {"epochs": 1, "hidden_units": 5, "n_seeds": 1, "threshold": 0.0, "early_stopping": True, "warm_start": True}
    model = sl.AUCClassifier("sigmoid", "mlp", **quick)
    for _ in range(2):  # the second time from where the first ended
        model.fit(X, y).decision_function(X)
    assert len(seen) > 6
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
    assert isinstance(candidates.threads_of(make_pipeline(Boosting(), sl.AUCClassifier())), nullcontext)
    assert not isinstance(candidates.threads_of(make_pipeline(StandardScaler(), Boosting())), nullcontext)
