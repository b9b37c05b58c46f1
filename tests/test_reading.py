"""Tables as people have them: each file and frame becomes the features a person would expect, or one clear line."""

import datetime
import gzip
import io
import itertools
import json
import zipfile
from decimal import Decimal

import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from typer.testing import CliRunner

import symloss as sl
from symloss.cli import app
from symloss.columns import Encoding, Numbers
from symloss.columns.values import Dates, Hashed
from symloss.estimators import AUCClassifier, BERClassifier, BERClassifierCV, load, save
from symloss.messages import as_options
from symloss.models.family import Imputation
from symloss.tabular import fit
from symloss.tabular.checks import check_table
from symloss.tabular.given_labels import match_labels, read_labels
from symloss.tabular.predicting import whole_table
from symloss.tabular.reading import ReadOptions, read, read_pieces

# What colleagues would point out is not what these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore:.*(rows have the same features|there are only|alone tells|number rows)")

NAN = float("nan")
DAYS = "days since 2000-01-01"
LINEAR = [("linear", AUCClassifier(threshold=0.0))]
PLAIN = {"a": [1, 2], "b": ["x", "y"]}
CSV = b"a,b\n1,x\n2,y\n"
GERMAN = "größe;ß\n1,5;ä\n2,25;ö\n"
GERMAN_TABLE = {"größe": [1.5, 2.25], "ß": ["ä", "ö"]}
ROWS = [["a", "b"], [1, "x"], [2, "y"]]


def zipped(files):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return content.getvalue()


def workbook(**sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def parquet(frame):
    content = io.BytesIO()
    frame.to_parquet(content)
    return content.getvalue()


# What it is, the name of the file, its content, options, the table, and what the notes must hold.
READ = [
    ("commas", "a.csv", CSV, {}, PLAIN, "separator: comma; decimal point; encoding: UTF-8"),
    ("semicolons", "a.csv", b"a;b\n1;x\n2;y\n", {}, PLAIN, "separator: semicolon; decimal point"),
    ("tabs in .csv", "a.csv", b"a\tb\n1\tx\n2\ty\n", {}, PLAIN, "separator: tab"),
    ("separators in quotes", "a.csv", b'a;b\n1;"x;\n;y"\n2;"u;v;w"\n', {}, {"a": [1, 2], "b": ["x;\n;y", "u;v;w"]}, ""),
    ("a quote in a value", "a.csv", b'a,b\n1,5" pipe\n2,\n', {}, {"a": [1, 2], "b": ['5" pipe', NAN]}, ""),
    ("Windows line ends", "a.csv", b"a,b\r\n1,x\r\n2,y\r\n", {}, PLAIN, ""),
    ("blank lines", "a.csv", b"\n\na,b\n\n1,x\n   \n2,y\n\n\n", {}, PLAIN, ""),
    ("separators at all ends", "a.csv", b"a,b,\n1,x,\n2,y,\n", {}, PLAIN, ""),
    ("separators at ends of rows", "a.csv", b"a,b\n1,x,\n2,y,\n", {}, PLAIN, ""),
    ("a hint of Excel", "a.csv", b"sep=;\r\na;b\r\n1;x\r\n2;y\r\n", {}, PLAIN, ""),
    ("a title", "a.csv", b"Report of May\n\na,b\n1,x\n2,y\n", {}, PLAIN, "and left out: 'Report of May'"),
    ("a title in Excel", "a.xlsx", workbook(s=[["May", None, None], [], ["a", "b", "c"], [1, "x", 2], [2, "y", 3]]), {},
     PLAIN | {"c": [2, 3]}, "above the names of the columns, and left out: 'May'"),
    ("no names", "a.csv", b"1,2.5\n3,4\n5,6\n", {}, {"1": [3, 5], "2.5": [4, 6]},
     "the first line holds only numbers (1, 2.5), and is taken for the names"),
    ("UTF-8 with a mark", "a.csv", GERMAN.encode("utf-8-sig"), {}, GERMAN_TABLE, "UTF-8"),
    ("Windows-1252", "a.csv", (GERMAN + "3;€\n").encode("cp1252"), {},
     {"größe": [1.5, 2.25, 3], "ß": ["ä", "ö", "€"]}, "line 1 is not UTF-8, so Windows-1252 is a guess; --encoding"),
    ("Windows-1252 far below", "a.csv", b"a,b\n" + b"1,x\n" * 300_000 + b"1,\xe4\n", {}, None, "line 300002 is not"),
    ("told UTF-16", "a.csv", GERMAN.encode("utf-16"), {"encoding": "utf-16"}, GERMAN_TABLE, "utf-16"),
    ("decimal commas", "a.csv", b"a;b\n1,5;x\n-2,25e1;y\n", {}, {"a": [1.5, -22.5], "b": ["x", "y"]}, "decimal comma"),
    ("commas between thousands", "a.csv", b'a,b\n1.5,"1,234"\n2,567\n', {}, {"a": [1.5, 2], "b": [1234, 567]},
     "'b': 1,234 is read as 1234, though no number there tells; --decimal , reads it otherwise"),
    ("1,234 beside semicolons", "a.csv", b"a;b\n1,234;x\n5,678;y\n", {}, {"a": [1.234, 5.678], "b": ["x", "y"]},
     "1,234 is read as 1.234, though no number there tells; --decimal . reads it otherwise"),
    ("1.234, told", "a.csv", b"a;b\n1.234;x\n5.678;y\n", {"decimal": ","}, {"a": [1234, 5678], "b": ["x", "y"]}, ""),
    ("a decimal comma far below", "a.csv", b"a;b\n" + b"1;x\n" * 999 + b"1,5;x\n", {},
     {"a": [1.0] * 999 + [1.5], "b": ["x"] * 1000}, "decimal comma"),
    ("truth, also missing", "a.csv", b"a,b\ntrue,TRUE\nfalse,\n", {}, {"a": [True, False], "b": [True, NAN]}, ""),
    ("words for missing values", "a.csv", b"a,b\n1,x\nNaN,null\nnone,NaT\n", {},
     {"a": [1, NAN, NAN], "b": ["x", NAN, NAN]}, ""),
    ("codes", "a.csv", b"a,b\n00123,1\n,2\n", {}, {"a": ["00123", NAN], "b": [1, 2]},
     "codes, since some begin with 0, and no numbers: a"),
    ("gzip", "a.csv.gz", gzip.compress(CSV[:6]) + gzip.compress(CSV[6:]), {}, PLAIN, ""),
    ("zip", "a.zip", zipped({"x.csv": CSV, "__MACOSX/x": "?"}), {}, PLAIN, ""),
    ("CSV named Parquet", "a.parquet", CSV, {}, PLAIN, "separator: comma"),
    ("Parquet", "a.parquet", parquet(pd.DataFrame(PLAIN)), {}, PLAIN, ""),
    ("Parquet with an index", "a.pq", parquet(pd.DataFrame({"x": [1, 2]}, index=pd.Index(["u", "v"], name="who"))), {},
     {"who": ["u", "v"], "x": [1, 2]}, ""),
    ("Excel, the first sheet", "a.xlsx", workbook(one=ROWS, **{"the other": [["c"], [3]]}), {}, PLAIN,
     "sheet: 'one', the first of 2; --sheet 'the other' reads the second"),
    ("Excel, a sheet by number", "a.xlsx", workbook(one=ROWS, two=[["c"], [3]]), {"sheet": "2"}, {"c": [3]}, "'two'"),
    ("Excel, cells of all kinds", "a.xlsx",
     workbook(s=[["a", "b", "c"], [1.5, True, datetime.datetime(2026, 5, 1)], ["NA", False]]),
     {}, {"a": [1.5, NAN], "b": [True, False], "c": [datetime.datetime(2026, 5, 1), pd.NaT]}, ""),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "options", "table", "note"), [case[1:] for case in READ],
                         ids=[case[0] for case in READ])  # fmt: skip
