"""Messy files of many kinds: each becomes the table that a person would see in it, or one line that says what helps."""

import bz2
import csv
import gzip
import io
import lzma
import os
import random
import sys
import threading
import zipfile
from contextlib import nullcontext
from datetime import datetime
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pyarrow
import pytest
from typer.testing import CliRunner

import symloss as sl
from symloss.cli import app
from symloss.naming import as_options
from symloss.tabular import fitting
from symloss.tabular.dialect import Dialect, ReadOptions, find_dialect, records
from symloss.tabular.numerals import mark_of
from symloss.tabular.reading import read, read_chunks, read_table
from symloss.tabular.rows import rows_are_even
from symloss.tabular.sources import Source, open_source

# What colleagues would point out is not what these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore:.*(rows have the same features|there are only|alone tells|number rows)")

NAN = float("nan")
PLAIN = {"a": [1, 2], "b": ["x", "y"]}
CSV = b"a,b\n1,x\n2,y\n"
GERMAN = "größe;ß\n1,5;ä\n2,25;ö\n"
GERMAN_TABLE = {"größe": [1.5, 2.25], "ß": ["ä", "ö"]}


@pytest.fixture(autouse=True)
def _as_a_command():
    with as_options():
        yield


def zipped(files, method=zipfile.ZIP_DEFLATED):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return content.getvalue()


def protected(archive):
    """A zip archive whose only file says that it needs a password."""
    content = bytearray(archive)
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    return bytes(content)


def damaged(content, start=-30, stop=-20):
    return content[:start] + bytes(byte ^ 0x5A for byte in content[start:stop]) + content[stop:]


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


ROWS = [["a", "b"], [1, "x"], [2, "y"]]

