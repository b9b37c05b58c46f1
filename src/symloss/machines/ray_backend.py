"""Ray as a joblib backend: every batch of calls is a Ray task.

Ray's own backend is a pool of actors. There joblib gets all results at the end instead of one by one, and a killed
actor makes the whole call fail.
"""

from __future__ import annotations

import copy
import logging
import threading
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from typing import Any

from joblib import register_parallel_backend
from joblib.parallel import ParallelBackendBase

_LOG = logging.getLogger(__name__)
_RETRIES = 3  # how often a task is run again after its worker died, as in Dask
_GOODBYE = 10  # how many seconds to wait for cancelled tasks
_LARGE = 100_000  # arrays of at least this many bytes are sent once, through Ray's object store


def register_ray() -> None:
    """Register this backend, so that ``with joblib.parallel_config("symloss-ray")`` runs on Ray.

    Unlike Ray's own backend, it returns each result when it is ready, runs the tasks of a killed worker again, and
    sends large arrays once. Ray's own backend, which ``ray.util.joblib.register_ray`` registers as ``"ray"``, stays
    as it is. ``cluster("ray")`` needs no registration.

    Examples
    --------
    >>> register_ray()
    >>> from joblib.parallel import BACKENDS
    >>> BACKENDS["symloss-ray"].__name__
    'RayBackend'
    """
    register_parallel_backend("symloss-ray", RayBackend)


class RayBackend(ParallelBackendBase):  # type: ignore[misc]
    """Every task has a thread that waits until Ray has run it, and submits it again if its worker dies."""

    supports_retrieve_callback = True
    default_n_jobs = -1

    def effective_n_jobs(self, n_jobs: int | None) -> int:
        """Return how many tasks may run at once; -1 means one per CPU of the cluster."""
        import ray

        if n_jobs == 0:
            raise ValueError("n_jobs must be a number of tasks at a time, or -1 for one per CPU; got 0")
        cpus = int(ray.cluster_resources().get("CPU", 1))
        n_jobs = -1 if n_jobs is None else n_jobs
        return n_jobs if n_jobs > 0 else max(1, cpus + 1 + n_jobs)

    def configure(self, n_jobs: int = 1, parallel: Any = None, **_: Any) -> int:
        """Start the threads, and Ray if it is not running; return how many tasks joblib may submit at a time."""
        import ray

        if not ray.is_initialized():
            ray.init()
        self.parallel = parallel
        self._remote = ray.remote(num_cpus=1, max_retries=0)(_run)
        self._lock = threading.Lock()
        self._stored: dict[int, tuple[Any, Any]] = {}
        self._running: set[Any] = set()
        self._futures: set[Future[Any]] = set()
        self._aborted = threading.Event()
        jobs = self.effective_n_jobs(n_jobs)
        self._threads = ThreadPoolExecutor(jobs, thread_name_prefix="symloss-ray")
        return max(2, jobs)  # with 1, joblib would run everything in this process

    def submit(self, func: Any, callback: Any = None) -> Future[Any]:
        """Submit a batch of calls, and return its future."""
        future = self._threads.submit(self._result, func, self._aborted)
        self._futures.add(future)
        future.add_done_callback(self._futures.discard)
        if callback is not None:
            future.add_done_callback(callback)
        return future

    apply_async = submit  # the name of this method before joblib 1.5

    def retrieve_result_callback(self, future: Future[Any]) -> Any:
        """Return a batch's results, or raise its exception."""
        return future.result()

    def stop_call(self) -> None:
        """Forget the arrays that a call of ``Parallel`` has stored."""
        self._stored.clear()

    def terminate(self) -> None:
        """Tell the threads to end, without waiting for them."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def abort_everything(self, ensure_ready: bool = True) -> None:
        """Cancel running tasks, and wait for the threads: one that uses Ray while it shuts down crashes the process."""
        import ray

        self._aborted.set()  # from now on, no thread starts another task
        self.terminate()
        with self._lock:
            running = list(self._running)
        connected = ray.is_initialized()  # if not, ray.cancel would start a cluster here
        for reference in running if connected else ():
            ray.cancel(reference, force=True)
        wait(list(self._futures), _GOODBYE)
        if ensure_ready and connected:
            self.configure(n_jobs=self.parallel.n_jobs, parallel=self.parallel)

    def _result(self, batch: Any, aborted: threading.Event) -> Any:
        from ray.exceptions import RayError, RayTaskError

        _check_connected()
        batch = copy.copy(batch)
        batch.items = [(function, [self._store(arg) for arg in args], kw) for function, args, kw in batch.items]
        for retry in range(_RETRIES + 1):
            try:
                return self._once(batch, aborted)
            except RayTaskError as error:
                raise error.cause from None  # the exception that the function raised
            except RayError as error:
                if retry == _RETRIES or aborted.is_set():
                    raise
                _LOG.warning("a Ray worker died (%s); what it had is run again", type(error).__name__)
        raise AssertionError("unreachable")

    def _once(self, batch: Any, aborted: threading.Event) -> Any:
        import ray

        with self._lock:
            if aborted.is_set():
                raise CancelledError
            _check_connected()
            reference = self._remote.remote(batch)
            self._running.add(reference)
        try:
            return ray.get(reference)
        finally:
            with self._lock:
                self._running.discard(reference)

    def _store(self, arg: Any) -> Any:
        """Return a reference to a large array, which is stored once per call, or else the argument itself."""
        import ray

        if _size(arg) < _LARGE:
            return arg
        with self._lock:
            if id(arg) not in self._stored:
                self._stored[id(arg)] = arg, ray.put(arg)  # arg is kept, so that no other object gets its id
            return self._stored[id(arg)][1]


def _check_connected() -> None:
    """Raise an error if the connection is lost; Ray would look for another cluster, or start one here."""
    import ray

    if not ray.is_initialized():
        raise ConnectionError("the connection to the Ray cluster is lost")


def _size(arg: Any) -> int:
    """Return how many bytes the entries of an array or of a sparse matrix take; 0 for anything else."""
    return int(getattr(arg, "nbytes", 0) or getattr(getattr(arg, "data", None), "nbytes", 0))


def _run(batch: Any) -> Any:
    """Run a batch in the worker, with stored arrays in place of references, and return its results."""
    import ray

    batch.items = [
        (function, [ray.get(arg) if isinstance(arg, ray.ObjectRef) else arg for arg in args], kw)
        for function, args, kw in batch.items
    ]
    return batch()
