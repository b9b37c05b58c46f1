"""Tables that are written in parts: the same as at once, complete or absent."""

import pandas as pd
import pyarrow.parquet as pq
import pytest

from symloss.tabular.reading import read_chunks
from symloss.tabular.writing import whole_table, write_table

FRAME = pd.DataFrame({"who": ["a", "b, c", None, "d"], "score": [0.1, 1 / 3, -2.0, 1e-300], "k": [1, 2, 3, 4]})


def write_parts(path, *parts):
    with whole_table(path) as write:
        for part in parts:
            write(part)


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz", "a.csv.bz2", "a.tsv.xz"])
def test_text_in_parts_is_text_at_once(tmp_path, name):
    write_parts(tmp_path / name, FRAME[:3], FRAME[3:])
    separator = "\t" if ".tsv" in name else ","
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / name, sep=separator), FRAME, check_exact=True)
    if name == "a.csv":
        write_table(FRAME, tmp_path / "b.csv")
        assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_parquet_in_row_groups(tmp_path):
    write_parts(tmp_path / "a.parquet", FRAME[:2], FRAME[2:])
    assert pq.ParquetFile(tmp_path / "a.parquet").num_row_groups == 2
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "a.parquet"), FRAME, check_exact=True)


def test_parts_have_the_types_of_the_first(tmp_path):
    """What pandas makes of a column differs from part to part: without values, or with missing whole numbers."""
    parts = [
        pd.DataFrame({"who": [None], "k": pd.Series([1], dtype="int64")}),
        pd.DataFrame({"who": ["b"], "k": [float("nan")]}),
    ]
    write_parts(tmp_path / "a.parquet", *parts)
    found = pq.read_table(tmp_path / "a.parquet")
    assert found.to_pydict() == {"who": [None, "b"], "k": [1, None]}


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.csv.gz"])
def test_a_failure_leaves_what_was_there(tmp_path, name):
    for before in (None, b"before"):
        if before is not None:
            (tmp_path / name).write_bytes(before)
        with pytest.raises(AttributeError):
            write_parts(tmp_path / name, FRAME, "no table")
        assert [path.read_bytes() for path in tmp_path.iterdir()] == ([] if before is None else [before])


@pytest.mark.parametrize("name", ["a.xlsx", "a.csv.zip", "a.gz", "a"])
def test_unknown_suffixes(tmp_path, name):
    with pytest.raises(ValueError, match=r"must end in one of \.csv, \.tsv, \.parquet, \.pq"):
        write_table(FRAME, tmp_path / name)


def test_reading_in_parts(tmp_path):
    write_table(FRAME, tmp_path / "a.csv")
    FRAME.to_parquet(tmp_path / "a.parquet", row_group_size=3)
    for name in ("a.csv", "a.parquet"):
        parts = list(read_chunks(tmp_path / name, rows=2, text=["who"]))
        assert [len(part) for part in parts] == [2, 2]
        assert pd.concat(parts)["score"].tolist() == FRAME["score"].tolist()
    (tmp_path / "b.csv").write_text("a,b\n1,2\n3,4\n5,6,7\n")
    with pytest.raises(ValueError, match=r"b\.csv cannot be read as CSV: .*line 4, saw 3"):
        list(read_chunks(tmp_path / "b.csv", rows=2))
    (tmp_path / "c.csv").write_text("a,b\n")
    with pytest.raises(ValueError, match=r"c\.csv has no rows"):
        list(read_chunks(tmp_path / "c.csv", rows=2))
