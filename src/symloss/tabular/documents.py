"""Files for people that ``symloss fit`` and ``symloss audit`` write: a page, and a list of labels to check."""

from __future__ import annotations

import hashlib
import json
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symloss.columns import as_text
from symloss.files import real, whole_file
from symloss.tabular.findings import findings
from symloss.tabular.fitting import Fitted
from symloss.tabular.importance import column_importance
from symloss.tabular.labels import label_table, noise_in_words, suspicious
from symloss.tabular.page import About, audit_page, fit_page

if TYPE_CHECKING:
    from pandas import DataFrame

LABELS, PAGE, NOISE = "labels.csv", "report.html", "noise.json"


def add_documents(fitted: Fitted, frame: DataFrame, folder: Path, about: About) -> list[str]:
    """Write the list of labels and the page into the folder of a saved model; return what went wrong.

    The model is there already, so none of this can lose it.

    Examples
    --------
    >>> import tempfile, numpy as np, pandas as pd, symloss as sl
    >>> from symloss.tabular import fit_table
    >>> frame = pd.DataFrame({"x": np.arange(40.0), "y": ["no"] * 20 + ["yes"] * 20})
    >>> fitted = fit_table(frame, "y", candidates=[("linear", sl.AUCClassifier())])
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     _ = fitted.model.save(Path(parent) / "model")
    ...     add_documents(fitted, frame, Path(parent) / "model", About("data.csv"))
    ...     sorted(path.name for path in (Path(parent) / "model").iterdir())[:3]
    []
    ['labels.csv', 'model.safetensors', 'report.html']
    """
    documents: dict[str, Callable[[], bytes]] = {
        LABELS: lambda: _csv(label_table(fitted, frame, about.ids)),
        PAGE: lambda: _html(fit_page(fitted, frame, column_importance(fitted, frame), about)),
    }
    troubles = []
    for name, make in documents.items():
        try:
            _write(folder / name, make())
        except Exception as error:  # whatever it is, the model is there
            troubles.append(f"the model is saved, but {name} could not be made: {type(error).__name__}: {error}")
    return troubles


def write_audit(fitted: Fitted, frame: DataFrame, folder: Path, about: About) -> list[Path]:
    """Write the list of labels, the noise and a page into a folder, and return their paths.

    A page that cannot be made is a warning: the list of labels is written without it.

    Examples
    --------
    >>> import tempfile, numpy as np, pandas as pd, symloss as sl
    >>> from symloss.tabular import fit_table
    >>> frame = pd.DataFrame({"x": np.arange(40.0), "y": ["no"] * 20 + ["yes"] * 20})
    >>> fitted = fit_table(frame, "y", candidates=[("linear", sl.AUCClassifier())])
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     [path.name for path in write_audit(fitted, frame, Path(parent) / "audit", About("data.csv"))]
    ['labels.csv', 'noise.json', 'report.html']
    """
    check_audit_folder(folder)
    labels = _csv(label_table(fitted, frame, about.ids))
    contents = {
        LABELS: labels,
        NOISE: json.dumps(noise_summary(fitted) | {"labels_sha256": _digest(labels)}, indent=1).encode(),
    }
    try:
        contents[PAGE] = _html(audit_page(fitted, frame, about))
    except Exception as error:  # whatever it is, the list of labels can be written
        warnings.warn(f"{PAGE} could not be made: {type(error).__name__}: {error}", stacklevel=2)
    (folder / PAGE).unlink(missing_ok=True)  # an older one, if a new one could not be made
    for name, content in contents.items():
        _write(folder / name, content)
    return [folder / name for name in contents]


def check_audit_folder(folder: Path) -> None:
    """Raise ValueError unless a folder does not exist, is empty, or holds nothing but an audit as it was written.

    Examples
    --------
    >>> check_audit_folder(Path(__file__).parent)
    Traceback (most recent call last):
    ValueError: ...tabular holds more than an audit of labels, and is not overwritten
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file, and is not overwritten")
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if names - {LABELS, NOISE, PAGE}:
        raise ValueError(f"{folder} holds more than an audit of labels, and is not overwritten")
    if names and not ({LABELS, NOISE} <= names and _is_as_written(folder)):
        raise ValueError(
            f"{folder / LABELS} is not as an audit wrote it (by its hash in {NOISE}): labels may have been corrected "
            "there, so it is not overwritten; move the folder away, or give another one with --out"
        )


def check_data_apart(data: Path, folder: Path) -> None:
    """Raise ValueError if the data lie inside the folder that is to be written, and so would be lost.

    Examples
    --------
    >>> check_data_apart(Path("audit/labels.csv"), Path("audit"))
    Traceback (most recent call last):
    ValueError: ...labels.csv, the data, is in audit, the folder to write: it is not overwritten
    """
    if real(folder) in real(data).parents:
        raise ValueError(f"{data}, the data, is in {folder}, the folder to write: it is not overwritten")


def check_writable(folder: Path) -> None:
    """Raise ValueError if a folder cannot be written, before anything is fitted for it.

    Examples
    --------
    >>> check_writable(Path(__file__) / "model")
    Traceback (most recent call last):
    ValueError: ...model cannot be written: ...
    """
    parent = next(above for above in folder.absolute().parents if above.exists())
    try:
        with tempfile.TemporaryDirectory(dir=parent):
            pass
    except OSError as error:
        raise ValueError(f"{folder} cannot be written: {error.strerror} ({parent})") from None


def noise_summary(fitted: Fitted) -> dict[str, Any]:
    """Return how noisy the labels are, as JSON and in words.

    Examples
    --------
    >>> import numpy as np, pandas as pd, symloss as sl
    >>> from symloss.tabular import fit_table
    >>> frame = pd.DataFrame({"x": np.arange(40.0), "y": ["no"] * 20 + ["yes"] * 20})
    >>> found = noise_summary(fit_table(frame, "y", candidates=[("linear", sl.AUCClassifier())]))
    >>> sorted(found)
    ['label', 'negative', 'noise', 'positive', 'suspicious', 'words', 'wrong_share']
    """
    found, (negative, positive) = findings(fitted), map(as_text, fitted.model.labels)
    return {
        "label": fitted.model.label,
        "negative": negative,
        "positive": positive,
        "words": noise_in_words(found, (negative, positive)),
        "noise": asdict(found.noise),
        "wrong_share": asdict(found.wrong_share) | ({} if found.rates else {"value": None}),
        "suspicious": int(suspicious(fitted).sum()) if found.rates else None,  # else qualities are no probabilities
    }


def _is_as_written(folder: Path) -> bool:
    return _digest((folder / LABELS).read_bytes()).encode() in (folder / NOISE).read_bytes()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _write(path: Path, content: bytes) -> None:
    with whole_file(path) as temporary:
        temporary.write_bytes(content)


def _html(page: str) -> bytes:
    return page.encode(errors="backslashreplace")  # the name of a file may be no UTF-8


def _csv(frame: DataFrame) -> bytes:
    return str(frame.to_csv(index=False, lineterminator="\n")).encode("utf-8", "surrogatepass")