def test_a_table_is_read_as_a_person_would(tmp_path, name, content, options, table, note):
    path = tmp_path / name
    path.write_bytes(content)
    with as_options():
        found = read(path, ReadOptions(**options))
        pieces = list(read_pieces(path, 2, ReadOptions(**options))) if table else []
    assert note in "; ".join(found.notes)
    if table is not None:
        expected = pd.DataFrame(table)
        pd.testing.assert_frame_equal(found.frame, expected, check_dtype=False, check_column_type=False)
        for column in expected:
            assert (found.frame[column].dtype.kind in "iufb") == (expected[column].dtype.kind in "iufb")
        assert [len(piece.frame) for piece in pieces[:-1]] == [2] * (len(pieces) - 1)
        pd.testing.assert_frame_equal(pd.concat(piece.frame for piece in pieces), found.frame, check_dtype=False)


# What it is, the name of the file, its content, options, and what the error must say.
REFUSED = [
    ("empty", "a.csv", b"", {}, "a.csv is empty"),
    ("a row too long", "a.csv", b'a,b\n1,"x\ny"\n2,y,z\n', {},
     "read as CSV: Expected 2 fields in line 4, saw 3 (separator: comma); --sep says what separates values, "),
    ("a row too short", "a.csv", b'a,b,c\n1,"x\ny",3\n\n2,y\n3,z,5\n', {}, "Expected 3 fields in line 5, saw 2 "),
    ("only names", "a.xlsx", workbook(s=[["a", "b"]]), {}, "a.xlsx has no rows"),
    ("a quote left open", "a.csv", b'a,b\n1,x\n2,"y\n3,z\n', {}, "is never closed"),
    ("names twice", "a.csv", b"a,b,a\n1,2,3\n", {}, "a.csv cannot be read as CSV: several columns have the name a"),
    ("a NUL", "a.csv", b"a,b\n1,x\n2,\0y\n", {}, "line 3 is not text in UTF-8 or Windows-1252, but binary"),
    ("HTML named .xls", "a.xls", b"<table><tr><td>1</td></tr></table>", {}, "holds HTML or XML, not CSV: open it in a"),
    ("old Excel", "a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), {}, "save it as .xlsx without a password"),
    ("an empty sheet", "a.xlsx", workbook(s=[]), {}, "a.xlsx, sheet 's' is empty"),
    ("no such sheet", "a.xlsx", workbook(one=ROWS, two=ROWS), {"sheet": "3"},
     "has no sheet '3' (--sheet); its sheets are 'one', 'two'"),
    ("a zip of two", "a.zip", zipped({"x.csv": CSV, "y.csv": CSV}), {}, "holds 2 files, and must hold exactly one"),
    ("half a gzip", "a.csv.gz", gzip.compress(CSV * 1000)[:-20], {}, "damaged, incomplete or protected (Compressed"),
    ("half a Parquet", "a.parquet", parquet(pd.DataFrame(PLAIN))[:-20], {}, "a.parquet cannot be read as Parquet: "),
    ("another separator", "a.csv", CSV, {"sep": "^"}, "--sep must be one of comma, semicolon, tab, pipe; got '^'"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "options", "message"), [case[1:] for case in REFUSED],
                         ids=[case[0] for case in REFUSED])  # fmt: skip
def test_what_cannot_be_read_is_refused_with_what_helps(tmp_path, name, content, options, message):
    path = tmp_path / name
    path.write_bytes(content)
    for call in (read, lambda path, options: list(read_pieces(path, 1, options))):
        with as_options(), pytest.raises(ValueError, match=r".") as error:
            call(path, options=ReadOptions(**options))
        assert message in str(error.value)
        assert type(error.value) is ValueError
        assert "\n" not in str(error.value)


def test_a_url_is_not_read_and_the_error_says_how_to():
    with pytest.raises(ValueError, match=r"^URLs are not read: download https://x.org/a.csv first, or pass .*read_csv"):
        read("https:/x.org/a.csv")


def test_columns_read_as_text_stay_as_they_are_written(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a;b;c\n01;1,50;None\nNA;2.000;\n")
    found = read(tmp_path / "a.csv", written=["a", "b", "c"]).frame  # only blank cells are missing
    assert found.fillna("missing").to_dict("list") == {
        "a": ["01", "NA"], "b": ["1,50", "2.000"], "c": ["None", "missing"]}  # fmt: skip
    ((frame, _, _, written),) = read_pieces(tmp_path / "a.csv", 9, text=["a"])
    assert frame["a"].isna().tolist() == [False, True]
    assert frame["b"].tolist() == [1.5, 2000]
    assert written[["a", "b"]].to_dict("list") == {"a": ["01", "NA"], "b": ["1,50", "2.000"]}
    (tmp_path / "a.xlsx").write_bytes(workbook(s=[["a", "b"], [1, 2.0], [None, True]]))
    found = read(tmp_path / "a.xlsx", written=["a", "b"]).frame
    assert (found["b"].tolist(), found["a"][0], found["a"].isna().tolist()) == (["2", "True"], "1", [False, True])


def test_commands_read_the_standard_input_and_name_rows(tmp_path):
    def run(*arguments, stdin=None):
        return CliRunner().invoke(app, list(map(str, arguments)), input=stdin, env={"COLUMNS": "140", "NO_COLOR": "1"})

    x = np.arange(40) / 8
    sl.tabular.fit(pd.DataFrame({"größe": x, "y": x > 2}), "y", candidates=LINEAR).save(tmp_path / "m")
    data = pd.DataFrame({"größe": x, "more": "?"}).to_csv(index=False, sep=";", decimal=",").encode("cp1252")
    result = run("predict", tmp_path / "m", "-", "--share", "0.5", "--encoding", "cp1252", stdin=data)  # read twice
    assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) == 41
    bad = data.replace(b"\n1,5;", b"\n\n0x1F;")
    result = run("predict", tmp_path / "m", "-", stdin=bad)
    assert result.exit_code == 2
    assert "column 'größe' must hold numbers, got '0x1F' in row 13" in result.stderr
    for content, message in ((b"", "standard input is empty"), (b"x;y\n", "has no rows")):
        assert message in run("predict", tmp_path / "m", "-", stdin=content).stderr
    result = run("predict", tmp_path / "m", "-", "--out", tmp_path / "no/x.csv", stdin=data)
    assert "there is no folder" in result.stderr
    assert not (tmp_path / "no").exists()


# What a text says.


def values_of(form, texts):
    return Encoding({"x": form}, {}).transform(pd.DataFrame({"x": texts}, dtype=object)).values


@pytest.mark.parametrize(
    "text",
    [
        "2021-03-04", "2021/3/4", "2021.03.04", "4 Mar 2021", "4-Mar-21", "4 March, 2021", "Mar 4, 2021",
        "MARCH 4 2021", "2021-03-04T00:00:00", "2021-03-04 00:00", "2021-03-04T00:00:00.123456789Z",
        "2021-03-04 00:00+0200", "2021-03-04 00:00:00-05:00", "4.3.2021", "04.03.21", " 2021-03-04 ",
        "Mar 4, 2021 12:00 AM",
    ],
)  # fmt: skip
def test_forms_of_a_date(text):
    dates = Dates.recognize([text])
    assert dates.told
    out = values_of(Dates(("year", "month", "weekday", "hour", DAYS), dates.day_first), [text])
    day = datetime.date(2021, 3, 4)
    assert out[0].tolist() == [2021, 3, day.weekday(), 0, (day - datetime.date(2000, 1, 1)).days]


@pytest.mark.parametrize(
    "text",
    ["2021", "20210304", "2021.03", "1.2.3", "24:30", "2021-02-30", "13/13/2021", "2021-01-01 25:00",
     "1/2/2021 13:00 PM", "3 Market 2021", "monday", "2021-13", "0000-01-01", "1/2-2021", "2021-01-01 10",
     "٢٠٢١-٠١-٠١"],
)  # fmt: skip
def test_what_is_no_date(text):
    assert Dates.recognize([text]) is None
    assert Dates.recognize(["2021-01-01", text]) is None
    assert Dates.recognize(["2021-01-01", "10:30"]) is None


@pytest.mark.parametrize(
    ("texts", "day_first", "told"),
    [(["1/2/2020", "24/12/2020"], True, True), (["1/2/2020", "12/24/2020"], False, True),
     (["1/2/2020", "3/4/2020"], False, False), (["1-2-2020", "3-4-2020"], True, False),
     (["1.2.2020", "3.4.2020"], None, True), (["2020-02-01", "1 Feb 2020"], None, True)],
)  # fmt: skip
def test_the_order_of_day_and_month(texts, day_first, told):
    dates = Dates.recognize(texts)
    assert (dates.day_first, dates.told) == (day_first, told)
    assert ("no value tells" in dates.decision) is not told
    out = values_of(Dates(("month",), day_first), texts[:1])
    assert out[0, 0] == (1 if day_first is False else 2)
    assert Dates.recognize(["24/12/2020", "12/24/2020"]) is None
    assert Dates.recognize(["24.12.2020", "12/24/2020"]).day_first is False


@pytest.mark.parametrize("fitted", [["2020-03-05", "2020-04-06"], ["05.03.2020", "06.04.2020"]])
def test_dots_are_day_first_and_an_order_that_the_fit_never_saw_is_refused(fitted):
    encoding = Encoding.fit(pd.DataFrame({"day": fitted}))
    month = encoding.features.index("day: month")
    assert encoding.transform(pd.DataFrame({"day": ["05.03.2020"]})).values[0, month] == 3
    for text in ("05-03-2020", "05/03/2020", "24/12/2020"):
        message = rf"got '{text}' in index 1; the fit saw no date that tells whether the day or the month comes first"
        with pytest.raises(ValueError, match=message):
            encoding.transform(pd.DataFrame({"day": ["2020-03-05", text]}))


@pytest.mark.parametrize(
    ("texts", "expected", "values"),
    [(["1,000.52", "-3", "+4."], Numbers("."), [1000.52, -3, 4]), (["45%", "3.5 %"], Numbers(".", "%"), [45, 3.5]),
     (["$12.50", "-$1,000", "$-3"], Numbers(".", "$"), [12.5, -1000, -3]), (["0,123"], Numbers(","), [0.123]),
     (["12,5 €", "1.000,25 €"], Numbers(",", "€"), [12.5, 1000.25]), (["1.234", "2,5"], Numbers(","), [1234, 2.5]),
     (["1,234", "567"], Numbers(".", told=False), [1234, 567]), (["1,234", "5.5"], Numbers("."), [1234, 5.5]),
     (["1 234,50 €", "1\u202f234\u202f567,00\u00a0€"], Numbers(",", "€"), [1234.5, 1234567]),
     (["1'000.5%", "3%"], Numbers(".", "%"), [1000.5, 3]), (["$1,000", "$950"], Numbers(".", "$"), [1000, 950]),
     (["€1.000", "€950"], Numbers(".", "€", told=False), [1, 950]), (["1234,567"], Numbers(","), [1234.567]),
     (["£5", "?", "n/a", " - "], Numbers(".", "£"), [5, NAN, NAN, NAN])],
)  # fmt: skip
def test_numbers_written_for_people(texts, expected, values):
    form = Numbers.recognize(texts)
    assert form == expected
    out = values_of(form, texts)
    np.testing.assert_array_equal(out[:, 0], values)
    assert ("no value tells" in form.decision) is not form.told


@pytest.mark.parametrize(
    "texts",
    [["45%", "3"], ["$5", "€5"], ["12 kg"], ["1,00,000"], ["€5€"], ["--5%"], ["-$-5"], ["?", "-"], ["12,5%", "12.5%"],
     ["12 34%"], ["a%"], ["1,000", "1.000"], ["$"], ["1_000"], ["٣"], ["１２"], ["0x1F"], ["007", "123"], ["inf"]],
)  # fmt: skip
def test_what_is_no_number(texts):
    assert Numbers.recognize(texts) is None


def test_hashes_are_fixed_for_all_time():
    """A saved model holds no list of texts: its predictions rely on these places."""
    out = values_of(Hashed(32, by_word=False, distinct=60), ["Oslo", "Rome", "oslo"])
    assert [row.nonzero()[0].tolist() for row in out] == [[19], [14], [29]]
    assert out.sum() == 3
    words = values_of(Hashed(200, by_word=True, distinct=60), ["Good, but dear", "dear but good!", "GOOD"])
    np.testing.assert_array_equal(words[0], words[1])
    assert np.flatnonzero(words[0]).tolist() == [62, 129, 187]
    np.testing.assert_allclose((words**2).sum(1), 1)


# Columns of a table as features.

FRAME = pd.DataFrame({
    "age": [30, 40, 50], "income": [1.5, np.nan, 2.5], "member": [True, False, True], "city": ["Oslo", "Rome", None],
    "plan": ["b", "a", "b "], "unit": ["kg"] * 3, "empty": [np.nan] * 3, "zero": [0.0] * 3,
})  # fmt: skip


def again(encoding):
    return Encoding.from_json(json.loads(json.dumps(encoding.to_json())))


def test_kinds_of_columns():
    encoding = again(Encoding.fit(FRAME))
    assert encoding.features == [
        "age", "income", "member", "city=Oslo", "city=Rome", "city is missing", "plan=a", "plan=b",
    ]  # fmt: skip
    assert encoding.categorical == {"city": 3, "plan": 2}
    assert encoding.dropped == {"unit": "constant", "empty": "all values missing", "zero": "constant"}
    values, unseen = encoding.transform(FRAME[["plan", "empty", "member", "city", "income", "age"]].assign(more="x"))
    assert unseen == {}
    np.testing.assert_array_equal(
        values, [[30, 1.5, 1, 1, 0, 0, 0, 1], [40, np.nan, 0, 0, 1, 0, 1, 0], [50, 2.5, 1, 0, 0, 1, 0, 1]]
    )
    values, unseen = encoding.transform(FRAME.assign(city=["Paris", None, "Bonn"], plan=["a", None, "b"]))
    assert unseen == {"city": 2, "plan": 1}
    np.testing.assert_array_equal(values[:, 3:], [[0, 0, 0, 1, 0], [0, 0, 1, 0, 0], [0, 0, 0, 0, 1]])
    with pytest.raises(ValueError, match="columns that the model needs are missing: income, plan"):
        encoding.transform(FRAME.drop(columns=["plan", "income", "unit"]))


def test_numbers_of_every_type():
    frame = pd.DataFrame({
        "decimal": [Decimal("1.5"), None], "bool": np.array([True, None], object), "small": np.array([1, 2], np.uint8),
        "nullable": pd.array([1, None], dtype="Int64"), "boolean": pd.array([True, None], dtype="boolean"),
    })  # fmt: skip
    encoding = Encoding.fit(frame)
    assert encoding.features == list(frame.columns)
    np.testing.assert_array_equal(encoding.transform(frame).values, [[1.5, 1, 1, 1, 1], [NAN, NAN, 2, NAN, NAN]])
    for wrong in ("x", "1_0", "٣"):
        with pytest.raises(ValueError, match=f"column 'small' must hold numbers, got '{wrong}' in index 1"):
            encoding.transform(frame.assign(small=["3", wrong]))


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([datetime.timedelta(1), datetime.timedelta(2)], r"column 'x' holds lengths of time: make numbers of them"),
        ([[1], [2]], "column 'x' holds lists, not numbers or text"),
        ([1.0, np.inf], "column 'x' holds infinite values in index 1: leave missing values empty, or drop the column"),
        ([1.0, 1e39], r"column 'x' holds values above 3.4e\+38 in size in index 1"),
        ([*map(str, range(599)), "1_000"], "column 'x' holds numbers except '1_000' in index 599: leave missing"),
        ([*map(str, range(599)), "٣"], "column 'x' holds numbers except '٣' in index 599: leave missing"),
        ([5, 5], r"no column is left to learn from: dropped x \(constant\)"),
    ],
)
def test_what_is_refused(column, message):
    with pytest.raises(ValueError, match=message):
        Encoding.fit(pd.DataFrame({"x": column}))


