"""Turn estimators into JSON and tensors, and back; what is not symloss's own becomes a part apart.

A file cannot name code to run: whatever it holds is looked up in the tables of this module, and checked.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import torch
from sklearn import model_selection
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
from torch import Tensor, nn

from symloss.audit import Noise
from symloss.columns import Encoding
from symloss.estimators.base import BinaryClassifier
from symloss.estimators.calibration import Calibration
from symloss.estimators.classifiers import AUCClassifier, BERClassifier
from symloss.estimators.family_table import ALL_FAMILIES
from symloss.estimators.file_checks import check_loaded, check_record
from symloss.estimators.file_values import checked_count, shown
from symloss.estimators.networks import Ensemble, NetworkScores, build_networks
from symloss.estimators.selection import AUCClassifierCV, BERClassifierCV, Member
from symloss.estimators.standardization import Standardization
from symloss.estimators.tree_arrays import (
    boosting_arrays,
    boosting_from,
    forest_arrays,
    forest_from,
    is_plain_boosting,
)
from symloss.losses import get_loss, list_losses
from symloss.metrics import Estimate
from symloss.models import Layers, PerceptronStack

ESTIMATORS: dict[str, type[BinaryClassifier]] = {
    kind.__name__: kind for kind in (BERClassifier, AUCClassifier, BERClassifierCV, AUCClassifierCV)
}
# Classes whose fields are saved, by their names in files. Neither these names nor those of fields may change.
_RECORDS: dict[str, Callable[..., Any]] = {
    **{family.stored_as: family.scorer for family in ALL_FAMILIES},
    "standard": Standardization,
    "estimate": Estimate,
    "member": Member,
    "calibration": Calibration,
    "noise": Noise,
}
_FORESTS = {"extra trees": ExtraTreesRegressor, "random forest": RandomForestRegressor}  # names in files
_NAMES = {kind: name for name, kind in _RECORDS.items()}
_NOT_SAVED = ("callback",)  # a function of the user's program, not a part of the model
_SPLITTERS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (model_selection.KFold, model_selection.StratifiedKFold, model_selection.ShuffleSplit,
                 model_selection.StratifiedShuffleSplit, model_selection.RepeatedKFold,
                 model_selection.RepeatedStratifiedKFold)
}  # fmt: skip
_LARGEST_TEXTS = 2**24  # bytes of an array of texts, all of the same length


class Writer:
    """Turn values into JSON, in which every object has one key that says what it is; keep apart what JSON cannot hold.

    Attributes
    ----------
    tensors : dict of Tensor
        Arrays, and parameters of networks.
    parts : list of (where, object)
        Estimators that are not symloss's own, and where each stands in the estimator.

    Examples
    --------
    >>> writer = Writer()
    >>> writer.value({"scores": (np.zeros(2), math.inf)}, "scores")
    {'dict': [['scores', {'tuple': [{'array': 'array0'}, {'float': 'inf'}]}]]}
    >>> writer.tensors
    {'array0': tensor([0., 0.], dtype=torch.float64)}
    """

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}
        self.parts: list[tuple[str, Any]] = []

    def value(self, value: Any, where: str, name: str | None = None) -> Any:
        """Return a value as JSON.

        ``where`` is its place in the estimator, for error messages; ``name`` is that of the candidate it belongs to.
        """
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if isinstance(value, np.generic):
            return {"scalar": [value.dtype.str, self.value(value.item(), where)]}
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"float": str(value)}
        if isinstance(value, Encoding):
            return {"encoding": value.to_json()}
        if type(value) in _NAMES:
            return self._record(value, where, name)
        if type(value) in (list, tuple, dict):
            return self._container(value, where, name)
        return self._object(value, where, name)

    def estimator(self, estimator: BinaryClassifier, where: str, name: str | None = None) -> Any:
        """Return an estimator as JSON: its class, its parameters, and the attributes that fitting has set."""
        parameters = {
            key: self._parameter(key, value, where, name)
            for key, value in estimator.get_params(deep=False).items()
            if key not in _NOT_SAVED
        }
        fitted = {key: self.value(value, f"{where}.{key}") for key, value in vars(estimator).items() if _is_fitted(key)}
        return {"estimator": {"class": type(estimator).__name__, "parameters": parameters, "fitted": fitted}}

    def _parameter(self, key: str, value: Any, where: str, name: str | None) -> Any:
        if key == "model" and not isinstance(value, str):
            return {"own network": name}
        if key == "loss" and not isinstance(value, str):
            return _loss(value, where)
        return self.value(value, f"{where}.{key}")

    def _array(self, array: np.ndarray[Any, Any], where: str) -> Any:
        if array.dtype.kind in "biuf" and array.dtype != np.longdouble:
            native = np.array(array, array.dtype.newbyteorder("="), order="C")
            return {"array": self._keep(torch.from_numpy(native))}
        if array.dtype.kind in "UO" and array.ndim == 1:
            items = [self.value(item, where) for item in array.tolist()]
            return {"values": {"dtype": "object" if array.dtype.kind == "O" else array.dtype.str, "items": items}}
        raise _unsaved(where, f"an array of dtype {array.dtype} and shape {array.shape}")

    def _keep(self, tensor: Tensor) -> str:
        key = f"array{len(self.tensors)}"
        # A copy, because safetensors refuses tensors that share memory.
        self.tensors[key] = tensor.detach().cpu().clone().contiguous()
        return key

    def _record(self, value: Any, where: str, name: str | None) -> Any:
        try:
            check_record(value)  # what could not be loaded is not written
        except ValueError as error:
            raise ValueError(f"cannot save {where}: {error}") from error
        name = getattr(value, "name", name)  # a member knows the name of its candidate
        parts = {key: getattr(value, key) for key in _fields(type(value))}
        # Fields that are None are left out, because older versions do not know all fields.
        content = {key: self.value(part, f"{where}.{key}", name) for key, part in parts.items() if part is not None}
        return {_NAMES[type(value)]: content}

    def _container(self, value: Any, where: str, name: str | None) -> Any:
        if isinstance(value, dict):
            items = [(key, self.value(item, f"{where}[{key!r}]")) for key, item in value.items()]
            return {"dict": [[self.value(key, where), item] for key, item in items]}
        if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str):
            name = value[0]  # a pair (name, estimator) is a candidate
            return {"tuple": [name, self.value(value[1], f"{where}[{name!r}]", name)]}
        items = [self.value(item, f"{where}[{k}]", name) for k, item in enumerate(value)]
        return {"tuple": items} if isinstance(value, tuple) else items

    def _object(self, value: Any, where: str, name: str | None) -> Any:
        if type(value) in ESTIMATORS.values():
            return self.estimator(value, where, name)
        if isinstance(value, nn.Module):
            return self._network(value, where)
        if isinstance(value, np.random.RandomState):
            return {"random_state": self.value(value.get_state(legacy=True), where)}
        if type(value) in _SPLITTERS.values():
            return {"splitter": {"class": type(value).__name__, "parameters": self._settings(value, where)}}
        for name, kind in _FORESTS.items():
            if type(value) is kind and hasattr(value, "estimators_"):
                return {name: self._trees(value, forest_arrays(value), where)}
        if is_plain_boosting(value):
            arrays = boosting_arrays(value) if hasattr(value, "classes_") else None
            return {"boosting": self._trees(value, arrays, where)}
        if hasattr(value, "get_params") or type(value).__module__.startswith("sklearn."):
            self.parts.append((where, value))
            return {"part": len(self.parts) - 1}
        raise _unsaved(where, f"{value!r} of type {type(value).__module__}.{type(value).__qualname__}")

    def _trees(self, model: Any, arrays: dict[str, Any] | None, where: str) -> Any:
        parameters = {key: self.value(value, f"{where}.{key}") for key, value in model.get_params(deep=False).items()}
        return {"parameters": parameters, "arrays": self.value(arrays, where)}

    def _settings(self, splitter: Any, where: str) -> Any:
        """Return the parameters of a splitter; those that repeat another one keep some of them in a dict."""
        held = vars(splitter) | getattr(splitter, "cvargs", {})
        return {key: self.value(held[key], where) for key in inspect.signature(type(splitter)).parameters}

    def _network(self, network: nn.Module, where: str) -> Any:
        if isinstance(network, PerceptronStack):
            sizes = {"features": network.n_features, "hidden_units": network.hidden_units}
            return {"perceptrons": {**sizes, "rows": self._keep(network.rows)}}
        if not isinstance(network, Ensemble):
            raise _unsaved(where, f"a {type(network).__name__}")
        state = network.state_dict()
        for key, tensor in state.items():
            if not isinstance(tensor, Tensor):
                raise _unsaved(f"{where}.{key}", "extra state that is no tensor")
        count = len(network.networks)
        return {"own networks": {"count": count, "state": {key: self._keep(tensor) for key, tensor in state.items()}}}


class Reader:
    """Turn what a ``Writer`` has made back into values.

    Parameters
    ----------
    tensors : dict of Tensor
        Those of the ``Writer``.
    part : callable
        ``part(k)`` returns the k-th estimator that is not symloss's own.
    model : nn.Module, callable or dict of them, optional
        The network of the user's own, or a dict of networks by the names of their candidates.

    Examples
    --------
    >>> reader = Reader({"array0": torch.zeros(2)}, lambda number: None)
    >>> reader.value({"tuple": [{"array": "array0"}, {"float": "inf"}]})
    (array([0., 0.], dtype=float32), inf)
    >>> reader.value({"os.system": "echo"})
    Traceback (most recent call last):
    ValueError: unknown kind of value 'os.system'
    """

    def __init__(self, tensors: dict[str, Tensor], part: Callable[[int], Any], model: Any = None) -> None:
        self._tensors, self._part, self._model = tensors, part, model
        self._parameters: dict[str, Any] = {}  # those of the estimator that is being read
        self.asked_for_model = False

    def value(self, stored: Any) -> Any:
        """Return the value that a ``Writer`` has turned into this JSON."""
        if isinstance(stored, list):
            return [self.value(item) for item in stored]
        if not isinstance(stored, dict):
            return stored
        if len(stored) != 1:
            raise ValueError(f"expected one kind of value, found {len(stored)}: {shown(list(stored))}")
        ((kind, content),) = stored.items()
        if kind in _READERS:
            return _READERS[kind](self, content)
        if kind in _RECORDS:
            return self._record(kind, content)
        raise ValueError(f"unknown kind of value {kind!r}")

    def _record(self, kind: str, content: dict[str, Any]) -> Any:
        record = _RECORDS[kind](**{key: self.value(part) for key, part in content.items()})
        check_record(record)
        return record

    def _tuple(self, items: list[Any]) -> Any:
        return tuple(self.value(items))

    def _dict(self, items: list[Any]) -> Any:
        return {self.value(key): self.value(item) for key, item in items}

    def _float(self, text: str) -> Any:
        return float(text)

    def _scalar(self, content: list[Any]) -> Any:
        dtype, value = content
        return np.array(self.value(value), _plain_dtype(dtype, [value]))[()]

    def _array(self, key: str) -> Any:
        return np.array(self._tensors[key].numpy())

    def _values(self, content: dict[str, Any]) -> Any:
        items = self.value(content["items"])
        if not all(item is None or isinstance(item, (bool, int, float, str)) for item in items):
            raise ValueError(f"expected numbers and texts in an array, found {shown(items)}")
        dtype = content["dtype"]
        array = np.empty(len(items), object if dtype == "object" else _plain_dtype(dtype, items))
        array[:] = items
        return array

    def _encoding(self, content: dict[str, Any]) -> Any:
        return Encoding.from_json(content)

    def _random_state(self, content: Any) -> Any:
        name, key, position, has_gauss, gauss = self.value(content)
        if name != "MT19937" or key.shape != (624,) or key.dtype != np.uint32:
            raise ValueError(f"expected the 624 numbers of a random state, found {shown(key)}")
        if type(position) is not int or not 0 <= position <= 624 or has_gauss not in (0, 1):
            raise ValueError(f"expected a position from 0 to 624 in a random state, found {shown(position)}")
        state = np.random.RandomState()
        state.set_state((name, key, position, has_gauss, float(gauss)))
        return state

    def _splitter(self, content: dict[str, Any]) -> Any:
        return _SPLITTERS[content["class"]](**{key: self.value(part) for key, part in content["parameters"].items()})

    def _extra_trees(self, content: dict[str, Any]) -> Any:
        return forest_from(ExtraTreesRegressor, *self._trees(content))

    def _random_forest(self, content: dict[str, Any]) -> Any:
        return forest_from(RandomForestRegressor, *self._trees(content))

    def _boosting(self, content: dict[str, Any]) -> Any:
        return boosting_from(*self._trees(content))

    def _trees(self, content: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        parameters = {key: self.value(value) for key, value in content["parameters"].items()}
        return parameters, self.value(content["arrays"])

    def _loss(self, content: dict[str, Any]) -> Any:
        loss = get_loss(str(content["name"]), **self.value(content["parameters"]))
        return type(loss) if content["is_class"] else loss

    def _sklearn(self, number: int) -> Any:
        return self._part(number)

    def _estimator(self, content: dict[str, Any]) -> Any:
        if content["class"] not in ESTIMATORS:
            raise ValueError(f"unknown class {content['class']!r}; known classes: {', '.join(ESTIMATORS)}")
        parameters = {key: self.value(value) for key, value in content["parameters"].items()}
        estimator = ESTIMATORS[content["class"]](**parameters)
        outer, self._parameters = self._parameters, parameters
        for key, value in content["fitted"].items():
            if not _is_fitted(key):
                raise ValueError(f"{key!r} is no name of a fitted attribute")
            setattr(estimator, key, self.value(value))
        self._parameters = outer
        check_loaded(estimator)
        return estimator

    def _own_network(self, name: str | None) -> Any:
        self.asked_for_model = True
        of = f" of candidate {name!r}" if name else ""
        model = self._model.get(name) if isinstance(self._model, Mapping) else self._model
        if model is None:
            raise MissingModelError(
                f"the network{of} is your own, whose code is not saved: give it again, as in load(folder, model=...)"
                + (", or model={name: network, ...} for several candidates" if name else "")
            )
        if not callable(model):
            raise MissingModelError(f"model must be a torch module or a function that makes one, got {model!r}")
        return model

    def _perceptrons(self, content: dict[str, Any]) -> Any:
        rows = self._tensors[content["rows"]]
        features, units = (checked_count(content[key], key, 2**31) for key in ("features", "hidden_units"))
        size = (features + 2) * units + 1
        # A row may be a little longer than its parameters, so that all rows begin at aligned addresses.
        if rows.ndim != 2 or not size <= rows.shape[1] < size + 16:
            raise ValueError(f"perceptrons {features}-{units}-1 do not have {rows.shape[-1]} parameters")
        if rows.dtype != torch.float32:
            raise ValueError(f"expected perceptrons of float32, found {rows.dtype}")
        none = Layers(torch.zeros(features + 1, units), torch.zeros(1, units), torch.zeros(1))
        return _with_state(PerceptronStack([none] * len(rows)), {"rows": rows})

    def _own_networks(self, content: dict[str, Any]) -> Any:
        state = {key: self._tensors[tensor] for key, tensor in content["state"].items()}
        count = checked_count(content["count"], "count", len(state))

        def build(n_features: int) -> nn.Module:
            return _with_state(build_networks(self._parameters.get("model"), n_features, 1, count, seed=0), state)

        return build

    def _networks(self, content: dict[str, Any]) -> Any:
        standardization, networks = self.value(content["standard"]), self.value(content["networks"])
        if not isinstance(networks, nn.Module):  # of the user's own: built now that the number of features is known
            networks = networks(len(standardization.mean))
        device = str(self._parameters.get("device", "cpu"))
        if device.startswith("cuda") and torch.cuda.is_available():
            networks.to(device)  # where they were trained
        scorer = NetworkScores(networks, standardization)
        check_record(scorer)
        return scorer


class MissingModelError(ValueError):
    """A network of the user's own was not given, or it is not the one that was saved.

    Examples
    --------
    >>> Reader({}, lambda number: None).value({"own network": None})
    Traceback (most recent call last):
    symloss.estimators.serialization.MissingModelError: the network is your own, whose code is not saved: ...
    """


_READERS: dict[str, Callable[[Reader, Any], Any]] = {
    "tuple": Reader._tuple,
    "dict": Reader._dict,
    "float": Reader._float,
    "scalar": Reader._scalar,
    "array": Reader._array,
    "values": Reader._values,
    "encoding": Reader._encoding,
    "random_state": Reader._random_state,
    "splitter": Reader._splitter,
    "extra trees": Reader._extra_trees,
    "random forest": Reader._random_forest,
    "boosting": Reader._boosting,
    "loss": Reader._loss,
    "part": Reader._sklearn,
    "estimator": Reader._estimator,
    "own network": Reader._own_network,
    "own networks": Reader._own_networks,
    "perceptrons": Reader._perceptrons,
    "networks": Reader._networks,  # a record too, but a network of the user's own has to be built for it
}


def _fields(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else tuple(kind._fields)


def _is_fitted(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_")


def _unsaved(where: str, what: str) -> ValueError:
    return ValueError(f"cannot save {where}: {what} can be stored neither as numbers and text nor as an estimator")


def _loss(loss: Any, where: str) -> Any:
    """Return a built-in loss, or the class of one, as JSON: its name and its parameters."""
    kind = loss if isinstance(loss, type) else type(loss)
    name = getattr(kind, "name", None)
    if name not in list_losses() or type(get_loss(str(name))) is not kind:
        raise ValueError(
            f"cannot save {where}: its loss {loss!r} is your own, and only built-in losses can be stored by name "
            f"({', '.join(list_losses())})"
        )
    parameters = [] if kind is loss else [list(parameter) for parameter in vars(loss).items()]
    return {"loss": {"name": name, "is_class": kind is loss, "parameters": {"dict": parameters}}}


def _plain_dtype(text: str, items: list[Any]) -> np.dtype[Any]:
    """Return the type of an array of such items; a type of very long texts would take memory that no file has."""
    dtype = np.dtype(text) if isinstance(text, str) else np.dtype(object)
    if dtype.kind not in "biufU":
        raise ValueError(f"unknown type of numbers {shown(text)}")
    if dtype.kind == "U" and len(items) * dtype.itemsize > _LARGEST_TEXTS:
        raise ValueError(f"expected texts of at most {_LARGEST_TEXTS} bytes, found {len(items)} of type {shown(text)}")
    return dtype


def _with_state(networks: nn.Module, state: dict[str, Tensor]) -> nn.Module:
    """Return networks with saved parameters; raise if they have others, because the user gave another network."""
    expected = {key: (tuple(tensor.shape), tensor.dtype) for key, tensor in networks.state_dict().items()}
    found = {key: (tuple(tensor.shape), tensor.dtype) for key, tensor in state.items()}
    if expected != found:
        differ = [key for key in {**expected, **found} if expected.get(key) != found.get(key)]
        key = differ[0]
        given, saved = (_shape(side.get(key)) for side in (expected, found))
        raise MissingModelError(
            f"model is not the network that was saved: {key.removeprefix('networks.')} is {given} in the model given "
            f"and {saved} in the file ({len(differ)} of {len({**expected, **found})} parameters differ)"
        )
    networks.load_state_dict(state)
    return networks.eval()


def _shape(found: tuple[tuple[int, ...], torch.dtype] | None) -> str:
    return "absent" if found is None else f"{str(found[1]).removeprefix('torch.')} of shape {found[0]}"


__all__ = ["ESTIMATORS", "MissingModelError", "Reader", "Writer"]