# What it is, the name of the file, its content, options, the table, and what the notes must hold.
READ = [
    ("commas", "a.csv", CSV, {}, PLAIN, "separator: comma; decimal point; encoding: UTF-8"),
    ("semicolons", "a.csv", b"a;b\n1;x\n2;y\n", {}, PLAIN, "separator: semicolon; decimal point"),
    ("tabs in .csv", "a.csv", b"a\tb\n1\tx\n2\ty\n", {}, PLAIN, "separator: tab"),
    ("commas in .tsv", "a.tsv", CSV, {}, PLAIN, "separator: comma"),
    ("pipes", "a.txt", b"a|b\n1|x\n2|y\n", {}, PLAIN, "separator: pipe"),
    ("no suffix", "a", CSV, {}, PLAIN, "separator: comma"),
    ("suffix in capitals", "A.CSV", CSV, {}, PLAIN, "separator: comma"),
    ("told separator", "a.csv", b"a^b\n1^x\n2^y\n", {"sep": "^"}, PLAIN, "separator: '^'"),
    ("told by name", "a.csv", b"a\tb\n1\tx\n2\ty\n", {"sep": "tab"}, PLAIN, "separator: tab"),
    ("spaces, in runs", "a.txt", b"a   b\n1   x\n 2 y\n", {"sep": " "}, PLAIN, "separator: space"),
    ("separators in quotes", "a.csv", b'a;b\n1;"x;\n;y"\n2;"u;v;w"\n', {}, {"a": [1, 2], "b": ["x;\n;y", "u;v;w"]}, ""),
    ("quotes in quotes", "a.csv", b'a,b\n1,"say ""x"""\n2,y\n', {}, {"a": [1, 2], "b": ['say "x"', "y"]}, ""),
    ("a quote in a value", "a.csv", b'a,b\n1,5" pipe\n2,\n', {}, {"a": [1, 2], "b": ['5" pipe', NAN]}, ""),
    ("commas in texts", "a.csv", b"a;b\n1;x, y, z\n2;u, v\n", {}, {"a": [1, 2], "b": ["x, y, z", "u, v"]}, "semicolon"),
    ("pipes in texts", "a.csv", b"a,b\n1,x|y\n2,u|v\n", {}, {"a": [1, 2], "b": ["x|y", "u|v"]}, "separator: comma"),
    ("Windows line ends", "a.csv", b"a,b\r\n1,x\r\n2,y\r\n", {}, PLAIN, ""),
    ("old Mac line ends", "a.csv", b"a,b\r1,x\r2,y\r", {}, PLAIN, ""),
    ("no last line end", "a.csv", CSV.rstrip(), {}, PLAIN, ""),
    ("blank lines", "a.csv", b"\n\na,b\n\n1,x\n   \n2,y\n\n\n", {}, PLAIN, ""),
    ("spaces after separators", "a.csv", b'a, b\n1, "x"\n2, y\n', {}, PLAIN, ""),
    ("separators at all ends", "a.csv", b"a,b,\n1,x,\n2,y,\n", {}, PLAIN,
     "1 column without a name and without a value"),
    ("separators at ends of rows", "a.csv", b"a,b\n1,x,\n2,y,\n", {}, PLAIN, ""),
    ("numbers of rows without a name", "a.csv", b",a\n0,5\n1,6\n", {}, {"Unnamed: 0": [0, 1], "a": [5, 6]},
     "column 1 has no name, and is called 'Unnamed: 0'"),
    ("a hint of Excel", "a.csv", b"sep=;\r\na;b\r\n1;x\r\n2;y\r\n", {}, PLAIN,
     "the first line says only what separates values (sep=;)"),
    ("a hint of Excel and a missing value", "a.csv", b"sep=;\na;b;c\n1;x;\n", {},
     {"a": [1], "b": ["x"], "c": [NAN]}, ""),
    ("no names", "a.csv", b"1,2.5\n3,4\n5,6\n", {}, {"1": [3, 5], "2.5": [4, 6]},
     "the first line holds only numbers (1, 2.5), and is taken for the names"),
    ("one column", "a.csv", b"a\n1\n2\n", {}, {"a": [1, 2]}, "one column: no comma separates names"),
    ("two that fit", "a.csv", b"a, x;b, y\n1, 2;3, 4\n", {}, {"a, x": ["1, 2"], "b, y": ["3, 4"]},
     "semicolon taken, but comma fits too; --sep ,"),
    ("last values missing", "a.csv", b'a,b\n1,\n2,"y, z"\n', {}, {"a": [1, 2], "b": [NAN, "y, z"]}, ""),
    ("UTF-8 with a mark", "a.csv", GERMAN.encode("utf-8-sig"), {}, GERMAN_TABLE, "UTF-8 with a byte order mark"),
    ("a mark and quotes", "a.csv", '\ufeff"a","b"\n1,x\n2,\n'.encode(), {}, {"a": [1, 2], "b": ["x", NAN]}, ""),
    ("a mark, told its encoding", "a.csv", '\ufeff"a,b",c\n1,5" x\n2,\n'.encode(), {"encoding": "utf-8"},
     {"a,b": [1, 2], "c": ['5" x', NAN]}, ""),
    ("UTF-16", "a.csv", GERMAN.encode("utf-16"), {}, GERMAN_TABLE, "encoding: UTF-16"),
    ("UTF-16, the other order", "a.csv", b"\xfe\xff" + GERMAN.encode("utf-16-be"), {}, GERMAN_TABLE, "UTF-16"),
    ("UTF-16 without a mark", "a.csv", GERMAN.encode("utf-16-le"), {"encoding": "utf-16-le"}, GERMAN_TABLE,
     "utf-16-le"),
    ("UTF-16 with a mark, told its order", "a.csv", GERMAN.encode("utf-16"), {"encoding": "utf-16-le"}, GERMAN_TABLE,
     ""),
    ("Windows-1252", "a.csv", (GERMAN + "3;€\n").encode("cp1252"), {},
     {"größe": [1.5, 2.25, 3], "ß": ["ä", "ö", "€"]}, "line 1 is not UTF-8, so Windows-1252 is a guess; --encoding"),
    ("Latin-1", "a.csv", b"a;b\n1;\xe4\x81\n", {}, {"a": [1], "b": ["ä\x81"]}, "so Latin-1 is a guess"),
    ("Latin-1 far below", "a.csv", b"a,b\n" + b"1,x\n" * 300_000 + b"1,\xe4\n", {}, None, "line 300002 is not UTF-8"),
    ("told encoding", "a.csv", "a;b\n1;я\n".encode("cp1251"), {"encoding": "cp1251"}, {"a": [1], "b": ["я"]}, "cp1251"),
    ("decimal commas", "a.csv", b"a;b\n1,5;x\n-2,25e1;y\n", {}, {"a": [1.5, -22.5], "b": ["x", "y"]}, "decimal comma"),
    ("decimal commas and tabs", "a.csv", b"a\tb\n0,123\tx\n2\ty\n", {}, {"a": [0.123, 2], "b": ["x", "y"]},
     "decimal comma"),
    ("decimal commas in quotes", "a.csv", b'a,b\n"1,5",x\n"2,0",y\n', {}, {"a": [1.5, 2], "b": ["x", "y"]},
     "separator: comma; decimal comma"),
    ("points between thousands", "a.csv", b"a;b\n1.234,5;1.234\n2;567\n", {}, {"a": [1234.5, 2], "b": [1234, 567]},
     "the point in 1.234 groups thousands, since other columns have decimal commas; --decimal . if"),
    ("spaces between thousands", "a.csv", "a;b\n1\u00a0234,5;x\n2 000,25;y\n".encode(), {},
     {"a": [1234.5, 2000.25], "b": ["x", "y"]}, "decimal comma"),
    ("1,234 beside semicolons", "a.csv", b"a;b\n1,234;x\n5,678;y\n", {}, {"a": [1.234, 5.678], "b": ["x", "y"]},
     "1,234 is read as 1.234, though no number tells; --decimal . if the comma groups thousands"),
    ("1,234 beside tabs", "a.csv", b"a\tb\n1,234\tx\n5,678\ty\n", {}, {"a": ["1,234", "5,678"], "b": ["x", "y"]},
     "the comma in 1,234 groups thousands, though no number tells; --decimal , if"),
    ("1.234 beside semicolons", "a.csv", b"a;b\n1.234;x\n5.678;y\n", {}, {"a": [1.234, 5.678], "b": ["x", "y"]},
     "1.234 is read as it stands, though no number tells; --decimal , if"),
    ("1.234, told", "a.csv", b"a;b\n1.234;x\n5.678;y\n", {"decimal": ","}, {"a": [1234, 5678], "b": ["x", "y"]}, ""),
    ("both marks", "a.csv", b"a;b;c\n1,5;2,5;3.5\n2;3;4.25\n", {}, {"a": [1.5, 2], "b": [2.5, 3], "c": [3.5, 4.25]},
     "column 'c' has a decimal point (3.5); --decimal , reads it as text"),
    ("as many of both marks", "a.csv", b"a;b;c\n1,5;2.5;1.234\n2;3.5;5.678\n", {},
     {"a": [1.5, 2], "b": [2.5, 3.5], "c": [1234, 5678]}, "column 'c': the point in 1.234 groups thousands"),
    ("a decimal comma far below", "a.csv", b"a;b\n" + b"1;x\n" * 999 + b"1,5;x\n", {},
     {"a": [1.0] * 999 + [1.5], "b": ["x"] * 1000}, "column 'a' has a decimal comma (1,5)"),
    ("dates beside decimal commas", "a.csv", b"a;b\n1,5;12.05.2024\n2;01.06.2024\n", {},
     {"a": [1.5, 2], "b": ["12.05.2024", "01.06.2024"]}, "decimal comma"),
    ("gzip", "a.csv.gz", gzip.compress(CSV), {}, PLAIN, ""),
    ("gzip in two parts", "a.csv.gz", gzip.compress(CSV[:6]) + gzip.compress(CSV[6:]), {}, PLAIN, ""),
    ("gzip without saying so", "a.csv", gzip.compress(CSV), {}, PLAIN, "compressed with gzip, though its name"),
    ("bzip2", "a.csv.bz2", bz2.compress(CSV), {}, PLAIN, ""),
    ("xz and UTF-16", "a.csv.xz", lzma.compress(GERMAN.encode("utf-16")), {}, GERMAN_TABLE, "UTF-16"),
    ("zstd", "a.csv.zst", pyarrow.compress(CSV, "zstd", asbytes=True), {}, PLAIN, ""),
    ("zip", "a.zip", zipped({"folder/": "", "folder/x.csv": CSV, "__MACOSX/._x.csv": "?"}), {}, PLAIN, ""),
    ("Parquet", "a.parquet", parquet(pd.DataFrame(PLAIN)), {}, PLAIN, ""),
    ("Parquet without saying so", "a.csv", parquet(pd.DataFrame(PLAIN)), {"sep": ";"}, PLAIN,
     "--sep has no meaning for a Parquet file"),
    ("Parquet in gzip", "a.parquet.gz", gzip.compress(parquet(pd.DataFrame(PLAIN))), {}, PLAIN, ""),
    ("Excel", "a.xlsx", workbook(one=ROWS), {}, PLAIN, "sheet: 'one'"),
    ("Excel, the first sheet", "a.xlsx", workbook(one=ROWS, **{"the other": [["c"], [3]]}), {}, PLAIN,
     "sheet: 'one', the first of 2; --sheet 'the other' reads the second"),
    ("Excel, a sheet by name", "a.xlsx", workbook(one=ROWS, two=[["c"], [3]]), {"sheet": "two"}, {"c": [3]}, "'two'"),
    ("Excel, a sheet by number", "a.xlsx", workbook(one=ROWS, two=[["c"], [3]]), {"sheet": "2"}, {"c": [3]}, "'two'"),
    ("Excel, a sheet named by a number", "a.xlsx", workbook(**{"2": [["c"], [3]], "1": ROWS}), {"sheet": "1"}, PLAIN,
     ""),
    ("Excel, blank rows and columns", "a.xlsx",
     workbook(s=[[], [None, "a", "b"], [], [None, 1, "x"], [None, 2, "y"], []]),
     {}, PLAIN, ""),
    ("Excel, cells of all kinds", "a.xlsx",
     workbook(s=[["a", "b", "c"], [1.5, True, datetime(2026, 5, 1)], ["NA", False]]),
     {}, {"a": [1.5, NAN], "b": [True, False], "c": [datetime(2026, 5, 1), pd.NaT]}, ""),
    ("Excel in zip", "a.zip", zipped({"a.xlsx": workbook(one=ROWS)}), {}, PLAIN, ""),
    ("Excel, named as of old", "a.xls", workbook(one=ROWS), {}, PLAIN, "Excel file, though its name does not say so"),
    ("text named .xls", "a.xls", b"a\tb\n1\tx\n2\ty\n", {}, PLAIN, "separator: tab"),
    ("a long value", "a.csv", b"a,b\n1,x\n2," + b"y" * 200_000 + b"\n3,\n", {},
     {"a": [1, 2, 3], "b": ["x", "y" * 200_000, NAN]}, ""),
    ("wide", "a.csv", ";".join(f"{k:01000d}" for k in range(1500)).encode() + b"\n" + b"1;" * 1499 + b"1\n", {}, None,
     "semicolon"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "options", "table", "note"), [case[1:] for case in READ],
                         ids=[case[0] for case in READ])  # fmt: skip
