"""How many threads to use: one, unless matrix products are so large that several are faster.

PyTorch, OpenBLAS and scikit-learn have threads of their own, which wait for each other at the end of every operation.
Where an operation takes microseconds, the waiting takes longer than the work, and far longer where another program
keeps a core busy. So the library runs its own work on one thread. To work on several candidates of a search, or cells
of a table, at a time, use ``n_jobs``.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from typing import Any

import torch
from threadpoolctl import ThreadpoolController

_WORTH_SHARING = 5e9  # multiplications, from which several threads are faster


def threads_for(multiplications: float) -> AbstractContextManager[None]:
    """Return a context in which work uses one thread, unless its matrix products are large.

    Parameters
    ----------
    multiplications : float
        The number of multiplications in scoring one batch.
    """
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
                libraries = _loaded(len(sys.modules)).select(user_api="blas").lib_controllers
                self._before = [(library, library.num_threads) for library in libraries]
                self._set((library, 1) for library in libraries)
            self._blocks += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._blocks -= 1
            if not self._blocks:
                self._set(self._before)

    @staticmethod
    def _set(numbers: Iterable[tuple[Any, int]]) -> None:
        for library, number in numbers:
            library.set_num_threads(number)
            if hasattr(library, "clear_controlling_thread"):
                library.clear_controlling_thread()  # otherwise no other thread could set it


_blas = _Blas()


@lru_cache(maxsize=1)
def _loaded(modules: int) -> ThreadpoolController:  # noqa: ARG001
    """Return all loaded libraries that have threads; they are looked up again if the number of modules has changed."""
    return ThreadpoolController()


__all__ = ["one_thread", "threads_for"]