DATES = [f"{day:%Y-%m-%d}" for day in pd.date_range("2020-01-01", periods=590)]


def test_odd_cells_in_a_column_of_dates_are_said():
    fine = Encoding.fit(pd.DataFrame({"day": [*DATES, *["9999-12-31"] * 5, "NaT", "nan", None]}))
    assert [type(form) for form in fine.forms.values()] == [Dates]
    values = fine.transform(pd.DataFrame({"day": ["9999-12-31", "NaT"]})).values
    assert values[0, 0] == 9999
    assert np.isnan(values[1]).all()
    odd = pd.DataFrame({"day": [*DATES[:16], *["0000-00-00", "unknown"] * 5, *DATES[16:]]})
    message = "holds dates or times except '0000-00-00', 'unknown' in 10 rows, the first of them row 17: leave missing"
    with as_options(), pytest.raises(ValueError, match=message):
        Encoding.fit(odd)


@pytest.mark.parametrize("odd", ["1_000", "٣", "１２", "0x1F"])
def test_one_odd_cell_among_numbers_of_a_file_is_refused_with_its_row(tmp_path, odd):
    numbers = [f"{k}.5" for k in range(600)]
    numbers[17] = odd
    (tmp_path / "a.csv").write_text("x,y\n" + "".join(f"{number},{k % 2}\n" for k, number in enumerate(numbers)))
    message = f"column 'x' holds numbers except '{odd}' in row 18: leave missing values empty"
    with as_options(), pytest.raises(ValueError, match=message):
        fit(read(tmp_path / "a.csv").frame, "y", candidates=LINEAR, tell=str)


