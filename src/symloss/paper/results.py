"""Result files: one small JSON file for every data set and noise rate, written when its last trial is done."""

from __future__ import annotations

import hashlib
import json
import math
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple, NoReturn
from urllib.parse import quote

import numpy as np
import torch

from symloss import __version__
from symloss.corruption import check_contamination
from symloss.files import check_not_read, real, write_whole
from symloss.functional import RISKS

FORMAT = 1
PUBLISHED = "as published"  # the way in which the paper's numbers are scored
_OPTIONAL = {"further_scores", "further_curves", "finished"}  # a file has these only if they are not empty
_FILES = "*_pi*_*.json"  # the names of result files
DECIMALS = 4  # of scores from 0 to 100; 250 + 250 test points give steps of 0.0008 (AUC) and 0.1 (balanced accuracy)

Scores = Mapping[str, Mapping[str, Sequence[float]]]


class DamagedResult(ValueError):  # noqa: N818 - it is the result that is damaged
    """A file that is not a whole result; the message names the file and says why.

    Examples
    --------
    >>> str(DamagedResult(Path("spambase_pi1.00_0.00.json"), "it is empty"))
    'spambase_pi1.00_0.00.json is not used: it is empty'
    """

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path} is not used: {reason}")
        self.path = path
        self.reason = reason


def current_versions() -> dict[str, str]:
    """Return the versions of the software that decides the last digits of a score.

    Examples
    --------
    >>> list(current_versions())
    ['symloss', 'torch', 'numpy', 'python']
    """
    return {
        "symloss": __version__,
        "torch": str(torch.__version__),
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """Everything that decides the scores of one data set at one noise rate.

    Parameters
    ----------
    family : str
        ``uci``, ``mnist`` or ``cifar10`` for the paper's data sets; any name for other data sets.
    dataset : str
        The data set's name; for CIFAR-10, the class to be told apart from airplanes, such as ``horse``.
    pi, pi_prime : float
    trials : int
    seed : int
    protocol : str
        The protocol's name, such as ``matched`` or ``printed``.
    settings : dict
        All settings of the training, as JSON stores them: learning rate, epochs, ...

    Examples
    --------
    >>> Configuration(family="uci", dataset="susy", pi=1, pi_prime=0, trials=20).protocol
    ''
    """

    family: str
    dataset: str
    pi: float
    pi_prime: float
    trials: int
    seed: int = 0
    protocol: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("family", "dataset"):
            if not isinstance(getattr(self, name), str) or not getattr(self, name):
                raise ValueError(f"{name} must be a name, got {getattr(self, name)!r}")
        _check_type("protocol", self.protocol, str)
        _check_type("settings", self.settings, dict)
        for name in ("pi", "pi_prime"):
            object.__setattr__(self, name, _number(name, getattr(self, name)))
        check_contamination(self.pi, self.pi_prime)
        for name, least in (("trials", 1), ("seed", 0)):
            value = getattr(self, name)
            if type(value) is not int or value < least:
                raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")
        # Converted as in a file (tuples become lists), so that a result that is read equals the one that was written.
        object.__setattr__(self, "settings", json.loads(json.dumps(self.settings, allow_nan=False)))


@dataclass(frozen=True, kw_only=True)
class Scored:
    """The scores of a result's trials, measured in one way, from 0 to 100.

    All parameters are nested dictionaries: ``scores[risk][loss]`` is a list of numbers.

    Parameters
    ----------
    scores : dict
        Every trial's score: balanced accuracy for the risk ``ber``, AUC for ``auc``.
    curves : dict
        The mean score after each epoch, where it was recorded.
    errors : dict
        The standard errors of the means in ``curves``.

    Examples
    --------
    >>> Scored(scores={"auc": {"sigmoid": [98.0, 97.5]}}).scores["auc"]["sigmoid"]
    [98.0, 97.5]
    """

    scores: Scores = field(default_factory=dict)
    curves: Scores = field(default_factory=dict)
    errors: Scores = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Result(Scored, Configuration):
    """The scores of one data set at one noise rate: every trial of every loss, rounded to 4 decimals.

    Parameters
    ----------
    further : dict of Scored
        The scores of the same networks in other ways than the published one, such as ``dropout_off``.
    versions : dict
    device : str
    seconds : float
        How long the trials took.
    finished : str
        When the result was finished; empty if that was not recorded.

    The other parameters are those of `Configuration` and of `Scored`. Those of `Scored` hold the scores as published.

    Examples
    --------
    >>> scores = {"auc": {"sigmoid": [90, 91.00001], "hinge": [70, 72]}}
    >>> result = Result(family="uci", dataset="spambase", pi=0.65, pi_prime=0.45, trials=2, scores=scores)
    >>> result.scores["auc"]["sigmoid"]
    [90.0, 91.0]
    """

    further: Mapping[str, Scored] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=current_versions)
    device: str = "cpu"
    seconds: float = 0.0
    finished: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, of in _checked(self, self.trials, "scores", "curves", "further_curves, se").items():
            object.__setattr__(self, name, of)
        further = {
            way: Scored(
                **_checked(
                    of, self.trials, f"further_scores, {way}", f"further_curves, {way}", f"further_curves, {way}_se"
                )
            )
            for way, of in self.further.items()
        }
        object.__setattr__(self, "further", further)
        if not self.scores:
            raise ValueError("scores must hold a risk, got none")
        _check_type("versions", self.versions, dict)
        for name, version in self.versions.items():
            _check_type(f"the version of {name}", version, str)
        _check_type("device", self.device, str)
        object.__setattr__(self, "seconds", _number("seconds", self.seconds))
        _check_type("finished", self.finished, str)

    @property
    def configuration(self) -> Configuration:
        """The part of the result that decided its scores."""
        return Configuration(**{key.name: getattr(self, key.name) for key in fields(Configuration)})

    @property
    def ways(self) -> list[str]:
        """The ways in which the trials are scored, the published one first."""
        return [PUBLISHED, *(way for way, of in self.further.items() if of.scores)]

    def scored(self, way: str) -> Scored:
        """Return the scores of the trials in one of the `ways`."""
        if way == PUBLISHED:
            return self
        if way not in self.ways:
            known = ", ".join(self.ways[1:]) or "none"
            raise ValueError(f"{self.dataset} has no scores {way!r} beside the published kind; it has: {known}")
        return self.further[way]


