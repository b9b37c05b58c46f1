"""CIFAR-10 class by class, from files that a test writes: batches of 20 records instead of 10,000."""

import hashlib

import numpy as np
import pytest

from symloss.datasets import classes, info
from symloss.datasets.records import DataFile, Known


@pytest.fixture
def batches(register, data_dir, monkeypatch):
    """Six official files, two images of a class in each, of one shade a file and image; nothing else of CIFAR-10."""
    contents = {
        file.name: b"".join(bytes([k % 10]) + bytes([10 * number + k // 10]) * 3072 for k in range(20))
        for number, file in enumerate(info("cifar10").files)
    }
    monkeypatch.setattr(classes, "CIFAR10", register("cifar10", contents))
    monkeypatch.setattr(classes, "TRAINING", 10)
    return contents


def put(contents, folder):
    for name, content in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def known(content):
    return lambda name: DataFile(name, (Known(hashlib.sha256(content).hexdigest(), len(content)),))


def test_a_class_of_the_official_files_is_in_their_order_and_the_test_images_come_last(batches, data_dir):
    put(batches, data_dir)
    train, test = classes.load_class("horse", download=False)
    assert train.shape == (10, 3, 32, 32)
    assert test.shape == (2, 3, 32, 32)
    assert train[:, 0, 0, 0].tolist() == [10 * number + k for number in range(5) for k in range(2)]
    assert test[:, 0, 0, 0].tolist() == [50, 51]


def test_the_file_of_a_class_holds_the_same(batches, data_dir, tmp_path, monkeypatch):
    put(batches, data_dir)
    expected = classes.load_class("ship", download=False)
    content = b"".join(bytes([8]) + bytes([10 * number + k]) * 3072 for number in range(6) for k in range(2))
    monkeypatch.setattr(classes, "_file", known(content))
    put({"cifar-10-classes/ship.bin": content}, tmp_path / "new")
    monkeypatch.setenv("SYMLOSS_DATA", str(tmp_path / "new"))  # with nothing but this file
    for found, wanted in zip(classes.load_class("ship", download=False), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_a_file_of_a_class_that_was_changed_is_not_used(batches, data_dir):
    (data_dir / "cifar-10-classes").mkdir()
    (data_dir / "cifar-10-classes" / "ship.bin").write_bytes(bytes(3073))
    with pytest.raises(ValueError, match=r"ship\.bin is truncated and is not used: expected 18438000 bytes"):
        classes.load_class("ship", download=False)


def test_digests_are_of_ten_classes_in_the_order_of_their_labels():
    assert info("cifar10").label_names == classes.CLASSES


def test_what_to_do_where_there_are_no_files(data_dir):
    with pytest.raises(FileNotFoundError, match=r"Fetch https://\S*/cifar-10-binary\.tar\.gz and put that, packed or"):
        classes.load_class("ship", download=False)
