"""Saving and loading: the same to the last bit, whole or absent, and nothing in a folder is run."""

import hashlib
import io
import json
import re
import subprocess
import sys
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from torch import nn

import symloss as sl
from symloss.estimators import AUCClassifier, AUCClassifierCV, BERClassifier, BERClassifierCV, load, save
from symloss.estimators.model_files import signed
from symloss.estimators.skops_parts import types_in

BOTH = [BERClassifier, AUCClassifier]
BOTH_CV = [BERClassifierCV, AUCClassifierCV]
FAST = {"n_estimators": 5, "hidden_units": 6, "n_seeds": 2, "epochs": 2, "n_landmarks": 10, "cv": 2, "random_state": 0}
TRUSTED = [
    "sklearn.linear_model._logistic.LogisticRegression", "sklearn.naive_bayes.GaussianNB", "sklearn.pipeline.Pipeline",
    "sklearn.preprocessing._data.StandardScaler",
]  # fmt: skip
SMALL_POOL = [
    ("linear", BERClassifier(sl.BarrierHinge(b=10, r=1), threshold=0.0)),
    ("trees", AUCClassifier(model="trees", n_estimators=5, min_samples_leaf=5, threshold=0.0, random_state=0)),
    ("logistic", make_pipeline(StandardScaler(), LogisticRegression())),
    ("bayes", GaussianNB()),
]


def network(n_features):
    return nn.Sequential(nn.Linear(n_features, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 1))


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 3)), columns=["a", "b", "c"])
    return X, np.where(X["a"] + rng.normal(size=80) > 0, "yes", "no")


@pytest.fixture(scope="module")
def saved(data, tmp_path_factory):
    """A CV model with a forest and scikit-learn parts, to be copied and damaged."""
    folder = tmp_path_factory.mktemp("saved") / "model"
    save(AUCClassifierCV(SMALL_POOL, cv=2, random_state=0).fit(*data), folder)
    return folder


