"""Weights in a file: arrays in half precision, the shape of the network, a checksum, and the commit of the code."""

from __future__ import annotations

import hashlib
import json
import subprocess
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pretraining.network import Network, Shape


class Weights(NamedTuple):
    """A network, and what is known of its weights."""

    network: Network
    commit: str  # of the code that trained it
    sha256: str


@lru_cache(maxsize=2)
def read_weights(path: str, device: str) -> Weights:
    """Read the file that ``python -m pretraining.export`` writes, and check that it is whole."""
    if not Path(path).exists():
        raise FileNotFoundError(f"weights must be a file that `python -m pretraining.export` has written, got {path!r}")
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files if not name.startswith("about.")}
        shape, commit, expected = (str(file[f"about.{name}"]) for name in ("shape", "commit", "sha256"))
    if (found := checksum(arrays)) != expected:
        raise ValueError(f"{path} is damaged: the SHA-256 of its arrays must be {expected}, got {found}")
    network = Network(Shape(**json.loads(shape))).eval()
    network.load_state_dict({name: torch.from_numpy(array).float() for name, array in arrays.items()})
    return Weights(network.to(device), commit, expected)


def checksum(arrays: dict[str, NDArray[Any]]) -> str:
    """Return the SHA-256 of named arrays."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].shape} {arrays[name].dtype.str}".encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()


def write_weights(weights: dict[str, Tensor], shape: Shape, path: Path, commit: str | None = None) -> None:
    """Write weights in half precision, whole or not at all."""
    arrays: dict[str, Any] = {name: value.detach().cpu().half().numpy() for name, value in weights.items()}
    wrong = [name for name, array in arrays.items() if not np.isfinite(array).all()]
    if wrong:
        raise ValueError(f"weights must be finite numbers below 65,504, got others in {', '.join(wrong)}")
    about = {"shape": json.dumps(asdict(shape)), "commit": commit or this_commit(), "sha256": checksum(arrays)}
    arrays |= {f"about.{name}": np.array(text) for name, text in about.items()}
    part = path.with_name(f"part_{path.name}")
    np.savez_compressed(part, **arrays)
    part.replace(path)


def this_commit() -> str:
    """Return the commit of this code, or "unknown" where it is no clone."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
