import numpy as np
import pytest

import symloss as sl
from symloss.datasets import load

SPAM = b"".join(b"%s,%d\r\n" % (b",".join(b"%d" % (row + column) for column in range(57)), row % 2) for row in range(4))


def test_what_a_data_set_holds(register, data_dir):
    register("spambase", {"spambase.data": SPAM})
    (data_dir / "spambase.data").write_bytes(SPAM)
    data = load("spambase")
    assert data.data.dtype == np.float32
    assert data.data[1, :3].tolist() == [1, 2, 3]
    assert data.target.dtype == np.int64
    assert data.labels.tolist() == [0, 1, 0, 1]
    assert data.label_names == ("not spam", "spam")
    assert len(data.feature_names) == 57
    assert (data.feature_names[0], data.feature_names[-1]) == ("word_freq_make", "capital_run_length_total")
    assert data.origin == str(data_dir)
    for fact in ("CC BY 4.0", "https://archive.ics.uci.edu/dataset/94/spambase", "Positive (+1): spam", str(data_dir)):
        assert fact in data.DESCR
    assert repr(data) == "Dataset('spambase': 4 x 57 float32, 2 positive)"
    X, y = sl.contaminate(data.data, data.target, pi=1, pi_prime=0, n_positive=1, n_negative=1)
    assert len(X) == len(y) == 2


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("iris", {}, "unknown data set 'iris'; known data sets: spambase, "),
        ("adult", {"split": "train"}, "adult has no official split, got split='train'"),
        ("mnist", {"split": "val"}, "mnist has the splits train, test, got split='val'"),
        ("cifar10", {"negative": "car"}, "one of cifar10's automobile, bird, cat, .*; got 'car'"),
        ("cifar10", {"negative": "airplane"}, "got 'airplane'"),
    ],
)
def test_wrong_names(name, options, message):
    with pytest.raises(ValueError, match=message):
        load(name, **options)