def test_a_table_is_read_as_a_person_would(tmp_path, name, content, options, table, note):
    path = tmp_path / name
    path.write_bytes(content)
    found = read(path, options=ReadOptions(**options))
    assert note in "; ".join(found.notes)
    if table is not None:
        expected = pd.DataFrame(table)
        pd.testing.assert_frame_equal(found.frame, expected, check_dtype=False, check_column_type=False)
        for column in expected:
            assert (found.frame[column].dtype.kind in "iufb") == (expected[column].dtype.kind in "iufb")
    pieces = list(read_chunks(path, 1000, options=ReadOptions(**options), notes=(notes := [])))
    if len(pieces) == 1:
        assert sorted(notes) == sorted(found.notes)
    pd.testing.assert_frame_equal(pd.concat(pieces), found.frame, check_dtype=False)


# What it is, the name of the file, its content, options, and what the error must say.
REFUSED = [
    ("empty", "a.csv", b"", {}, "a.csv is empty"),
    ("a mark alone", "a.csv", b"\xef\xbb\xbf", {}, "a.csv is empty"),
    ("names alone, packed", "a.csv.gz", gzip.compress(b"a,b\n"), {}, "a.csv.gz has no rows"),
    ("nothing, packed", "a.csv.gz", gzip.compress(b""), {}, "a.csv.gz is empty"),
    ("a row too long", "a.csv", b'a,b\n1,"x\ny"\n2,y,z\n', {},
     "cannot be read as CSV: Expected 2 fields in line 4, saw 3 "
     "(separator: comma); a value that holds a comma needs quotes, and --sep says what separates values"),
    ("a row too short", "a.csv", b'a,b,c\n1,"x\ny",3\n\n2,y\n3,z,5\n', {}, "Expected 3 fields in line 5, saw 2 "
     "(separator: comma); the line may be cut off, and --sep says what separates values"),
    ("a short row among quotes", "a.csv", b'a,b,c\n1,5" x\n2,6" y,c\n', {}, "Expected 3 fields in line 2, saw 2"),
    ("the last row cut off", "a.csv", b"a;b\n1;x\n2", {}, "Expected 2 fields in line 3, saw 1 (separator: semicolon)"),
    ("a short row in UTF-16", "a.csv", "a;b\n1;x\n2\n".encode("utf-16"), {}, "Expected 2 fields in line 3, saw 1"),
    ("some ends with separators", "a.csv", b"a,b\n1,x\n2,y,\n", {}, "Expected 2 fields in line 3, saw 3"),
    ("names of rows without a name", "a.csv", b"a,b\nu,1,2\nv,3,4\n", {}, "Expected 2 fields in line 2, saw 3"),
    ("a title", "a.csv", b"Report of May\n\na,b\n1,2\n", {},
     "line 3, saw 2 (separator: comma); delete what stands above"),
    ("a comment", "a.csv", b"# by hand\na;b\n1;2\n", {}, "Expected 1 fields in line 2, saw 2 (separator: semicolon)"),
    ("a separator that is none", "a.csv", b"a;b,c\n1;2,5\n2;3,5\n3;4\n", {"sep": ","},
     "line 4, saw 1 (separator: comma); "
     "--sep ';' if semicolons separate them"),
    ("spaces", "a.csv", b"a b c\n1  2 3\n4 5 6\n", {}, "3 words in each line: --sep ' ' if spaces separate them"),
    ("a quote left open", "a.csv", b'a,b\n1,x\n2,"y\n3,z\n', {}, "the quote that opens in line 3 is never closed"),
    ("names twice", "a.csv", b"a,b,a\n1,2,3\n", {}, "a.csv cannot be read as CSV: several columns have the name a"),
    ("names twice in Excel", "a.xlsx", workbook(s=[["a", "a"], [1, 2]]), {},
     "as Excel: several columns have the name a"),
    ("a NUL", "a.csv", b"a,b\n1,x\n2,\0y\n", {}, "cannot be read as CSV: line 3 holds a NUL byte; the file is damaged"),
    ("a picture", "a.csv", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256)), {},
     "not text in UTF-8 or another"),
    ("noise", "a.csv", random.Random(0).randbytes(5000), {}, "a.csv is not a CSV file: it is not text"),
    ("UTF-16 without a mark", "a.csv", CSV.decode().encode("utf-16-le"), {}, "--encoding utf-16-le reads it"),
    ("UTF-16 without a mark, the other order", "a.csv", CSV.decode().encode("utf-16-be"), {}, "--encoding utf-16-be"),
    ("half a letter", "a.csv", GERMAN.encode("utf-16")[:-1], {}, "starts as text in UTF-16, but line 3 is not"),
    ("not in the told encoding", "a.csv", b"a;b\n1;\xe4\n", {"encoding": "utf-8"},
     "line 2 is not text in utf-8, as --enc"),
    ("HTML", "a.csv", b"\n <!DOCTYPE html>\n<html><body>Log in</body></html>", {},
     "holds HTML or XML, not CSV: open it"),
    ("HTML named .xls", "a.xls", b"<table><tr><td>1</td></tr></table>", {}, "holds HTML or XML, not CSV: open it in a"),
    ("HTML in UTF-16", "a.xls", "<html></html>".encode("utf-16"), {}, "holds HTML or XML, not CSV"),
    ("JSON", "a.csv", b'[{"a": 1}, {"a": 2}]', {}, "holds JSON, not CSV"),
    ("old Excel", "a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), {}, "save it as .xlsx without a password"),
    ("Excel with a password", "a.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), {},
     "protected by a password"),
    ("no Excel", "a.xlsx", CSV, {}, "cannot be read as Excel: its content is not Excel; rename it to .csv"),
    ("damaged Excel", "a.xlsx", zipped({"xl/workbook.xml": "<x"}), {}, "a.xlsx cannot be read as Excel: it is damaged"),
    ("an empty sheet", "a.xlsx", workbook(s=[]), {}, "a.xlsx, sheet 's' is empty"),
    ("a title in Excel", "a.xlsx", workbook(s=[["Report"], ["a", "b", "c"], [1, 2, 3]]), {},
     "sheet 's': row 1 names only "
     "1 of 3 columns; delete what stands above the names"),
    ("no such sheet", "a.xlsx", workbook(one=ROWS, two=ROWS), {"sheet": "3"},
     "has no sheet '3' (--sheet); its sheets are "
     "'one', 'two', or 1 to 2"),
    ("LibreOffice", "a.ods", zipped({"mimetype": "application/vnd.oasis.opendocument.spreadsheet"}), {},
     "save it as .xlsx"),
    ("a zip of two", "a.zip", zipped({"x.csv": CSV, "y.csv": CSV}), {},
     "holds 2 files (x.csv, y.csv), and must hold exactly"),
    ("a zip of none", "a.zip", zipped({}), {}, "a.zip holds 0 files, and must hold exactly one"),
    ("a zip with a password", "a.zip", protected(zipped({"x.csv": CSV})), {},
     "a.zip is protected by a password: unpack it"),
    ("half a zip", "a.zip", zipped({"x.csv": CSV})[:60], {},
     "a.zip cannot be read as CSV: it is damaged or incomplete"),
    ("a damaged zip", "a.zip", damaged(zipped({"x.csv": CSV}, zipfile.ZIP_STORED), 36, 40), {},
     "it is damaged or incomplete"),
    ("garbage named .xz", "a.csv.xz", b"garbage", {},
     "a.csv.xz cannot be read as CSV: its name says xz, but its content is "
     "not; rename it if it is not compressed"),
    ("damaged xz", "a.csv.xz", damaged(lzma.compress(CSV)), {}, "it is damaged or incomplete"),
    ("half a gzip", "a.csv.gz", gzip.compress(CSV * 1000)[:-20], {},
     "it is damaged or incomplete (Compressed file ended"),
    ("half a bzip2", "a.csv.bz2", bz2.compress(CSV * 1000)[:-20], {},
     "it is damaged or incomplete (Compressed file ended"),
    ("half a zstd", "a.csv.zst",
     pyarrow.compress(random.Random(0).randbytes(1000).hex().encode(), "zstd", asbytes=True)[:-9],
     {}, "it is damaged or incomplete"),
    ("CSV named Parquet", "a.parquet", CSV, {},
     "cannot be read as Parquet: its content is not Parquet; rename it to .csv"),
    ("half a Parquet", "a.parquet", parquet(pd.DataFrame(PLAIN))[:-20], {}, "a.parquet cannot be read as Parquet: "),
    ("PDF", "a.csv", b"%PDF-1.7\n", {}, "is a PDF document"),
    ("a tar archive", "a.tar.gz", gzip.compress(b"x.csv".ljust(257, b"\0") + b"ustar" + bytes(250)), {},
     "is a tar archive"),
    ("a sheet of CSV", "a.csv", CSV, {"sheet": "1"}, "a.csv is a CSV file and has no sheets; leave out --sheet"),
    ("a sheet of Parquet", "a.parquet", parquet(pd.DataFrame(PLAIN)), {"sheet": "1"}, "has no sheets; leave out"),
    ("a zip with a password that looks like a spreadsheet", "a.zip", protected(zipped({"mimetype": CSV})), {},
     "a.zip is protected by a password: unpack it"),
    ("more values than names, which say NA", "a.csv", b"a,b\n1,x,nan\n2,y,NA\n", {},
     "Expected 2 fields in line 2, saw 3"),
    ("no separator", "a.csv", CSV, {"sep": "::"},
     "--sep must be one sign, or one of comma, semicolon, tab, pipe, space"),
    ("a letter for a separator", "a.csv", CSV, {"sep": "x"}, "--sep must be one sign"),
    ("no decimal mark", "a.csv", CSV, {"decimal": "x"}, "--decimal must be a point or a comma, got 'x'"),
    ("no encoding", "a.csv", CSV, {"encoding": "utf-9"}, "--encoding: no encoding 'utf-9'; some are utf-8"),
    ("no encoding of text", "a.csv", CSV, {"encoding": "hex"}, "--encoding: no encoding 'hex'"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "options", "message"), [case[1:] for case in REFUSED],
                         ids=[case[0] for case in REFUSED])  # fmt: skip
