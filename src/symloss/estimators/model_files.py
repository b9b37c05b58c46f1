"""The folder of a saved model: which files it holds, their checksums, and when it may be replaced."""

from __future__ import annotations

import hashlib
import json
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from symloss.files import is_temporary, present, whole_file, whole_folder, write_whole

FORMAT = "symloss model"
VERSION = 2  # 1 had no checksum of model.json, and kept trees in skops files
MODEL, TENSORS, TABLE, PART = "model.json", "tensors.safetensors", "table.json", "part{}.skops"
_LARGEST_TEXT, _LARGEST = 2**26, 2**34  # bytes
_TRIES = 20


class DamagedFileError(ValueError):
    """A file of a model is missing, or is not what was written.

    Examples
    --------
    >>> raise DamagedFileError("model.json is damaged")
    Traceback (most recent call last):
    symloss.estimators.model_files.DamagedFileError: model.json is damaged
    """


def damaged(path: Path, reason: object) -> DamagedFileError:
    """Return the error that names a file and says in one line what is wrong with it.

    Examples
    --------
    >>> damaged(Path("model.json"), KeyError("files"))
    DamagedFileError("model.json is damaged: no 'files'")
    """
    text = f"no {reason}" if isinstance(reason, KeyError) else str(reason) or type(reason).__name__
    return DamagedFileError(f"{path} is damaged: {' '.join(text.split())[:500]}")


class Stored(NamedTuple):
    """What the folder of a model holds: the content of ``model.json``, and the files that loading needs.

    Examples
    --------
    >>> Stored(Path("model"), {}, {"table.json": b"{}"}).file("table.json")
    b'{}'
    """

    folder: Path
    contents: dict[str, Any]
    files: dict[str, bytes]

    def file(self, name: str) -> bytes:
        """Return a file's content; raise ValueError if ``model.json`` does not list it."""
        if name not in self.files:
            raise damaged(self.folder / MODEL, f"it does not list {name}")
        return self.files[name]


def write_model(folder: Path, contents: dict[str, Any], files: Mapping[str, bytes]) -> None:
    """Write a model and further files into a folder, all of them or none.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     write_model(Path(parent) / "model", {"versions": {}}, {"table.json": b"{}"})
    ...     read_model(Path(parent) / "model").file("table.json")
    b'{}'
    """
    listed = {name: _digest(content) for name, content in files.items()}
    contents = {"format": FORMAT, "format_version": VERSION, **contents, "files": listed}
    with whole_folder(folder) as new:
        for name, content in files.items():
            (new / name).write_bytes(content)
        (new / MODEL).write_text(signed(contents), encoding="utf-8")


def read_model(folder: Path) -> Stored:
    """Return what a folder holds: all of the old model or all of the new one, if it is replaced meanwhile.

    Examples
    --------
    >>> read_model(Path("/no/such/folder"))
    Traceback (most recent call last):
    ValueError: no model in /no/such/folder: no such folder
    """
    for _ in range(_TRIES):
        found = present(folder)
        before = _identity(found)
        try:
            contents = read_contents(found, folder)
            files = {name: _read_listed(folder, found, name, contents) for name in contents["files"] if _is_read(name)}
        except ValueError as error:
            if before is not None and _identity(found) == before:
                raise
            failure = error  # another process has replaced the folder
            if before is None and not folder.exists():
                raise
        else:
            return Stored(folder, contents, files)
    raise failure


def add_files(folder: Path, further: Mapping[str, bytes]) -> None:
    """Write further files into the folder of a saved model, which they then belong to.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     write_model(Path(parent) / "model", {"versions": {}}, {})
    ...     add_files(Path(parent) / "model", {"note.txt": b"hello"})
    ...     check_replaceable(Path(parent) / "model")  # it holds a model and nothing else
    ...     (Path(parent) / "model" / "note.txt").read_text()
    'hello'
    """
    contents = read_contents(folder)
    contents["files"] |= {name: _digest(content) for name, content in further.items()}
    # The list comes first: a file that it lacks would keep the folder from being replaced.
    write_whole(folder / MODEL, signed(contents))
    for name, content in further.items():
        with whole_file(folder / name) as temporary:
            temporary.write_bytes(content)


def check_replaceable(folder: Path) -> None:
    """Raise ValueError unless a folder does not exist, is empty, or holds a model and nothing else.

    Examples
    --------
    >>> check_replaceable(Path(__file__).parent)
    Traceback (most recent call last):
    ValueError: ...estimators is no model folder, and is not overwritten
    """
    if not folder.exists():
        return
    if not folder.is_dir():
        raise ValueError(f"{folder} is a file, and is not overwritten")
    names = {path.name for path in folder.iterdir() if not is_temporary(path.name)}
    if not names:
        return
    try:
        ours = {MODEL, *read_contents(folder)["files"]}
    except ValueError:
        raise ValueError(f"{folder} is no model folder, and is not overwritten") from None
    if names - ours:
        raise ValueError(
            f"{folder} holds more than a model ({', '.join(sorted(names - ours))}), and is not overwritten"
        )


