"""A model of tables as one ONNX graph: the columns as they are go in; scores, labels and probabilities come out."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from torch import Tensor, nn

from symloss.columns import Encoding, as_text
from symloss.corruption import Contamination
from symloss.estimators.boosted import BoostedScores
from symloss.estimators.calibration import Calibration
from symloss.estimators.forest import ForestScores
from symloss.extras import require

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

    from symloss.tabular.model import TableModel

Array = NDArray[np.float64]
_FORMAT, _OPERATORS, _TREES = 10, 18, 3  # versions: of files, of operators, and of those for trees and texts
_DOMAIN = "ai.onnx.ml"
_OURS = "symloss/"  # how the names inside the graph begin, so that a column may have any other name


class Tree(NamedTuple):
    """The nodes of a decision tree: a value of at most the limit goes to the yes child, a leaf has none.

    Examples
    --------
    >>> one, no = np.array([0]), np.array([False])
    >>> Tree(one, np.zeros(1), one, one, no, ~no, np.ones(1)).is_leaf
    array([ True])
    """

    feature: NDArray[np.intp]
    limit: Array
    yes: NDArray[np.intp]
    no: NDArray[np.intp]
    missing_is_yes: NDArray[np.bool_]
    is_leaf: NDArray[np.bool_]
    value: Array


class Trees(NamedTuple):
    """Trees whose leaves are added up to scores, the mean of such scores, and whether features are float32 first."""

    trees: list[Tree]
    offset: float
    single: bool


def onnx_model(model: TableModel) -> ModelProto:
    """Return the whole of a model, from columns to predictions, as an ONNX graph."""
    require("onnx", "export to ONNX needs onnx and onnxscript", "onnx", "onnxscript")
    import onnx

    outputs = ["score", f"{model.probability_of}_probability", "label"]
    _check(model, outputs)
    forests, others = _parts(model)
    columns = _columns_graph(model.encoding, [forest for _, forest in forests])
    scores = _exported(_Scores(model, forests, others), len(model.encoding.features), len(forests), outputs[:2])
    _add_labels(scores, model.labels)
    scores = onnx.compose.add_prefix(scores, _OURS, rename_outputs=False)
    inner = [f"{_OURS}features", f"{_OURS}trees"][: 2 if forests else 1]
    whole = onnx.compose.merge_models(columns, scores, io_map=[(name, name) for name in inner])
    onnx.checker.check_model(whole)
    return whole


def _check(model: TableModel, outputs: list[str]) -> None:
    """Raise ValueError if a column cannot be an input of a graph."""
    if model.probability_of is None:
        raise ValueError("ONNX: expected a model that symloss.tabular.fit has fitted, of a version with probabilities")
    for column in model.encoding.columns:
        if column.categories is None and column.features != [column.name]:
            raise ValueError(
                f"ONNX: column {column.name!r} becomes {len(column.features)} features, and only numbers and one-hot "
                "encoded texts can be exported; to_module() takes encoded rows"
            )
        if column.form is not None:
            raise ValueError(
                f"ONNX: column {column.name!r} holds {column.decision}, and only numbers and one-hot encoded texts can "
                "be exported; make numbers of them before the fit"
            )
        if column.name in outputs or column.name.startswith(_OURS):
            raise ValueError(f"ONNX: column {column.name!r} has the name of an output: rename it before the fit")


class _Fit(NamedTuple):
    """A fit of a member: to all points, or to a fold."""

    name: str
    estimator: Any
    weight: float
    mean: float
    scale: float


def _fits(model: TableModel) -> list[_Fit]:
    return [
        _Fit(member.name, fit, member.weight / len(member.fits), member.mean, member.scale)
        for member in model.estimator.members_
        for fit in member.fits
    ]


def _parts(model: TableModel) -> tuple[list[tuple[int, Trees]], list[tuple[int, nn.Module]]]:
    """Return the fits that are trees, and the modules of the others, each with its place among the fits."""
    forests, others, unknown = [], [], []
    for place, fit in enumerate(_fits(model)):
        estimator = fit.estimator
        if isinstance(estimator, HistGradientBoostingClassifier) and not _has_categories(estimator):
            forests.append((place, _boosting(estimator)))
        elif isinstance(getattr(estimator, "scorer_", None), ForestScores):
            forests.append((place, _forest(estimator)))
        elif isinstance(getattr(estimator, "scorer_", None), BoostedScores):
            trees = _boosting(estimator.scorer_.boosting)
            less = estimator.scorer_.of_all + float(estimator.threshold_)
            forests.append((place, trees._replace(offset=trees.offset - less)))
        elif hasattr(estimator, "to_module"):
            others.append((place, estimator.to_module()))
        else:
            unknown.append(fit.name)
    if unknown:
        names = ", ".join(dict.fromkeys(unknown))
        raise ValueError(f"ONNX: expected members of symloss's pool, got {names}: choose other candidates")
    return forests, others


def _has_categories(estimator: HistGradientBoostingClassifier) -> bool:
    return any(predictor.nodes["is_categorical"].any() for (predictor,) in estimator._predictors)


def _forest(estimator: Any) -> Trees:
    grown = [tree.tree_ for tree in estimator.scorer_.forest.estimators_]
    trees = [
        Tree(
            tree.feature,
            tree.threshold,
            tree.children_left,
            tree.children_right,
            tree.missing_go_to_left.astype(bool),
            tree.children_left < 0,
            tree.value[:, 0, 0] / len(grown),
        )
        for tree in grown
    ]
    return Trees(trees, -float(estimator.threshold_), single=True)


def _boosting(estimator: HistGradientBoostingClassifier) -> Trees:
    nodes = [predictor.nodes for (predictor,) in estimator._predictors]
    trees = [
        Tree(
            of["feature_idx"].astype(np.intp),
            of["num_threshold"],
            of["left"].astype(np.intp),
            of["right"].astype(np.intp),
            of["missing_go_to_left"].astype(bool),
            of["is_leaf"].astype(bool),
            of["value"],
        )
        for of in nodes
    ]
    return Trees(trees, float(np.ravel(estimator._baseline_prediction)[0]), single=False)


def _columns_graph(encoding: Encoding, forests: list[Trees]) -> ModelProto:
    """Return a graph from columns to features, and to the scores of trees."""
    from onnx import TensorProto, helper

    inputs, nodes, parts = [], [], []
    for place, (name, categories) in enumerate((column.name, column.categories) for column in encoding.columns):
        kind = TensorProto.DOUBLE if categories is None else TensorProto.STRING
        inputs.append(helper.make_tensor_value_info(name, kind, ["rows", 1]))
        parts.append(name if categories is None else f"{_OURS}one-hot {place}")
        if categories is not None:
            nodes += _one_hot(name, categories, parts[-1])
    nodes.append(helper.make_node("Concat", parts, [f"{_OURS}features"], axis=1))
    features, rounded, single = (f"{_OURS}{name}" for name in ("features", "rounded", "single"))
    outputs = [helper.make_tensor_value_info(features, TensorProto.DOUBLE, ["rows", len(encoding.features)])]
    if forests:
        nodes.append(helper.make_node("Cast", [features], [rounded], to=TensorProto.FLOAT))  # as scikit-learn does
        nodes.append(helper.make_node("Cast", [rounded], [single], to=TensorProto.DOUBLE))
        names = [f"{_OURS}trees {k}" for k in range(len(forests))]
        nodes += [_ensemble(forest, name) for forest, name in zip(forests, names, strict=True)]
        nodes.append(helper.make_node("Concat", names, [f"{_OURS}trees"], axis=1))
        outputs.append(helper.make_tensor_value_info(f"{_OURS}trees", TensorProto.FLOAT, ["rows", len(forests)]))
    graph = helper.make_graph(nodes, "columns", inputs, outputs)
    operators = [helper.make_opsetid("", _OPERATORS), helper.make_opsetid(_DOMAIN, _TREES)]
    return helper.make_model(graph, opset_imports=operators, ir_version=_FORMAT)


def _one_hot(name: str, categories: tuple[str | None, ...], to: str) -> list[NodeProto]:
    """Return nodes that turn a column of texts into one feature per category; the text "" is a missing value."""
    from onnx import TensorProto, helper, numpy_helper

    codes = numpy_helper.from_array(np.arange(len(categories)))
    texts = ["" if category is None else category for category in categories]
    return [
        helper.make_node(
            "LabelEncoder", [name], [f"{to}: code"], domain=_DOMAIN, default_int64=-1,
            keys_strings=texts, values_int64s=list(range(len(texts))),
        ),
        helper.make_node("Constant", [], [f"{to}: codes"], value=codes),
        helper.make_node("Equal", [f"{to}: code", f"{to}: codes"], [f"{to}: equal"]),
        helper.make_node("Cast", [f"{to}: equal"], [to], to=TensorProto.DOUBLE),
    ]  # fmt: skip


def _ensemble(forest: Trees, to: str) -> NodeProto:
    """Return the node that adds up the leaves of trees, in float64."""
    from onnx import helper, numpy_helper

    sizes = [len(tree.value) for tree in forest.trees]
    tree_of = np.repeat(np.arange(len(sizes)), sizes)
    node_of = np.concatenate([np.arange(size) for size in sizes])
    all_of = Tree(*(np.concatenate(parts) for parts in zip(*forest.trees, strict=True)))
    inner = ~all_of.is_leaf
    return helper.make_node(
        "TreeEnsembleRegressor",
        [f"{_OURS}single" if forest.single else f"{_OURS}features"],
        [to],
        domain=_DOMAIN,
        n_targets=1,
        nodes_treeids=tree_of.tolist(),
        nodes_nodeids=node_of.tolist(),
        nodes_featureids=np.where(inner, all_of.feature, 0).tolist(),
        nodes_values_as_tensor=numpy_helper.from_array(np.where(inner, all_of.limit, 0.0)),
        nodes_modes=np.where(inner, "BRANCH_LEQ", "LEAF").tolist(),
        nodes_truenodeids=np.where(inner, all_of.yes, 0).tolist(),
        nodes_falsenodeids=np.where(inner, all_of.no, 0).tolist(),
        nodes_missing_value_tracks_true=all_of.missing_is_yes.astype(int).tolist(),
        target_treeids=tree_of[~inner].tolist(),
        target_nodeids=node_of[~inner].tolist(),
        target_ids=[0] * int((~inner).sum()),
        target_weights_as_tensor=numpy_helper.from_array(all_of.value[~inner].astype(np.float64)),
    )


class _Scores(nn.Module):
    """From features and the sums of trees to scores and probabilities."""

    weights: Tensor
    means: Tensor

    def __init__(
        self, model: TableModel, forests: list[tuple[int, Trees]], others: list[tuple[int, nn.Module]]
    ) -> None:
        super().__init__()
        estimator = model.estimator
        self.members = nn.ModuleList(module for _, module in others)
        order = [place for place, _ in (*others, *forests)]
        offsets = [0.0] * len(others) + [forest.offset for _, forest in forests]
        fits = _fits(model)
        means = [fits[place].mean - offset for place, offset in zip(order, offsets, strict=True)]
        weights = [fits[place].weight / fits[place].scale for place in order]
        self.register_buffer("means", torch.tensor(means, dtype=torch.float64))
        self.register_buffer("weights", torch.tensor(weights, dtype=torch.float64))
        self.threshold = float(estimator.threshold_)
        self.calibration: Calibration = estimator.calibration_
        self.share, self.rates = float(estimator.share_labeled_positive_), model.rates

    def forward(self, features: Tensor, *trees: Tensor) -> tuple[Tensor, Tensor]:
        """Return the scores (n,) and the probabilities (n,) of the rows."""
        scores = [member(features)[:, None].double() for member in self.members]
        together = torch.cat([*scores, *(sums.double() for sums in trees)], 1)
        score = (together - self.means) @ self.weights - self.threshold
        given = torch.sigmoid(self.calibration.slope * score + self.calibration.intercept)
        return score, given if self.rates is None else _clean(given, self.share, self.rates)


def _clean(given: Tensor, share: float, rates: Contamination) -> Tensor:
    """Return what ``clean_probabilities`` returns."""
    labeled_positive, labeled_negative = given / share, (1 - given) / (1 - share)
    positive = ((1 - rates.pi_prime) * labeled_positive - (1 - rates.pi) * labeled_negative).clamp(min=0)
    negative = (rates.pi * labeled_negative - rates.pi_prime * labeled_positive).clamp(min=0)
    prior = share * rates.pi + (1 - share) * rates.pi_prime
    return prior * positive / (prior * positive + (1 - prior) * negative)


def _exported(scores: _Scores, n_features: int, n_forests: int, outputs: list[str]) -> ModelProto:
    """Return a graph from features, and the scores of trees, to scores and probabilities."""
    points = (torch.zeros(3, n_features, dtype=torch.float64), *([torch.zeros(3, n_forests)] if n_forests else []))
    rows = torch.export.Dim("rows", min=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the exporter, about itself
        program: Any = torch.onnx.export(
            scores.eval(),
            points,
            dynamo=True,
            input_names=["features", "trees"][: len(points)],
            output_names=outputs,
            dynamic_shapes={"features": {0: rows}} | ({"trees": ({0: rows},)} if n_forests else {}),
            opset_version=_OPERATORS,
            verbose=False,
        )
        found: ModelProto = program.model_proto
    found.ir_version = _FORMAT
    return found


def _add_labels(scores: ModelProto, labels: tuple[Any, Any]) -> None:
    """Add the predicted labels, as texts, to a graph that has scores."""
    from onnx import TensorProto, helper, numpy_helper

    texts = numpy_helper.from_array(np.array([as_text(label) for label in labels], dtype=object))
    zero = numpy_helper.from_array(np.array(0.0))
    scores.graph.node.extend(
        [
            helper.make_node("Constant", [], ["the labels"], value=texts),
            helper.make_node("Constant", [], ["a score of 0"], value=zero),
            helper.make_node("Greater", ["score", "a score of 0"], ["is positive"]),
            helper.make_node("Cast", ["is positive"], ["place of the label"], to=TensorProto.INT64),
            helper.make_node("Gather", ["the labels", "place of the label"], ["label"]),
        ]
    )
    scores.graph.output.append(helper.make_tensor_value_info("label", TensorProto.STRING, ["rows"]))