class Results(NamedTuple):
    """The results in a folder: those that could be read, and one error for each damaged file.

    Examples
    --------
    >>> damaged = DamagedResult(Path("spambase_pi1.00_0.00.json"), "it is empty")
    >>> [error.reason for error in Results(whole=[], damaged=[damaged]).damaged]
    ['it is empty']
    """

    whole: list[Result]
    damaged: list[DamagedResult]


def result_path(folder: Path, dataset: str, pi: float, pi_prime: float) -> Path:
    """Return the file for the result of a data set at a noise rate; any name of a data set gives a valid file name.

    Examples
    --------
    >>> result_path(Path("results"), "spambase", 1, 0).name
    'spambase_pi1.00_0.00.json'
    >>> result_path(Path("results"), "../my data", 0.655, 0.45).name
    '..%2Fmy%20data_pi0.655_0.45.json'
    """
    name = quote(dataset, safe="")
    if len(name) > 120:  # file systems allow 255 bytes
        name = f"{name[:100]}~{hashlib.sha256(dataset.encode()).hexdigest()[:16]}"
    return folder / f"{name}_{noise_name(pi, pi_prime)}.json"


def noise_name(pi: float, pi_prime: float) -> str:
    """Return a noise rate as part of a file name: with two decimals, or with all decimals if there are more.

    Examples
    --------
    >>> noise_name(1, 0), noise_name(0.655, 0.45)
    ('pi1.00_0.00', 'pi0.655_0.45')
    """
    return "pi" + "_".join(f"{rate:.2f}" if round(rate, 2) == rate else repr(float(rate)) for rate in (pi, pi_prime))