@pytest.fixture
def copy(saved, tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    for path in saved.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


def assert_same(left, right):
    assert type(left) is type(right)
    assert re.sub("0x\\w+", "", repr(left)) == re.sub("0x\\w+", "", repr(right))
    assert {key for key in vars(left) if key.endswith("_")} == {key for key in vars(right) if key.endswith("_")}
    for key in ("classes_", "feature_names_in_", "class_prior_", "oof_scores_"):
        if hasattr(left, key):
            np.testing.assert_array_equal(getattr(left, key), getattr(right, key))
            assert getattr(left, key).dtype == getattr(right, key).dtype
    for key in ("threshold_", "n_features_in_", "corrupted_score_", "clean_score_"):
        assert getattr(left, key, None) == getattr(right, key, None)
    assert repr(getattr(left, "cv_results_", None)) == repr(getattr(right, "cv_results_", None))


def there_and_back(estimator, tmp_path, model=None, trusted=()):
    save(estimator, tmp_path / "model")
    assert {path.suffix for path in (tmp_path / "model").iterdir()} == (
        {".json", ".safetensors", ".skops"} if trusted else {".json", ".safetensors"}
    )
    again = load(tmp_path / "model", model, trusted)
    assert_same(estimator, again)
    return again


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("model", ["linear", "kernel", "trees", "mlp", "gaussian_process", "relevance_process"])
def test_every_model_predicts_the_same_to_the_last_bit(data, tmp_path, kind, model):
    X, y = data
    estimator = kind("squared" if model.endswith("process") else "unhinged", model, **FAST).fit(X, y)
    again = there_and_back(estimator, tmp_path)
    np.testing.assert_array_equal(estimator.decision_function(X), again.decision_function(X))
    np.testing.assert_array_equal(estimator.predict(X), again.predict(X))
    assert again.get_params() == estimator.get_params()


@pytest.mark.parametrize("offset", [0.0, 1.7e9])
def test_linear_models_of_features_far_from_zero(data, tmp_path, offset):
    X, y = data[0] + offset, data[1]
    estimator = BERClassifier("logistic", **FAST).fit(X, y)
    again = there_and_back(estimator, tmp_path)
    np.testing.assert_array_equal(estimator.decision_function(X), again.decision_function(X))
    # Where there is no origin, the folder can be read by versions that know of none.
    assert ('"origin"' in (tmp_path / "model" / "model.json").read_text()) == (offset > 0)


@pytest.mark.parametrize("loss", ["logistic", sl.Squared(), sl.BarrierHinge(b=10, r=1.5), sl.Sigmoid])
def test_losses_and_probabilities(data, tmp_path, loss):
    X, y = data
    estimator = BERClassifier(loss, cv=2).fit(X, y)
    again = there_and_back(estimator, tmp_path)
    assert again.loss == loss
    assert hasattr(again, "predict_proba") == hasattr(estimator, "predict_proba")
    if hasattr(estimator, "predict_proba"):
        np.testing.assert_array_equal(estimator.predict_proba(X), again.predict_proba(X))


@pytest.mark.parametrize("kind", BOTH_CV)
def test_cv_estimators(data, tmp_path, kind):
    X, y = data
    estimator = kind(SMALL_POOL, cv=2, pi=0.9, pi_prime=0.2, random_state=0).fit(X, y)
    again = there_and_back(estimator, tmp_path, trusted=TRUSTED)
    np.testing.assert_array_equal(estimator.decision_function(X), again.decision_function(X))
    np.testing.assert_array_equal(estimator.predict(X), again.predict(X))
    assert [member.name for member in again.members_] == [member.name for member in estimator.members_]
    refitted = again.fit(X, y)
    np.testing.assert_array_equal(estimator.decision_function(X), refitted.decision_function(X))


@pytest.mark.parametrize(
    "labels", [[0, 1], [-1.0, 1.0], [False, True], np.array(["n", "y"], object), np.array([3, 7], np.uint8)]
)
def test_labels_of_any_type(data, tmp_path, labels):
    y = np.asarray(labels)[(data[1] == "yes").astype(int)]
    estimator = BERClassifier(threshold=0.5).fit(data[0].to_numpy(), y)
    again = there_and_back(estimator, tmp_path)
    assert again.classes_.dtype == y.dtype
    np.testing.assert_array_equal(again.predict(data[0].to_numpy()), estimator.predict(data[0].to_numpy()))


@pytest.mark.parametrize(
    "cv", [StratifiedKFold(3, shuffle=True, random_state=0), RepeatedStratifiedKFold(n_splits=2, n_repeats=2)]
)
def test_a_splitter_and_a_random_state_as_parameters(data, tmp_path, cv):
    state = np.random.RandomState(3)
    again = there_and_back(BERClassifier(cv=cv, threshold=0.0, random_state=state).fit(*data), tmp_path)
    assert again.random_state.randint(1000) == state.randint(1000)
    folds = [(np.arange(40), np.arange(40, 80))]
    assert len(there_and_back(BERClassifier(cv=folds).fit(*data), tmp_path).cv[0]) == 2


def test_gradient_boosting_as_a_candidate(data, tmp_path):
    X, y = data
    pool = [("boosting", HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=2))]
    estimator = BERClassifierCV(pool, cv=2).fit(X, y)
    np.testing.assert_array_equal(
        estimator.decision_function(X), there_and_back(estimator, tmp_path).decision_function(X)
    )


def test_missing_values_go_into_the_forest(data, tmp_path):
    X = data[0].mask(data[0] > 1)
    estimator = AUCClassifier(model="trees", n_estimators=5, random_state=0).fit(X, data[1])
    np.testing.assert_array_equal(
        estimator.decision_function(X), there_and_back(estimator, tmp_path).decision_function(X)
    )


