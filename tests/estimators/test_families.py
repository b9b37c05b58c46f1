"""The table of families: what each declares holds, and one more needs nothing but an entry."""

import inspect
from typing import NamedTuple

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from torch import nn

from symloss.estimators import AUCClassifier, AUCClassifierCV, BERClassifier
from symloss.estimators.family import Family, check_above_zero
from symloss.estimators.family_table import ALL_FAMILIES, FAMILIES, family_of

FAST = {"n_estimators": 3, "min_samples_leaf": 5, "epochs": 1, "n_seeds": 1, "n_landmarks": 5,
        "hidden_units": 3,
        "threshold": 0.0, "random_state": 0}  # fmt: skip
OF_ALL_FAMILIES = {"loss", "alpha", "threshold", "cv", "warm_start", "random_state"}


@pytest.fixture(scope="module")
def data():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(60, 2))
    return X, X[:, 0] + generator.normal(size=60) > 0


def test_every_parameter_of_the_constructor_is_used_by_a_family_or_by_all():
    used = {name for family in ALL_FAMILIES for name in family.parameters}
    assert used.isdisjoint(OF_ALL_FAMILIES)
    for kind in (BERClassifier, AUCClassifier):
        assert set(inspect.signature(kind).parameters) == used | OF_ALL_FAMILIES


@pytest.mark.parametrize("model", [*FAMILIES, nn.Linear(2, 1), lambda d: nn.Linear(d, 1)])
def test_what_a_family_declares_is_what_it_does(data, model):
    X, y = data
    family = family_of(model)
    loss = {"gaussian_process": "squared", "relevance_process": "squared", "boosting": "logistic"}.get(
        model, "unhinged"
    )
    classifier = AUCClassifier(loss, model, **FAST)
    tags = get_tags(classifier).input_tags
    assert (tags.sparse, tags.allow_nan) == (family.takes_sparse, True)
    with_missing = np.where(X > 1, np.nan, X)
    assert np.isfinite(classifier.fit(with_missing, y).decision_function(with_missing)).all()
    assert (classifier.medians_ is None) == family.takes_missing
    if family.takes_sparse:
        features = sparse.csr_matrix(X)
        assert np.isfinite(classifier.fit(features, y).decision_function(features)).all()
    else:
        with pytest.raises((ValueError, TypeError), match=r"[Ss]parse"):
            classifier.fit(sparse.csr_matrix(X), y)
    assert type(classifier.fit(X, y).scorer_) is family.scorer
    if family.to_module is None:
        with pytest.raises(ValueError, match=f"needs model='linear', .* or a torch module, got {model!r}"):
            classifier.to_module()
    else:
        assert isinstance(classifier.to_module(), nn.Module)
    chosen = classifier.set_params(threshold="auto", cv=2).fit(X, y).threshold_
    assert (chosen == 0) == family.threshold_is_zero


class Steepness(NamedTuple):
    """The first feature, times a number."""

    steepness: float

    def scores(self, X):
        return self.steepness * np.asarray(X)[:, 0]


def steep(data, objective, seed, start, *, gamma):
    assert objective.risk == "auc"
    assert objective.alpha == 0.01
    return Steepness(gamma if start is None else start.steepness + gamma)


def only_positive(objective):
    if objective.alpha < 0:
        raise ValueError("no such penalty")


def test_another_family_is_one_more_entry(data, monkeypatch):
    X, y = data
    family = Family("Steep scores.", steep, Steepness, "steep", {"gamma": check_above_zero}, only_positive)
    monkeypatch.setitem(FAMILIES, "steep", family)
    classifier = AUCClassifier(model="steep", gamma=2.0, threshold=0.0, warm_start=True)
    with pytest.raises(NotFittedError):
        classifier.to_module()
    np.testing.assert_array_equal(classifier.fit(X, y).decision_function(X), 2 * X[:, 0])
    np.testing.assert_array_equal(classifier.fit(X, y).decision_function(X), 4 * X[:, 0])
    (member,) = AUCClassifierCV([("steep", classifier)], cv=2).fit(X, y).members_
    assert member.estimator.scorer_ == Steepness(2.0)
    with pytest.raises(
        ValueError, match=r"model='steep' is not a network: .* needs model='linear', .* or a torch module"
    ):
        classifier.to_module()
    with pytest.raises(ValueError, match="a warm start needs the model of the last fit, got 'linear'"):
        classifier.set_params(model="linear").fit(X, y)
    with pytest.raises(ValueError, match="no such penalty"):
        AUCClassifier(model="steep", alpha=-1.0).fit(X, y)
    with pytest.raises(ValueError, match=f"model must be one of linear, .*{', '.join(list(FAMILIES)[-2:])}, a torch"):
        AUCClassifier(model="flat").fit(X, y)
