"""Save estimators to disk and load them, without pickle: as JSON and safetensors."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import sklearn
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from symloss.estimators.base import BinaryClassifier
from symloss.estimators.file_checks import check_loaded
from symloss.estimators.model_files import (
    MODEL,
    PART,
    TENSORS,
    DamagedFileError,
    Stored,
    check_replaceable,
    damaged,
    is_part,
    read_model,
    write_model,
)
from symloss.estimators.serialization import ESTIMATORS, MissingModelError, Reader, Writer
from symloss.estimators.skops_parts import check_trusted, part_bytes, read_part
from symloss.extras import require

_TO_SAVE, _TO_LOAD = (("save", f"{what} a model needs safetensors") for what in ("saving", "loading"))


def save(estimator: BinaryClassifier, folder: str | Path) -> None:
    """Write a fitted estimator into a folder: ``model.json`` and ``tensors.safetensors``.

    No pickle is written. The folder is written as a whole: if writing fails, or the process is killed, the folder is as
    it was before. A folder that holds a saved model and nothing else is replaced; any other folder that is not empty is
    refused. Members of a CV form that are not symloss's own are written by skops, see ``trusted`` of ``load``.

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


def load(folder: str | Path, model: Any = None, trusted: Collection[str] = ()) -> BinaryClassifier:
    """Return the estimator that was saved in a folder; its predictions are the same to the last bit.

    A file in the folder cannot make this function run code, or crash the process: classes are looked up in a list, and
    numbers and indices are checked. If the folder is replaced meanwhile, the estimator is the old or the new one.

    Parameters
    ----------
    folder : str or Path
        A folder that ``save`` has written.
    model : nn.Module or callable, optional
        The network of your own that was fitted, or the function that makes it. If several candidates of a CV estimator
        have one, a dict of them by the names of the candidates.
    trusted : collection of str
        Only for CV forms with candidates that are not symloss's own, and for trees that were saved before version 2 of
        the format: the types to load by skops. The error that is raised without them lists them. Types are no proof:
        trust only files of which you know who wrote them.

    Warns
    -----
    UserWarning
        If an estimator that is not symloss's own was saved with another version of scikit-learn.

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
    return estimator_of(read_model(Path(folder)), model, trusted)


def save_with(estimator: BinaryClassifier, folder: Path, further: Mapping[str, bytes]) -> None:
    """Save an estimator and further files into one folder, all of them or none.

    Examples
    --------
    >>> import tempfile, numpy as np, symloss as sl
    >>> classifier = sl.BERClassifier(threshold=0.0).fit([[0.0], [1.0]], [0, 1])
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     save_with(classifier, Path(parent) / "model", {"table.json": b"{}"})
    ...     read_model(Path(parent) / "model").file("table.json")
    b'{}'
    """
    require(*_TO_SAVE, "safetensors")
    import safetensors.torch  # here and below, a library that only saving and loading need

    if type(estimator) not in ESTIMATORS.values():
        raise ValueError(f"can save one of {', '.join(ESTIMATORS)}, got {type(estimator).__name__}")
    check_is_fitted(estimator)
    check_replaceable(folder)
    writer = Writer()
    stored = writer.estimator(estimator, type(estimator).__name__)
    try:
        check_loaded(estimator)  # what could not be loaded is not written
    except ValueError as error:
        raise ValueError(f"cannot save {type(estimator).__name__}: {error}") from error
    files = {TENSORS: safetensors.torch.save(writer.tensors), **further}
    for number, (where, part) in enumerate(writer.parts):
        files[PART.format(number)] = part_bytes(part, where)
    write_model(folder, {"versions": _versions(), "estimator": stored}, files)


def estimator_of(stored: Stored, model: Any = None, trusted: Collection[str] = ()) -> BinaryClassifier:
    """Return the estimator of a folder that was read; ``load`` says what the parameters are.

    Examples
    --------
    >>> estimator_of(Stored(Path("model"), {"files": {}}, {}))
    Traceback (most recent call last):
    symloss.estimators.model_files.DamagedFileError: model/model.json is damaged: it does not list tensors.safetensors
    """
    folder, saved_by = stored.folder, stored.contents.get("versions", {}).get("scikit-learn")
    check_trusted(folder, {name: content for name, content in stored.files.items() if is_part(name)}, trusted)

    def part(number: Any) -> Any:
        name = PART.format(int(number))
        return read_part(folder / name, stored.file(name), saved_by)

    reader = Reader(_read_tensors(stored), part, model)
    try:
        estimator = reader.value(stored.contents["estimator"])
        if not isinstance(estimator, BinaryClassifier):
            raise ValueError(f"it holds no estimator but a {type(estimator).__name__}")
        check_is_fitted(estimator)
    except (DamagedFileError, MissingModelError):
        raise
    except Exception as error:  # values of wrong types lead to errors of many types
        raise damaged(folder / MODEL, error) from error
    if model is not None and not reader.asked_for_model:
        raise ValueError(f"{folder} holds no network of your own, so that model must not be given")
    return estimator


def _read_tensors(stored: Stored) -> dict[str, Tensor]:
    content = stored.file(TENSORS)
    require(*_TO_LOAD, "safetensors")
    import safetensors.torch as library

    try:
        tensors: dict[str, Tensor] = library.load(content)
    except Exception as error:  # a wrong header leads to errors of many types
        raise damaged(stored.folder / TENSORS, error) from None
    return tensors


def _versions() -> dict[str, str]:
    from symloss import __version__

    return {"symloss": __version__, "torch": torch.__version__, "scikit-learn": sklearn.__version__}


__all__ = ["load", "save"]
