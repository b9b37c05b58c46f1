"""Dask as a joblib backend: joblib's own, but the tasks also go to Dask if the cluster has a single worker.

With a single worker, joblib's own backend runs everything in the calling process, even if the cluster grows later.
"""

from __future__ import annotations

from typing import Any

from joblib._dask import DaskDistributedBackend


class DaskBackend(DaskDistributedBackend):  # type: ignore[misc]
    """Hands at least two tasks to Dask at a time, also if there is one worker: then one of them waits."""

    def configure(self, n_jobs: int = 1, parallel: Any = None, **options: Any) -> int:
        """Return how many tasks to hand to Dask at a time."""
        return max(2, int(super().configure(n_jobs, parallel, **options)))
