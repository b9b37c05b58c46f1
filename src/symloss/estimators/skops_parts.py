"""Parts of a model that are not symloss's own, as skops files: these are loaded only if their types are trusted.

skops runs no code of a file, but it sets what objects hold without checks of its own, so a crafted file can crash the
process. Whoever loads one has to name its types.
"""

from __future__ import annotations

import io
import json
import warnings
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import sklearn
from sklearn.exceptions import InconsistentVersionWarning

from symloss.estimators.model_files import DamagedFileError, damaged
from symloss.estimators.tree_checks import check_trees
from symloss.extras import require

_LARGEST_SCHEMA, _LARGEST = 2**26, 2**33  # bytes
_PLAIN = {
    *(
        f"builtins.{name}"
        for name in ("bool", "bytes", "dict", "float", "int", "list", "NoneType", "set", "str", "tuple")
    ),
    *(f"numpy.{name}" for name in ("ndarray", "bool", "float32", "float64", "int32", "int64", "uint64")),
}
_PLAIN_LOADERS = {"BytesNode", "DictNode", "JsonNode", "ListNode", "NdArrayNode", "SetNode", "TupleNode",
                  "TypeNode"}  # fmt: skip


def part_bytes(part: Any, where: str) -> bytes:
    """Return a part as the content of a skops file.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> part_bytes(GaussianNB(), "members_[0]")[:2]
    b'PK'
    """
    require("save", "saving an estimator that is not symloss's own needs skops", "skops")
    import skops.io as library  # here and below, a library that few models need

    try:
        content: bytes = library.dumps(part, compression=zipfile.ZIP_DEFLATED)
        library.loads(content, trusted=types_in(content))  # what could not be loaded is not written
    except Exception as error:  # skops calls methods of the part, which may raise anything
        raise ValueError(f"cannot save {where}: {type(error).__name__}: {error}") from error
    return content


def types_in(content: bytes) -> list[str]:
    """Return the types that a skops file holds, besides numbers, texts, arrays, lists and dicts.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> types_in(part_bytes(GaussianNB(), "members_[0]"))
    ['sklearn.naive_bayes.GaussianNB']
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        sizes = [info.file_size for info in archive.infolist()]
        if sum(sizes) > _LARGEST or archive.getinfo("schema.json").file_size > _LARGEST_SCHEMA:
            raise ValueError(f"expected at most {_LARGEST} bytes, found {sum(sizes)}")
        waiting = [json.loads(archive.read("schema.json"))]
    found: set[str] = set()
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            found |= {name} if (name := _named(node)) else set()
        waiting += node.values() if isinstance(node, dict) else node if isinstance(node, list) else []
    return sorted(found)


def check_trusted(folder: Path, parts: Mapping[str, bytes], trusted: Collection[str]) -> None:
    """Raise ValueError, with a list of all types that the skops files of a model hold, unless all are trusted.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> parts = {"part0.skops": part_bytes(GaussianNB(), "members_[0]")}
    >>> check_trusted(Path("model"), parts, ["sklearn.naive_bayes.GaussianNB"])
    >>> check_trusted(Path("model"), parts, [])
    Traceback (most recent call last):
    symloss.estimators.model_files.DamagedFileError: model holds estimators that are not symloss's own, ...
    """
    types: set[str] = set()
    for name, content in parts.items():
        try:
            types |= set(types_in(content))
        except Exception as error:  # a file that is no archive leads to errors of many types
            raise damaged(folder / name, error) from None
    if not types <= set(trusted):
        raise DamagedFileError(
            f"{folder} holds estimators that are not symloss's own, or trees that an earlier version has saved (in "
            f"{', '.join(sorted(parts))}), and these could crash the process if they were made to: if you trust who "
            f"wrote them, load them with trusted={sorted(types)}, or fit again"
        )


def read_part(path: Path, content: bytes, saved_by: str | None) -> Any:
    """Return the part that a skops file holds, after its types were found to be trusted.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> read_part(Path("part0.skops"), part_bytes(GaussianNB(), "members_[0]"), sklearn.__version__)
    GaussianNB()
    """
    require("save", "loading an estimator that is not symloss's own needs skops", "skops")
    import skops.io as library

    if saved_by != sklearn.__version__:
        warnings.warn(
            f"{path} was saved with scikit-learn {saved_by}, and this is {sklearn.__version__}: "
            "check the predictions, or fit again",
            UserWarning,
            stacklevel=4,
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InconsistentVersionWarning)  # there would be one per tree
            part = library.loads(content, trusted=types_in(content))
            check_trees(part)
            return part
    except Exception as error:
        raise damaged(path, error) from None


def _named(node: dict[str, Any]) -> str | None:
    """Return the type or the function that a node of a skops file names, unless it is loaded as a plain value."""
    if not {"__module__", "__class__"} <= set(node):
        return None
    name = f"{node['__module__']}.{node['__class__']}"
    return None if name in _PLAIN and node.get("__loader__") in _PLAIN_LOADERS else name
