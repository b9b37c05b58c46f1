"""CIFAR-10 class by class: a file may hold the official records of one class, 18 MB instead of 180 MB."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from symloss.datasets.catalog import CIFAR10
from symloss.datasets.formats import CIFAR_RECORD, Bytes, read_cifar
from symloss.datasets.records import DataFile, Known
from symloss.datasets.store import data_folder, find_files, verify

FOLDER = "cifar-10-classes"
TRAINING = 5000  # how many images of a class are in the training batches; those of the test batch follow

# SHA-256 of all records of a class, in the order of data_batch_1.bin to data_batch_5.bin and test_batch.bin.
_DIGESTS = {
    "airplane": "b25246ad435de078a327a1c76c7c6098bb7a570aa7db45468398ccd817a1eb40",
    "automobile": "1d36fb5f5c02e19a7899ee5d9becb0fd12a512f4572d84fa0590f71e11436232",
    "bird": "0e242f1e0cc246d18aaec3fc4a551ff784bf3fe424abf746dd436ac4a3909fc6",
    "cat": "07681f1f83f8c808ae7e5b77b5a8c055dba01a6309d87493b509b167535e3588",
    "deer": "53627d66f690d385064c9bfda025d0e107e4e44699a86d700a8f03124ab0c667",
    "dog": "79fbafeeb37171d5086ead6622a51fefe7b787b29eb48d09e4a346f2a5c134f6",
    "frog": "9424faf180113ffb6c36e0468cd950e1af7c2bad1b28d5659cfa6ad0e5559098",
    "horse": "e79e3256c601259eae237cb4dba11c756d67b4b2ce47dbdf9bd78541f5008c1a",
    "ship": "c1172eb9d409b1991baa38fb9c40472ca0a8a3b879482d7c9a1a6bba31345dd6",
    "truck": "5b6e3f3548786c3005b3bbabe1e665b4b1b021e08b0e8e29888e12dafc332f4d",
}
CLASSES = tuple(_DIGESTS)


def load_class(name: str, download: bool = True) -> tuple[Bytes, Bytes]:
    """Return the training images (5000, 3, 32, 32) and the test images (1000, 3, 32, 32) of a class of CIFAR-10.

    They are read from ``cifar-10-classes/NAME.bin`` in ``SYMLOSS_DATA`` if that exists, else from the official files.

    Examples
    --------
    >>> load_class("car")
    Traceback (most recent call last):
    ValueError: unknown class 'car' of CIFAR-10; its classes: airplane, automobile, ...
    """
    if name not in CLASSES:
        raise ValueError(f"unknown class {name!r} of CIFAR-10; its classes: {', '.join(CLASSES)}")
    folder = data_folder()
    path = folder / FOLDER / f"{name}.bin" if folder else None
    if path and path.is_file():
        verify(path, _file(name), str(path))
        images = read_cifar(path)[1]
    else:
        images = _official(name, download)[:, 1:].reshape(-1, 3, 32, 32)
    return images[:TRAINING], images[TRAINING:]


def _official(name: str, download: bool) -> Bytes:
    label = CLASSES.index(name)
    batches = [np.fromfile(path, np.uint8).reshape(-1, CIFAR_RECORD) for path in _paths(download)]
    return np.concatenate([batch[batch[:, 0] == label] for batch in batches])


def _paths(download: bool) -> list[Path]:
    return find_files(CIFAR10, CIFAR10.files, download)


def _file(name: str) -> DataFile:
    return DataFile(f"{FOLDER}/{name}.bin", (Known(_DIGESTS[name], 6000 * CIFAR_RECORD),))


__all__ = ["CLASSES", "load_class"]
