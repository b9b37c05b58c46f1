import hashlib
import io
import json
import re
import subprocess
import sys
import zipfile

import pytest

from symloss.datasets import fetch, load, where
from symloss.datasets.store import cache_folder

SPAM = b"".join(b"%s,%d\r\n" % (b",".join(b"%d" % (row + column) for column in range(57)), row % 2) for row in range(4))


def spam_from(register, site, *pages, **how):
    """Register spambase with a mirror for each page; a page that is None is absent."""
    mirrors = []
    for index, content in enumerate(pages):
        path = f"mirror{index}/spambase.data"
        url = f"{site.url}/{path}" if content is None else site.serve(path, content, **how)
        mirrors.append((url, {"spambase.data": None}))
    return register("spambase", {"spambase.data": SPAM}, mirrors)


def is_small_spambase(data):
    return data.data.shape == (4, 57) and data.target.tolist() == [-1, 1, -1, 1]


# Where files are looked for


def test_symloss_data_comes_first_then_the_cache_then_the_network(register, site, data_dir, cache_dir):
    spam_from(register, site, SPAM)
    assert where("spambase") == []
    assert is_small_spambase(load("spambase"))
    assert len(site.asked) == 1
    assert where("spambase") == ["cache"]
    assert load("spambase").origin == str(cache_dir)
    (data_dir / "spambase.data").write_bytes(SPAM)
    assert where("spambase") == ["SYMLOSS_DATA"]
    assert load("spambase").origin == str(data_dir)
    assert len(site.asked) == 1


