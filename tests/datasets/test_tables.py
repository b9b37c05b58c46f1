"""Every data set from small files in its format."""

import gzip
import io
import tarfile

import numpy as np
import pytest

from symloss.datasets import info, load


def load_small(register, data_dir, name, content):
    record = info(name)
    register(name, {record.files[0].name: content})
    (data_dir / record.files[0].name).write_bytes(content)
    return load(name)


ADULT_DATA = (
    b"39, State-gov, 77516, Bachelors, 13, Never-married, Tech, Own-child, White, Male, 2174, 0, 40, Cuba, <=50K\n"
    b"50, ?, 83311, Masters, 13, Divorced, Sales, Husband, Black, Male, 0, 0, 13, Cuba, <=50K\n"
    b"38, Private, 215646, HS-grad, 9, Divorced, Sales, Husband, White, Female, 0, 0, 40, Cuba, >50K\n\n"
)
ADULT_TEST = (
    b"|1x3 Cross validator\n"
    b"25, Private, 226802, 11th, 7, Divorced, Sales, Husband, Black, Male, 0, 0, 40, Peru, >50K.\n\n"
)
ADULT = {"adult.data": ADULT_DATA, "adult.test": ADULT_TEST}


def test_adult_is_one_hot_without_the_rows_that_miss_a_value(register, data_dir):
    register("adult", ADULT)
    for name, content in ADULT.items():
        (data_dir / name).write_bytes(content)
    data = load("adult")
    column = dict(zip(data.feature_names, data.data.T, strict=True))
    assert column["age"].tolist() == [39, 38, 25]
    assert column["workclass=Private"].tolist() == [0, 1, 1]
    assert column["native-country=Peru"].tolist() == [0, 0, 1]
    assert not any("?" in name or "Masters" in name for name in column)
    assert data.data.shape == (3, 6 + 2 + 3 + 2 + 2 + 2 + 2 + 2 + 2)
    assert data.data.dtype == np.float32


def test_phoneme_twonorm_and_waveform(register, data_dir):
    phoneme = load_small(
        register, data_dir, "phoneme", b"@relation x\n@data\n1.24,0.875,-0.205,-0.078,0.067,0\n1,2,3,4,5,1"
    )
    assert phoneme.target.tolist() == [-1, 1]
    assert phoneme.feature_names == ("Aa", "Ao", "Dcl", "Iy", "Sh")
    twonorm = load_small(register, data_dir, "twonorm", b" 0.5, " * 20 + b"1\n" + b"-1.5, " * 20 + b"0\n")
    assert twonorm.target.tolist() == [1, -1]
    assert twonorm.data.shape == (2, 20)
    waveform = load_small(
        register, data_dir, "waveform", b"".join(b"0.5," * 21 + b"%d\n" % label for label in (0, 1, 2))
    )
    assert waveform.target.tolist() == [-1, 1, -1]
    assert waveform.labels.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="expected 6 columns, got 3"):
        load_small(register, data_dir, "phoneme", b"1,2,0\n")


def test_phishing(register, data_dir):
    names = [f"a{index}" for index in range(30)]
    header = "@relation phishing\n" + "".join(f"@attribute {name} {{ -1,1 }}\n" for name in [*names, "Result"])
    rows = "\n".join(",".join(["1"] * 30 + [label]) for label in ("-1", "1"))
    phishing = load_small(register, data_dir, "phishing", f"{header}@data\n{rows}\n".encode())
    assert phishing.feature_names == tuple(names)
    assert phishing.target.tolist() == [-1, 1]
    assert phishing.data.shape == (2, 30)


def test_susy_is_read_up_to_thirty_thousand_rows(register, data_dir):
    row = b"1.000000000000000000e+00," + b",".join([b"9.728614687919616699e-01"] * 18) + b"\n"
    content = gzip.compress(row * 2 + row.replace(b"1.0", b"0.0", 1) + row * 30_000)
    susy = load_small(register, data_dir, "susy", content)
    assert susy.data.shape == (30_000, 18)
    assert susy.target[:4].tolist() == [1, 1, -1, 1]


def test_w8a(register, data_dir):
    w8a = load_small(register, data_dir, "w8a", b"-1 41:1 300:1 \n+1 1:1 \n")
    assert w8a.data.shape == (2, 300)
    assert np.argwhere(w8a.data).tolist() == [[0, 40], [0, 299], [1, 0]]
    assert w8a.target.tolist() == [-1, 1]


def test_mushroom(register, data_dir):
    rows = [b"p," + b",".join([b"x"] * 22), b"e," + b",".join([b"y"] * 22), b"e," + b",".join([b"?"] * 22)]
    mushroom = load_small(register, data_dir, "mushroom", b"\n".join(rows) + b"\n")
    assert mushroom.data.shape == (2, 44)
    assert mushroom.target.tolist() == [1, -1]
    assert mushroom.feature_names[:3] == ("cap-shape=x", "cap-shape=y", "cap-surface=x")


def small_mnist(register, data_dir, labels=10):
    def idx(array):
        return bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes() + array.astype(np.uint8).tobytes()

    arrays = (np.full((10, 28, 28), 3), np.arange(labels), np.full((2, 28, 28), 4), np.array([7, 8]))
    names = [file.name for file in info("mnist").files]
    contents = {name: gzip.compress(idx(array)) for name, array in zip(names, arrays, strict=True)}
    register("mnist", contents)
    (data_dir / "mnist").mkdir(exist_ok=True)
    for name, content in contents.items():
        (data_dir / name).write_bytes(content)


def test_mnist(register, data_dir):
    small_mnist(register, data_dir)
    both, train, test = (load("mnist", split=split) for split in (None, "train", "test"))
    assert train.target.tolist() == [1, -1] * 5
    assert train.labels.tolist() == list(range(10))
    assert test.target.tolist() == [-1, 1]
    assert test.data.shape == (2, 1, 28, 28)
    assert test.data.dtype == np.uint8
    assert test.data.flags.writeable
    np.testing.assert_array_equal(both.data, np.concatenate([train.data, test.data]))
    assert set(load("mnist", negative="3").labels.tolist()) == {0, 2, 3, 4, 6, 8}
    small_mnist(register, data_dir, labels=9)
    with pytest.raises(ValueError, match="expected as many images as labels, got"):
        load("mnist")


def tarred(members):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return stream.getvalue()


def test_cifar10_from_its_archive(register, site, data_dir):
    labels = np.arange(20) % 10
    batches = {
        name: b"".join(bytes([label]) + bytes([shade]) * 3072 for label in labels)
        for shade, name in enumerate(file.name for file in info("cifar10").files)
    }
    url = site.serve("cifar-10-binary.tar.gz", tarred({"../evil.bin": b"", **batches, "readme.html": b""}))
    register("cifar10", batches, [(url, {name: name for name in batches})])
    test = load("cifar10", split="test")
    assert test.data.shape == (20, 3, 32, 32)
    assert (test.data == 5).all()
    assert test.target.tolist() == np.where(labels == 0, 1, -1).tolist()
    horses = load("cifar10", split="train", negative="horse")
    assert horses.data.shape == (5 * 4, 3, 32, 32)
    assert set(zip(horses.labels.tolist(), horses.target.tolist(), strict=True)) == {(0, 1), (7, -1)}
    assert len(load("cifar10").data) == 6 * 20
    assert len(site.asked) == 2  # the training batches were not asked for at first