def write_result(folder: Path, result: Result) -> Path:
    """Write a finished result into its file, whole or not at all, and return the path.

    Examples
    --------
    >>> import tempfile
    >>> scores = {"auc": {"sigmoid": [90, 91]}}
    >>> result = Result(family="uci", dataset="spambase", pi=0.65, pi_prime=0.45, trials=2, scores=scores)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     read_result(write_result(Path(folder), result)) == result
    True
    """
    content = {key: value for key, value in _content(result).items() if value or key not in _OPTIONAL}
    text = json.dumps({"format": FORMAT, **content}, indent=1, allow_nan=False)
    # Put each list of numbers on one line. Strings in JSON contain no line breaks, so no string is changed.
    text = re.sub(r"\[\n\s*([^\[\]{}\"]*?)\n\s*\]", lambda match: f"[{' '.join(match[1].split())}]", text)
    path = result_path(folder, result.dataset, result.pi, result.pi_prime)
    write_whole(path, text + "\n")
    return path


def read_result(path: Path) -> Result:
    """Read a result file.

    Raises
    ------
    DamagedResult
        If the file is truncated, was changed by hand to something impossible, or is not a result.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "spambase_pi1.00_0.00.json"
    ...     _ = path.write_text('{"format": 1, "family": "uc')
    ...     try:
    ...         read_result(path)
    ...     except DamagedResult as error:
    ...         print(error.reason)
    it is no whole JSON file (Unterminated string starting at: line 1 column 25 (char 24))
    """
    if not path.exists():
        raise FileNotFoundError(f"there is no result file {path}")
    try:
        result = _result(json.loads(path.read_bytes(), parse_constant=_refuse_constant))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise DamagedResult(path, f"it is no whole JSON file ({error})") from error
    except (ValueError, OSError, RecursionError) as error:
        raise DamagedResult(path, str(error)) from error
    if path.name != (expected := result_path(path.parent, result.dataset, result.pi, result.pi_prime).name):
        raise DamagedResult(path, f"it holds the result that belongs into {expected}")
    return result


def read_results(folder: Path) -> Results:
    """Read all result files of a folder, and list those that are damaged; other files are ignored.

    Raises
    ------
    FileNotFoundError, ValueError
        If there is no such folder, or no whole result in it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     try:
    ...         read_results(Path(folder))
    ...     except ValueError as error:
    ...         print(str(error).removeprefix(folder))
     holds no results (files such as spambase_pi0.65_0.45.json)
    """
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}")
    results = Results([], [])
    for path in sorted(folder.glob(_FILES)):
        try:
            results.whole.append(read_result(path))
        except DamagedResult as error:
            results.damaged.append(error)
    if not results.whole:
        if results.damaged:
            raise ValueError(f"{folder} holds no whole result: {'; '.join(map(str, results.damaged))}")
        inside = sorted(path.name for path in folder.iterdir() if path.is_dir() and any(path.glob(_FILES)))
        hint = f"; its folders {', '.join(inside)} do" if inside else ""
        raise ValueError(f"{folder} holds no results (files such as spambase_pi0.65_0.45.json){hint}")
    return results


def check_no_result(path: Path, folders: Iterable[Path] = ()) -> None:
    """Raise ValueError if a file to write is a result by its name, or a result of these folders by way of a link.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "spambase_pi1.00_0.00.json"
    ...     check_no_result(path)  # nothing is there yet
    ...     path.touch()
    ...     check_no_result(path)
    Traceback (most recent call last):
    ValueError: ...spambase_pi1.00_0.00.json is a result; it is not overwritten
    """
    results = [result for folder in folders for result in folder.glob(_FILES)]
    check_not_read(path, [real(path), *results] if real(path).match(_FILES) else results, "a result")


