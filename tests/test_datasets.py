"""Data sets: small files in every format, downloads from a web server on this machine, and the official files."""

import gzip
import hashlib
import io
import os
import tarfile
import threading
import zipfile
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

import symloss as sl
from symloss.datasets import CATALOG, CIFAR10_CLASSES, DataFile, info, list_datasets, load, load_cifar10_class, where

BESIDE = Path(sl.__file__).parents[3] / "shared" / "data"
OFFICIAL = os.environ.get("SYMLOSS_DATA") or (str(BESIDE) if BESIDE.is_dir() else "")
SPAM = b"".join(b"%s,%d\r\n" % (b",".join(b"%d" % (row + column) for column in range(57)), row % 2) for row in range(4))


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SYMLOSS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SYMLOSS_DATA", raising=False)
    monkeypatch.setenv("no_proxy", "*")
    return tmp_path / "cache"


@pytest.fixture
def given(tmp_path, monkeypatch):
    """The folder of SYMLOSS_DATA."""
    (tmp_path / "given").mkdir()
    monkeypatch.setenv("SYMLOSS_DATA", str(tmp_path / "given"))
    return tmp_path / "given"


@pytest.fixture
def register(monkeypatch):
    """Put other files and URLs behind a data set's name: small ones that a test writes."""

    def put(name, contents, urls=("http://nowhere.invalid/{name}",)):
        files = tuple(
            DataFile(file, (hashlib.sha256(content).hexdigest(),), tuple(url.format(name=file) for url in urls), ())
            for file, content in contents.items()
        )
        monkeypatch.setitem(CATALOG, name, replace(info(name), files=files))

    return put


@pytest.fixture
def site(tmp_path):
    """A web server: its folder, its URL, and what was asked for."""
    asked = []

    class Handler(SimpleHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            super().do_GET()

        def log_message(self, *_):
            pass

    (tmp_path / "site").mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=tmp_path / "site"))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield tmp_path / "site", f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()
    thread.join()


def put(folder, contents):
    for name, content in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def load_given(register, given, name, *contents):
    named = dict(zip([file.name for file in info(name).files], contents, strict=True))
    register(name, named)
    put(given, named)
    return load(name)


def test_what_a_data_set_holds(register, given):
    data = load_given(register, given, "spambase", SPAM)
    assert data.data.dtype == np.float32
    assert data.data[1, :3].tolist() == [1, 2, 3]
    assert data.target.dtype == np.int64
    assert data.labels.tolist() == [0, 1, 0, 1]
    assert data.label_names == ("not spam", "spam")
    assert (data.feature_names[0], data.feature_names[-1]) == ("word_freq_make", "capital_run_length_total")
    assert data.origin == str(given)
    for fact in ("CC BY 4.0", "https://archive.ics.uci.edu/dataset/94/spambase", "Positive (+1): spam", str(given)):
        assert fact in data.DESCR
    assert repr(data) == "Dataset('spambase': 4 x 57 float32, 2 positive)"


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("iris", {}, "unknown data set 'iris'; known data sets: spambase, "),
        ("adult", {"split": "train"}, "adult has no official split, got split='train'"),
        ("mnist", {"split": "val"}, "mnist has the splits train, test, got split='val'"),
        ("cifar10", {"negative": "car"}, "one of cifar10's automobile, bird, cat, .*; got 'car'"),
    ],
)
def test_wrong_names(name, options, message):
    with pytest.raises(ValueError, match=message):
        load(name, **options)


def test_the_given_file_comes_first_then_the_cache_then_the_network(register, site, cache, tmp_path, monkeypatch):
    folder, url, asked = site
    put(folder, {"spambase.data": SPAM})
    register("spambase", {"spambase.data": SPAM}, [url + "/missing/{name}", url + "/{name}"])
    assert where("spambase") == []
    assert load("spambase").origin == str(cache)
    assert asked == ["/missing/spambase.data", "/spambase.data"]
    assert load("spambase").origin == str(cache)
    assert where("spambase") == ["cache"]
    put(tmp_path / "given", {"spambase.data": SPAM})
    monkeypatch.setenv("SYMLOSS_DATA", str(tmp_path / "given"))
    assert load("spambase").origin == str(tmp_path / "given")
    assert len(asked) == 2
    assert sorted(path.name for path in cache.iterdir() if path.suffix != ".lock") == ["spambase.data"]