@pytest.mark.parametrize("model", [network, network(3)], ids=["factory", "module"])
def test_a_network_of_the_users_own(data, tmp_path, model):
    X, y = data
    estimator = BERClassifier(model=model, epochs=2, n_seeds=2, threshold=0.0, random_state=0).fit(X, y)
    save(estimator, tmp_path / "model")
    again = load(tmp_path / "model", model)
    np.testing.assert_array_equal(estimator.decision_function(X), again.decision_function(X))
    assert again.model is model
    with pytest.raises(ValueError, match=r"the network is your own.*load\(folder, model=...\)"):
        load(tmp_path / "model")
    with pytest.raises(ValueError, match=r"model must be a torch module or a function that makes one, got 3"):
        load(tmp_path / "model", model=3)
    with pytest.raises(ValueError, match=r"not the network that was saved: 0.0.weight is float32 of shape \(5, 3\)"):
        load(tmp_path / "model", model=lambda d: nn.Sequential(nn.Linear(d, 5), nn.Tanh(), nn.Linear(5, 1)))
    with pytest.raises(ValueError, match=r"is float64 of shape \(4, 3\) in the model given and float32"):
        load(tmp_path / "model", model=lambda d: network(d).double())


def test_networks_of_several_candidates(data, tmp_path):
    X, y = data
    other = nn.Linear(3, 1)
    common = {"epochs": 1, "n_seeds": 1, "threshold": 0.0, "random_state": 0}
    pool = [("deep", BERClassifier(model=network, **common)), ("flat", BERClassifier(model=other, **common))]
    estimator = BERClassifierCV(pool, cv=2, random_state=0).fit(X, y)
    save(estimator, tmp_path / "model")
    again = load(tmp_path / "model", {"deep": network, "flat": other})
    np.testing.assert_array_equal(estimator.decision_function(X), again.decision_function(X))
    with pytest.raises(ValueError, match="the network of candidate 'flat' is your own"):
        load(tmp_path / "model", {"deep": network})
    with pytest.raises(ValueError, match="model is not the network that was saved"):
        load(tmp_path / "model", network)


def test_a_model_that_is_not_needed_is_refused(copy):
    with pytest.raises(ValueError, match="holds no network of your own"):
        load(copy, network, TRUSTED)


class _Own(sl.Loss):
    def value(self, z):
        return (1 - z) ** 2


class _Squared(sl.Squared):
    name = "squared"


class _Further(BERClassifier):
    pass


