"""A fitted estimator, together with what it needs to know about tables: their columns and labels."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symloss.columns import Encoding, as_text
from symloss.corruption import Contamination
from symloss.estimators import AUCClassifier, AUCClassifierCV
from symloss.estimators.calibration import clean_probabilities
from symloss.estimators.saving import damaged, load_with, save_with
from symloss.tabular.differences import Differences, Profile
from symloss.tabular.given_labels import match_labels
from symloss.tabular.rates import known_rates
from symloss.tabular.reading import ReadOptions, check_columns, table_to_predict

if TYPE_CHECKING:
    from onnx import ModelProto
    from pandas import DataFrame
    from sklearn.pipeline import Pipeline
    from torch import nn

    from symloss.audit import Noise
    from symloss.metrics import Estimate

Array = NDArray[np.float64]
MODEL, _DOCUMENTS = "model.safetensors", ("labels.csv", "report.html")  # what symloss fit writes into a folder
BLOCK = 5000  # rows that are scored together: in a block of another size, products may round otherwise


class Predicted(NamedTuple):
    """What a model says of the rows of a table.

    Attributes
    ----------
    scores : array of n floats
        A score above 0 means the positive label.
    labels : list of n labels
        The predicted labels, as they were in the table that was fitted.
    unseen : dict
        For each column of categories, the number of rows whose category the model has not seen.
    probabilities : array of n floats or None
        The probability that the label of a row is positive: the clean label or the given one, see ``probability_of``.
    probability_of : {"clean", "given"} or None
        ``"clean"`` if pi and pi' are known or estimated: then it is the probability of the true label. Otherwise it is
        that of the label that the row would be given, right or wrong. None if the model has no probabilities.
    rows : Index or None
        The index of the rows.
    notes : tuple of str
        How a file was read.

    Examples
    --------
    >>> Predicted([0.5], ["yes"], {}, [0.9], "clean").table
       score prediction  clean_probability
    0    0.5        yes                0.9
    """

    scores: Any
    labels: list[Any]
    unseen: dict[str, int]
    probabilities: Any = None
    probability_of: str | None = None
    rows: Any = None
    notes: tuple[str, ...] = ()

    @property
    def table(self) -> DataFrame:
        """The predictions as a data frame, which is what ``symloss predict`` writes."""
        import pandas as pd

        columns = {"score": self.scores, "prediction": self.labels}
        if self.probability_of is not None:
            columns[f"{self.probability_of}_probability"] = self.probabilities
        return pd.DataFrame(columns, index=self.rows)


@dataclass(frozen=True, eq=False, repr=False)
class TableModel:
    """A fitted estimator, the encoding that turns a table into its features, the label's column and its two values.

    ``symloss.tabular.fit`` and ``symloss.tabular.load`` return it.

    Parameters
    ----------
    estimator : BERClassifierCV or AUCClassifierCV
        The estimator, fitted to labels 0 and 1.
    encoding : Encoding
        How a table becomes features.
    label : str
        The column of labels.
    labels : tuple of two values
        The negative label and the positive label.
    notes : tuple of str
        What was done with the table that was fitted, in sentences.
    profile : Profile, optional
        What the table that was fitted looked like, to tell how others differ from it.
    decimal : {".", ","}, optional
        The sign before decimals in the text file that was fitted.

    Examples
    --------
    >>> import pandas as pd, symloss as sl
    >>> frame = pd.DataFrame({"age": [20.0, 30.0, 50.0, 60.0] * 5, "churn": ["no", "no", "yes", "yes"] * 5})
    >>> model = sl.tabular.fit_table(frame, "churn", candidates=[("linear", sl.AUCClassifier())]).model
    >>> model
    <TableModel: churn, 'yes' or 'no', from 1 column; AUC on the labels given 1.000, cross-validated>
    >>> model.predict(pd.DataFrame({"age": [25, 55]})).labels
    ['no', 'yes']
    """

    estimator: Any
    encoding: Encoding
    label: str
    labels: tuple[Any, Any]
    notes: tuple[str, ...] = ()
    profile: Profile | None = None
    decimal: str | None = None

    def __repr__(self) -> str:
        """Return what is predicted, from how many columns, and how well."""
        negative, positive = map(as_text, self.labels)
        count = len(self.encoding.columns)
        score = self.corrupted_score
        quality = "" if score is None else f"; {self.score_name} on the labels given {score:.3f}, cross-validated"
        of = f"{count} column" + "s" * (count != 1)
        return f"<TableModel: {self.label}, {positive!r} or {negative!r}, from {of}{quality}>"

    @property
    def columns(self) -> list[str]:
        """The columns that a table must have to be predicted; others are ignored."""
        return [column.name for column in self.encoding.columns]

    @property
    def score_name(self) -> str:
        """What ``score`` and ``corrupted_score`` are: "AUC" or "balanced accuracy"."""
        return "AUC" if isinstance(self.estimator, (AUCClassifier, AUCClassifierCV)) else "balanced accuracy"

    @property
    def corrupted_score(self) -> float | None:
        """The cross-validated score on the labels given, which may be corrupted."""
        found = getattr(self.estimator, "corrupted_score_", None)
        return None if found is None else float(found)

    @property
    def clean_score(self) -> Estimate | None:
        """The score on clean labels, estimated, with its interval; None unless pi and pi' were given."""
        return getattr(self.estimator, "clean_score_", None)

    @property
    def noise(self) -> Noise | None:
        """How noisy the labels are, estimated; None where it cannot be told."""
        return getattr(self.estimator, "noise_", None)

    @property
    def rates(self) -> Contamination | None:
        """The rates pi and pi' of the labels: those that were given, else those that were estimated, else None."""
        return known_rates(self.estimator)

    @property
    def probability_of(self) -> str | None:
        """Of which label ``predict`` gives a probability: "clean" if the rates are known, "given", or None."""
        if not hasattr(self.estimator, "calibration_"):  # a single estimator, or saved by a version without it
            return None
        return "given" if self.rates is None else "clean"

    def predict(
        self,
        data: Any,
        threshold: float = 0.0,
        *,
        sep: str | None = None,
        decimal: str | None = None,
        encoding: str | None = None,
        sheet: str | int | None = None,
    ) -> Predicted:
        """Return scores, labels and probabilities of the rows of a table; a score above the threshold is positive.

        The table is a data frame of pandas or polars, or the path of a file, with the columns of the fit in any order.
        Other columns are ignored. A warning says how it differs from the table that was fitted. ``sep``, ``decimal``,
        ``encoding`` and ``sheet`` say how a file is written, as in ``symloss.tabular.fit``. A file must fit in memory;
        ``symloss predict`` takes larger ones.
        """
        options = ReadOptions(sep, decimal, encoding, sheet, usual_decimal=self.decimal)
        frame, notes, _ = table_to_predict(data, self.encoding, options)
        predicted = self.predict_frame(frame, threshold)
        differences = Differences(self.encoding, self.profile)
        differences.add(frame, predicted.unseen)
        for sentence in differences.sentences():
            warnings.warn(sentence, stacklevel=2)
        return predicted._replace(notes=tuple(notes))

    def predict_frame(self, frame: DataFrame, threshold: float = 0.0) -> Predicted:
        """Return the same for a pandas DataFrame, such as a part of a file, without warnings."""
        values, unseen = self._encoded(frame)
        blocks = [self._scores(values[start : start + BLOCK]) for start in range(0, len(values), BLOCK)]
        scores = np.concatenate([np.empty(0), *blocks])
        labels = [self.labels[int(score > threshold)] for score in scores]
        return Predicted(scores, labels, unseen, self._probabilities(scores), self.probability_of, frame.index)

    def score(self, data: Any) -> float:
        """Return the AUC or the balanced accuracy on a data frame or a file that holds the label's column, too.

        Labels may be written as in the fit, in other spellings, too, and rows without a label are left out.
        """
        options = ReadOptions(usual_decimal=self.decimal)
        frame = table_to_predict(data, self.encoding, options, [self.label]).frame
        check_columns([self.label], frame, "the label")
        given = match_labels(frame[self.label], self.labels)
        features = self._features(self._encoded(frame.iloc[given.rows]).values)
        return float(self.estimator.score(features, given.positive.astype(np.int64)))

    def save(self, folder: str | Path) -> list[Path]:
        """Write the model into a folder, and return the paths of all files in it.

        No pickle is written. In a folder that holds a saved model and nothing else, the model is replaced; any other
        folder that is not empty is refused.
        """
        folder = Path(folder)
        check_replaceable(folder)
        table: dict[str, Any] = {
            "label": self.label,
            "labels": list(self.labels),
            "encoding": self.encoding.to_json(),
            "notes": list(self.notes),
        }
        if self.profile is not None:
            table["profile"] = self.profile.to_json()
        if self.decimal is not None:
            table["decimal"] = self.decimal
        save_with(self.estimator, folder / MODEL, table)
        return sorted(folder.iterdir())

    @classmethod
    def load(cls, folder: str | Path, trusted: Collection[str] = ()) -> TableModel:
        """Return the model that ``symloss fit`` or ``save`` has written into a folder.

        ``trusted`` are types of candidates that are not symloss's own, see ``symloss.estimators.load``.
        """
        path = Path(folder) / MODEL
        if not path.is_file():
            raise ValueError(f"no model in {folder}: there is no {MODEL}")
        estimator, table = load_with(path, trusted=trusted)
        if table is None:
            raise ValueError(f"{path} holds an estimator without the columns of a table: symloss fit writes both")
        try:
            model = cls(estimator, *_of_table(table))
            _check_features(model)
        except Exception as error:  # values of wrong types lead to errors of many types
            raise damaged(path, error) from error
        return model

    def to_sklearn(self) -> Pipeline:
        """Return a fitted scikit-learn ``Pipeline`` of encoder and estimator, which takes a raw data frame.

        It has ``predict``, which returns labels as they were in the table, ``decision_function`` and, as the CV forms
        do, ``predict_proba`` of the labels given. Its classes are symloss's: where it is loaded, symloss is needed.
        """
        from symloss.tabular.exporting import pipeline_of

        return pipeline_of(self.encoding, self.estimator, self.labels)

    def to_module(self) -> nn.Module:
        """Return a torch module whose ``forward`` gives the scores of encoded rows, to export to ONNX, for example.

        It takes the features in the order of ``encoding.features``, which ``encoding.transform(frame).values`` returns.
        """
        found: nn.Module = self.estimator.to_module()
        return found

    def to_onnx(self) -> ModelProto:
        """Return the whole model as an ONNX graph: it takes the columns, and returns scores, probabilities and labels.

        Each column is an input of shape (n, 1): numbers as float64, NaN where they are missing; texts as strings, ""
        where they are missing. Outputs are ``score``, ``clean_probability`` or ``given_probability``, and ``label``, a
        text. Candidates of your own that are not symloss's, and columns that are neither numbers nor one-hot encoded,
        such as dates and numbers written as text, cannot be exported.
        """
        from symloss.tabular.onnx_graph import onnx_model

        return onnx_model(self)

    def _encoded(self, frame: DataFrame) -> Any:
        missing = [name for name in self.columns if name not in frame.columns]
        near = {name: _near(name, list(map(str, frame.columns))) for name in missing}
        hints = ", ".join(f"{found[0]!r} for {name!r}" for name, found in near.items() if found)
        if hints:
            raise ValueError(f"columns that the model needs are missing: {', '.join(missing)}; did you mean {hints}?")
        return self.encoding.transform(frame)

    def _features(self, values: Array) -> DataFrame:
        import pandas as pd

        return pd.DataFrame(values, columns=self.encoding.features)

    def _scores(self, values: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):  # a value of 1e300 may have an infinite score
            return np.asarray(self.estimator.decision_function(self._features(values)))

    def _probabilities(self, scores: Array) -> Array | None:
        if self.probability_of is None:
            return None
        observed: Array = self.estimator.calibration_.probabilities(scores)
        if self.rates is None:
            return observed
        return clean_probabilities(observed, self.estimator.share_labeled_positive_, *self.rates)