def test_the_cache_is_where_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.delenv("SYMLOSS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "symloss"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "symloss"


def test_symloss_data_must_be_a_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("SYMLOSS_DATA", str(tmp_path / "absent"))
    with pytest.raises(ValueError, match=r"SYMLOSS_DATA must name a folder, got .*absent"):
        load("spambase")


def test_a_missing_file_says_what_to_fetch_and_where_to_put_it(register, site, cache_dir, data_dir):
    spam_from(register, site, None, None)
    with pytest.raises(FileNotFoundError) as error:
        load("spambase")
    message = str(error.value)
    for part in ("needs spambase.data (0.0 MB)", str(cache_dir), f"{site.url}/mirror0/spambase.data: HTTP Error 404",
                 f"{site.url}/mirror1/spambase.data: HTTP Error 404", f"Fetch {site.url}/mirror0/spambase.data and put",
                 f"into {data_dir}"):  # fmt: skip
        assert part in message


def test_no_download_where_none_is_allowed(register, site):
    spam_from(register, site, SPAM)
    with pytest.raises(FileNotFoundError, match=r"SYMLOSS_DATA \(not set\).*into a folder that SYMLOSS_DATA names"):
        load("spambase", download=False)
    assert site.asked == []


def test_a_cache_that_cannot_be_written(register, site, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("SYMLOSS_CACHE", str(tmp_path / "file" / "cache"))
    spam_from(register, site, SPAM)
    with pytest.raises(FileNotFoundError, match=r"the download failed .*Not a directory"):
        load("spambase")


def test_fetch_returns_verified_paths(register, data_dir):
    register("spambase", {"spambase.data": SPAM})
    (data_dir / "spambase.data").write_bytes(SPAM)
    assert fetch("spambase", download=False) == [data_dir / "spambase.data"]


# Downloads


def test_the_second_mirror_serves_where_the_first_fails(register, site):
    spam_from(register, site, None, SPAM)
    assert is_small_spambase(load("spambase"))
    assert [path for path, _ in site.asked] == ["mirror0/spambase.data", "mirror1/spambase.data"]


@pytest.mark.parametrize("wrong", [SPAM[:-2], SPAM.replace(b"5", b"6"), b"<html>sorry</html>", SPAM + b"1", b""])
def test_a_wrong_file_is_not_used_and_the_next_mirror_is_asked(register, site, cache_dir, wrong):
    spam_from(register, site, wrong, SPAM)
    assert is_small_spambase(load("spambase"))
    spam_from(register, site, wrong)
    (cache_dir / "spambase.data").unlink()
    with pytest.raises(FileNotFoundError, match=r"spambase.data from spambase.data .* and is not used"):
        load("spambase")
    assert not [path for path in cache_dir.rglob("*") if path.is_file() and path.suffix != ".lock"]


def test_a_truncated_answer_is_resumed(register, site):
    spam_from(register, site, SPAM, breaks=[100])
    assert is_small_spambase(load("spambase"))
    assert site.asked == [("mirror0/spambase.data", None), ("mirror0/spambase.data", "bytes=100-")]


def test_what_a_broken_mirror_has_left_is_removed_once_another_served(register, site, cache_dir):
    broken = site.serve("broken", SPAM, breaks=[100] * 5, ranges=False)
    whole = site.serve("whole", SPAM)
    register("spambase", {"spambase.data": SPAM}, [(url, {"spambase.data": None}) for url in (broken, whole)])
    assert is_small_spambase(load("spambase"))
    assert [path.name for path in (cache_dir / "downloads").iterdir()] == ["spambase.lock"]


def test_bytes_of_last_time_that_were_wrong_are_fetched_again(register, site, cache_dir):
    spam_from(register, site, SPAM, breaks=[100] * 5, ranges=False)
    with pytest.raises(FileNotFoundError):
        load("spambase")
    (part,) = (path for path in (cache_dir / "downloads").iterdir() if path.suffix != ".lock")
    assert part.read_bytes() == SPAM[:100]
    part.write_bytes(b"x" * 100)
    spam_from(register, site, SPAM)
    assert is_small_spambase(load("spambase"))
    assert [asked for _, asked in site.asked[-2:]] == ["bytes=100-", None]
    assert not part.exists()


def test_processes_that_need_the_same_file_download_it_once(site, cache_dir):
    content = SPAM * 2000
    url = site.serve("spambase.data", content, seconds=1.5)
    code = """
import json, sys
from symloss.datasets.records import DataFile, Known, Mirror
from symloss.datasets.store import find_files
from symloss.datasets import info
from dataclasses import replace
url, digest, size = json.loads(sys.argv[1])
file = DataFile("spambase.data", (Known(digest, size),))
record = replace(info("spambase"), files=(file,), mirrors=(Mirror(url, {file.name: None}),))
(path,) = find_files(record, record.files, True)
print(path.stat().st_size)
"""
    arguments = json.dumps([url, hashlib.sha256(content).hexdigest(), len(content)])
    processes = [
        subprocess.Popen([sys.executable, "-c", code, arguments], stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    assert [process.communicate()[0].strip() for process in processes] == [str(len(content))] * 3
    assert site.asked == [("spambase.data", None)]
    assert (cache_dir / "spambase.data").read_bytes() == content


# Wrong files


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        (SPAM[:-10], "is truncated"),
        (SPAM.replace(b"5", b"6"), "has been changed"),
        (SPAM + b"more", "is not what is published"),
    ],
)
def test_a_wrong_file_in_symloss_data_is_an_error(register, site, data_dir, wrong, what):
    spam_from(register, site, SPAM)
    path = data_dir / "spambase.data"
    path.write_bytes(wrong)
    with pytest.raises(ValueError, match=re.escape(f"{path} {what} and is not used: expected ")) as error:
        load("spambase")
    for content in (SPAM, wrong):
        assert f"{len(content)} bytes with SHA-256 {hashlib.sha256(content).hexdigest()}" in str(error.value)
    assert path.read_bytes() == wrong
    assert site.asked == []


def test_a_wrong_file_in_the_cache_is_reported_and_replaced(register, site, cache_dir):
    spam_from(register, site, SPAM)
    cache_dir.mkdir()
    (cache_dir / "spambase.data").write_bytes(SPAM[:-10])
    with pytest.warns(UserWarning, match=r"spambase.data is truncated .*; it counts as missing"):
        assert is_small_spambase(load("spambase"))
    assert (cache_dir / "spambase.data").read_bytes() == SPAM


def test_a_wrong_file_in_the_cache_is_not_used_without_a_network(register, site, cache_dir):
    spam_from(register, site, None)
    cache_dir.mkdir()
    (cache_dir / "spambase.data").write_bytes(SPAM[:-10])
    with pytest.warns(UserWarning, match="is truncated"), pytest.raises(FileNotFoundError, match="404"):
        load("spambase")


# Archives


def zipped(members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


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


def test_an_archive_is_downloaded_once_for_all_its_files(register, site, cache_dir):
    url = site.serve("adult.zip", zipped({"../evil": b"", **ADULT, "Index": b""}))
    register("adult", ADULT, [(url, {name: name for name in ADULT})])
    data = load("adult")
    assert len(site.asked) == 1
    assert sorted(path.name for path in cache_dir.iterdir()) == ["adult.data", "adult.test", "downloads"]
    assert [path.name for path in (cache_dir / "downloads").iterdir()] == ["adult.lock"]
    assert data.data.shape[0] == 3
    assert data.target.tolist() == [-1, 1, 1]


def test_an_archive_in_symloss_data_need_not_be_unpacked(register, site, data_dir, cache_dir):
    register("adult", ADULT, [(f"{site.url}/a%20b/adult+1.zip", {name: name for name in ADULT})])
    (data_dir / "adult+1.zip").write_bytes(zipped(ADULT))
    assert where("adult") == ["SYMLOSS_DATA"]
    assert len(load("adult").data) == 3
    assert [path.name for path in data_dir.iterdir()] == ["adult+1.zip"]
    assert load("adult").origin == str(cache_dir)
    assert site.asked == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (zipped({"adult.data": ADULT_DATA}), "holds no adult.test"),
        (zipped({"adult.data": ADULT_DATA, "adult.test": b"other"}), "adult.test from adult.zip is truncated"),
        (zipped({"adult.data": ADULT_DATA, "adult.test": ADULT_TEST + bytes(10**6)}), "is not what is published"),
        (b"no archive", "not a complete archive"),
    ],
)
def test_a_wrong_archive_is_not_used(register, site, data_dir, cache_dir, content, message):
    url = site.serve("adult.zip", content)
    register("adult", ADULT, [(url, {name: name for name in ADULT})])
    with pytest.raises(FileNotFoundError, match=message):
        load("adult")
    (data_dir / "adult.zip").write_bytes(content)
    with pytest.raises(ValueError, match=f"{re.escape(str(data_dir / 'adult.zip'))}: .*{message}"):
        load("adult")
    assert not (cache_dir / "adult.test").exists()
    assert [path.name for path in (cache_dir / "downloads").iterdir()] == ["adult.lock"]