def test_what_cannot_be_read_is_refused_with_what_helps(tmp_path, name, content, options, message):
    path = tmp_path / name
    path.write_bytes(content)
    for call in (read, lambda path, options: list(read_chunks(path, 1, options=options))):
        with pytest.raises(ValueError, match=r".") as error:
            call(path, options=ReadOptions(**options))
        assert message in str(error.value)
        assert type(error.value) is ValueError
        assert "\n" not in str(error.value)


def test_what_was_found_reads_other_files_alike(tmp_path):
    (tmp_path / "fit.csv").write_bytes(b"a\tb\n1,5\tx\n2,25\ty\n")
    (tmp_path / "predict.csv").write_bytes(b"a\tb\n1,234\tx\n")  # which alone would not tell
    found = read(tmp_path / "fit.csv")
    assert found.options[:4] == ("\t", ",", "utf-8", None)
    assert read_table(tmp_path / "predict.csv", options=found.options)["a"].tolist() == [1.234]
    usual = ReadOptions(usual_decimal=found.options.decimal)
    assert read_table(tmp_path / "predict.csv", options=usual)["a"].tolist() == [1.234]


def test_columns_read_as_text_stay_as_they_are_written(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a;b\n01;1,50\n02;2.000\n")
    assert read_table(tmp_path / "a.csv", text=["a", "b"]).to_dict("list") == {
        "a": ["01", "02"],
        "b": ["1,50", "2.000"],
    }
    (tmp_path / "a.xlsx").write_bytes(workbook(s=[["a", "b"], [1, 2.0], [None, True]]))
    found = read_table(tmp_path / "a.xlsx", text=["a", "b"])
    assert found["b"].tolist() == ["2", "True"]
    assert found["a"][0] == "1"
    assert found["a"].isna().tolist() == [False, True]


def test_told_marks_leave_the_other_mark_as_text(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a;b\n1,5;2.5\n2,5;3.5\n")
    assert read(tmp_path / "a.csv", options=ReadOptions(decimal=".")).frame["a"].tolist() == ["1,5", "2,5"]
    assert read(tmp_path / "a.csv", options=ReadOptions(decimal="comma")).frame["b"].tolist() == ["2.5", "3.5"]


@pytest.mark.parametrize(
    ("values", "decimal", "sure"),
    [
        (["1,5", "2"], ",", True),
        (["1.5", "2", ""], ".", True),
        (["1.234", "NA"], ".", False),
        (["1,234"], ",", False),
        (["1,234", "2.5"], ".", True),
        (["1.234", "2,5"], ",", True),
        (["1,234,567"], ".", True),
        (["0,123"], ",", True),
        (["1234,567"], ",", True),
    ],
)
def test_decimal_marks(values, decimal, sure):
    assert mark_of(values)[:2] == (decimal, sure)


@pytest.mark.parametrize(
    "values", [["1", "2"], ["1e5"], [], ["1,5", "2.5"], ["1,234", "1.234"], ["1.2.3"], ["1,5", "x"]]
)
def test_no_decimal_marks(values):
    assert mark_of(values) is None


def test_chunks_are_read_one_by_one(tmp_path):
    """A row that pandas cannot read, far below, is met only after the chunks above it; a short row is met at once."""
    (tmp_path / "a.csv").write_bytes(b"a,b\n" + b"1,x\n" * 100_000 + b"1,x,y\n")
    chunks = read_chunks(tmp_path / "a.csv", 30_000)
    assert [next(chunks).index[0] for _ in range(3)] == [0, 30_000, 60_000]
    with pytest.raises(ValueError, match="Expected 2 fields in line 100002, saw 3"):
        list(chunks)
    (tmp_path / "a.csv").write_bytes(b"a,b\n1,x\n2,\n" + b"1,x\n" * 100_000 + b"1\n")
    with pytest.raises(ValueError, match="Expected 2 fields in line 100004, saw 1"):
        next(read_chunks(tmp_path / "a.csv", 10))


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.xlsx"])
def test_chunks_are_parts_of_the_table(tmp_path, name):
    frame = pd.DataFrame({"a": range(5)})
    rows = [["a"], *([k] for k in range(5))]
    content = {"csv": b"a\n0\n1\n2\n3\n4\n", "parquet": parquet(frame), "xlsx": workbook(s=rows)}
    (tmp_path / name).write_bytes(content[name[2:]])
    found = list(read_chunks(tmp_path / name, 2))
    assert [chunk.index.tolist() for chunk in found] == [[0, 1], [2, 3], [4]]
    pd.testing.assert_frame_equal(pd.concat(found), frame, check_dtype=False)


def test_whole_numbers_stay_whole_in_chunks_of_parquet(tmp_path):
    pd.DataFrame({"a": pd.array([1, 2, None], "Int64")}).to_parquet(tmp_path / "a.parquet")
    assert {str(chunk["a"].dtype) for chunk in read_chunks(tmp_path / "a.parquet", 2)} == {"Int64"}


def test_the_quick_count_of_values_never_says_even_of_uneven_rows(tmp_path, monkeypatch):
    rng, path = random.Random(0), tmp_path / "a.csv"
    values, even = ["1", "", "x y", 'a"b', "p\nq", "u,v;w", '"', '""', ' "q"'], 0
    for _ in range(300):
        sep, width = rng.choice(",;"), rng.randint(2, 4)
        rows = [[f"n{k}" for k in range(width)]]
        for _ in range(rng.randint(1, 6)):
            count = width if rng.random() < 0.9 else rng.randint(1, width + 1)
            rows.append([rng.choice(values) for _ in range(count)])
        text = io.StringIO()
        if rng.random() < 0.7:
            csv.writer(text, delimiter=sep, lineterminator=rng.choice(["\n", "\r\n"])).writerows(rows)
        else:
            text.write("\n".join(map(sep.join, rows)))
        path.write_bytes(text.getvalue().encode())
        monkeypatch.setattr("symloss.tabular.rows._BLOCK", rng.choice([1, 5, 1000]))
        with open_source(path) as source:
            said = rows_are_even(source, Dialect(sep, ".", "utf-8", rows[0], []))
        counts = {len(row) for _, row in records(io.StringIO(text.getvalue(), newline=""), sep)}
        assert not said or counts == {width}, text.getvalue()
        even += said
    assert even > 50


def test_a_pipe_is_read_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(gzip.compress(CSV)))
    writer.start()
    assert read(tmp_path / "pipe").frame.to_dict("list") == PLAIN
    writer.join()


def test_excel_without_openpyxl(tmp_path, monkeypatch):
    (tmp_path / "a.xlsx").write_bytes(workbook(one=ROWS))
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ImportError, match=r'Excel files need openpyxl: pip install "symloss\[excel\]"'):
        read(tmp_path / "a.xlsx")


