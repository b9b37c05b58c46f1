"""Where work runs: on how many threads, in which processes of this machine, or on a cluster of Dask or Ray.

PyTorch, OpenBLAS and scikit-learn have threads of their own, which wait for each other at the end of every operation.
Where an operation takes microseconds, the waiting takes longer than the work, and far longer where another program
keeps a core busy. So the library runs its own work on one thread, unless matrix products are so large that several are
faster. To work on several candidates of a search, or cells of a table, at a time, use ``n_jobs``.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from itertools import islice
from multiprocessing import resource_tracker
from typing import Any

import torch
from joblib import Parallel, cpu_count, delayed, effective_n_jobs, parallel_config
from joblib.externals.loky import get_reusable_executor
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

from symloss.messages import require

_WORTH_SHARING = 5e9  # multiplications, from which several threads are faster


def threads_for(multiplications: float) -> AbstractContextManager[None]:
    """Return a context in which work uses one thread, unless a batch takes very many multiplications."""
    return one_thread() if multiplications < _WORTH_SHARING else nullcontext()


@contextmanager
def one_thread() -> Iterator[None]:
    """Let PyTorch, OpenMP and BLAS use one thread in this block, and as many as before after it.

    OpenMP has a number of threads for each calling thread. BLAS has one for the whole process: it is restored when the
    last such block of all threads ends.
    """
    before = torch.get_num_threads()
    with _blas, _loaded(len(sys.modules)).select(user_api="openmp").limit(limits=1):
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(before)


class _Blas:
    """Limits BLAS from when the first block is entered, in any thread, until the last block is left."""

    def __init__(self) -> None:
        self._lock, self._blocks = threading.Lock(), 0
        self._before: list[tuple[Any, int]] = []

    def __enter__(self) -> None:
        with self._lock:
            if not self._blocks:
                for library in _loaded(len(sys.modules)).select(user_api="blas").lib_controllers:
                    self._before.append((library, library.num_threads))
                    _set_threads(library, 1)
            self._blocks += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._blocks -= 1
            while not self._blocks and self._before:
                _set_threads(*self._before.pop())


def _set_threads(library: Any, number: int) -> None:
    library.set_num_threads(number)
    if hasattr(library, "clear_controlling_thread"):
        library.clear_controlling_thread()  # otherwise no other thread could set it


_blas = _Blas()


@lru_cache(maxsize=1)
def _loaded(modules: int) -> ThreadpoolController:  # noqa: ARG001
    """Return all loaded libraries that have threads; they are looked up again if the number of modules has changed."""
    return ThreadpoolController()


@contextmanager
def cluster(backend: str = "loky", address: str | None = None, jobs: int = -1) -> Iterator[None]:
    """Run the joblib calls inside the block on several processes or machines.

    This is ``joblib.parallel_config``, with a cluster of Dask or Ray that is connected to, or started and ended here.

    Parameters
    ----------
    backend : {"loky", "dask", "ray"}
        Processes of this machine, or a cluster of Dask or Ray.
    address : str, optional
        The address of a running cluster: ``tcp://host:8786`` for Dask's scheduler, ``ray://host:10001`` for a Ray head,
        or ``auto`` on a machine that belongs to a Ray cluster. The machines of the cluster need the same versions of
        symloss, PyTorch and NumPy as this one.
    jobs : int
        The number of processes to start here, with one thread each, if no address is given; -1 means one per core.

    Examples
    --------
    >>> from joblib import Parallel, delayed
    >>> with cluster("loky", jobs=1):
    ...     Parallel()(delayed(pow)(k, 2) for k in range(4))
    [0, 1, 4, 9]
    """
    if backend not in ("loky", "dask", "ray"):
        raise ValueError(f"backend must be loky, dask or ray, got {backend!r}")
    if address is not None and (backend == "loky" or jobs != -1):
        raise ValueError(
            f"an address is for dask or ray, and without jobs: the cluster at {address} has its own workers"
        )
    processes = cpu_count() if jobs == -1 else jobs
    if processes < 1:
        raise ValueError(f"jobs must be a number of processes, or -1 for one per core; got {jobs!r}")
    if backend == "loky":
        try:
            with parallel_config("loky", n_jobs=processes):
                yield
        except (KeyboardInterrupt, SystemExit):  # otherwise the workers would finish their tasks, or wait for more
            get_reusable_executor(reuse=True).shutdown(kill_workers=True)
            raise
    elif backend == "dask":
        require("dask", "the dask backend needs Dask", "distributed")
        from distributed import Client

        here = {"n_workers": processes, "threads_per_worker": 1, "dashboard_address": None}
        with Client(address, **({} if address else here)), parallel_config("dask"):
            yield
    else:
        require("ray", "the ray backend needs Ray", "ray")
        import ray
        from ray.util.joblib import register_ray

        register_ray()
        if address:
            ray.init(address)
        else:
            ray.init("local", num_cpus=processes, include_dashboard=False)
        try:
            with parallel_config("ray"):
                yield
        finally:
            ray.shutdown()


def completed(
    function: Callable[..., Any], tasks: Iterable[Sequence[Any]], jobs: int | None = None
) -> Iterator[tuple[int, Any]]:
    """Call a function with the arguments of each task, and yield each task's number and result as soon as it is ready.

    joblib decides where the tasks run; ``jobs`` is its ``n_jobs``.
    """
    calls = (delayed(_call)(number, function, *task) for number, task in enumerate(tasks))
    if effective_n_jobs(jobs) > 1:
        _start_tracker()
    try:
        parallel = Parallel(jobs, return_as="generator_unordered", batch_size=1)
    except ValueError:  # Ray's backend returns lists only: keep them short
        parallel = Parallel(jobs, batch_size=1)
        while some := list(islice(calls, effective_n_jobs(parallel.n_jobs))):
            yield from parallel(some)
    else:
        yield from parallel(calls)


def _start_tracker() -> None:
    """Start Python's tracker of resources now: it would unblock Ctrl-C, and so let workers die with a traceback."""
    if hasattr(signal, "pthread_sigmask"):  # not on Windows
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        resource_tracker.ensure_running()
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _call(number: int, function: Callable[..., Any], *args: Any) -> tuple[int, Any]:
    """Call the function in the worker; its own joblib calls stay there, while Dask would send them to the cluster."""
    dask = type(get_active_backend()[0]).__name__ == "DaskDistributedBackend"
    with parallel_config("threading", n_jobs=1) if dask else nullcontext():
        return number, function(*args)
