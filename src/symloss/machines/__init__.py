"""Run work on the processes of this machine, or on many machines by Dask or Ray, through joblib."""

from symloss.machines.cluster import cluster
from symloss.machines.ray_backend import register_ray
from symloss.machines.tasks import LostTask, completed

__all__ = ["LostTask", "cluster", "completed", "register_ray"]
