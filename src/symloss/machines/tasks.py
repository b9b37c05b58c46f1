"""Independent tasks through joblib, each done once: what a dead worker had under way is run again."""

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
_TOGETHER = 2  # a task that was under way in so many deaths is run by itself, to know whether it is the cause
_LOST = {"BrokenProcessPool", "KilledWorker", "CancelledError", "RayError"}  # of packages that may not be installed


class LostTask(RuntimeError):  # noqa: N818 - it is the task that is lost
    """Stands for the result of a task whose workers die, even where it is the only one that runs.

    Examples
    --------
    >>> str(LostTask("killed by signal 9"))
    'killed by signal 9'
    """


def completed(
    function: Callable[..., Any], tasks: Iterable[Sequence[Any]], jobs: int | None = None
) -> Iterator[tuple[int, Any]]:
    """Call a function on each task's arguments, and yield the task's number and result in the order they are ready.

    Where it runs is joblib's choice: ``with joblib.parallel_config(...)`` or ``with cluster(...)``. A function's
    exception is raised. A worker that dies is not one: Dask and our Ray backend run its tasks again, and where all
    tasks end with a worker, as those of loky's pool do, the unfinished ones are submitted again.

    Parameters
    ----------
    function : callable
        Without side effects, for it may be called twice with the same arguments; its result is used once.
    tasks : iterable of tuples
        Large arrays are sent once, not once a task, if they are arguments themselves and not part of one.
    jobs : int, optional
        As joblib's ``n_jobs``.

    Yields
    ------
    tuple of int and Any
        The result is a ``LostTask`` if the workers of this task died again and again.

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
    """Run tasks, and note in ``under_way`` which were handed to workers."""

    def calls(numbers: Iterable[int]) -> Iterator[Any]:
        for k in numbers:
            under_way.add(k)
            yield delayed(_call)(k, function, *tasks[k])

    try:
        parallel = Parallel(jobs, return_as="generator_unordered", batch_size=1)
    except ValueError:  # joblib's multiprocessing and Ray's own backend return a list: keep it short
        parallel = Parallel(jobs, batch_size=1)
        numbers = iter(tasks)
        while some := list(islice(numbers, effective_n_jobs(parallel.n_jobs))):
            yield from parallel(calls(some))
    else:
        yield from parallel(calls(tasks))


def _call(k: int, function: Callable[..., Any], *args: Any) -> tuple[int, Any]:
    """Run in the worker; a task's own joblib calls stay there, where Dask would spread them over the cluster again."""
    dask = type(get_active_backend()[0]).__name__ == "DaskDistributedBackend"
    # Dask leaves arrays at odd addresses, where sums have other last digits.
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
    """Say whether an exception survives pickling; Dask would wait forever for one that does not, Ray run it again."""
    try:
        return isinstance(loads(dumps(error)), type(error))
    except Exception:
        return False


def _is_death(error: Exception) -> bool:
    names = {kind.__name__ for kind in type(error).__mro__}
    return bool(names & _LOST) and "RayTaskError" not in names