def run(*arguments, stdin=None):
    return CliRunner().invoke(app, list(map(str, arguments)), input=stdin, env={"COLUMNS": "140", "NO_COLOR": "1"})


def test_commands_read_the_standard_input_and_take_the_options(tmp_path, monkeypatch):
    linear = [("linear", sl.AUCClassifier())]
    monkeypatch.setitem(fitting.ESTIMATORS, "auc", lambda _, **options: sl.AUCClassifierCV(linear, **options))
    x = np.random.default_rng(0).normal(size=60).round(2)
    frame = pd.DataFrame({"größe": x, "y": np.where(x > 0, "ja", "nein")})
    data = frame.to_csv(index=False, sep="^", decimal=",").encode("cp1252")
    result = run("fit", "-", "--label", "y", "--out", tmp_path / "m", "--sep", "^", "--encoding", "cp1252", stdin=data)
    assert result.exit_code == 0, result.output
    assert result.output.splitlines()[0] == "separator: '^'; decimal comma; encoding: Windows-1252"
    packed = gzip.compress(frame[["größe"]].to_csv(index=False).encode("utf-16"))
    result = run("predict", tmp_path / "m", "-", "--encoding", "utf-16", "--decimal", ".", stdin=packed)
    assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) == 61
    with (tmp_path / "a.xlsx").open("wb") as file:
        frame.to_excel(file, sheet_name="May", index=False)
    result = run("predict", tmp_path / "m", tmp_path / "a.xlsx", "--sheet", "June")
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "a.xlsx has no sheet 'June' (--sheet); its sheets are 'May', or 1 to 1" in result.stderr
    result = run("fit", "-", "--label", "y", "--out", tmp_path / "n", stdin=b"")
    assert result.stderr == "symloss: error: standard input is empty\n"


