"""Where work runs: processes of this machine, or a cluster of Dask or Ray, by joblib's own backends."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import islice
from multiprocessing import resource_tracker
from typing import Any

from joblib import Parallel, cpu_count, delayed, effective_n_jobs, parallel_config
from joblib.externals.loky import get_reusable_executor
from joblib.parallel import get_active_backend

from symloss.extras import require


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
