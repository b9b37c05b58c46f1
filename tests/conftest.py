"""Every test runs on one thread and from a known seed."""

import pytest
import torch
from hypothesis import settings

settings.register_profile("symloss", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("symloss")


@pytest.fixture(autouse=True)
def _one_thread_known_seed():
    torch.set_num_threads(1)
    torch.manual_seed(0)
