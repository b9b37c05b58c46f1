"""A fitted estimator, together with what it needs to know about tables: their columns and labels."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symloss.columns import Encoding, as_text
from symloss.corruption import Contamination
from symloss.estimators import AUCClassifierCV
from symloss.estimators.saving import damaged, load_with, save_with
from symloss.estimators.scoring import clean_probabilities
from symloss.tabular.checks import Differences, Profile
from symloss.tabular.given_labels import match_labels
from symloss.tabular.reading import ReadOptions, check_columns, read

if TYPE_CHECKING:
    from pandas import DataFrame
    from sklearn.pipeline import Pipeline
    from torch import nn

    from symloss.audit import Noise
    from symloss.metrics import Estimate

Array = NDArray[np.float64]
MODEL = "model.safetensors"
# What symloss fit, audit and review write beside it.
LABELS, NOISE, PAGE, CORRECTED = DOCUMENTS = "labels.csv", "noise.json", "report.html", "corrected.csv"


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
    probabilities : array of n floats
        The probability that the true label of a row is positive, by the shares of wrong labels that were given or
        estimated.
    rows : Index or None
        The index of the rows.
    notes : tuple of str
        How a file was read.

    Examples
    --------
    >>> Predicted([0.5], ["yes"], {}, [0.9]).table
       score prediction  clean_probability
    0    0.5        yes                0.9
    """

    scores: Any
    labels: list[Any]
    unseen: dict[str, int]
    probabilities: Any
    rows: Any = None
    notes: tuple[str, ...] = ()

    @property
    def table(self) -> DataFrame:
        """The predictions as a data frame, which is what ``symloss predict`` writes."""
        import pandas as pd

        columns = {"score": self.scores, "prediction": self.labels, "clean_probability": self.probabilities}
        return pd.DataFrame(columns, index=self.rows)


class Rows(NamedTuple):
    """The rows that a model was fitted to: their numbers in the table, from 0, their labels and weights."""

    numbers: NDArray[np.intp]
    positive: NDArray[np.bool_]
    weight: Array
    unlabeled: bool  # whether the rows that are not labeled positive have no label
    checked: NDArray[np.bool_]  # whether somebody has checked the label


