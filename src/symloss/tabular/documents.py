"""The files for people that ``symloss fit`` and ``symloss audit`` write beside a model: a page, and labels to check."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symloss.columns import as_text
from symloss.files import real, whole_file
from symloss.tabular.evaluation import evaluate
from symloss.tabular.importance import column_importance
from symloss.tabular.labels import label_table, noise_in_words, suspicious
from symloss.tabular.model import LABELS, NOISE, PAGE, TableModel, check_names
from symloss.tabular.page import About, fit_page

if TYPE_CHECKING:
    from pandas import DataFrame


def write_documents(model: TableModel, frame: DataFrame, folder: Path, about: About, audit: bool = False) -> list[str]:
    """Write the list of labels, the noise and the page into a folder; return what went wrong, of the page alone."""
    folder.mkdir(parents=True, exist_ok=True)
    labels = str(label_table(model, frame, about.ids).to_csv(index=False, lineterminator="\n"))
    noise = noise_summary(model) | {"labels_sha256": _digest(labels.encode("utf-8", "surrogatepass"))}
    _write(folder / LABELS, labels.encode("utf-8", "surrogatepass"))
    _write(folder / NOISE, json.dumps(noise, indent=1).encode())
    try:
        page = fit_page(model, frame, None if audit else column_importance(model, frame), about)
    except Exception as error:  # whatever it is, the model and the labels are there
        return [f"{PAGE} could not be made: {type(error).__name__}: {error}"]
    _write(folder / PAGE, page.encode(errors="backslashreplace"))  # the name of a file may be no UTF-8
    return []


def check_folder(folder: Path, names: Sequence[str], what: str, overwrite: bool = False) -> None:
    """Raise ValueError unless a folder may and can be written: it is new, empty, or holds ``what`` and nothing else.

    Labels that somebody has checked are never overwritten unless that is asked for.
    """
    check_names(folder, names, what)
    if (folder / LABELS).exists() and not overwrite and not _is_as_written(folder):
        raise ValueError(
            f"{folder / LABELS} is not as symloss wrote it: labels may have been checked there, so it is not "
            "overwritten; give another folder with --out, or add --overwrite"
        )
    parent = next(above for above in (folder, *folder.absolute().parents) if above.exists())
    try:
        with tempfile.TemporaryDirectory(dir=parent):
            pass
    except OSError as error:
        raise ValueError(f"{folder} cannot be written: {error.strerror} ({parent})") from None


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


def noise_summary(model: TableModel) -> dict[str, Any]:
    """Return how noisy the labels are, as JSON and in words."""
    found = evaluate(model)
    return {
        "label": model.label,
        "negative": as_text(model.labels[0]),
        "positive": as_text(model.labels[1]),
        "words": noise_in_words(found, model.labels),
        "noise": asdict(found.noise),
        "wrong_share": asdict(found.wrong_share) | ({} if found.rates else {"value": None}),
        "suspicious": int(suspicious(model).sum()) if found.rates else None,  # else qualities are no probabilities
    }


def _is_as_written(folder: Path) -> bool:
    noise = folder / NOISE
    return noise.is_file() and _digest((folder / LABELS).read_bytes()).encode() in noise.read_bytes()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _write(path: Path, content: bytes) -> None:
    with whole_file(path) as temporary:
        temporary.write_bytes(content)
