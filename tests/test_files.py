"""Files and folders are whole or absent, and nothing that is no regular file is ever replaced."""

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from symloss import files
from symloss.files import present, whole_file, whole_folder, write_whole

TO_STDOUT = """
from pathlib import Path
from symloss.files import write_whole
print("before")
write_whole(Path({!r}), "text\\n")
print("after")
"""


def test_a_link_is_followed_and_stays_one(tmp_path):
    (tmp_path / "far").mkdir()
    target, link = tmp_path / "far" / "data.txt", tmp_path / "link.txt"
    link.symlink_to(target)
    for text in ("new", "newer"):  # the first time, the link leads to nothing
        write_whole(link, text)
        assert link.is_symlink()
        assert not target.is_symlink()
        assert target.read_text() == text
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["data.txt", "far", "link.txt"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path, mode):
    path = tmp_path / "data.txt"
    path.write_text("old")
    path.chmod(mode)
    write_whole(path, "new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_pipe_is_written_into(tmp_path):
    pipe, found = tmp_path / "pipe.csv", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: found.append(pipe.read_text()), daemon=True)
    reader.start()
    write_whole(pipe, "through")
    reader.join(10)
    assert found == ["through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("device", ["/dev/null", "/dev/full"])
def test_a_device_is_written_into(device):
    before = Path(device).stat()
    if device == "/dev/full":
        with pytest.raises(OSError, match="No space left"):
            write_whole(Path(device), "lost")
    else:
        write_whole(Path(device), "gone")
    after = Path(device).stat()
    assert stat.S_ISCHR(after.st_mode)
    assert (after.st_ino, after.st_rdev) == (before.st_ino, before.st_rdev)


@pytest.mark.parametrize("into", ["pipe", "file"])
@pytest.mark.parametrize("name", ["/dev/stdout", "/proc/self/fd/1"])
def test_the_standard_output_is_written_into(tmp_path, name, into):
    code = [sys.executable, "-c", TO_STDOUT.format(name)]
    if into == "pipe":
        found = subprocess.run(code, check=True, capture_output=True, text=True).stdout
    else:
        with (tmp_path / "out.txt").open("w") as out:
            subprocess.run(code, check=True, stdout=out)
        found = (tmp_path / "out.txt").read_text()
    assert found == "before\ntext\nafter\n"


def fail_midway(path):
    path.write_text("half")
    raise ZeroDivisionError


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "data.txt"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), whole_file(path) as temporary:
        fail_midway(temporary)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_nobody_reads_a_private_file_while_it_is_written(tmp_path):
    path = tmp_path / "data.txt"
    path.write_text("old")
    path.chmod(0o600)
    with whole_file(path) as temporary:
        temporary.write_text("new")
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600


@pytest.fixture(params=["exchange", "rename"])
def folder(request, tmp_path, monkeypatch):
    """A folder to be replaced, in one step or, as on systems that cannot do that, in two."""
    if request.param == "rename":
        monkeypatch.setattr(files, "_exchange", lambda one, other: False)
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "a").write_text("old")
    return folder


def test_an_interrupt_loses_nothing(folder, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    rename = Path.rename
    monkeypatch.setattr(Path, "rename", lambda self, to: interrupted() if self.suffix == ".new" else rename(self, to))
    if files._exchange(folder, folder):
        monkeypatch.setattr(files, "_exchange", interrupted)
    with pytest.raises(KeyboardInterrupt), whole_folder(folder) as new:
        (new / "a").write_text("new")
    assert (folder / "a").read_text() == "old"
    assert list(folder.parent.iterdir()) == [folder]


def test_what_killed_processes_have_left_is_removed(folder):
    left = [folder.with_name(f".model.0123456789a{k}.{state}") for k, state in enumerate(("new", "old"))]
    others = [folder.with_name(name) for name in (".model.new", ".other.0123456789ab.new", "model.0123456789ab.new")]
    for path in (*left, *others):
        path.mkdir()
    with whole_folder(folder) as new:
        (new / "a").write_text("new")
    assert (folder / "a").read_text() == "new"
    assert {*folder.parent.iterdir()} == {folder, *others}


def test_a_folder_that_another_process_is_writing_is_left_alone(folder):
    with whole_folder(folder) as first:
        (first / "a").write_text("first")
        with whole_folder(folder) as second:
            (second / "a").write_text("second")
        assert (folder / "a").read_text() == "second"
        assert (first / "a").read_text() == "first"
    assert (folder / "a").read_text() == "first"
    assert list(folder.parent.iterdir()) == [folder]


def test_a_folder_is_found_and_put_back_after_a_kill_between_two_renames(folder):
    folder.rename(folder.with_name(".model.0123456789ab.old"))
    assert (present(folder) / "a").read_text() == "old"
    with pytest.raises(ZeroDivisionError), whole_folder(folder) as new:
        fail_midway(new / "a")
    assert (folder / "a").read_text() == "old"
    assert list(folder.parent.iterdir()) == [folder]


def test_a_folder_that_is_replaced_keeps_its_permissions(folder):
    folder.chmod(0o750)
    with whole_folder(folder) as new:
        assert stat.S_IMODE(new.stat().st_mode) == 0o700
    assert stat.S_IMODE(folder.stat().st_mode) == 0o750


@pytest.mark.skipif(sys.platform != "linux", reason="other systems may not be able to")
def test_two_folders_change_places_in_one_step(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    for path in (one, other):
        path.mkdir()
        (path / path.name).write_text("")
    assert files._exchange(one, other)
    assert (one / "other").exists()
    assert (other / "one").exists()
    with pytest.raises(FileNotFoundError):
        files._exchange(one, tmp_path / "nothing")


def test_a_folder_is_no_file_to_write(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder; expected the name of a file"):
        write_whole(tmp_path, "text")


def test_a_folder_takes_the_place_of_the_old_one_as_a_whole(tmp_path):
    folder = tmp_path / "model"
    with whole_folder(folder) as new:
        (new / "a").write_text("1")
    with pytest.raises(ZeroDivisionError), whole_folder(folder) as new:
        fail_midway(new / "b")
    assert [path.name for path in folder.iterdir()] == ["a"]
    with whole_folder(folder) as new:
        (new / "b").write_text("2")
    assert [path.name for path in folder.iterdir()] == ["b"]
    assert list(tmp_path.iterdir()) == [folder]