@pytest.mark.parametrize(
    "written",
    [["13:45", "9:05", None], [datetime.time(13, 45), datetime.time(9, 5), None], ["1:45 PM", "9:05 am", "NaT"]],
)
def test_times_of_the_day_become_hours(written):
    encoding = again(Encoding.fit(pd.DataFrame({"at": written})))
    assert encoding.features == ["at: time"]
    np.testing.assert_allclose(
        encoding.transform(pd.DataFrame({"at": written})).values[:, 0], [13.75, 9 + 1 / 12, np.nan]
    )
    with pytest.raises(ValueError, match="must hold dates or times, got '24:00' in index 1"):
        encoding.transform(pd.DataFrame({"at": ["12:00", "24:00"]}))


def test_a_column_that_names_rows_is_dropped():
    frame = pd.DataFrame({"who": [f"c{k}" for k in range(60)], "age": range(60)})
    encoding = Encoding.fit(frame)
    assert encoding.dropped == {"who": "it names rows: 60 distinct texts"}
    assert Encoding.fit(frame[:9]).categorical == {"who": 9}  # which may be chance
    assert Encoding.fit(frame, rows=120.0).dropped == Encoding.fit(pd.concat([frame] * 2)).dropped == {}


def test_digits_and_decimal_commas_are_categories_unless_there_are_many():
    frame = pd.DataFrame({"a": ["1", "2"] * 30, "b": ["1,2", "2,3"] * 30, "c": [f"{k},5" for k in range(60)]})
    encoding = Encoding.fit(frame)
    assert encoding.categorical == {"a": 2, "b": 2}
    assert encoding.forms["c"] == Numbers(",")
    for given_as in (frame["c"], np.arange(60) + 0.5):
        np.testing.assert_array_equal(encoding.transform(frame.assign(c=given_as)).values[:, -1], np.arange(60) + 0.5)
    codes = pd.DataFrame({"zip": [f"{k:05d}" for k in range(60)] * 2})
    assert isinstance(Encoding.fit(codes).forms["zip"], Hashed)
    assert isinstance(Encoding.fit(codes.replace("00007", "K1A 0B6")).forms["zip"], Hashed)  # not a missing number


