"""Save estimators to disk and load them, without pickle: as JSON, as safetensors, and scikit-learn objects by skops."""

from __future__ import annotations

import hashlib
import json
import re
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import sklearn
import torch
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from symloss.estimators.base import BinaryClassifier
from symloss.estimators.serialization import ESTIMATORS, MissingModelError, Reader, Writer
from symloss.estimators.tree_checks import check_trees
from symloss.extras import require
from symloss.files import whole_file, whole_folder, write_whole

FORMAT = "symloss model"
VERSION = 1
_MODEL, _TENSORS, _PART = "model.json", "tensors.safetensors", "part{}.skops"
_TO_SAVE, _TO_LOAD = (("save", f"{what} a model needs skops and safetensors") for what in ("saving", "loading"))
# Types that are trusted in addition to scikit-learn's estimators, which skops trusts itself. They hold only numbers and
# text, and run no code when they are loaded.
_TRUSTED = {
    "sklearn.tree._tree.Tree",  # our forests need only this one
    # The next five are for boosting; newer versions of skops trust some of them.
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
    "sklearn._loss.loss.HalfBinomialLoss",
    "sklearn._loss.link.Interval",
    "sklearn._loss.link.LogitLink",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    *(f"sklearn.model_selection._split.{name}" for name in ("KFold", "StratifiedKFold", "ShuffleSplit",
      "StratifiedShuffleSplit", "RepeatedKFold", "RepeatedStratifiedKFold")),
}  # fmt: skip


def save(estimator: BinaryClassifier, folder: str | Path) -> None:
    """Write a fitted estimator into a folder: ``model.json``, ``tensors.safetensors``, and scikit-learn objects.

    No pickle is written. The folder is written as a whole: if writing fails, nothing is left or changed. A folder that
    holds a saved model and nothing else is replaced; any other folder that is not empty is refused.

    Parameters
    ----------
    estimator : BERClassifier, AUCClassifier, BERClassifierCV or AUCClassifierCV
        Its losses must be built in. If it has networks of your own, their parameters are saved, but not their code.
    folder : str or Path
        The folder to write.

    Examples
    --------
    >>> import tempfile, numpy as np, symloss as sl
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> classifier = sl.BERClassifier(threshold=0.0).fit(X, ["no", "no", "yes", "yes"])
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     sl.estimators.save(classifier, parent + "/model")
    ...     sl.estimators.load(parent + "/model").predict([[2.5]])
    array(['yes'], dtype='<U3')
    """
    save_with(estimator, Path(folder), {})