def test_a_closed_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(ValueError, match=r"there is no standard input to read \(-\): pipe a table into the command"):
        read("-")


def test_words_for_missing_values_are_texts_in_a_column_of_text(tmp_path):
    """A label may be called None or NA; only a blank cell is missing."""
    (tmp_path / "data.csv").write_text("y,x\nNone,1\nNA,NA\n,3\n nan,4\n")
    frame = read_table(tmp_path / "data.csv", text=["y"])
    assert frame["y"].fillna("missing").tolist() == ["None", "NA", "missing", "nan"]
    assert frame["x"].isna().tolist() == [False, True, False, False]
    (tmp_path / "fit.csv").write_text("y,x\n" + "".join(f"{'None' if k < 20 else 'some'},{k}\n" for k in range(40)))
    model = sl.tabular.fit(tmp_path / "fit.csv", "y", candidates=[("linear", sl.AUCClassifier())])
    assert model.labels == ("None", "some")


class Reads(io.BytesIO):
    """Bytes without a line end, without limit, and how many of them were read."""

    def __init__(self):
        self.count = 0

    def read(self, size=-1):
        assert 0 <= size <= 1 << 20
        self.count += size
        assert self.count < 100 << 20, "read without limit"
        return b"a" * size


def test_a_first_line_without_end_is_refused(monkeypatch):
    """A small compressed file may unpack to any number of bytes."""
    reads = Reads()
    source = Source(Path("data.csv.gz"), "data.csv.gz", "gzip", "CSV", [])
    monkeypatch.setattr(Source, "open", lambda _: nullcontext(reads))
    with pytest.raises(ValueError, match=r"^data.csv.gz: the first line is longer than 16 MiB: this is no table$"):
        find_dialect(source, ReadOptions())
    assert reads.count <= 17 << 20