def test_a_changed_file_is_never_used(register, site, cache, given):
    folder, url, _ = site
    register("spambase", {"spambase.data": SPAM}, [url + "/{name}"])
    put(cache, {"spambase.data": SPAM[:-1]})
    put(folder, {"spambase.data": SPAM[1:]})
    with pytest.raises(FileNotFoundError, match=r"spambase\.data: .* is not what is published"):
        load("spambase")
    put(folder, {"spambase.data": SPAM})
    assert len(load("spambase").data) == 4
    put(given, {"spambase.data": b"1,2,3"})
    with pytest.raises(
        ValueError, match=r"given/spambase\.data is not what is published and is not used: expected SHA"
    ):
        load("spambase")


def test_without_a_network_an_error_says_what_to_fetch_and_where_to_put_it(register, cache, given):
    register("adult", {"a": b"1", "b": b"2"}, ["http://nowhere.invalid/adult.zip#{name}"])
    with pytest.raises(
        FileNotFoundError, match=r"Fetch http://nowhere\.invalid/adult\.zip, unpack it, and put the"
    ) as error:
        load("adult", download=False)
    assert f"adult needs a and 1 more, not found in SYMLOSS_DATA ({given}) or in the cache ({cache})" in str(
        error.value
    )


def tarred(contents):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, content in contents.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return stream.getvalue()


def test_cifar10_from_its_archive(register, site, monkeypatch):
    folder, url, asked = site
    labels = np.arange(20) % 10
    batches = {
        file.name: b"".join(bytes([label]) + bytes([shade]) * 3072 for label in labels)
        for shade, file in enumerate(info("cifar10").files)
    }
    put(folder, {"cifar-10-binary.tar.gz": tarred({**batches, "readme.html": b""})})
    register("cifar10", batches, [url + "/cifar-10-binary.tar.gz#{name}"])
    train, test = load("cifar10", split="train"), load("cifar10", split="test")
    assert train.data.shape == (100, 3, 32, 32)
    assert train.data.flags.writeable
    assert (test.data == 5).all()
    assert test.target.tolist() == np.where(labels == 0, 1, -1).tolist()
    assert len(asked) == 2  # once for the five training batches, once for the test batch
    horses = load("cifar10", split="train", negative="horse")
    assert set(zip(horses.labels.tolist(), horses.target.tolist(), strict=True)) == {(0, 1), (7, -1)}
    of_train, of_test = load_cifar10_class("horse")
    np.testing.assert_array_equal(of_train, horses.data[horses.target == -1])
    assert len(of_test) == 2


def test_the_file_of_one_class_of_cifar10(given, monkeypatch):
    content = b"".join(bytes([8]) + bytes([number % 251]) * 3072 for number in range(6000))
    put(given, {"cifar-10-classes/ship.bin": content})
    with pytest.raises(ValueError, match=r"ship\.bin is not what is published"):
        load_cifar10_class("ship")
    monkeypatch.setitem(CIFAR10_CLASSES, "ship", hashlib.sha256(content).hexdigest())
    train, test = load_cifar10_class("ship")
    assert (train.shape, test.shape) == ((5000, 3, 32, 32), (1000, 3, 32, 32))
    assert test[0, 0, 0, 0] == 5000 % 251
    assert tuple(CIFAR10_CLASSES) == info("cifar10").label_names