@pytest.mark.parametrize("loss", [_Own(), _Own, _Squared(), lambda z: (1 - z) ** 2])
def test_a_loss_of_the_users_own_cannot_be_saved(data, tmp_path, loss):
    estimator = BERClassifier(loss, threshold=0.0).fit(*data)
    with pytest.raises(ValueError, match="is your own, and only built-in losses can be stored by name"):
        save(estimator, tmp_path / "model")
    pool = BERClassifierCV([("mine", BERClassifier(loss, threshold=0.0))], cv=2).fit(*data)
    with pytest.raises(ValueError, match=r"cannot save BERClassifierCV.candidates\[0\]\['mine'\]: its loss"):
        save(pool, tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_what_else_cannot_be_saved(data, tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        save(BERClassifier(), tmp_path / "model")
    with pytest.raises(ValueError, match=r"can save one of BERClassifier, .*, got _Further"):
        save(_Further(threshold=0.0).fit(*data), tmp_path / "model")
    with pytest.raises(ValueError, match=r"cannot save BERClassifier.cv: <generator"):
        save(BERClassifier(cv=(fold for fold in [])).set_params(threshold=0.0).fit(*data), tmp_path / "model")
    pool = [("own code", make_pipeline(FunctionTransformer(lambda X: X), GaussianNB()))]
    with pytest.raises(ValueError, match=r"cannot save .*\['own code'\]: "):
        save(BERClassifierCV(pool, cv=2).fit(*data), tmp_path / "model")
    unknown = BERClassifier(threshold=0.0).fit(*data)
    unknown.threshold_ = float("nan")
    with pytest.raises(ValueError, match="cannot save BERClassifier: expected a number as threshold_, found nan"):
        save(unknown, tmp_path / "model")
    assert not list(tmp_path.iterdir())


class Third(GaussianNB):
    """An estimator of another package."""


def test_estimators_of_others_are_loaded_if_their_types_are_trusted(data, tmp_path):
    pool = [("third", Third()), ("function", make_pipeline(FunctionTransformer(np.tanh), GaussianNB()))]
    estimator = AUCClassifierCV(pool, cv=2, temperature=10.0, random_state=0).fit(*data)
    save(estimator, tmp_path / "model")
    types = ["numpy.tanh", "sklearn.naive_bayes.GaussianNB", "sklearn.pipeline.Pipeline",
             "sklearn.preprocessing._function_transformer.FunctionTransformer", f"{__name__}.Third"]  # fmt: skip
    with pytest.raises(ValueError, match=r"model holds estimators that are not symloss's own") as refused:
        load(tmp_path / "model")
    assert str(refused.value).endswith(f"load them with trusted={sorted(types)}, or fit again")
    with pytest.raises(ValueError, match="are not symloss's own"):
        load(tmp_path / "model", trusted=types[1:])
    again = load(tmp_path / "model", trusted=types)
    np.testing.assert_array_equal(estimator.decision_function(data[0]), again.decision_function(data[0]))


def test_an_existing_model_is_replaced_only_by_a_whole_one(copy, data):
    before = {path.name: path.read_bytes() for path in copy.iterdir()}
    with pytest.raises(ValueError, match="is your own"):
        save(BERClassifier(_Own(), threshold=0.0).fit(*data), copy)
    assert {path.name: path.read_bytes() for path in copy.iterdir()} == before
    save(BERClassifier(threshold=0.0).fit(*data), copy)
    assert sorted(path.name for path in copy.iterdir()) == ["model.json", "tensors.safetensors"]
    assert [path.name for path in copy.parent.iterdir()] == ["model"]


def test_a_write_that_fails_leaves_the_old_model(copy, data, monkeypatch):
    from pathlib import Path

    def full(self, *arguments, **keywords):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space left"):
        save(BERClassifier(threshold=0.0).fit(*data), copy)
    assert [path.name for path in copy.parent.iterdir()] == ["model"]
    load(copy, trusted=TRUSTED)


def test_other_folders_are_not_overwritten(data, tmp_path, copy):
    estimator = BERClassifier(threshold=0.0).fit(*data)
    (tmp_path / "thesis").mkdir()
    save(estimator, tmp_path / "thesis")  # empty
    (copy / "predictions.csv").write_text("1")
    with pytest.raises(ValueError, match=r"holds more than a model \(predictions.csv\), and is not overwritten"):
        save(estimator, copy)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "model.json").write_text("{}")
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="is no model folder, and is not overwritten"):
        save(estimator, tmp_path / "other")
    with pytest.raises(ValueError, match="is a file, and is not overwritten"):
        save(estimator, tmp_path / "file")


