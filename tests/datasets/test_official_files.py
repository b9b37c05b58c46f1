"""The official files, where they are at hand: in SYMLOSS_DATA, or in shared/data beside the repository."""

import os
from pathlib import Path

import numpy as np
import pytest

import symloss as sl
from symloss.datasets import fetch, info, list_datasets, load, make_twonorm, make_waveform
from symloss.datasets.classes import load_class

BESIDE = Path(sl.__file__).parents[3] / "shared" / "data"
FOLDER = os.environ.get("SYMLOSS_DATA") or (str(BESIDE) if BESIDE.is_dir() else "")


@pytest.fixture
def official(monkeypatch, cache_dir):
    if not FOLDER:
        pytest.skip("no official files at hand")
    monkeypatch.setenv("SYMLOSS_DATA", FOLDER)

    def read(name, **options):
        try:
            data = load(name, download=False, **options)
        except FileNotFoundError as error:
            pytest.skip(str(error))
        if "generator" in data.origin:
            pytest.skip(f"no file of {name} at hand")
        return data

    return read


@pytest.mark.parametrize("name", list_datasets())
def test_rows_columns_and_class_counts_are_those_of_the_protocol(official, name):
    record, data = info(name), official(name)
    assert data.data.shape[0] == record.rows
    assert int(np.prod(data.data.shape[1:])) == record.dim
    assert int((data.target == 1).sum()) == record.positives
    assert set(np.unique(data.target)) == {-1, 1}
    assert np.isfinite(data.data).all()
    assert len(data.feature_names) in (record.dim, 0)
    assert len(set(data.feature_names)) == len(data.feature_names)


def test_one_hot_columns_add_up(official):
    for name, groups in (("adult", 8), ("mushroom", 22)):
        data = official(name)
        one_hot = [index for index, feature in enumerate(data.feature_names) if "=" in feature]
        np.testing.assert_array_equal(data.data[:, one_hot].sum(axis=1), groups)


def test_adult_against_pandas(official):
    import pandas as pd

    data = official("adult")
    names = ["age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship",
             "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income"]  # fmt: skip
    options = {"names": names, "skipinitialspace": True, "na_values": "?", "comment": "|"}
    frame = pd.concat([pd.read_csv(path, **options) for path in fetch("adult")], ignore_index=True).dropna()
    expected = pd.get_dummies(frame.drop(columns="income"), prefix_sep="=").astype(np.float32)
    assert set(expected.columns) == set(data.feature_names)
    np.testing.assert_array_equal(expected[list(data.feature_names)], data.data)
    np.testing.assert_array_equal(frame["income"].str.startswith(">50K"), data.target == 1)


def test_w8a_against_scikit_learn(official):
    from sklearn.datasets import load_svmlight_file

    data = official("w8a")
    expected, labels = load_svmlight_file(str(fetch("w8a")[0]), n_features=300)
    np.testing.assert_array_equal(expected.toarray(), data.data)
    np.testing.assert_array_equal(labels, data.target)


def test_mnist_splits(official):
    train, test = official("mnist", split="train"), official("mnist", split="test")
    assert (len(train.data), len(test.data)) == (60_000, 10_000)
    assert np.bincount(test.labels).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert train.labels[:5].tolist() == [5, 0, 4, 1, 9]


def test_cifar10_pairs(official):
    train, test = (official("cifar10", split=split, negative="horse") for split in ("train", "test"))
    assert (len(train.data), len(test.data)) == (10_000, 2000)
    assert (train.target == 1).sum() == 5000
    for name, sign in (("airplane", 1), ("horse", -1)):
        for found, of_pair in zip(load_class(name, download=False), (train, test), strict=True):
            np.testing.assert_array_equal(found, of_pair.data[of_pair.target == sign])


@pytest.mark.parametrize(("name", "make"), [("twonorm", make_twonorm), ("waveform", make_waveform)])
def test_the_generators_draw_from_the_files_distributions(official, name, make):
    """Class by class, means and variances differ by no more than samples of this size do."""
    data, drawn = official(name), make(50_000, random_state=0)
    for label in range(len(data.label_names)):
        ours, theirs = drawn.data[drawn.labels == label], data.data[data.labels == label]
        error = theirs.std(axis=0) / np.sqrt(len(theirs))
        assert (abs(ours.mean(axis=0) - theirs.mean(axis=0)) / error).max() < 4.5
        np.testing.assert_allclose(ours.var(axis=0), theirs.var(axis=0), rtol=0.2)