def test_waveform_as_uci_packs_it(register, site):
    """The official file is in Unix compress's format, codes of nine bits and more, inside a zip archive."""
    folder, url, _ = site
    content = b"".join(b"%s%d\n" % (b"1.5," * 21, label) for label in (2, 1))
    codes = sum(byte << 9 * place for place, byte in enumerate(content))
    packed = b"\x1f\x9d\x90" + codes.to_bytes(-(-9 * len(content) // 8), "little")
    with zipfile.ZipFile(folder / "waveform.zip", "w") as archive:
        archive.writestr("waveform.data.Z", packed)
    register("waveform", {"waveform.data": content}, [url + "/waveform.zip#{name}.Z"])
    waveform = load("waveform")
    assert waveform.labels.tolist() == [2, 1]
    assert waveform.target.tolist() == [-1, 1]
    assert (waveform.data == 1.5).all()


def test_susy_is_read_up_to_thirty_thousand_rows(register, given):
    row = b"1.000000000000000000e+00," + b",".join([b"9.728614687919616699e-01"] * 18) + b"\n"
    susy = load_given(register, given, "susy", gzip.compress(row * 2 + row.replace(b"1.0", b"0.0", 1) + row * 30_000))
    assert susy.data.shape == (30_000, 18)
    assert susy.target[:4].tolist() == [1, 1, -1, 1]


def test_categories_are_one_hot_and_rows_that_miss_a_value_go(register, given):
    rows = [b"p," + b",".join([b"x"] * 22), b"e," + b",".join([b"y"] * 22), b"e," + b",".join([b"?"] * 22)]
    mushroom = load_given(register, given, "mushroom", b"\n".join(rows) + b"\n")
    assert mushroom.data.shape == (2, 44)
    assert mushroom.target.tolist() == [-1, 1]  # edible is positive
    assert mushroom.feature_names[:3] == ("cap-shape=x", "cap-shape=y", "cap-surface=x")
    person = "39, {}, 77516, Bachelors, 13, Never-married, Sales, Own-child, White, Male, 2174, 0, 40, Cuba, {}\n"
    train = person.format("State-gov", "<=50K") + person.format("?", ">50K") + "\n"
    adult = load_given(
        register,
        given,
        "adult",
        train.encode(),
        ("|1x3 Cross validator\n" + person.format("Private", ">50K.")).encode(),
    )
    assert adult.target.tolist() == [-1, 1]
    assert dict(zip(adult.feature_names, adult.data[1].tolist(), strict=True))["workclass=Private"] == 1
    assert adult.data[0, 0] == 39


@pytest.fixture
def official(monkeypatch):
    def read(name, **options):
        if not OFFICIAL:
            pytest.skip("no official files at hand")
        monkeypatch.setenv("SYMLOSS_DATA", OFFICIAL)
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
    assert len(set(data.feature_names)) in (record.dim, 0)


def test_mnist_splits(official):
    train, test = official("mnist", split="train"), official("mnist", split="test")
    assert train.data.shape == (60_000, 1, 28, 28)
    assert np.bincount(test.labels).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert train.labels[:5].tolist() == [5, 0, 4, 1, 9]
    assert set(load("mnist", split="test", negative="3").labels.tolist()) == {0, 2, 3, 4, 6, 8}


@pytest.mark.parametrize("name", ["twonorm", "waveform"])
def test_the_generators_draw_from_the_files_distributions(official, name):
    """Class by class, means and variances differ by no more than samples of this size do."""
    make = getattr(sl.datasets, f"make_{name}")
    data, drawn = official(name), make(50_000, random_state=0)
    np.testing.assert_array_equal(make(50_000, random_state=0).data, drawn.data)
    for label in range(len(data.label_names)):
        ours, theirs = drawn.data[drawn.labels == label], data.data[data.labels == label]
        error = theirs.std(axis=0) / np.sqrt(len(theirs))
        assert (abs(ours.mean(axis=0) - theirs.mean(axis=0)) / error).max() < 4.5
        np.testing.assert_allclose(ours.var(axis=0), theirs.var(axis=0), rtol=0.2)


def test_twonorm_is_drawn_where_there_is_no_file():
    data = load("twonorm", download=False)
    assert data.origin == "Breiman's generator, random_state=0"
    np.testing.assert_array_equal(data.data, sl.datasets.make_twonorm(random_state=0).data)
    assert where("twonorm") == ["generator"]
