"""Tables in files of every kind, with odd names, cells and labels, whole or damaged."""

from __future__ import annotations

import bz2
import datetime
import decimal
import gzip
import io
import lzma
import random
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
from attacks.mutations import damaged

ROWS = 40
LABELS = [("yes", "no")] * 6 + [
    ("$10% - $20%", "$a_b^{$"),
    ("<script>alert(1)</script>", "</script>"),
    ("1", "0"),
    ("1.0", "2"),
    ("nan", "inf"),
    ("x" * 3000, "y"),
    ("%s %(a)d {x}", "\\frac{"),
    ("=1+1", "@x"),
    ("日本", "🎉"),
    ("[red]", "[/red]"),
    ("TRUE", "no"),
    ("2020-01-01", "2020-13-45"),
    (" a", "a"),
    ("NA", "None"),
    ("1e400", "1"),
    ("é", "e\u0301"),
    ("-0", "0"),
]
CELLS = [
    "",
    " ",
    "NA",
    "nan",
    "inf",
    "-inf",
    "1e999",
    "9" * 400,
    "-" + "9" * 30,
    "1e-400",
    "0x1F",
    "1_000",
    "1,5",
    "1.234,5",
    "$1,000.52",
    "10%",
    "$10% - $20%",
    "2020-02-30",
    "0000-00-00",
    "99999-01-01",
    "1970-01-01T00:00:00+99:00",
    "25:61",
    "<b onload=x>",
    '"',
    '""',
    "'",
    "a\nb",
    "a\r\nb",
    "\t",
    ";",
    "|",
    "\\",
    "=cmd|' /C calc'!A0",
    "\ufeff",
    "\u202e",
    "🎉",
    "\x00",
    "\x1a",
    "x" * 70_000,
    "True",
    "None",
    "[1, 2]",
    "{}",
    "१२",
    "½",
    "１２",
    "−5",
    "+-3",
    "1e5e5",
    ".",
    "-",
]
NAMES = [
    "",
    " ",
    "y",
    "age",
    "Unnamed: 0",
    "row",
    "score",
    "prediction",
    "label_quality",
    "<img src=x onerror=a>",
    "$x_{$",
    "x" * 5000,
    "a,b",
    'a"b',
    "a\nb",
    "日本",
    "\u202e",
    "%s",
    "[bold]",
    "__proto__",
    "0",
    "nan",
    "a=b",
    "\ufeffage",
]
_PLAIN = ["age", "income", "plan", "day", "note", "y"]