@pytest.fixture(scope="module")
def messy():
    rng, n = np.random.default_rng(0), 150
    days = pd.Timestamp("2019-05-01") + pd.to_timedelta(rng.integers(0, 400, n), unit="D")
    frame = pd.DataFrame(
        {
            "age": rng.normal(size=n),
            "plan": rng.choice(["a", "b", None], n),
            "day": days.strftime("%d/%m/%Y"),
            "price": [f"${price:,.2f}" for price in rng.gamma(1, 3000, n)],
            "zip": rng.choice([f"{k:05d}" for k in range(0, 99999, 997)], n),
            "text": [" ".join(words) for words in rng.choice(["good", "bad", "late", "soon", "fine"], (n, 6))],
        }
    )
    for column in frame.columns[1:]:
        frame.loc[rng.random(n) < 0.1, column] = None
    return frame


@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1), cuts=st.lists(st.integers(0, 150), max_size=5))
def test_neither_the_order_of_rows_nor_pieces_change_anything(messy, seed, cuts):
    order = np.random.default_rng(seed).permutation(len(messy))
    encoding, other = Encoding.fit(messy), Encoding.fit(messy.iloc[order])
    assert encoding == other
    expected = encoding.transform(messy).values
    np.testing.assert_array_equal(expected[order], other.transform(messy.iloc[order]).values)
    ends = [0, *sorted(cuts), 150]
    parts = [again(encoding).transform(messy.iloc[start:end]).values for start, end in itertools.pairwise(ends)]
    np.testing.assert_array_equal(np.concatenate(parts), expected)


