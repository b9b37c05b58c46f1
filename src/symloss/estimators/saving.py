"""Save fitted estimators into one safetensors file each, with JSON as its metadata, and load them: nothing is run.

JSON holds text, numbers and ``None`` as they are. Anything else is an object with one key, which says what it is; the
names of classes are looked up in ``_ESTIMATORS`` and ``_RECORDS``. Arrays are the tensors of the file.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from symloss import __version__
from symloss.audit import Noise
from symloss.columns import Encoding
from symloss.estimators.classifiers import AUCClassifier, BERClassifier
from symloss.estimators.pruning import Pruned
from symloss.estimators.scoring import Calibration
from symloss.estimators.selection import AUCClassifierCV, BERClassifierCV, Member
from symloss.files import whole_file
from symloss.losses import get_loss, list_losses
from symloss.messages import require
from symloss.metrics import Estimate
from symloss.models import PerceptronStack
from symloss.models.families import FAMILIES
from symloss.models.family import Standardization
from symloss.models.networks import Ensemble, NetworkScores, build_networks
from symloss.models.trees import TREE_MODELS, model_of_trees, trees_of_model

_FORMAT = "symloss model 2"
_ESTIMATORS: dict[str, Any] = {
    kind.__name__: kind for kind in (BERClassifier, AUCClassifier, BERClassifierCV, AUCClassifierCV, Pruned)
}
# Classes of which the fields are saved.
_RECORDS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (*(each.scorer for each in FAMILIES.values()), Standardization, Member, Calibration, Noise, Estimate)
}
_SKOPS = "skops"  # how the names of tensors begin that hold what skops has written; only these are given to skops
_NOT_SAVED = ("callback",)  # a function of the user's program, not a part of the model
_HARMLESS = "sklearn.model_selection._split."  # skops lists folds among the types to trust, which are only numbers


class DamagedFileError(ValueError):
    """A file is not what was written."""


class _MissingArgumentError(ValueError):
    """The file is right, but loading it needs an argument."""


def save(estimator: Any, path: str | Path) -> None:
    """Write a fitted estimator into one file, which holds no pickle; an older file is replaced by the whole new one.

    Parameters
    ----------
    estimator : BERClassifier, AUCClassifier, BERClassifierCV, AUCClassifierCV or Pruned
        Its losses must be built in. If it has networks of your own, their parameters are saved, but not their code.
    path : str or Path
        The file to write, such as ``"model.safetensors"``.

    Examples
    --------
    >>> import tempfile, numpy as np, symloss as sl
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> classifier = sl.BERClassifier(threshold=0.0).fit(X, ["no", "no", "yes", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sl.estimators.save(classifier, folder + "/model.safetensors")
    ...     sl.estimators.load(folder + "/model.safetensors").predict([[2.5]])
    array(['yes'], dtype='<U3')
    """
    save_with(estimator, path, None)


def load(path: str | Path, model: Any = None, trusted: Collection[str] = ()) -> Any:
    """Return the estimator that ``save`` has written into a file; it predicts the same.

    No code of the file is run: classes are looked up in a list, and trees are checked before they are followed.

    Parameters
    ----------
    path : str or Path
        The file.
    model : nn.Module or callable, optional
        The network of your own that was fitted, or the function that makes it. If several candidates of a CV estimator
        have one, a dict of them by the names of the candidates.
    trusted : collection of str
        For candidates that are not symloss's own: types that skops, which reads these, does not load unless they are
        named. The error that is raised without them lists them.

    Examples
    --------
    >>> import tempfile, numpy as np, symloss as sl
    >>> from torch import nn
    >>> def network(n_features):
    ...     return nn.Sequential(nn.Linear(n_features, 4), nn.Tanh(), nn.Linear(4, 1))
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> classifier = sl.AUCClassifier(model=network, epochs=1, threshold=0.0, random_state=0).fit(X, [0, 0, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sl.estimators.save(classifier, folder + "/model.safetensors")
    ...     again = sl.estimators.load(folder + "/model.safetensors", model=network)
    >>> bool((again.decision_function(X) == classifier.decision_function(X)).all())
    True
    """
    return load_with(path, model, trusted)[0]


def save_with(estimator: Any, path: str | Path, beside: Any) -> None:
    """Write an estimator, and beside it whatever JSON can hold, into one file."""
    require("save", "saving a model needs safetensors", "safetensors")
    import safetensors.torch  # here and below, libraries that only saving and loading need

    if type(estimator) not in _ESTIMATORS.values():
        raise ValueError(f"can save one of {', '.join(_ESTIMATORS)}, got {type(estimator).__name__}")
    check_is_fitted(estimator)
    writer = _Writer()
    versions = {"symloss": __version__, "torch": torch.__version__, "scikit-learn": sklearn.__version__}
    contents = {"versions": versions, "estimator": writer.json(estimator), "beside": beside}
    text = json.dumps(contents, allow_nan=False)
    metadata = {"format": _FORMAT, "contents": text, "sha256": _digest(text, writer.tensors)}
    with whole_file(Path(path)) as temporary:
        temporary.write_bytes(safetensors.torch.save(writer.tensors, metadata))


def load_with(path: str | Path, model: Any = None, trusted: Collection[str] = ()) -> tuple[Any, Any]:
    """Return the estimator of a file, and what was saved beside it; ``load`` says what the parameters are."""
    path = Path(path)
    contents, tensors = _contents(path)
    _check_trusted(path, tensors, trusted)
    reader = _Reader(tensors, model)
    try:
        estimator = reader.value(contents["estimator"])
        if type(estimator) not in _ESTIMATORS.values():
            raise ValueError(f"expected an estimator, found {type(estimator).__name__}")
        check_is_fitted(estimator)
        beside = contents["beside"]
    except _MissingArgumentError as error:
        raise ValueError(f"{path}: {error}") from None
    except Exception as error:  # values of wrong types lead to errors of many types
        raise damaged(path, error) from error
    if model is not None and not reader.asked_for_model:
        raise ValueError(f"{path} holds no network of your own, so that model must not be given")
    return estimator, beside


def damaged(path: str | Path, reason: object) -> DamagedFileError:
    """Return the error that names a file and says in one line what is wrong with it."""
    text = f"no {reason}" if isinstance(reason, KeyError) else str(reason) or type(reason).__name__
    return DamagedFileError(f"{path} is damaged: {' '.join(text.split())[:500]}")


def _contents(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return the JSON of a file and its tensors, after a check that they are as they were written."""
    require("save", "loading a model needs safetensors", "safetensors")
    from safetensors import safe_open

    if not path.is_file():
        raise ValueError(f"no model in {path}: expected a file that symloss has saved")
    try:
        with safe_open(path, framework="pt") as file:
            metadata, tensors = file.metadata() or {}, {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except Exception as error:  # a wrong header leads to errors of many types
        raise damaged(path, error) from None
    if metadata.get("format") != _FORMAT:
        raise ValueError(f"{path} is no file of {_FORMAT!r}, as this version of symloss saves, but of another format")
    text = metadata.get("contents", "")
    if metadata.get("sha256") != _digest(text, tensors):
        raise damaged(path, "it has changed since it was saved")
    contents: dict[str, Any] = json.loads(text)
    return contents, tensors


def _digest(text: str, tensors: dict[str, Tensor]) -> str:
    import safetensors.torch

    return hashlib.sha256(text.encode() + safetensors.torch.save(tensors)).hexdigest()


class _Writer:
    """Turns values into JSON, and keeps apart the tensors that it names."""

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}
        self._candidate: str | None = None  # the one that is being written

    def json(self, value: Any) -> Any:
        """Return a value as JSON."""
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else {"float": str(value)}
        if isinstance(value, np.generic):
            return self.json(value.item())
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, Encoding):
            return {"encoding": value.to_json()}
        if type(value).__name__ in _RECORDS:
            return self._record(value)
        if type(value) in (list, tuple, dict):
            return self._container(value)
        if type(value) in _ESTIMATORS.values():
            return self._estimator(value)
        if isinstance(value, (PerceptronStack, Ensemble)):
            state = {key: self._keep(tensor) for key, tensor in value.state_dict().items()}
            return {"networks": [len(value), state]}
        if trees := trees_of_model(value):
            return {"trees": {"class": type(value).__name__, "parts": [self.json(part) for part in trees]}}
        content = torch.frombuffer(bytearray(_skops_bytes(value)), dtype=torch.uint8)
        return {"skops": self._keep(content, _SKOPS).removeprefix(_SKOPS)}

    def _keep(self, tensor: Tensor, kind: str = "array") -> str:
        key = f"{kind}{len(self.tensors)}"
        self.tensors[key] = tensor.detach().cpu().clone().contiguous()  # safetensors refuses tensors that share memory
        return key

    def _array(self, array: np.ndarray[Any, Any]) -> Any:
        if array.dtype.kind in "UO":
            return {"texts": [None if array.dtype.kind == "O" else array.dtype.str, self.json(array.tolist())]}
        native = np.array(array, array.dtype.newbyteorder("="), order="C")
        return {"array": self._keep(torch.from_numpy(native))}

    def _record(self, value: Any) -> Any:
        if isinstance(value, Member):
            self._candidate = value.name
        names = getattr(value, "_fields", None) or vars(value)  # of a NamedTuple, or of a dataclass
        return {type(value).__name__: {name: self.json(getattr(value, name)) for name in names}}

    def _container(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {"dict": [[self.json(key), self.json(item)] for key, item in value.items()]}
        if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str):
            self._candidate = value[0]  # a pair (name, estimator)
        items = [self.json(item) for item in value]
        return {"tuple": items} if isinstance(value, tuple) else items

    def _estimator(self, estimator: Any) -> Any:
        parameters = estimator.get_params(deep=False).items()
        return {
            "estimator": type(estimator).__name__,
            "parameters": {key: self._parameter(key, value) for key, value in parameters if key not in _NOT_SAVED},
            "fitted": {key: self.json(value) for key, value in vars(estimator).items() if _is_fitted(key)},
        }

    def _parameter(self, key: str, value: Any) -> Any:
        if key == "model" and not isinstance(value, str):
            return {"own network": self._candidate}
        if key == "loss" and not isinstance(value, str):
            return _json_of_loss(value)
        return self.json(value)


class _Reader:
    """Turns what a ``_Writer`` has made back into values."""

    def __init__(self, tensors: dict[str, Tensor], model: Any) -> None:
        self._tensors, self._model = tensors, model
        self._parameters: dict[str, Any] = {}  # those of the estimator that is being read
        self.asked_for_model = False

    def value(self, stored: Any) -> Any:
        """Return the value of this JSON."""
        match stored:
            case list():
                return [self.value(item) for item in stored]
            case {"estimator": name, "parameters": parameters, "fitted": fitted}:
                return self._estimator(name, parameters, fitted)
            case {"tuple": items}:
                return tuple(self.value(items))
            case {"dict": pairs}:
                return {self.value(key): self.value(item) for key, item in pairs}
            case {"float": text}:
                return float(text)
            case {"array": key}:
                return np.array(self._tensors[key].numpy())
            case {"texts": [dtype, items]}:
                return np.array(self.value(items), dtype or object)
            case {"encoding": content}:
                return Encoding.from_json(content)
            case {"loss": [name, parameters]}:
                loss = get_loss(name, **(parameters or {}))
                return type(loss) if parameters is None else loss
            case {"trees": {"class": name, "parts": parts}}:
                return model_of_trees(TREE_MODELS[name], *self.value(parts))
            case {"skops": number}:
                return _value_of_skops(self._tensors[f"{_SKOPS}{number}"].numpy().tobytes())
            case {"own network": name}:
                return self._own_network(name)
            case {"NetworkScores": content}:
                return self._network_scores(content)
            case dict() if len(stored) == 1 and (name := next(iter(stored))) in _RECORDS:
                return _RECORDS[name](**{key: self.value(part) for key, part in stored[name].items()})
            case dict():
                raise ValueError(f"unknown kind of value {list(stored)[:3]}")
        return stored

    def _estimator(self, name: str, parameters: Any, fitted: Any) -> Any:
        if name not in _ESTIMATORS:
            raise ValueError(f"unknown class {name!r}; known classes: {', '.join(_ESTIMATORS)}")
        outer, self._parameters = self._parameters, {key: self.value(part) for key, part in parameters.items()}
        estimator = _ESTIMATORS[name](**self._parameters)
        for key, value in fitted.items():
            if not _is_fitted(key):
                raise ValueError(f"{key!r} is no name of a fitted attribute")
            setattr(estimator, key, self.value(value))
        self._parameters = outer
        return estimator

    def _own_network(self, name: str | None) -> Any:
        self.asked_for_model = True
        model = self._model.get(name) if isinstance(self._model, Mapping) else self._model
        if not callable(model):
            of = f" of candidate {name!r}" if name else ""
            raise _MissingArgumentError(
                f"the network{of} is your own, whose code is not saved: give it, or the function that makes it, again, "
                f"as in load(path, model=...), or model={{name: network, ...}} for several candidates; got {model!r}"
            )
        return model

    def _network_scores(self, content: dict[str, Any]) -> NetworkScores:
        standard = self.value(content["standard"])
        count, state = content["networks"]["networks"]
        model, hidden_units = self._parameters["model"], self._parameters["hidden_units"]
        networks = build_networks(model, len(standard.mean), hidden_units, count, seed=0)
        networks = _with_state(networks, {key: self._tensors[tensor] for key, tensor in state.items()})
        device = str(self._parameters["device"])
        if device.startswith("cuda") and torch.cuda.is_available():
            networks.to(device)  # where they were trained
        return NetworkScores(networks, standard)


def _is_fitted(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_")


def _json_of_loss(loss: Any) -> Any:
    """Return a built-in loss, or the class of one, as its name and its parameters."""
    kind = loss if isinstance(loss, type) else type(loss)
    name = getattr(kind, "name", None)
    if name not in list_losses() or type(get_loss(str(name))) is not kind:
        raise ValueError(f"cannot save the loss {loss!r}: it is your own; built-in ones are {', '.join(list_losses())}")
    return {"loss": [name, None if kind is loss else dict(vars(loss))]}


def _skops_bytes(value: Any) -> bytes:
    """Return what is not symloss's own as the content of a skops file."""
    require("save", "saving an estimator that is not symloss's own needs skops", "skops")
    import skops.io as library

    try:
        content: bytes = library.dumps(value)
        _value_of_skops(content)  # what cannot be loaded is not saved
    except Exception as error:  # skops calls methods of the value, which may raise anything
        raise ValueError(f"cannot save {value!r}: {type(error).__name__}: {error}") from error
    return content


def _value_of_skops(content: bytes) -> Any:
    import skops.io as library

    return library.loads(content, trusted=library.get_untrusted_types(data=content))


def _check_trusted(path: Path, tensors: dict[str, Tensor], trusted: Collection[str]) -> None:
    """Raise ValueError, with a list of all types that skops does not load by itself, unless all are trusted."""
    contents = [tensor.numpy().tobytes() for key, tensor in tensors.items() if key.startswith(_SKOPS)]
    if not contents:
        return
    require("save", "loading an estimator that is not symloss's own needs skops", "skops")
    import skops.io as library

    try:
        types = {name for content in contents for name in library.get_untrusted_types(data=content)}
    except Exception as error:  # what is no archive leads to errors of many types
        raise damaged(path, error) from None
    types = {name for name in types if not name.startswith(_HARMLESS)}
    if not types <= set(trusted):
        raise ValueError(
            f"{path} holds candidates that are not symloss's own, with types that skops loads only if they are named: "
            f"if you trust who wrote the file, load it with trusted={sorted(types)}"
        )


def _with_state(networks: nn.Module, state: dict[str, Tensor]) -> nn.Module:
    """Return networks with saved parameters; raise if they have others, because the user gave another network."""
    expected, found = ({k: (tuple(t.shape), t.dtype) for k, t in of.items()} for of in (networks.state_dict(), state))
    if expected != found:
        key = next(key for key in {**expected, **found} if expected.get(key) != found.get(key))
        raise _MissingArgumentError(
            f"model is not the network that was saved: {key.removeprefix('networks.')} is "
            f"{expected.get(key, 'absent')} in the model given, and {found.get(key, 'absent')} in the file"
        )
    networks.load_state_dict(state)
    return networks.eval()


__all__ = ["load", "save"]
