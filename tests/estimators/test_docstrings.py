"""The docstrings of the four estimators: every parameter, with its default, and every attribute that a fit sets."""

import ast
import inspect
import re

import numpy as np
import pandas as pd
import pytest

from symloss.estimators import AUCClassifier, AUCClassifierCV, BERClassifier, BERClassifierCV
from symloss.estimators.family_table import ALL_FAMILIES

PLAIN = [BERClassifier, AUCClassifier]
CV = [BERClassifierCV, AUCClassifierCV]


def entries(kind, section):
    """The names in a section, each with its type and what is said about it."""
    text = re.search(rf"^{section}\n-+\n(.*?)(?=\n\n\w+\n-+\n|\Z)", inspect.getdoc(kind), re.M | re.S)[1]
    found = re.findall(r"^(\w+) : (.+)\n((?:    .*\n|\n)*)", text + "\n", re.M)
    assert len(found) == len(re.findall(r"^\S", text, re.M)), "an entry is no 'name : type'"
    return {name: (types, said) for name, types, said in found}


@pytest.mark.parametrize("kind", PLAIN + CV)
def test_every_parameter_is_documented_with_its_default(kind):
    documented = entries(kind, "Parameters")
    signature = inspect.signature(kind).parameters
    assert list(documented) == list(signature)
    for name, (types, said) in documented.items():
        assert ast.literal_eval(types.rpartition("default=")[2]) == signature[name].default, name
        assert len(said.split()) > 3, name


@pytest.mark.parametrize("kind", PLAIN + CV)
def test_every_attribute_that_a_fit_sets_is_documented(kind):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["a", "b"]).assign(c=["x", "y"] * 30)
    settings = {"pi": 1.0, "pi_prime": 0.0, "candidates": [("linear", BERClassifier())]} if kind in CV else {}
    fitted = kind(**settings, cv=2).fit(X, X["a"] > 0)
    found = {name for name in vars(fitted) if name.endswith("_")}
    assert {"classes_", "threshold_", "feature_names_in_", "encoding_"} < found
    computed = {name for name, value in inspect.getmembers(kind) if isinstance(value, property) and name.endswith("_")}
    assert set(entries(kind, "Attributes")) == found | {name for name in computed if not name.startswith("_")}


@pytest.mark.parametrize("kind", PLAIN)
def test_every_family_is_described(kind):
    said = " ".join(entries(kind, "Parameters")["model"][1].split())
    for family in ALL_FAMILIES:
        assert family.description in said


@pytest.mark.parametrize("kind", PLAIN + CV)
def test_nothing_is_left_to_fill_in(kind):
    assert not re.search(r"\{\w+\}", inspect.getdoc(kind))
    assert max(map(len, inspect.getdoc(kind).splitlines())) <= 120