def test_what_cannot_be_read_at_prediction(messy):
    encoding = Encoding.fit(messy)
    assert [type(form).__name__ for form in encoding.forms.values()] == [
        "Numbers", "Categories", "Dates", "Numbers", "Hashed", "Hashed",
    ]  # fmt: skip
    assert [form.measured for form in encoding.forms.values()] == [True, False, True, True, False, False]
    for column, value, what in (("day", "31/31/2020", "dates or times"), ("price", "12.50", r"numbers with \$")):
        message = f"column '{column}' must hold {what}, got '{value}' in 3 rows"
        with pytest.raises(ValueError, match=message):
            encoding.transform(messy.assign(**{column: messy[column].mask(messy.index < 3, value)}))
    empty = encoding.transform(messy.assign(day=None, price=np.nan, zip=None, text=np.nan)).values
    assert np.isnan(empty[:, 4:8]).all()
    assert not empty[:, 9:].any()


# Data frames in the estimators.

POOL = [
    ("linear", BERClassifier("logistic", threshold=0.0)),
    ("trees", AUCClassifier(model="trees", n_estimators=5, min_samples_leaf=5, threshold=0.0)),
]
ESTIMATORS = [AUCClassifier(model="trees", n_estimators=5, min_samples_leaf=5, random_state=0),
              BERClassifierCV(POOL, cv=2, random_state=0)]  # fmt: skip
N = 60


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    columns = {
        "age": rng.integers(20, 60, N).tolist(),
        "city": rng.choice(["Oslo", "Rome", "Bonn"], N).tolist(),
        "income": rng.normal(size=N).tolist(),
        "plan": rng.choice(["a", "b"], N).tolist(),
        "member": (rng.random(N) < 0.5).tolist(),
        "day": [datetime.date(2020, 1 + k % 12, 1 + k % 28) for k in range(N)],
        "unit": ["kg"] * N,
    }
    for name, k in (("city", 3), ("income", 7), ("plan", 5), ("member", 2), ("day", 9)):
        columns[name][k] = None
    return pd.DataFrame(columns).astype({"income": float})


@pytest.fixture(scope="module")
def in_polars(frame):
    columns = {name: [None if pd.isna(value) else value for value in frame[name]] for name in frame}
    types = {"city": pl.Categorical, "plan": pl.Enum(["b", "a"]), "member": pl.Boolean, "day": pl.Date}
    return pl.DataFrame(columns, schema_overrides=types)


@pytest.fixture(scope="module")
def y(frame):
    score = (frame["city"] == "Oslo").astype(float) + frame["age"] / 60 + np.random.default_rng(1).normal(size=N) / 2
    return np.where(score > score.median(), "yes", "no")


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_scores_are_those_of_features_encoded_by_hand(frame, in_polars, y, estimator, tmp_path):
    fitted = clone(estimator).fit(frame, y)
    assert fitted.feature_names_in_.tolist() == list(frame.columns)
    values = pd.DataFrame({"age": frame["age"]})
    for city in ("Bonn", "Oslo", "Rome"):
        values[city] = frame["city"] == city
    values["no city"], values["income"] = frame["city"].isna(), frame["income"]
    values["a"], values["b"], values["no plan"] = frame["plan"] == "a", frame["plan"] == "b", frame["plan"].isna()
    values["member"] = frame["member"].astype(float)
    day = pd.to_datetime(frame["day"])
    since = (day - pd.Timestamp(2000, 1, 1)).dt.days
    values["month"], values["weekday"], values["days"] = day.dt.month, day.dt.day_of_week, since
    values = np.ascontiguousarray(values, dtype=float)  # sums round otherwise if columns are contiguous
    by_hand = clone(estimator).fit(values, y)
    np.testing.assert_array_equal(fitted.encoding_.transform(frame).values, values)
    expected = by_hand.decision_function(values)
    assert clone(estimator).fit(in_polars, pl.Series(y)).encoding_ == fitted.encoding_
    save(fitted, tmp_path / "model")
    tables = [frame, frame[frame.columns[::-1]], in_polars, in_polars.with_columns(pl.col("plan").cast(pl.String))]
    for found, table in itertools.product((fitted, load(tmp_path / "model")), tables):
        np.testing.assert_array_equal(found.decision_function(table), expected)


TYPES = [
    {"city": "category", "plan": "category"},
    {"city": object, "plan": object},
    {"city": "string", "plan": "string", "age": "Int64", "income": "Float64", "member": "boolean"},
    {"city": "string[pyarrow]", "plan": pd.ArrowDtype(pa.string()), "age": "int64[pyarrow]",
     "income": "double[pyarrow]", "member": "bool[pyarrow]", "day": pd.ArrowDtype(pa.date32())},
    {"age": "float32", "member": float, "day": "datetime64[s]"},
]  # fmt: skip