def load(folder: str | Path, model: Any = None) -> BinaryClassifier:
    """Return the estimator that was saved in a folder; its predictions are the same to the last bit.

    A file in the folder cannot make this function run code: classes are looked up in a list, and scikit-learn objects
    may hold only types that are known to be safe.

    Parameters
    ----------
    folder : str or Path
        A folder that ``save`` has written.
    model : nn.Module or callable, optional
        The network of your own that was fitted, or the function that makes it. If several candidates of a CV estimator
        have one, a dict of them by the names of the candidates.

    Warns
    -----
    UserWarning
        If a scikit-learn object was written by another version of scikit-learn.

    Examples
    --------
    >>> import tempfile, numpy as np, symloss as sl
    >>> from torch import nn
    >>> def network(n_features):
    ...     return nn.Sequential(nn.Linear(n_features, 4), nn.Tanh(), nn.Linear(4, 1))
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> classifier = sl.AUCClassifier(model=network, epochs=1, threshold=0.0, random_state=0).fit(X, [0, 0, 1, 1])
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     sl.estimators.save(classifier, parent + "/model")
    ...     again = sl.estimators.load(parent + "/model", model=network)
    >>> bool((again.decision_function(X) == classifier.decision_function(X)).all())
    True
    """
    folder = Path(folder)
    contents = read_contents(folder)
    tensors = _read_tensors(folder, contents)
    reader = Reader(tensors, lambda number: _read_part(folder, contents, _PART.format(int(number))), model)
    try:
        estimator = reader.value(contents["estimator"])
        if not isinstance(estimator, BinaryClassifier):
            raise ValueError(f"it holds no estimator but a {type(estimator).__name__}")
        check_is_fitted(estimator)
    except (_DamagedFileError, MissingModelError):
        raise
    except (ValueError, LookupError, TypeError, AttributeError, RuntimeError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else error
        raise _damaged(folder / _MODEL, reason) from error
    if model is not None and not reader.asked_for_model:
        raise ValueError(f"{folder} holds no network of your own, so that model must not be given")
    return estimator


class _DamagedFileError(ValueError):
    """A file of a model is missing, or has changed since it was written."""


def _damaged(path: Path, reason: object) -> _DamagedFileError:
    return _DamagedFileError(f"{path} is damaged: {reason}")


def save_with(estimator: BinaryClassifier, folder: Path, further: Mapping[str, bytes]) -> None:
    """Save an estimator and further files into one folder, all of them or none.

    Examples
    --------
    >>> import tempfile, numpy as np, symloss as sl
    >>> classifier = sl.BERClassifier(threshold=0.0).fit([[0.0], [1.0]], [0, 1])
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     save_with(classifier, Path(parent) / "model", {"note.txt": b"hello"})
    ...     read_file(Path(parent) / "model", "note.txt")
    b'hello'
    """
    require(*_TO_SAVE, "safetensors")
    import safetensors.torch  # here and below, libraries that only saving and loading need

    if type(estimator) not in ESTIMATORS.values():
        raise ValueError(f"can save one of {', '.join(ESTIMATORS)}, got {type(estimator).__name__}")
    check_is_fitted(estimator)
    check_replaceable(folder)
    writer = Writer()
    stored = writer.estimator(estimator, type(estimator).__name__)
    files = {_TENSORS: safetensors.torch.save(writer.tensors), **further}
    for number, (where, part) in enumerate(writer.parts):
        files[_PART.format(number)] = _part_bytes(part, where)
    contents = {
        "format": FORMAT,
        "format_version": VERSION,
        "versions": _versions(),
        "files": {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
        "estimator": stored,
    }
    with whole_folder(folder) as new:
        for name, content in files.items():
            (new / name).write_bytes(content)
        (new / _MODEL).write_text(json.dumps(contents, indent=1, allow_nan=False), encoding="utf-8")


def add_files(folder: Path, further: Mapping[str, bytes]) -> None:
    """Write further files into the folder of a saved model, which they then belong to.

    Examples
    --------
    >>> import tempfile, numpy as np, symloss as sl
    >>> classifier = sl.BERClassifier(threshold=0.0).fit([[0.0], [1.0]], [0, 1])
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     sl.estimators.save(classifier, parent + "/model")
    ...     add_files(Path(parent) / "model", {"note.txt": b"hello"})
    ...     check_replaceable(Path(parent) / "model")  # it holds a model and nothing else
    ...     read_file(Path(parent) / "model", "note.txt")
    b'hello'
    """
    contents = read_contents(folder)
    contents["files"] |= {name: hashlib.sha256(content).hexdigest() for name, content in further.items()}
    # The list comes first: a file that it lacks would keep the folder from being replaced.
    write_whole(folder / _MODEL, json.dumps(contents, indent=1, allow_nan=False))
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
    names = {path.name for path in folder.iterdir()}
    if not names:
        return
    try:
        ours = {_MODEL, *read_contents(folder)["files"]}
    except ValueError:
        raise ValueError(f"{folder} is no model folder, and is not overwritten") from None
    if names - ours:
        raise ValueError(
            f"{folder} holds more than a model ({', '.join(sorted(names - ours))}), and is not overwritten"
        )


def read_contents(folder: Path) -> dict[str, Any]:
    """Return the content of ``model.json`` in a folder, after a check that this version knows its format.

    Examples
    --------
    >>> read_contents(Path("/no/such/folder"))
    Traceback (most recent call last):
    ValueError: no model in /no/such/folder: no such folder
    """
    if not folder.is_dir():
        raise ValueError(f"no model in {folder}: {'not a folder' if folder.exists() else 'no such folder'}")
    path = folder / _MODEL
    if not path.is_file():
        raise ValueError(f"no model in {folder}: there is no {_MODEL}")
    try:
        contents = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise _damaged(path, error) from None
    if not isinstance(contents, dict) or contents.get("format") != FORMAT:
        raise ValueError(f"{path} is not of a model that symloss has saved")
    version = contents.get("format_version")
    if not isinstance(version, int) or version < 1:
        raise _damaged(path, f"format_version is {version!r}")
    if version > VERSION:
        saved_by = contents.get("versions", {}).get("symloss", "a newer version")
        raise ValueError(
            f"{path} has format {version}, of symloss {saved_by}; this one knows formats up to {VERSION}: upgrade it"
        )
    files = contents.get("files")
    if not isinstance(files, dict) or not all(re.fullmatch(r"\w[\w.-]*", name) for name in files):
        raise _damaged(path, "its list of files is not one")
    return contents


def read_file(folder: Path, name: str, contents: dict[str, Any] | None = None) -> bytes:
    """Return the content of a file of a model, after a check that it has not changed since it was written.

    Examples
    --------
    >>> read_file(Path("/no/such/folder"), "table.json")
    Traceback (most recent call last):
    ValueError: no model in /no/such/folder: no such folder
    """
    files = (contents or read_contents(folder))["files"]
    if name not in files:
        raise _damaged(folder / _MODEL, f"it does not list {name}")
    path = folder / name
    try:
        content = path.read_bytes()
    except OSError as error:
        raise _DamagedFileError(f"{path} cannot be read: {error.strerror}") from None
    if hashlib.sha256(content).hexdigest() != files[name]:
        raise _damaged(path, "it has changed since it was saved")
    return content


def _read_tensors(folder: Path, contents: dict[str, Any]) -> dict[str, Tensor]:
    content = read_file(folder, _TENSORS, contents)
    require(*_TO_LOAD, "safetensors")
    import safetensors.torch as library

    try:
        tensors: dict[str, Tensor] = library.load(content)
    except Exception as error:  # a wrong header leads to errors of many types
        raise _damaged(folder / _TENSORS, error) from None
    return tensors


def _read_part(folder: Path, contents: dict[str, Any], name: str) -> Any:
    content = read_file(folder, name, contents)
    require(*_TO_LOAD, "skops")
    import skops.io as library

    saved_by = contents.get("versions", {}).get("scikit-learn")
    try:
        unsafe = sorted(set(library.get_untrusted_types(data=content)) - _TRUSTED)
    except Exception as error:
        raise _damaged(folder / name, error) from None
    if unsafe:
        raise _DamagedFileError(
            f"{folder / name} is refused: it holds {', '.join(unsafe)}, not known to be safe to load"
        )
    if saved_by != sklearn.__version__:
        warnings.warn(
            f"{folder / name} was saved with scikit-learn {saved_by}, and this is {sklearn.__version__}: "
            "check the predictions, or fit again",
            UserWarning,
            stacklevel=4,
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InconsistentVersionWarning)  # there would be one per tree
            part = library.loads(content, trusted=sorted(_TRUSTED))
            check_trees(part)
            return part
    except Exception as error:
        raise _damaged(folder / name, error) from None


def _part_bytes(part: Any, where: str) -> bytes:
    require(*_TO_SAVE, "skops")
    import skops.io as library

    try:
        content: bytes = library.dumps(part, compression=zipfile.ZIP_DEFLATED)
        unsafe = sorted(set(library.get_untrusted_types(data=content)) - _TRUSTED)
    except TypeError as error:
        raise ValueError(f"cannot save {where}: {error}") from None
    if unsafe:
        raise ValueError(f"cannot save {where}: it holds {', '.join(unsafe)}, not known to be safe to load")
    return content


def _versions() -> dict[str, str]:
    from symloss import __version__

    return {"symloss": __version__, "torch": torch.__version__, "scikit-learn": sklearn.__version__}


__all__ = ["load", "save"]