class Review(NamedTuple):
    """What came out of the labels that somebody has checked.

    Attributes
    ----------
    checked : int
        How many labels were checked.
    changed : sequence of int
        Which of them, by their place among the rows of the fit, were wrong and are corrected.
    random, random_wrong : int
        How many random rows among all but the most suspicious ones were checked, and how many of them were wrong.
    wrong_before : tuple of 3 floats, or None
        The share of wrong labels before the review, and the ends of its 90% interval; None if too few rows are random.
    score_before, score_after : float
        The cross-validated score on the corrected labels, of the model before and after the review.
    """

    checked: int
    changed: Sequence[int]
    random: int
    random_wrong: int
    wrong_before: Sequence[float] | None
    score_before: float
    score_after: float


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
    profile : Profile
        What the table that was fitted looked like, to tell how others differ from it.
    decimal : {".", ","}, optional
        The sign before decimals in the text file that was fitted.
    rows : Rows, optional
        The rows that were fitted; they are not saved.
    weight, group : str, optional
        The columns of weights and of groups.
    review : Review, optional
        What came out of a review of labels.

    Examples
    --------
    >>> import pandas as pd, symloss as sl
    >>> frame = pd.DataFrame({"age": [20.0, 30.0, 50.0, 60.0] * 15, "churn": ["no", "no", "yes", "yes"] * 15})
    >>> model = sl.tabular.fit(frame, "churn", candidates=[("linear", sl.AUCClassifier())], tell=print)
    label churn: 'yes' is positive (30 rows), the larger label; 'no' is negative (30 rows)
    60 rows, 1 columns as 1 features
    warning: column 'age' alone tells the label (AUC 1.000 on the labels given): leave it out (drop='age') if it ...
    >>> model
    <TableModel: churn, 'yes' or 'no', from 1 column; AUC on the labels given 1.000, cross-validated>
    >>> model.predict(pd.DataFrame({"age": [25, 55]})).labels
    ['no', 'yes']
    """

    estimator: Any
    encoding: Encoding
    label: str
    labels: tuple[Any, Any]
    notes: tuple[str, ...]
    profile: Profile
    decimal: str | None = None
    rows: Rows | None = None
    weight: str | None = None
    group: str | None = None
    review: Review | None = None

    def __repr__(self) -> str:
        """Return what is predicted, from how many columns, and how well."""
        negative, positive = map(as_text, self.labels)
        count = len(self.columns)
        quality = f"{self.score_name} on the labels given {self.corrupted_score:.3f}, cross-validated"
        of = f"{count} column" + "s" * (count != 1)
        return f"<TableModel: {self.label}, {positive!r} or {negative!r}, from {of}; {quality}>"

    @property
    def columns(self) -> list[str]:
        """The columns that a table must have to be predicted; others are ignored."""
        return list(self.encoding.forms)

    @property
    def score_name(self) -> str:
        """What ``score`` and ``corrupted_score`` are: "AUC" or "balanced accuracy"."""
        return "AUC" if isinstance(self.estimator, AUCClassifierCV) else "balanced accuracy"

    @property
    def corrupted_score(self) -> float:
        """The cross-validated score on the labels given, which may be corrupted."""
        return float(self.estimator.corrupted_score_)

    @property
    def clean_score(self) -> Estimate | None:
        """The score on clean labels, estimated, with its interval; None unless pi and pi' were given."""
        return getattr(self.estimator, "clean_score_", None)

    @property
    def noise(self) -> Noise:
        """How noisy the labels seem, with intervals."""
        found: Noise = self.estimator.noise_
        return found

    @property
    def rates(self) -> Contamination:
        """The rates pi and pi' of the labels: those that were given, else those that were estimated."""
        if self.rates_given:
            return Contamination(float(self.estimator.pi), float(self.estimator.pi_prime))
        return Contamination(self.noise.pi, self.noise.pi_prime)

    @property
    def rates_given(self) -> bool:
        """Whether the rates were given to the fit."""
        return self.estimator.pi is not None and self.estimator.pi_prime is not None

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
        frame, notes, *_ = read(data, options, self.encoding.texts)
        predicted = self.predict_frame(frame, threshold)
        differences = Differences(self.encoding, self.profile)
        differences.add(frame, predicted.unseen)
        for sentence in differences.sentences():
            warnings.warn(sentence, stacklevel=2)
        return predicted._replace(notes=tuple(notes))

    def predict_frame(self, frame: DataFrame, threshold: float = 0.0) -> Predicted:
        """Return the same for a pandas DataFrame, such as a part of a file, without warnings."""
        import pandas as pd

        check_columns(self.columns, frame, "which the model needs")
        values, unseen = self.encoding.transform(frame)
        features = pd.DataFrame(values, columns=self.encoding.features)
        scores = np.asarray(self.estimator.decision_function(features)) if len(frame) else np.empty(0)
        labels = [self.labels[int(above)] for above in scores > threshold]
        given = self.estimator.calibration_.probabilities(scores)
        probabilities = clean_probabilities(given, self.estimator.share_labeled_positive_, *self.rates)
        return Predicted(scores, labels, unseen, probabilities, frame.index)

    def score(self, data: Any) -> float:
        """Return the AUC or the balanced accuracy on a data frame or a file that holds the label's column, too.

        Labels may be written as in the fit, in other spellings, too, and rows without a label are left out.
        """
        options = ReadOptions(usual_decimal=self.decimal)
        frame = read(data, options, self.encoding.texts, [self.label]).frame
        check_columns([self.label, *self.columns], frame, "which the model needs")
        given = match_labels(frame[self.label], self.labels)
        features = features_of(frame.iloc[given.rows], self.encoding)
        return float(self.estimator.score(features, given.positive.astype(np.int64)))

    def save(self, folder: str | Path) -> list[Path]:
        """Write the model into a folder, and return the paths of all files in it.

        No pickle is written. In a folder that holds a saved model and nothing else, the model is replaced; any other
        folder that is not empty is refused.
        """
        folder = Path(folder)
        check_names(folder, [MODEL, *DOCUMENTS], "a model")
        table = {
            "label": self.label,
            "labels": list(self.labels),
            "encoding": self.encoding.to_json(),
            "notes": list(self.notes),
            "profile": self.profile._asdict(),
            "decimal": self.decimal,
            "beside": [self.weight, self.group],
            "review": self.review,
        }
        save_with(self.estimator, folder / MODEL, table)
        return sorted(folder.iterdir())

    def to_sklearn(self) -> Pipeline:
        """Return a fitted scikit-learn ``Pipeline`` of encoder and estimator, which takes a raw data frame.

        It has ``predict``, which returns labels as they were in the table, ``decision_function`` and, as CV
        estimators do, ``predict_proba`` of the labels given. Loading it needs symloss.
        """
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import FunctionTransformer

        classifier = copy.copy(self.estimator)
        classifier.classes_ = np.array(self.labels)
        return make_pipeline(FunctionTransformer(features_of, kw_args={"encoding": self.encoding}), classifier)

    def to_module(self) -> nn.Module:
        """Return a torch module whose ``forward`` gives the scores of encoded rows, to export to ONNX, for example.

        It takes the features in the order of ``encoding.features``, which ``encoding.transform(frame).values`` returns.
        """
        found: nn.Module = self.estimator.to_module()
        return found