@pytest.mark.parametrize("types", TYPES)
def test_the_types_of_columns_do_not_matter(frame, types):
    expected, other = Encoding.fit(frame), frame.astype(types)
    assert Encoding.fit(other) == expected
    np.testing.assert_array_equal(expected.transform(other).values, expected.transform(frame).values)


LARGE = np.where(np.arange(40).reshape(20, 2) == 7, 1e39, 0.0)
MESSAGE = r"^X must hold numbers up to 3.4e\+38 in size, got 1e\+39 in row 3 of column (1|'b')$"


@pytest.mark.parametrize("X", [LARGE, pd.DataFrame(LARGE, columns=["a", "b"])])
def test_a_number_that_float32_cannot_hold_is_refused_with_its_place(X):
    for estimator in ESTIMATORS:
        fitted = clone(estimator).fit(np.arange(40.0).reshape(20, 2), [0, 1] * 10)
        with pytest.raises(ValueError, match=MESSAGE):
            clone(estimator).fit(X, [0, 1] * 10)
        with pytest.raises(ValueError, match=r"in row 3 of column 1$"):
            fitted.predict(np.asarray(X))


def test_weights_count_as_repetitions(frame, y):
    """A row of weight 0 is absent: its categories are not encoded."""
    times = np.random.default_rng(4).integers(0, 4, N)
    times[(frame["city"] == "Rome").to_numpy()] = 0
    rows = np.repeat(np.arange(N), times)
    weighted = BERClassifier("logistic", threshold=0.0).fit(frame, y, sample_weight=times)
    repeated = BERClassifier("logistic", threshold=0.0).fit(frame.iloc[rows], y[rows])
    assert weighted.encoding_ == repeated.encoding_
    assert "city=Rome" not in weighted.encoding_.features
    np.testing.assert_array_equal(weighted.medians_, repeated.medians_)
    found, expected = weighted.decision_function(frame), repeated.decision_function(frame)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


def test_wrong_columns(frame, y):
    fitted = BERClassifier(threshold=0.0).fit(frame, y)
    with pytest.raises(
        ValueError, match=r"X must have the 7 columns of the fit, age, .* missing: city; not in .* town"
    ):
        fitted.predict(frame.rename(columns={"city": "town"}))
    with pytest.raises(ValueError, match=r"expected a pandas or polars DataFrame with the columns age, .*got ndarray"):
        fitted.predict(frame.to_numpy())
    with pytest.raises(ValueError, match="column 'age' must hold numbers, got 'old' in 60 rows"):
        fitted.predict(frame.assign(age="old"))
    with pytest.raises(ValueError, match="to have texts encoded, pass them as columns of a pandas"):
        BERClassifier().fit(np.array([["a", 1], ["b", 2]] * 5, object), [0, 1] * 5)
    texts, labels = ["a", "b"] * 5, [0, 1] * 5
    with pytest.raises(ValueError, match="needs names that are texts, got the name 0"):
        BERClassifier().fit(pd.DataFrame({0: texts}), labels)


# Missing values.

