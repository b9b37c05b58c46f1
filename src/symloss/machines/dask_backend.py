"""Dask as a joblib backend: joblib's own, which leaves the tasks of a cluster with a single worker to that worker.

Of one worker, joblib makes none and runs everything in the calling process, even if the cluster grows later.
"""

from __future__ import annotations

from typing import Any

from joblib._dask import DaskDistributedBackend


class DaskBackend(DaskDistributedBackend):  # type: ignore[misc]
    """Says two where there is one worker: one has a task that waits."""

    def configure(self, n_jobs: int = 1, parallel: Any = None, **options: Any) -> int:
        """Return how many tasks to have under way."""
        return max(2, int(super().configure(n_jobs, parallel, **options)))
