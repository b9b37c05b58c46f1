"""Reading and writing tables: what is read as it is written, and every way in which a file can be wrong."""

import gzip
import sys

import pandas as pd
import pytest

from symloss.tabular import read_table, write_table


def test_csv(tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes("\ufeffcode, größe,ok\n01, 1.5,True\n02,,False\n".encode())
    frame = read_table(path, text=["code", "absent"])
    assert frame["code"].tolist() == ["01", "02"]
    assert frame["größe"].isna().tolist() == [False, True]
    assert frame["ok"].dtype == bool
    (tmp_path / "data.csv.gz").write_bytes(gzip.compress(path.read_bytes()))
    pd.testing.assert_frame_equal(read_table(tmp_path / "data.csv.gz", text=["code"]), frame)
    (tmp_path / "data.tsv").write_text("a\tb\n1\t2\n")
    assert read_table(tmp_path / "data.tsv").shape == (1, 2)


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.parquet"])
def test_there_and_back(tmp_path, name):
    frame = pd.DataFrame({"score": [0.1, 1 / 3], "prediction": ["yes", "no, never"]})
    write_table(frame, tmp_path / name)
    pd.testing.assert_frame_equal(read_table(tmp_path / name), frame)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_parquet_with_an_index(tmp_path):
    pd.DataFrame({"x": [1, 2]}, index=pd.Index(["a", "b"], name="who")).to_parquet(tmp_path / "a.parquet")
    assert list(read_table(tmp_path / "a.parquet").columns) == ["who", "x"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "a.csv is empty"),
        ("a.csv", b"\n\n", "a.csv is empty"),
        ("a.csv", b"a,b\n", "a.csv has no rows"),
        ("a.csv", b"\xff\xfb\x00a", "not text in UTF-8"),
        ("a.csv", b"a,b\n1,2\n3,4,5\n", "cannot be read as CSV: .*Expected 2 fields in line 3, saw 3"),
        ("a.csv", b"a,b\n1,2,3\n4,5,6\n", "cannot be read as CSV: "),
        ("a.csv", b'a,b\n"1,2\n', "cannot be read as CSV: "),
        ("a.csv.gz", b"nonsense", "cannot be read as CSV: "),
        ("a.parquet", b"nonsense", "cannot be read as Parquet: "),
    ],
)
def test_files_that_are_no_tables(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / name)


def test_no_file(tmp_path):
    with pytest.raises(ValueError, match=r"no such file: .*nowhere\.csv"):
        read_table(tmp_path / "nowhere.csv")
    with pytest.raises(ValueError, match="is a folder"):
        read_table(tmp_path)


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    frame = pd.DataFrame({"x": [1]})
    write_table(frame, tmp_path / "a.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    for call in (lambda: read_table(tmp_path / "a.parquet"), lambda: write_table(frame, tmp_path / "b.parquet")):
        with pytest.raises(ImportError, match=r'Parquet files need pyarrow: pip install "symloss\[tables\]"'):
            call()


def test_targets_that_are_no_tables(tmp_path):
    frame = pd.DataFrame({"a": [1]})
    with pytest.raises(ValueError, match=r"must end in one of \.csv"):
        write_table(frame, tmp_path / "z.xlsx")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ValueError, match="is a folder"):
        write_table(frame, tmp_path / "folder.csv")


def test_compressed_tables_keep_their_separator(tmp_path):
    frame = pd.DataFrame({"a": [1, 2], "b": [3, 4]})
    write_table(frame, tmp_path / "z.tsv.gz")
    assert read_table(tmp_path / "z.tsv.gz").shape == (2, 2)