FAST = {"epochs": 2, "n_seeds": 2, "hidden_units": 4, "threshold": 0.0, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    """Features 1 and 2 have missing values, and feature 4 has no others."""
    rng = np.random.default_rng(0)
    X = rng.normal([0, 3, -2, 0, 0], size=(80, 5))
    y = X[:, 0] + X[:, 1] + rng.normal(size=80) > 3
    X[rng.random(80) < 0.3, 1] = np.nan
    X[:7, 2] = np.nan
    X[:, 4] = np.nan
    return X, y


@pytest.fixture(scope="module")
def new():
    """New points; feature 3 has missing values only here."""
    X = np.random.default_rng(1).normal(size=(20, 5))
    X[::3, 1] = X[::4, 3] = X[::2, 4] = np.nan
    return X


def test_medians_and_indicators_by_hand(data, new):
    imputation = Imputation.fit(data[0], np.ones(80))
    medians = np.append(np.nanmedian(data[0][:, :4], 0), 0.0)
    np.testing.assert_array_equal(imputation.medians, medians)
    assert imputation.indicators.tolist() == [1, 2]
    expected = np.hstack([np.where(np.isnan(new), medians, new), np.isnan(new)[:, [1, 2]]])
    np.testing.assert_array_equal(imputation.transform(new), expected)
    complete = np.zeros((3, 2))
    assert Imputation.fit(complete, np.ones(3)).transform(complete) is complete


@pytest.mark.parametrize("model", ["linear", "mlp"])
def test_missing_values_in_fits_folds_files_and_modules(data, new, model, tmp_path):
    fitted = AUCClassifier(model=model, **FAST).fit(*data)
    found = fitted.decision_function(new)
    assert fitted.indicators_.tolist() == [1, 2]
    save(fitted, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").decision_function(new), found)
    with torch.no_grad():
        np.testing.assert_allclose(fitted.to_module()(torch.from_numpy(new)), found, rtol=1e-5, atol=1e-5)
    completed = Imputation(fitted.medians_, np.array([], int)).transform(new)
    only_median = AUCClassifier(model=model, **FAST).fit(data[0][:, [0, 3]], data[1])
    np.testing.assert_allclose(
        only_median.decision_function(new[:, [0, 3]]), only_median.decision_function(completed[:, [0, 3]]), rtol=1e-9
    )


@pytest.mark.parametrize("kind", [int, float, str])
@pytest.mark.parametrize("n", [60, 600])
def test_a_code_that_tells_the_label_without_order_is_pointed_out(kind, n):
    rng, positive = np.random.default_rng(0), np.arange(n) % 2 == 0
    code = np.where(positive, rng.choice([1, 3, 5], n), rng.choice([2, 4, 6], n))
    frame = pd.DataFrame({"code": code.astype(kind), "chance": rng.integers(0, 6, n), "x": rng.normal(size=n)})
    encoding = Encoding.fit(frame)
    found = check_table(frame, encoding, encoding.transform(frame).values, positive, np.ones(n))
    assert [warning[:32] for warning in found] == ["column 'code' alone tells the la"]


# Labels.


def labels(values, *arguments, **options):
    return read_labels(pd.Series(values, name="y"), *arguments, **options)


@pytest.mark.parametrize(
    ("values", "expected", "positive"),
    [([" yes", "no\t", "no"], ("no", "yes"), [1, 0, 0]), (["Yes", "yes", "yes", "NO"], ("NO", "yes"), [1, 1, 1, 0]),
     ([True, False], (False, True), [1, 0]), (["1", "0", "1.0", "0 "], ("0", "1"), [1, 0, 1, 0]),
     (["10", "9"], ("9", "10"), [1, 0]), (["+", "-", "+"], ("-", "+"), [1, 0, 1]), (["+1", "-1"], ("-1", "+1"), [1, 0]),
     (np.array([1, "0", 0, "1 "], object), (0, 1), [1, 0, 0, 1]), (["Yes", "no"], ("no", "Yes"), [1, 0]),
     (pd.Categorical(["b", "a", "b"], categories=["a", "b", "c"]), ("a", "b"), [1, 0, 1]),
     (pd.array([1, 0, 1], dtype="Int64"), (0, 1), [1, 0, 1]), (["nan", "x", "nan "], ("nan", "x"), [0, 1, 0])],
)  # fmt: skip
def test_one_value_in_several_spellings(values, expected, positive):
    found = labels(values)
    assert tuple(map(str, found.values)) == tuple(map(str, expected))
    assert found.positive.astype(int).tolist() == positive
    assert match_labels(pd.Series(values), found.values).positive.astype(int).tolist() == positive


def test_the_notes_name_what_was_taken_for_what():
    assert labels(["Yes", "yes", "yes", "no"]).notes == ["label y: 'Yes' is taken for 'yes' (1 rows)"]
    assert labels([1.0, 0.0]).notes == labels(["yes", "no"]).notes == []
    assert labels(["yes", "Yes", "yes"]).notes == [
        "warning: the labels 'Yes', 'yes' differ only in small and capital letters"]  # fmt: skip
    found = labels(["yes", None, "no", "  ", "", np.nan, "yes"])
    assert found.rows.tolist() == [0, 2, 6]
    assert found.notes == ["label y: 4 rows without a label are left out"]
    found = labels(["yes", "NA", "no", "?", "yes"])
    assert (found.values, found.rows.tolist()) == (("no", "yes"), [0, 2, 4])
    assert found.notes[0] == "label y: 'NA' means that there is no label"
    assert labels(["NA", "EU", "NA"]).values == ("EU", "NA")


@pytest.mark.parametrize(
    ("values", "message"),
    [(["a", "b", "c"], "two distinct values, got 3 distinct values: 'a' .1 rows., 'b' .* rows.; empty the"),
     (["a", "A", "b", "c"], "got 4 distinct values: 'A' "), ([None, ""], "must have two distinct values, got none$"),
     (["a", None, None], "only one class: 'a' .1 rows.; if the 2 rows .* are unlabeled data, add unlabeled='pos"),
     ([[1], [2]], "the label, must hold two values, got lists")],
)  # fmt: skip
def test_labels_that_are_not_two(values, message):
    with pytest.raises(ValueError, match=message):
        labels(values)


def test_positive_and_unlabeled():
    found = labels(["yes", None, "yes ", " "], unlabeled="positive-unlabeled")
    assert (found.values, found.positive.tolist()) == (("not yes", "yes"), [True, False, True, False])
    assert found.notes[0] == "label y: 2 rows without a label are unlabeled data, some of them positive"
    assert match_labels(pd.Series(["yes", None]), found.values).positive.tolist() == [True, False]
    for values, positive, message in (
        (["yes", "no", None], None, "got 1 rows without a label and 2 distinct values: "),
        (["yes", "yes"], None, "got 0 rows without a label and 1 distinct values: 'yes'"),
        (["yes", None], "no", "no label 'no' to be positive"),
    ):
        with pytest.raises(ValueError, match=message):
            labels(values, positive, unlabeled="positive-unlabeled")


# Tables that are written.

WRITTEN = pd.DataFrame({"who": ["a", "b, c", None, "d"], "score": [0.1, 1 / 3, -2.0, 1e-300], "k": [1, 2, 3, 4]})


def write_parts(path, *parts):
    with whole_table(path) as write:
        for part in parts:
            write(part)


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz", "a.parquet"])
def test_a_table_in_parts_is_there_whole_or_not_at_all(tmp_path, name):
    write_parts(tmp_path / name, WRITTEN[:3], WRITTEN[3:])
    pd.testing.assert_frame_equal(read(tmp_path / name).frame, WRITTEN, check_exact=True, check_dtype=False)
    before = (tmp_path / name).read_bytes()
    with pytest.raises(AttributeError):
        write_parts(tmp_path / name, WRITTEN, "no table")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [before]


def test_targets_that_are_no_tables(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    for name, message in (
        ("a.xlsx", r"must end in one of \.csv, \.tsv, \.parquet, \.pq"),
        ("folder.csv", "is a folder"),
        ("no/a.csv", r"cannot be written: there is no folder .*no$"),
    ):
        with pytest.raises(ValueError, match=message):
            write_parts(tmp_path / name, WRITTEN)
