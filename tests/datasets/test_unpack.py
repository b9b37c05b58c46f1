import gzip
import io
import shutil
import subprocess
import tarfile
import zipfile
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symloss.datasets.unpack import decompress_lzw, unpack


def zipped(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def tarred(path, members):
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            if isinstance(content, str):
                entry.type, entry.linkname = tarfile.SYMTYPE, content
                archive.addfile(entry)
            else:
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
    return path


def contents(path, gives, limit=1000):
    found = {}
    unpack(path, path.name, gives, limit, lambda name, stream: found.update({name: stream.read(1 << 20)}))
    return found


@pytest.mark.parametrize(("pack", "name"), [(zipped, "x.zip"), (tarred, "x.tar.gz")])
def test_members_are_taken_by_exact_name_and_nothing_else_is_written(tmp_path, pack, name):
    folder = tmp_path / "inner"
    folder.mkdir()
    members = {"../evil": b"1", "/tmp/evil": b"2", "a/data": b"3", "data": b"4", "data.bak": b"5"}
    archive = pack(folder / name, members)
    assert contents(archive, {"mine": "data"}) == {"mine": b"4"}
    assert contents(archive, {"one": "a/data", "two": "data.bak"}) == {"one": b"3", "two": b"5"}
    assert contents(archive, {"mine": "absent"}) == {}
    assert sorted(path.name for path in tmp_path.rglob("*")) == sorted(["inner", name])


def test_a_link_in_an_archive_is_not_followed(tmp_path):
    archive = tarred(tmp_path / "x.tar.gz", {"target": b"secret", "data": "target", "far": "/etc/passwd"})
    assert contents(archive, {"mine": "data", "yours": "far"}) == {}


def test_a_download_that_is_no_archive_is_the_file_itself(tmp_path):
    (tmp_path / "plain").write_bytes(b"content")
    assert contents(tmp_path / "plain", {"mine": None}) == {"mine": b"content"}


@pytest.mark.parametrize(("pack", "name"), [(zipped, "x.zip"), (tarred, "x.tar.gz")])
def test_a_damaged_archive_is_an_error(tmp_path, pack, name):
    whole = pack(tmp_path / name, {"data": bytes(range(256)) * 40}).read_bytes()
    for damaged in (b"", b"<html>not found</html>", whole[: len(whole) // 2]):
        (tmp_path / name).write_bytes(damaged)
        with pytest.raises(ValueError, match="not a complete archive"):
            contents(tmp_path / name, {"mine": "data"})


def test_a_small_archive_that_would_unpack_to_a_very_large_one_is_refused(tmp_path):
    path = tmp_path / "x.tar.gz"
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as archive:
        entry = tarfile.TarInfo("data")
        entry.pax_headers = {"comment": "x" * (2 << 20)}
        archive.addfile(entry)
    with pytest.raises(ValueError, match="headers of at most 1048576 bytes"):
        contents(path, {"mine": "data"})
    with gzip.open(path, "wb") as packed:  # a member that claims 100 GB, before the one that is wanted
        for name, size in (("other", 100 << 30), ("data", 1)):
            entry = tarfile.TarInfo(name)
            entry.size = size
            packed.write(entry.tobuf())
    with pytest.raises(ValueError, match="or more"):
        contents(path, {"mine": "data"})


def compressed(content, widest=16):
    """Unix compress: 9 bits at first, codes in groups of eight, and the table emptied once it is full."""
    bits, group, width, table = [], [], 9, {bytes([value]): value for value in range(256)}

    def put(code):
        group.extend(code >> bit & 1 for bit in range(width))
        if len(group) == 8 * width:
            bits.extend(group)
            group.clear()

    def pad():
        if group:
            bits.extend(group + [0] * (8 * width - len(group)))
            group.clear()

    size, word = 257, b""
    for value in content:
        longer = word + bytes([value])
        if longer in table:
            word = longer
            continue
        put(table[word])
        if size < 1 << widest:
            table[longer] = size
            size += 1
            if size > 1 << width and width < widest:
                pad()
                width += 1
        else:
            put(256)
            pad()
            width, size, table = 9, 257, {bytes([value]): value for value in range(256)}
        word = bytes([value])
    if word:
        put(table[word])
    bits.extend(group)
    bits += [0] * (-len(bits) % 8)
    body = bytes(sum(bit << place for place, bit in enumerate(bits[at : at + 8])) for at in range(0, len(bits), 8))
    return b"\x1f\x9d" + bytes([0x80 | widest]) + body


TEXT = b"".join(b"%d,%d;" % (number, number**2 % 97) for number in range(6000))


@pytest.mark.parametrize("widest", [10, 12, 16])
def test_unix_compress(tmp_path, widest):
    packed = compressed(TEXT, widest)
    assert decompress_lzw(packed, len(TEXT)) == TEXT
    if shutil.which("gzip"):  # an independent reader of the format
        result = subprocess.run(["gzip", "-dc"], input=packed, capture_output=True, check=True)
        assert result.stdout == TEXT


@given(st.binary(max_size=2000), st.integers(10, 16))
def test_unix_compress_gives_back_any_bytes(content, widest):
    assert decompress_lzw(compressed(content * 3, widest), 6000) == content * 3


@given(st.binary(max_size=300))
def test_unix_decompress_of_any_bytes_is_bytes_or_a_value_error(content):
    with suppress(ValueError):
        assert len(decompress_lzw(b"\x1f\x9d\x90" + content, 10_000)) <= 10_000


def test_unix_compress_is_unpacked_inside_an_archive_and_within_the_limit(tmp_path):
    archive = zipped(tmp_path / "x.zip", {"data.Z": compressed(TEXT)})
    assert contents(archive, {"data": "data.Z"}, len(TEXT)) == {"data": TEXT}
    with pytest.raises(ValueError, match="more than the 100 bytes expected"):
        decompress_lzw(compressed(TEXT), 100)
    for wrong in (b"", b"\x1f\x8b\x90", b"\x1f\x9d\x88"):
        with pytest.raises(ValueError, match="not a file of Unix compress"):
            decompress_lzw(wrong, 100)
