"""Every test runs from a known seed, and on one thread or on ``OMP_NUM_THREADS``, as do the commands it starts."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before any library reads it

import pytest
import torch
from hypothesis import settings

settings.register_profile("symloss", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("symloss")


@pytest.fixture(autouse=True)
def _known_threads_and_seed():
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    torch.manual_seed(0)