def _content(result: Result) -> dict[str, Any]:
    """Return a result as its file stores it: scores and curves by the name of their way, errors by it and _se."""
    ways = result.further.items()
    errors = {"se": result.errors} | {f"{way}_se": of.errors for way, of in ways}
    curves = {way: of.curves for way, of in ways} | errors
    return vars(result.configuration) | {
        "scores": result.scores,
        "curves": result.curves,
        "further_scores": {way: of.scores for way, of in ways if of.scores},
        "further_curves": {name: of for name, of in curves.items() if of},
        "versions": result.versions,
        "device": result.device,
        "seconds": result.seconds,
        "finished": result.finished,
    }


def _result(content: Any) -> Result:
    if not isinstance(content, dict) or "format" not in content:
        raise ValueError("it is not a result of symloss (it has no format)")
    if content["format"] != FORMAT:
        raise ValueError(f"its format is {content['format']!r:.80}; this symloss reads {FORMAT}")
    names = ({key.name for key in fields(Result)} - {"errors", "further"}) | {"further_scores", "further_curves"}
    if missing := sorted(names - content.keys() - _OPTIONAL):
        raise ValueError(f"it lacks {', '.join(missing)}")
    if unknown := sorted(content.keys() - names - {"format"}):
        raise ValueError(f"it has the unknown {', '.join(unknown)}")
    scores, curves = content.get("further_scores", {}), content.get("further_curves", {})
    _check_type("further_scores", scores, dict)
    _check_type("further_curves", curves, dict)
    ways = dict.fromkeys([*scores, *(name.removesuffix("_se") for name in curves if name != "se")])
    return Result(
        **{name: content[name] for name in names & content.keys() - {"further_scores", "further_curves"}},
        errors=curves.get("se", {}),
        further={
            way: Scored(scores=scores.get(way, {}), curves=curves.get(way, {}), errors=curves.get(f"{way}_se", {}))
            for way in ways
        },
    )


def _checked(of: Scored, trials: int, scores: str, curves: str, errors: str) -> dict[str, Scores]:
    """Return scores, curves and errors, all checked; messages of errors call them what the file calls them."""
    return {
        "scores": _checked_scores(scores, of.scores, trials),
        "curves": _checked_scores(curves, of.curves, None),
        "errors": _checked_scores(errors, of.errors, None),
    }


def _checked_scores(name: str, scores: Any, trials: int | None) -> dict[str, dict[str, list[float]]]:
    """Return scores as rounded floats; if ``trials`` is given, every loss must have that many."""
    _check_type(name, scores, dict)
    checked: dict[str, dict[str, list[float]]] = {}
    for risk, losses in scores.items():
        if risk not in RISKS:
            raise ValueError(f"{name} must be of {' or '.join(RISKS)}, got {risk!r}")
        _check_type(f"{name} of {risk}", losses, dict)
        checked[risk] = {}
        for loss, values in losses.items():
            _check_type("the name of a loss", loss, str)
            what = f"{name} of {risk}, {loss}"
            _check_type(what, values, list | tuple)
            if not values or (trials is not None and len(values) != trials):
                wanted = "some" if trials is None else f"{trials}, one per trial"
                raise ValueError(f"{what}: expected {wanted}, got {len(values)}")
            numbers = [_number(what, value) for value in values]
            if not all(0 <= number <= 100 for number in numbers):
                raise ValueError(f"{what} must be between 0 and 100, got {min(numbers)} to {max(numbers)}")
            checked[risk][loss] = [round(number, DECIMALS) for number in numbers]
        if not losses:
            raise ValueError(f"{name} of {risk} must hold a loss, got none")
    return checked


def _check_type(name: str, value: Any, kind: Any) -> None:
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be {kind if not isinstance(kind, type) else kind.__name__}, got {value!r:.80}")


def _number(name: str, value: Any) -> float:
    if not isinstance(value, bool) and isinstance(value, Real):
        try:
            number = float(value)
        except OverflowError:  # an integer of some hundred digits
            number = math.inf
        if math.isfinite(number):
            return number
    raise ValueError(f"{name} must be a finite number, got {value!r:.80}")


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"it holds {constant}")