@pytest.mark.parametrize("name", ["tensors.safetensors", "part0.skops"])
def test_damaged_files_are_named(copy, name):
    content = (copy / name).read_bytes()
    for damaged in (content[: len(content) // 2], content[:-1] + bytes([content[-1] ^ 1]), b""):
        (copy / name).write_bytes(damaged)
        with pytest.raises(ValueError, match=rf"{name} is damaged: it has changed since it was saved"):
            load(copy, trusted=TRUSTED)
        resign(copy, name)
        if damaged != content[:-1] + bytes([content[-1] ^ 1]):
            with pytest.raises(ValueError, match=rf"{name} is damaged: "):
                load(copy, trusted=TRUSTED)
        resign(copy, name, content)
    (copy / name).unlink()
    with pytest.raises(ValueError, match=rf"{name} cannot be read: No such file"):
        load(copy)


def resign(folder, name, content=None):
    """Write the checksum of a file that was changed, as an attacker would."""
    contents = json.loads((folder / "model.json").read_text())
    content = (folder / name).read_bytes() if content is None else content
    contents["files"][name] = hashlib.sha256(content).hexdigest()
    (folder / "model.json").write_text(signed(contents))


def test_no_model(tmp_path, copy):
    with pytest.raises(ValueError, match="no such folder"):
        load(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="not a folder"):
        load(copy / "model.json")
    with pytest.raises(ValueError, match=r"there is no model\.json"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.update(format="keras"), "is not of a model that symloss has saved"),
        (lambda c: c.update(format_version=3), "has format 3, of symloss .*; this one knows formats up to 2: upgrade"),
        (lambda c: c.update(format_version="1"), "damaged: expected a whole number .* as format_version, found '1'"),
        (lambda c: c.update(versions=[]), "model.json is damaged: expected the versions of packages, found \\[\\]"),
        (lambda c: c.pop("files"), "model.json is damaged: its list of files"),
        (lambda c: c["files"].update({"../x": "0"}), "model.json is damaged: its list of files"),
        (lambda c: c["files"].pop("part0.skops"), "model.json is damaged: it does not list part0.skops"),
        (lambda c: c.pop("estimator"), "model.json is damaged: no 'estimator'"),
        (lambda c: c.update(estimator=3), "model.json is damaged: it holds no estimator but a int"),
        (lambda c: c["estimator"]["estimator"].pop("fitted"), "model.json is damaged: no 'fitted'"),
        (lambda c: c["estimator"]["estimator"].update(fitted={}), "model.json is damaged: .*not fitted"),
        (lambda c: c["estimator"]["estimator"]["parameters"].update(x=1), "model.json is damaged: .*'x'"),
        (lambda c: c["estimator"]["estimator"]["fitted"].update(classes_={"array": "a9"}), "damaged: no 'a9'"),
        (lambda c: c["estimator"]["estimator"]["fitted"].update(predict=1), "'predict' is no name of a fitted"),
        (lambda c: c["estimator"]["estimator"]["fitted"].update(__class__=1), "is no name of a fitted"),
        (lambda c: c["estimator"]["estimator"].update({"class": "os.system"}), "unknown class 'os.system'; known"),
        (lambda c: c["estimator"].update(more=1), "model.json is damaged: expected one kind of value, found 2"),
        (lambda c: c.update(estimator={"subprocess.Popen": ["x"]}), "unknown kind of value 'subprocess.Popen'"),
        (lambda c: c.update(estimator={"loss": {"name": "os:x", "parameters": {"dict": []}}}), "unknown loss 'os:x'"),
        (lambda c: c.update(estimator={"part": "../../x"}), "model.json is damaged: invalid literal"),
        (lambda c: c.update(estimator={"scalar": ["O", 1]}), "unknown type of numbers 'O'"),
        (lambda c: c.update(estimator={"perceptrons": {"rows": "array0", "features": 9, "hidden_units": 9**9}}),
         "model.json is damaged: perceptrons 9-"),
    ],
)  # fmt: skip
def test_a_changed_json_is_refused(copy, change, message):
    contents = json.loads((copy / "model.json").read_text())
    change(contents)
    (copy / "model.json").write_text(signed(contents))
    with pytest.raises(ValueError, match=message) as refused:
        load(copy, trusted=TRUSTED)
    assert "\n" not in str(refused.value)


def test_a_json_that_was_edited_is_told_by_its_checksum(copy):
    text = (copy / "model.json").read_text()
    (copy / "model.json").write_text(text.replace('"cv": 2', '"cv": 3'))
    with pytest.raises(ValueError, match=r"model.json is damaged: it has changed since it was saved"):
        load(copy, trusted=TRUSTED)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "\x00", "[]", "3"])