def read_contents(folder: Path, named: Path | None = None) -> dict[str, Any]:
    """Return the content of ``model.json`` in a folder, after a check that this version knows its format.

    ``named`` is how errors name the folder.

    Examples
    --------
    >>> read_contents(Path("/no/such/folder"))
    Traceback (most recent call last):
    ValueError: no model in /no/such/folder: no such folder
    """
    named = named or folder
    if not folder.is_dir():
        raise ValueError(f"no model in {named}: {'not a folder' if folder.exists() else 'no such folder'}")
    if not (folder / MODEL).exists():
        raise ValueError(f"no model in {named}: there is no {MODEL}")
    path = named / MODEL
    contents = read_json(_read(folder / MODEL, path, _LARGEST_TEXT), path)
    if not isinstance(contents, dict) or contents.get("format") != FORMAT:
        raise ValueError(f"{path} is not of a model that symloss has saved")
    version = contents.get("format_version")
    if type(version) is not int or version < 1:
        raise damaged(path, f"expected a whole number of at least 1 as format_version, found {str(version)[:50]!r}")
    versions = contents.get("versions")
    if not isinstance(versions, dict) or not all(isinstance(each, str) for each in versions.values()):
        raise damaged(path, f"expected the versions of packages, found {str(versions)[:50]}")
    if version > VERSION:
        saved_by = versions.get("symloss", "a newer version")
        raise ValueError(
            f"{path} has format {version}, of symloss {saved_by}; this one knows formats up to {VERSION}: upgrade it"
        )
    if version > 1 and contents.pop("checksum", None) != _checksum(contents):
        raise damaged(path, "it has changed since it was saved")
    files = contents.get("files")
    if not isinstance(files, dict) or not all(re.fullmatch(r"\w[\w.-]*", name) for name in files):
        raise damaged(path, "its list of files is not one")
    return contents


def read_json(content: bytes, path: Path) -> Any:
    """Return what a JSON file holds; raise ValueError that names the file if it is not JSON.

    Examples
    --------
    >>> read_json(b"[" * 100_000, Path("table.json"))
    Traceback (most recent call last):
    symloss.estimators.model_files.DamagedFileError: table.json is damaged: expected JSON, found ...
    """
    if len(content) > _LARGEST_TEXT:
        raise damaged(path, f"expected at most {_LARGEST_TEXT} bytes, found {len(content)}")
    try:
        value = json.loads(content.decode())
        if b"\\ud" in content.lower():  # half of a character can be read, and then not be written anywhere
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except (ValueError, RecursionError) as error:
        what = "too deep nesting" if isinstance(error, RecursionError) else f"something else ({error})"
        raise damaged(path, f"expected JSON, found {what}") from None


def is_part(name: str) -> bool:
    """Return whether a file is of an estimator that is not symloss's own.

    Examples
    --------
    >>> is_part("part0.skops"), is_part("model.json")
    (True, False)
    """
    return re.fullmatch(r"part\d+\.skops", name) is not None


def signed(contents: dict[str, Any]) -> str:
    """Return the text of ``model.json``, with its checksum.

    Examples
    --------
    >>> json.loads(signed({"files": {}}))["checksum"][:8]
    'aae5a71d'
    """
    unsigned = {key: value for key, value in contents.items() if key != "checksum"}
    return json.dumps(unsigned | {"checksum": _checksum(unsigned)}, indent=1, allow_nan=False)


def _checksum(contents: dict[str, Any]) -> str:
    return _digest(json.dumps(contents, sort_keys=True, separators=(",", ":")).encode())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _is_read(name: str) -> bool:
    """Return whether loading needs a file; others, such as a page, may be removed or changed."""
    return name in (TENSORS, TABLE) or is_part(name)


def _identity(folder: Path) -> tuple[int, ...] | None:
    """Return what changes if a folder is replaced by another."""
    try:
        found = folder.stat(), (folder / MODEL).stat()
    except OSError:
        return None
    return tuple(number for each in found for number in (each.st_ino, each.st_mtime_ns))


def _read_listed(folder: Path, found: Path, name: str, contents: dict[str, Any]) -> bytes:
    path = folder / name
    content = _read(found / name, path, _LARGEST)
    if _digest(content) != contents["files"][name]:
        raise damaged(path, "it has changed since it was saved")
    return content


def _read(path: Path, named: Path, largest: int) -> bytes:
    """Return the content of a file, unless it is too large, or a pipe that would never end."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > largest:
            raise damaged(named, f"expected a file of at most {largest} bytes, found {_described(status)}")
        return path.read_bytes()
    except OSError as error:
        raise DamagedFileError(f"{named} cannot be read: {error.strerror}") from None


def _described(status: Any) -> str:
    return f"{status.st_size} bytes" if stat.S_ISREG(status.st_mode) else "something that is no file"
