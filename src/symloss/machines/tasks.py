"""Run independent tasks through joblib; the tasks of a worker that dies are run again."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import islice
from traceback import format_exc
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from joblib.externals.loky.cloudpickle_wrapper import dumps, loads
from joblib.parallel import get_active_backend

_LOG = logging.getLogger(__name__)
_TOGETHER = 2  # a task that was running when this many workers died is run alone, to see whether it is the cause
_LOST = {"BrokenProcessPool", "KilledWorker", "CancelledError", "RayError"}  # names: packages may be missing


class LostTask(RuntimeError):  # noqa: N818 - it is the task that is lost
    """The result of a task whose workers die even when it runs alone.

    Examples
    --------
    >>> str(LostTask("killed by signal 9"))
    'killed by signal 9'
    """


def completed(
    function: Callable[..., Any], tasks: Iterable[Sequence[Any]], jobs: int | None = None
) -> Iterator[tuple[int, Any]]:
    """Call a function with the arguments of each task, and yield each task's number and result as soon as it is ready.

    joblib decides where the tasks run: ``with joblib.parallel_config(...)`` or ``with cluster(...)``. If the function
    raises an exception, it is raised here. If a worker dies, nothing is raised: Dask and our Ray backend run its tasks
    again. If one death ends all workers, as in loky's pool, the unfinished tasks are submitted again.

    Parameters
    ----------
    function : callable
        It must have no side effects, because it may be called twice with the same arguments; its result is used once.
    tasks : iterable of tuples
        The arguments of each task. A large array is sent once, not once per task, if it is an argument itself and not
        part of one.
    jobs : int, optional
        joblib's ``n_jobs``.

    Yields
    ------
    tuple of int and Any
        The number of a task and its result, which is a ``LostTask`` if the workers of this task died again and again.

    Examples
    --------
    >>> sorted(completed(pow, [(2, 3), (3, 2)]))
    [(0, 8), (1, 9)]
    """
    left = dict(enumerate(tasks))
    deaths: Counter[int] = Counter()
    while left:
        together = [k for k in left if deaths[k] < _TOGETHER]
        chosen = together or [next(iter(left))]
        under_way: set[int] = set()
        try:
            for k, result in _parallel(function, {k: left[k] for k in chosen}, jobs, under_way):
                under_way.discard(k)
                del left[k]
                yield k, result
        except Exception as error:
            if not _is_death(error):
                raise
            _LOG.warning("a worker died (%s); what it had is run again", type(error).__name__)
            deaths.update(under_way)
            if not together:
                del left[chosen[0]]
                yield chosen[0], LostTask(f"its worker died each time ({type(error).__name__})")


def _parallel(
    function: Callable[..., Any], tasks: dict[int, Sequence[Any]], jobs: int | None, under_way: set[int]
) -> Iterator[tuple[int, Any]]:
    """Run tasks, yield their numbers and results, and add to ``under_way`` those that were handed to workers."""

    def calls(numbers: Iterable[int]) -> Iterator[Any]:
        for k in numbers:
            under_way.add(k)
            yield delayed(_call)(k, function, *tasks[k])

    try:
        parallel = Parallel(jobs, return_as="generator_unordered", batch_size=1)
    except ValueError:  # joblib's multiprocessing and Ray's own backend return lists only: keep them short
        parallel = Parallel(jobs, batch_size=1)
        numbers = iter(tasks)
        while some := list(islice(numbers, effective_n_jobs(parallel.n_jobs))):
            yield from parallel(calls(some))
    else:
        yield from parallel(calls(tasks))


def _call(k: int, function: Callable[..., Any], *args: Any) -> tuple[int, Any]:
    """Call the function in the worker; its own joblib calls stay there, while Dask would send them to the cluster."""
    dask = type(get_active_backend()[0]).__name__ == "DaskDistributedBackend"
    # Dask leaves arrays at unaligned addresses, where sums may differ in their last digits.
    aligned = (np.require(arg, requirements="A") if isinstance(arg, np.ndarray) else arg for arg in args)
    with parallel_config("threading", n_jobs=1) if dask else nullcontext():
        try:
            return k, function(*aligned)
        except Exception as error:
            if _can_travel(error):
                raise
            told = format_exc()
        # Not from within the except block: its cause and context would be pickled too.
        raise RuntimeError(f"a task's exception cannot be pickled:\n{told}")


def _can_travel(error: Exception) -> bool:
    """Return whether an exception survives pickling; if not, Dask would wait forever, and Ray would run it again."""
    try:
        return isinstance(loads(dumps(error)), type(error))
    except Exception:
        return False


def _is_death(error: Exception) -> bool:
    names = {kind.__name__ for kind in type(error).__mro__}
    return bool(names & _LOST) and "RayTaskError" not in names