def test_a_json_that_is_none(copy, text):
    (copy / "model.json").write_text(text)
    with pytest.raises(ValueError, match=r"model.json is (damaged|not of a model)"):
        load(copy)


def test_a_part_that_lies_about_its_type_is_refused(copy):
    import skops.io

    with zipfile.ZipFile(copy / "part0.skops", "w") as archive:
        schema = json.loads(zipfile.ZipFile(io.BytesIO(skops.io.dumps({}))).read("schema.json"))
        archive.writestr("schema.json", json.dumps(schema | {"__loader__": "TreeNode"}))
    resign(copy, "part0.skops")
    with pytest.raises(ValueError, match=r"not symloss's own, .* trusted=\['builtins.dict', "):
        load(copy, trusted=TRUSTED)


def test_a_part_larger_than_any_is_not_unpacked(copy):
    with zipfile.ZipFile(copy / "part0.skops", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", b" " * (2**26 + 1))
    resign(copy, "part0.skops")
    with pytest.raises(ValueError, match=r"part0.skops is damaged: expected at most \d+ bytes"):
        load(copy, trusted=TRUSTED)


def test_a_pickle_is_not_read(copy, tmp_path):
    import pickle

    class Attack:
        def __reduce__(self):
            return (open, (str(tmp_path / "attacked"), "w"))

    for name in ("part0.skops", "tensors.safetensors"):
        (copy / name).write_bytes(pickle.dumps(Attack()))
        resign(copy, name)
        with pytest.raises(ValueError, match="is damaged"):
            load(copy, trusted=TRUSTED)
    assert not (tmp_path / "attacked").exists()


def _astray_forest(X, y):
    forest = ExtraTreesClassifier(2, random_state=0).fit(X, y)
    state = forest.estimators_[1].tree_.__getstate__()
    state["nodes"]["left_child"][0] = 10**9
    forest.estimators_[1].tree_.__setstate__(state)
    return forest


def _astray_feature(X, y):
    tree = DecisionTreeClassifier().fit(X, y)
    state = tree.tree_.__getstate__()
    state["nodes"]["feature"][0] = 3
    tree.tree_.__setstate__(state)
    return make_pipeline(StandardScaler().fit(X), tree)


def _astray_boosting(X, y):
    boosting = HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=2).fit(X, y)
    boosting._predictors[1][0].nodes["right"][0] = 10**9
    return boosting


@pytest.mark.parametrize("astray", [_astray_forest, _astray_feature, _astray_boosting])
def test_a_tree_that_points_outside_itself_is_refused(data, copy, astray):
    import skops.io

    content = skops.io.dumps(astray(data[0].to_numpy(), data[1]))
    (copy / "part0.skops").write_bytes(content)
    resign(copy, "part0.skops")
    with pytest.raises(ValueError, match=r"part0.skops is damaged: a tree points outside itself"):
        load(copy, trusted=[*TRUSTED, *types_in(content)])


TREES = AUCClassifier(model="trees", n_estimators=3, min_samples_leaf=1, random_state=1)
BOOSTING = AUCClassifierCV([("boosting", HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5))], cv=2)


def changed(folder, name, place, number):
    """Change a number of an array that a model holds by its name, and write the checksums that belong to it."""
    from safetensors.torch import load_file, save

    stored = (folder / "model.json").read_text()
    (key,) = set(re.findall(rf'"{name}",?:?\s+{{\s+"array": "(\w+)"', stored))
    tensors = load_file(folder / "tensors.safetensors")
    tensors[key] = tensors[key].clone()
    tensors[key][place] = number
    (folder / "tensors.safetensors").write_bytes(save(tensors))
    resign(folder, "tensors.safetensors")