def test_only_the_start_of_a_file_called_mimetype_is_read(tmp_path, monkeypatch):
    sizes = []
    read_member = zipfile.ZipExtFile.read
    monkeypatch.setattr(zipfile.ZipExtFile, "read", lambda *given: sizes.append(given[1:]) or read_member(*given))
    (tmp_path / "data.zip").write_bytes(zipped({"mimetype": "a" * 10**6, "content.xml": "b"}))
    with pytest.raises(ValueError, match="holds 2 files"):
        read(tmp_path / "data.zip")
    assert sizes == [(100,)]
    (tmp_path / "data.zip").write_bytes(zipped({"mimetype": "application/vnd.oasis.opendocument.spreadsheet"}))
    with pytest.raises(ValueError, match="spreadsheet of another kind"):
        read(tmp_path / "data.zip")


@pytest.mark.parametrize(
    ("content", "message"), [(b"", "is empty"), (b"x\n", "has no rows"), (b"x\n1\n2,3\n", "line 3")]
)
def test_a_standard_input_that_is_read_twice_keeps_its_name(tmp_path, content, message):
    frame = pd.DataFrame({"x": range(40), "y": np.arange(40) > 17})
    sl.tabular.fit(frame, "y", candidates=[("linear", sl.AUCClassifier())]).save(tmp_path / "m")
    result = run("predict", tmp_path / "m", "-", "--share", "0.5", stdin=content)
    assert result.exit_code == 2
    assert "standard input" in result.stderr
    assert message in result.stderr
    assert run("predict", tmp_path / "m", "-", "--share", "0.5", stdin=b"x\n1\n2\n").exit_code == 0


def test_digits_with_leading_zeros_are_codes(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("zip,x,day,y\n00123,0,1,a\n, 1,02.5,b\n98765,0.5,3,a\n")
    frame, notes, _ = read(path)
    assert frame["zip"].tolist()[::2] == ["00123", "98765"]
    assert frame["zip"].isna().tolist() == [False, True, False]
    assert [frame[name].dtype.kind for name in ("x", "day")] == ["f", "f"]
    assert "codes, since some begin with 0, and no numbers: zip" in notes
    assert read(path, text=["zip"]).frame["zip"].tolist()[0] == "00123"