def features_of(frame: Any, encoding: Encoding) -> DataFrame:
    """Return the features of the rows of a data frame, under their names."""
    import pandas as pd

    return pd.DataFrame(encoding.transform(frame).values, columns=encoding.features)


def load(folder: str | Path, trusted: Collection[str] = ()) -> TableModel:
    """Return the model that ``symloss fit``, or ``save`` of a ``TableModel``, has written into a folder.

    Nothing in the folder can make this function run code. ``trusted`` are types of candidates that are not symloss's
    own; see ``symloss.estimators.load`` for both.

    Examples
    --------
    >>> import tempfile, pandas as pd, symloss as sl
    >>> frame = pd.DataFrame({"age": np.arange(60.0) % 20, "churn": (["no"] * 9 + ["yes"] * 11) * 3})
    >>> model = sl.tabular.fit(frame, "churn", candidates=[("linear", sl.AUCClassifier())], tell=str)
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     _ = model.save(parent + "/model")
    ...     sl.tabular.load(parent + "/model").predict(frame).labels[::15]
    ['no', 'yes', 'yes', 'no']
    """
    path = Path(folder) / MODEL
    if not path.is_file():
        raise ValueError(f"no model in {folder}: there is no {MODEL}, which symloss fit and audit write")
    estimator, table = load_with(path, trusted=trusted)
    if table is None:
        raise ValueError(f"{path} holds an estimator without the columns of a table: symloss fit writes both")
    try:
        negative, positive = table["labels"]
        encoding, profile = Encoding.from_json(table["encoding"]), Profile.from_json(table["profile"])
        labels, notes = (negative, positive), tuple(map(str, table["notes"]))
        review = Review(*table["review"]) if table["review"] else None
        label, decimal, beside = str(table["label"]), table["decimal"], table["beside"]
        weight, group = beside
        model = TableModel(estimator, encoding, label, labels, notes, profile, decimal, None, weight, group, review)
        if encoding.features != estimator.feature_names_in_.tolist():
            raise ValueError(f"expected the {estimator.n_features_in_} features of the model, found others")
    except Exception as error:  # values of wrong types lead to errors of many types
        raise damaged(path, error) from error
    return model


def check_names(folder: Path, names: Collection[str], what: str) -> None:
    """Raise ValueError unless a folder does not exist, is empty, or holds files of these names and nothing else."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file, and is not overwritten")
    others = sorted({path.name for path in folder.iterdir()} - set(names)) if folder.is_dir() else []
    if others:
        shown = ", ".join(others[:3]) + (", ..." if len(others) > 3 else "")
        raise ValueError(f"{folder} holds more than {what} ({shown}), and is not overwritten")
