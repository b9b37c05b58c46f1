import bz2
import gzip
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from symloss.datasets.formats import read_arff, read_cifar, read_csv, read_idx, read_libsvm, read_text


def written(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("compress", [lambda content: content, gzip.compress, bz2.compress])
def test_compression_is_read_off_the_first_bytes_not_off_the_name(tmp_path, compress):
    assert read_text(written(tmp_path, "name", compress(b"text"))) == "text"


def test_csv(tmp_path):
    path = written(tmp_path, "x.csv", "1,2.5,-3e2\r\n\r\n4,5,6\r\n7,8,9")
    np.testing.assert_array_equal(read_csv(path), np.float32([[1, 2.5, -300], [4, 5, 6], [7, 8, 9]]))
    assert read_csv(path, max_rows=1).shape == (1, 3)
    assert read_csv(path).dtype == np.float32


def test_arff(tmp_path):
    text = "% a comment\n@relation x\n@ATTRIBUTE one { -1,1 }\n@attribute two real\n\n@data\n-1,0.5\n1,2\n"
    names, data = read_arff(written(tmp_path, "x.arff", text))
    assert names == ("one", "two")
    np.testing.assert_array_equal(data, np.float32([[-1, 0.5], [1, 2]]))


def test_arff_as_keel_writes_it(tmp_path):
    header = "@relation x\n@attribute A1 real [-4.2, 3.5]\n@attribute Class {0, 1}\n@inputs A1\n@outputs Class\n@data\n"
    rows = "-1.2036, 1\n 0.1713, 0\n"
    for text, expected in ((header + rows, ("A1", "Class")), (rows, ())):
        names, data = read_arff(written(tmp_path, "x.dat", text))
        assert names == expected
        np.testing.assert_array_equal(data, np.float32([[-1.2036, 1], [0.1713, 0]]))


def test_libsvm(tmp_path):
    labels, data = read_libsvm(written(tmp_path, "x", "-1 2:1 4:0.5 \n+1 \n-1 1:-2e1\n"), columns=5)
    np.testing.assert_array_equal(labels, [-1, 1, -1])
    np.testing.assert_array_equal(data, np.float32([[0, 1, 0, 0.5, 0], [0] * 5, [-20, 0, 0, 0, 0]]))


@given(st.integers(0, 2**32 - 1))
def test_libsvm_against_scikit_learn(tmp_path_factory, seed):
    generator = np.random.default_rng(seed)
    expected = generator.normal(size=(7, 5)).round(3) * (generator.random((7, 5)) < 0.4)
    path = tmp_path_factory.mktemp("libsvm") / "x"
    dump_svmlight_file(expected, generator.choice([-1, 1], 7), str(path), zero_based=False)
    labels, data = read_libsvm(path, columns=5)
    dense, classes = load_svmlight_file(str(path), n_features=5, zero_based=False)
    np.testing.assert_array_equal(labels, classes)
    np.testing.assert_array_equal(data, dense.toarray().astype(np.float32))


def idx(array):
    header = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
    return header + array.astype(np.uint8).tobytes()


def test_idx(tmp_path):
    images = np.arange(2 * 3 * 4).reshape(2, 3, 4)
    np.testing.assert_array_equal(read_idx(written(tmp_path, "x.gz", gzip.compress(idx(images)))), images)
    np.testing.assert_array_equal(read_idx(written(tmp_path, "y", idx(np.arange(5)))), np.arange(5))


def test_cifar(tmp_path):
    red, green, blue = (np.full(1024, value, np.uint8) for value in (1, 2, 3))
    red[33] = 9  # row 1, column 1
    record = bytes([7]) + red.tobytes() + green.tobytes() + blue.tobytes()
    labels, images = read_cifar(written(tmp_path, "x.bin", record * 2))
    np.testing.assert_array_equal(labels, [7, 7])
    assert images.shape == (2, 3, 32, 32)
    assert images[0, 0, 1, 1] == 9
    assert images[0, 2].tolist() == np.full((32, 32), 3).tolist()


WRONG = [
    (read_csv, b"", "no rows"),
    (read_csv, b"1,2\n3\n", "as many in each"),
    (read_csv, b"1,two\n", "rows of numbers"),
    (read_csv, b"\x80\x04\x95pickle", "ascii"),
    (read_arff, b"@relation x\n@data\n", "no rows"),
    (read_arff, b"@attribute a real\n@data\n1,2\n", "names 1 attributes, the rows have 2 columns"),
    (lambda path: read_libsvm(path, 3), b"+1 1:x\n", "label index:value"),
    (lambda path: read_libsvm(path, 3), b"+1 1 2\n", "label index:value"),
    (lambda path: read_libsvm(path, 3), b"", "label index:value"),
    (lambda path: read_libsvm(path, 3), b"+1 4:1\n", "indices must be 1 to 3, got 4 to 4"),
    (lambda path: read_libsvm(path, 3), b"+1 0:1\n", "indices must be 1 to 3, got 0 to 0"),
    (read_idx, b"", "not an idx file"),
    (read_idx, b"\x00\x00\x0d\x01\x00\x00\x00\x01\x00", "not an idx file of unsigned bytes"),
    (read_idx, b"\x00\x00\x08\x03\x00\x00", "not an idx file"),
    (read_idx, idx(np.arange(5))[:-1], "(5,) needs 13 bytes, the file has 12"),
    (read_cifar, b"", "records of 3073 bytes, the file has 0"),
    (read_cifar, bytes(3073 + 1), "the file has 3074"),
]


@pytest.mark.parametrize(("read", "content", "message"), WRONG)
def test_a_file_of_another_format_is_an_error(tmp_path, read, content, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        read(written(tmp_path, "x", content))