@pytest.mark.parametrize(
    ("estimator", "name", "number", "message"),
    [
        (TREES, "left_child", 10**9, "a tree points outside itself"),
        (TREES, "right_child", 0, "a tree points outside itself"),
        (TREES, "right_child", 1, "a tree points twice to the same node"),
        (TREES, "feature", 3, "a tree points outside itself"),
        (TREES, "sizes", 10**12, "expected trees of 1000000000"),
        (TREES, "values", np.nan, "finite numbers as values"),
        (BOOSTING, "feature_idx", 500_000_000, "a tree points outside itself"),
        (BOOSTING, "right", 10**9, "a tree points outside itself"),
        (BOOSTING, "is_categorical", 1, "expected trees without categories"),
        (BOOSTING, "bins", 10**9, "expected numbers of bins from 0 to 255"),
        (BOOSTING, "left", -5, "expected whole numbers of type uint32 as left"),
    ],
)
def test_trees_are_checked_before_they_are_followed(data, tmp_path, estimator, name, number, message):
    save(clone(estimator).fit(*data), tmp_path / "model")
    load(tmp_path / "model")
    changed(tmp_path / "model", name, 0, number)
    with pytest.raises(ValueError, match=rf"model.json is damaged: .*{message}"):
        load(tmp_path / "model")


def test_a_position_outside_of_a_random_state_is_refused(data, tmp_path):
    save(BERClassifier(threshold=0.0, random_state=np.random.RandomState(0)).fit(*data), tmp_path / "model")
    contents = json.loads((tmp_path / "model" / "model.json").read_text())
    contents["estimator"]["estimator"]["parameters"]["random_state"]["random_state"]["tuple"][2] = 2_000_000_000
    (tmp_path / "model" / "model.json").write_text(signed(contents))
    with pytest.raises(ValueError, match="expected a position from 0 to 624 in a random state, found 2000000000"):
        load(tmp_path / "model")


def test_a_model_of_an_earlier_version_is_loaded(copy, data):
    contents = json.loads((copy / "model.json").read_text())
    del contents["checksum"]
    (copy / "model.json").write_text(json.dumps(contents | {"format_version": 1}))
    assert load(copy, trusted=TRUSTED).predict(data[0]).shape == (80,)


def test_trees_of_an_earlier_version_have_to_be_trusted(data, tmp_path):
    """Version 1 kept forests in skops files."""
    import skops.io

    estimator = clone(TREES).fit(*data)
    save(estimator, tmp_path / "model")
    contents = json.loads((tmp_path / "model" / "model.json").read_text())
    contents["estimator"]["estimator"]["fitted"]["scorer_"]["forest"]["forest"] = {"part": 0}
    content = skops.io.dumps(estimator.scorer_.forest)
    (tmp_path / "model" / "part0.skops").write_bytes(content)
    contents["files"]["part0.skops"] = hashlib.sha256(content).hexdigest()
    (tmp_path / "model" / "model.json").write_text(json.dumps(contents | {"format_version": 1}))
    with pytest.raises(ValueError, match="or trees that an earlier version has saved"):
        load(tmp_path / "model")
    again = load(tmp_path / "model", trusted=types_in(content))
    np.testing.assert_array_equal(estimator.decision_function(data[0]), again.decision_function(data[0]))


def test_another_scikit_learn_is_warned_of_once_a_part(copy):
    contents = json.loads((copy / "model.json").read_text())
    contents["versions"]["scikit-learn"] = "1.6.0"
    (copy / "model.json").write_text(signed(contents))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        load(copy, trusted=TRUSTED)
    messages = [str(warning.message) for warning in caught]
    assert f"was saved with scikit-learn 1.6.0, and this is {sklearn.__version__}" in messages[0]
    assert len(set(messages)) == len(messages) == len(list(copy.glob("*.skops")))


def test_the_estimators_are_imported_without_what_only_saving_needs():
    code = "import sys, symloss.estimators; print({'safetensors', 'skops'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"