def plain_rows(labels: tuple[str, str]) -> list[list[str]]:
    """Return the names and rows of a table in which nothing is odd, except perhaps the labels."""
    return [list(_PLAIN)] + [
        [
            str(18 + k * 7 % 60),
            f"{k * 1.37 % 9:.2f}",
            "abc"[k % 3],
            f"2020-01-{1 + k % 28:02d}",
            f"note {k}, and more",
            labels[(k * 7 + k // 5) % 2],
        ]
        for k in range(ROWS)
    ]


def text_rows(generator: random.Random) -> list[list[str]]:
    """Return the names and rows of a table, in which some things are odd."""
    rows = plain_rows(generator.choice(LABELS))
    for _ in range(generator.choice([0, 1, 1, 3, 10])):
        _make_odd(rows, generator)
    return rows


def _make_odd(rows: list[list[str]], generator: random.Random) -> None:
    row = generator.choice(rows)
    column = generator.randrange(len(row)) if row else 0
    kind = generator.choice(["cell"] * 4 + ["column", "name", "longer", "shorter", "fewer", "label", "blank", "again"])
    if kind == "cell" and row:
        row[column] = generator.choice(CELLS)
    elif kind == "column":
        values = [generator.choice(CELLS) for _ in range(generator.choice([1, 2, 7]))]
        for k, other in enumerate(rows[1:]):
            other[column : column + 1] = [values[k % len(values)]]
    elif kind == "name" and rows[0]:
        rows[0][generator.randrange(len(rows[0]))] = generator.choice(NAMES)
    elif kind == "longer":
        row += [generator.choice(CELLS)] * generator.choice([1, 3, 200])
    elif kind == "shorter":
        del row[column:]
    elif kind == "fewer":
        del rows[generator.choice([0, 1, 2, 3, 5, 9, 20]) :]
        rows[:] = rows or [list(_PLAIN)]
    elif kind == "label":
        for other in rows[1:]:
            other[-1:] = [generator.choice(["yes", "no", "maybe", ""])]
    elif kind == "blank":
        rows.insert(generator.randrange(len(rows) + 1), [])
    else:
        rows.append(list(row))


def _text(generator: random.Random) -> bytes:
    sep = generator.choice([",", ",", ";", "\t", "|", " ", "::", "~"])
    quote = generator.choice([True, True, False])
    end = generator.choice(["\n", "\n", "\r\n", "\r"])
    lines = [
        sep.join(
            '"' + cell.replace('"', '""') + '"'
            if quote and any(sign in cell for sign in (sep, '"', "\n", "\r"))
            else cell
            for cell in row
        )
        for row in text_rows(generator)
    ]
    encoding = generator.choice(
        ["utf-8"] * 5 + ["utf-8-sig", "utf-16", "utf-16-le", "utf-32", "cp1252", "shift_jis", "cp037"]
    )
    return end.join(lines).encode(encoding, errors="replace")


def _typed_columns(generator: random.Random) -> dict[str, Any]:
    """Return columns for Parquet of many types, one of them the label."""
    n = ROWS
    day = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    odd: list[Any] = [
        pa.array([[k, None] for k in range(n)]),
        pa.array([{"a": k} for k in range(n)]),
        pa.nulls(n),
        pa.array([decimal.Decimal(k) / 4 for k in range(n)], pa.decimal128(30, 9)),
        pa.array([b"\xff" * 3] * n),
        pa.array([day + datetime.timedelta(k) for k in range(n)]),
        pa.array([2**64 - 1 - k for k in range(n)], pa.uint64()),
        pa.array([datetime.timedelta(k) for k in range(n)]),
        pa.array([datetime.time(k % 24) for k in range(n)]),
        pa.array([[(str(k), k)] for k in range(n)], pa.map_(pa.string(), pa.int64())),
        pa.array([k % 2 == 0 for k in range(n)]),
        pa.array(["a", "b"] * (n // 2)).dictionary_encode(),
        pa.array([float("nan"), 1e308] * (n // 2)),
        pa.array([[] for k in range(n)], pa.list_(pa.string())),
        pa.array([datetime.date(1, 1, 1), datetime.date(9999, 12, 31)] * (n // 2)),
        pa.array([generator.choice(CELLS) for _ in range(n)]),
        pa.array([1, None] * (n // 2)),
        pa.array([b"a", b"b"] * (n // 2)),
        pa.array([[1], [2]] * (n // 2)),
        pa.array([{"a": 1}, {"a": 2}] * (n // 2)),
    ]
    columns: dict[str, Any] = {
        "age": pa.array([18 + k * 7 % 60 for k in range(n)]),
        "income": pa.array([k * 1.37 % 9 for k in range(n)]),
        "plan": pa.array(["abc"[k % 3] for k in range(n)]),
        "day": pa.array([f"2020-01-{1 + k % 28:02d}" for k in range(n)]),
        "note": pa.array([f"note {k}" for k in range(n)]),
        "y": pa.array([generator.choice(["yes", "no"]) for _ in range(n)]),
    }
    for _ in range(generator.choice([0, 1, 2])):
        columns[generator.choice([*_PLAIN, "y", *NAMES])] = generator.choice(odd)
    return columns


def _parquet(generator: random.Random) -> bytes:
    file = io.BytesIO()
    pyarrow.parquet.write_table(pa.table(_typed_columns(generator)), file, row_group_size=generator.choice([7, 1000]))
    return file.getvalue()


def _excel(generator: random.Random) -> bytes:
    book = openpyxl.Workbook()
    rows = text_rows(generator)
    sheet = book.active
    for row in rows:
        sheet.append([cell[:30_000].translate(dict.fromkeys(range(32))) for cell in row])
    for _ in range(generator.choice([0, 1, 4])):
        cell = sheet.cell(generator.randrange(1, ROWS), generator.randrange(1, 8))
        cell.value = generator.choice(
            [
                1.5,
                True,
                "=1/0",
                "#DIV/0!",
                datetime.time(3),
                datetime.timedelta(3),
                datetime.datetime(2020, 1, 1),
                10**300,
                "=A1",
                None,
            ]
        )
    if generator.random() < 0.2:
        book.create_sheet(generator.choice(["second", "<b>", "1"]), 0)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def _zipped(content: bytes, generator: random.Random) -> bytes:
    file = io.BytesIO()
    method = generator.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    with zipfile.ZipFile(file, "w", method) as archive:
        for name in generator.sample(
            ["data.csv", "../data.csv", "xl/workbook.xml", "mimetype", "é.csv"], generator.choice([0, 1, 1, 1, 2])
        ):
            archive.writestr(name, content)
    zipped = bytearray(file.getvalue())
    if generator.random() < 0.2:  # it says that it is encrypted, in both of its headers
        for magic, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
            if (at := zipped.find(magic)) >= 0:
                zipped[at + place] |= 1
    return bytes(zipped)


def _tarred(content: bytes, generator: random.Random) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=generator.choice(["w", "w:gz", "w:xz"])) as archive:
        member = tarfile.TarInfo("data.csv")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return file.getvalue()


def write_table(folder: Path, generator: random.Random) -> Path:
    """Write a table into a file whose content, packing, name and bytes may be odd; return its path."""
    kind = generator.choice(["csv"] * 5 + ["parquet", "excel"])
    content = {"csv": _text, "parquet": _parquet, "excel": _excel}[kind](generator)
    suffix = {
        "csv": generator.choice([".csv", ".csv", ".tsv", ".txt", ".data", ""]),
        "parquet": ".parquet",
        "excel": ".xlsx",
    }[kind]
    if generator.random() < 0.2:
        content = damaged(content, generator)
    packing = generator.choice([""] * 5 + [".gz", ".bz2", ".xz", ".zst", ".zip", ".tar"])
    packers = {
        ".gz": gzip.compress,
        ".bz2": bz2.compress,
        ".xz": lzma.compress,
        ".zst": lambda content: pa.compress(content, codec="zstd", asbytes=True),
    }
    if packing in packers:
        content = packers[packing](content)
    elif packing:
        content = (_zipped if packing == ".zip" else _tarred)(content, generator)
    if generator.random() < 0.3:
        content = damaged(content, generator)
    if generator.random() < 0.15:  # its name says something else
        suffix, packing = (
            generator.choice([".csv", ".parquet", ".xlsx", ".pq", ".gz"]),
            generator.choice(["", ".xz", ".zip"]),
        )
    path = folder / f"{generator.choice(['data', 'data', '<b>', 'a b', 'dé'])}{suffix}{packing}"
    path.write_bytes(content)
    return path


def plain_frame() -> pd.DataFrame:
    """Return a table in which nothing is odd, for the model that predicts."""
    rows = plain_rows(("yes", "no"))
    frame = pd.DataFrame(rows[1:], columns=rows[0])
    return frame.assign(age=frame["age"].astype(int), income=frame["income"].astype(float))