def load(folder: str | Path, trusted: Collection[str] = ()) -> TableModel:
    """Return the model that ``symloss fit``, or ``save`` of a ``TableModel``, has written into a folder.

    Nothing in the folder can make this function run code. ``trusted`` are types of candidates that are not symloss's
    own; see ``symloss.estimators.load`` for both.

    Examples
    --------
    >>> import tempfile, pandas as pd, symloss as sl
    >>> frame = pd.DataFrame({"age": range(40), "churn": ["no"] * 20 + ["yes"] * 20})
    >>> model = sl.tabular.fit_table(frame, "churn", candidates=[("linear", sl.AUCClassifier())]).model
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     _ = model.save(parent + "/model")
    ...     sl.tabular.load(parent + "/model").predict(frame).labels[0]
    'no'
    """
    return TableModel.load(folder, trusted)


def check_replaceable(folder: Path) -> None:
    """Raise ValueError unless a folder does not exist, is empty, or holds a model and nothing else.

    Examples
    --------
    >>> check_replaceable(Path(__file__).parent)
    Traceback (most recent call last):
    ValueError: ...tabular is no model folder, and is not overwritten
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file, and is not overwritten")
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if names and MODEL not in names:
        raise ValueError(f"{folder} is no model folder, and is not overwritten")
    if others := names - {MODEL, *_DOCUMENTS}:
        raise ValueError(f"{folder} holds more than a model ({', '.join(sorted(others))}), and is not overwritten")


def _of_table(table: Any) -> tuple[Encoding, str, tuple[Any, Any], tuple[str, ...], Profile | None, str | None]:
    """Return what a saved model tells of its table, after a check of all types."""
    if not isinstance(table, dict):
        raise ValueError(f"expected what is known of a table, found {table!r}")
    labels, notes, decimal = table["labels"], table.get("notes", []), table.get("decimal")
    if not isinstance(labels, list) or len(labels) != 2 or labels[0] == labels[1]:
        raise ValueError(f"expected two labels, found {labels!r}")
    for label in labels:
        if not isinstance(label, (str, int, float)):
            raise ValueError(f"expected a text or a number as label, found {label!r}")
    if not isinstance(table["label"], str):
        raise ValueError(f"expected the name of a column as label, found {table['label']!r}")
    if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        raise ValueError(f"expected a list of sentences as notes, found {notes!r}")
    if decimal not in (None, ".", ","):
        raise ValueError(f"expected a point or a comma as decimal, found {decimal!r}")
    profile = Profile.from_json(table["profile"]) if "profile" in table else None
    encoding = Encoding.from_json(table["encoding"])
    return encoding, table["label"], (labels[0], labels[1]), tuple(notes), profile, decimal


def _check_features(model: TableModel) -> None:
    """Raise ValueError unless the features that a table becomes are those that the estimator takes."""
    features, names = model.encoding.features, getattr(model.estimator, "feature_names_in_", None)
    count = model.estimator.n_features_in_
    if len(features) != count or (names is not None and features != names.tolist()):
        raise ValueError(f"expected the {count} features of the model, found {len(features)}: {features!r}")
    measured = [feature for column in model.encoding.columns if column.is_measured for feature in column.features]
    unknown = [] if model.profile is None else [name for name in measured if name not in model.profile.ranges]
    if unknown:
        raise ValueError(f"expected the range of every feature that is measured, found none of {unknown!r}")


def _near(name: str, known: list[str]) -> list[str]:
    return [other for other in known if other.lower().strip() == name.lower()] or get_close_matches(name, known, n=1)
