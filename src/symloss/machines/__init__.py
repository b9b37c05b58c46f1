"""Work on many machines, through joblib: loky, Dask or Ray."""

from symloss.machines.cluster import cluster
from symloss.machines.ray_backend import register_ray
from symloss.machines.tasks import LostTask, completed

__all__ = ["LostTask", "cluster", "completed", "register_ray"]
