"""Ray as a joblib backend, by Ray tasks.

Ray's own backend is a pool of actors: joblib gets all results at the end and not as they come, and a killed actor ends
the whole call.
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
_RETRIES = 3  # as many deaths as Dask allows a task
_GOODBYE = 10  # seconds to wait for cancelled tasks
_LARGE = 100_000  # bytes of an array that is worth an entry in Ray's object store


def register_ray() -> None:
    """Register this backend, so that ``with joblib.parallel_config("symloss-ray")`` runs on Ray.

    Instead of Ray's own, which ``ray.util.joblib.register_ray`` registers as ``"ray"``, and which stays what it is:
    results come as they are ready, the work of a killed worker is run again, and large arrays are sent once.
    ``cluster("ray")`` needs no registration.

    Examples
    --------
    >>> register_ray()
    """
    register_parallel_backend("symloss-ray", RayBackend)


class RayBackend(ParallelBackendBase):  # type: ignore[misc]
    """A thread a task under way, which waits for Ray to run it and asks again if its worker dies."""

    supports_retrieve_callback = True
    default_n_jobs = -1

    def effective_n_jobs(self, n_jobs: int | None) -> int:
        """Return how many tasks may run at once: -1 is one a CPU of the cluster."""
        import ray

        if n_jobs == 0:
            raise ValueError("n_jobs must be a number of tasks at a time, or -1 for one a CPU; got 0")
        cpus = int(ray.cluster_resources().get("CPU", 1))
        n_jobs = -1 if n_jobs is None else n_jobs
        return n_jobs if n_jobs > 0 else max(1, cpus + 1 + n_jobs)

    def configure(self, n_jobs: int = 1, parallel: Any = None, **_: Any) -> int:
        """Start Ray unless it is, and the threads."""
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
        return max(2, jobs)  # of 1, joblib makes a loop in this process

    def submit(self, func: Any, callback: Any = None) -> Future[Any]:
        """Schedule a batch of calls."""
        future = self._threads.submit(self._result, func, self._aborted)
        self._futures.add(future)
        future.add_done_callback(self._futures.discard)
        if callback is not None:
            future.add_done_callback(callback)
        return future

    apply_async = submit  # its name before joblib 1.5

    def retrieve_result_callback(self, future: Future[Any]) -> Any:
        """Return a batch's results, or raise its exception."""
        return future.result()

    def stop_call(self) -> None:
        """Forget the arrays of a call to Parallel."""
        self._stored.clear()

    def terminate(self) -> None:
        """Let the threads end."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def abort_everything(self, ensure_ready: bool = True) -> None:
        """Cancel what runs, and wait for the threads: one inside Ray while Ray shuts down crashes the process."""
        import ray

        self._aborted.set()  # from here on, no thread adds to what runs
        self.terminate()
        with self._lock:
            running = list(self._running)
        connected = ray.is_initialized()  # or Ray would start a cluster here
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
                raise error.cause from None  # what the function raised
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
        """Return where a large array is stored, once for all tasks of a call, or else the argument itself."""
        import ray

        if _size(arg) < _LARGE:
            return arg
        with self._lock:
            if id(arg) not in self._stored:
                self._stored[id(arg)] = arg, ray.put(arg)  # and keep it, so that no other object gets its id
            return self._stored[id(arg)][1]


def _check_connected() -> None:
    """Raise an error where the cluster is lost; Ray would look for another one, or start it here."""
    import ray

    if not ray.is_initialized():
        raise ConnectionError("the connection to the Ray cluster is lost")


def _size(arg: Any) -> int:
    """Return the bytes of an array's or of a sparse matrix's entries, 0 of anything else."""
    return int(getattr(arg, "nbytes", 0) or getattr(getattr(arg, "data", None), "nbytes", 0))


def _run(batch: Any) -> Any:
    """Run a batch in the worker."""
    import ray

    batch.items = [
        (function, [ray.get(arg) if isinstance(arg, ray.ObjectRef) else arg for arg in args], kw)
        for function, args, kw in batch.items
    ]
    return batch()
