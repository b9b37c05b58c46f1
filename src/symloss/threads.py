"""How many threads to use: one, unless matrix products are so large that several are faster.

PyTorch, OpenBLAS and scikit-learn have threads of their own, which wait for each other at the end of every operation.
Where an operation takes microseconds, the waiting takes longer than the work, and far longer where another program
keeps a core busy. So the library runs its own work on one thread. To work on several candidates of a search, or cells
of a table, at a time, use ``n_jobs``.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import torch
from threadpoolctl import ThreadpoolController

_WORTH_SHARING = 5e9  # multiplications, from which several threads are faster (the last fit of benchmarks/threads.py)


def threads_for(multiplications: float) -> AbstractContextManager[None]:
    """Return a context in which work uses one thread, unless its matrix products are large.

    Parameters
    ----------
    multiplications : float
        The number of multiplications in scoring one batch.

    Examples
    --------
    >>> with threads_for(1e6):
    ...     torch.get_num_threads()
    1
    """
    return one_thread() if multiplications < _WORTH_SHARING else nullcontext()


@contextmanager
def one_thread() -> Iterator[None]:
    """Let PyTorch, OpenMP and BLAS use one thread in this block, and as many as before after it.

    The limit applies to the calling thread only, except in libraries that have one number of threads for the whole
    process, such as the OpenBLAS of NumPy's wheels. In these, it applies to all threads until the last such block ends.
    If another thread holds a limit of threadpoolctl at the same time, that limit decides.

    Examples
    --------
    >>> before = torch.get_num_threads()
    >>> with one_thread():
    ...     torch.get_num_threads()
    1
    >>> torch.get_num_threads() == before
    True
    """
    torch.get_num_threads()  # a thread's first use of PyTorch sets OpenMP's number: do it before the block
    libraries = _loaded(len(sys.modules))
    of_threads = libraries.select(
        filepath=[each.filepath for each in libraries.lib_controllers if not _is_shared(each)]
    )
    with _SHARED, _mkl_on_one_thread(), of_threads.limit(limits=1):
        yield


def _is_shared(library: Any) -> bool:
    """Return whether a library has one number of threads for the whole process."""
    if library.prefix == "vcomp":
        return True
    return library.internal_api in ("openblas", "blis") and library.threading_layer != "openmp"


class _SharedOnOneThread:
    """Limits such libraries from when the first block is entered, in any thread, until the last block is left."""

    def __init__(self) -> None:
        self._forget()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._restore_after_fork)

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._blocks = 0
        self._before: list[tuple[Any, int]] = []

    def _restore_after_fork(self) -> None:
        """Restore the numbers in a forked process: it does not have the threads that are in a block."""
        before = self._before
        self._forget()
        self._set(before)

    def __enter__(self) -> None:
        with self._lock:
            if not self._blocks:
                shared = filter(_is_shared, _loaded(len(sys.modules)).lib_controllers)
                numbers = [(library, library.num_threads) for library in shared]
                # A number of 1 may be somebody else's limit, which will end, so it is not restored.
                self._before = [(library, number) for library, number in numbers if number > 1]
                self._set([(library, 1) for library, _ in self._before])
            self._blocks += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._blocks = max(self._blocks - 1, 0)  # a process that is forked within a block leaves it twice
            if not self._blocks:
                self._set(self._before)
                self._before = []

    @staticmethod
    def _set(numbers: list[tuple[Any, int]]) -> None:
        for library, number in numbers:
            library.set_num_threads(number)
            if hasattr(library, "clear_controlling_thread"):
                library.clear_controlling_thread()  # otherwise no other thread could set it while this one lives


_SHARED = _SharedOnOneThread()


@contextmanager
def _mkl_on_one_thread() -> Iterator[None]:
    """Limit PyTorch's own MKL for the calling thread: after ``torch.set_num_threads`` it does not follow OpenMP."""
    limit = _mkl_limit()
    if limit is None:
        yield
        return
    before = limit(1)
    try:
        yield
    finally:
        limit(before)


@cache
def _mkl_limit() -> Callable[[int], int] | None:
    """Return MKL's function that sets a thread's own number of threads and returns the last one; 0 means none."""
    library = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"
    try:
        found: Callable[[int], int] = ctypes.CDLL(str(library)).MKL_Set_Num_Threads_Local
    except (OSError, AttributeError):  # another system, or a PyTorch with another BLAS
        return None
    return found


@lru_cache(maxsize=1)
def _loaded(modules: int) -> ThreadpoolController:  # noqa: ARG001
    """Return all loaded libraries that have threads; they are looked up again if the number of modules has changed."""
    return ThreadpoolController()


__all__ = ["one_thread", "threads_for"]
