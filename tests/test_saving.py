"""Saved estimators predict the same, a damaged file is refused in one line, and nothing in a file is run."""

import hashlib
import json
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import safetensors.torch
import torch
from safetensors import safe_open
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from torch import nn

import symloss as sl
from symloss.estimators import AUCClassifier, AUCClassifierCV, BERClassifier, BERClassifierCV, load, save
from symloss.estimators.pruning import Pruned
from symloss.estimators.saving import DamagedFileError, load_with, save_with
from symloss.files import check_outside, whole_file, write_whole

FAST = {"n_estimators": 5, "hidden_units": 6, "n_seeds": 2, "epochs": 2, "n_landmarks": 10, "cv": 2, "random_state": 0}
POOL = [
    ("linear", BERClassifier(sl.BarrierHinge(b=10, r=1), threshold=0.0)),
    ("trees", AUCClassifier(model="trees", n_estimators=5, min_samples_leaf=5, threshold=0.0, random_state=0)),
    ("boosting", HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=2)),
    ("logistic", make_pipeline(StandardScaler(), LogisticRegression())),
]


def network(n_features):
    return nn.Sequential(nn.Linear(n_features, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 1))


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 3)), columns=["a", "b", "c"])
    return X, np.where(X["a"] + rng.normal(size=80) > 0, "yes", "no")


def there_and_back(estimator, X, tmp_path, **arguments):
    path = tmp_path / "model.safetensors"
    save(estimator, path)
    assert [each.name for each in tmp_path.iterdir()] == ["model.safetensors"]
    again = load(path, **arguments)
    assert type(again) is type(estimator)
    np.testing.assert_array_equal(again.classes_, estimator.classes_)
    np.testing.assert_array_equal(again.predict(X), estimator.predict(X))
    np.testing.assert_allclose(again.decision_function(X), estimator.decision_function(X), rtol=1e-12, atol=1e-12)
    return again


@pytest.mark.parametrize("kind", [BERClassifier, AUCClassifier])
@pytest.mark.parametrize("model", ["linear", "trees", "mlp", "gaussian_process"])
def test_every_family_predicts_the_same(data, tmp_path, kind, model):
    X, y = data
    X = X.mask(X > 1.5)  # some values are missing
    estimator = kind("squared" if model == "gaussian_process" else "unhinged", model, **FAST).fit(X, y)
    again = there_and_back(estimator, X, tmp_path)
    assert again.get_params() == estimator.get_params()
    assert again.feature_names_in_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("loss", ["logistic", sl.Squared(), sl.BarrierHinge(b=10, r=1.5), sl.Sigmoid])
def test_losses_and_probabilities(data, tmp_path, loss):
    X, y = data
    estimator = BERClassifier(loss, cv=2).fit(X, y)
    again = there_and_back(estimator, X, tmp_path)
    assert again.loss == loss
    if hasattr(estimator, "predict_proba"):
        np.testing.assert_allclose(estimator.predict_proba(X), again.predict_proba(X), rtol=1e-12)


@pytest.mark.parametrize("kind", [BERClassifierCV, AUCClassifierCV])
def test_cv_forms(data, tmp_path, kind):
    X, y = data
    folds = StratifiedKFold(2, shuffle=True, random_state=0)
    estimator = kind(POOL, cv=folds, temperature=10.0, pi=0.9, pi_prime=0.2, random_state=0).fit(X, y)
    again = there_and_back(estimator, X, tmp_path)
    assert [member.name for member in again.members_] == [member.name for member in estimator.members_]
    assert len(again.members_) == 4
    np.testing.assert_array_equal(again.oof_scores_, estimator.oof_scores_)
    assert again.clean_score_ == estimator.clean_score_
    assert repr(again.cv_results_) == repr(estimator.cv_results_)
    np.testing.assert_allclose(again.fit(X, y).decision_function(X), estimator.decision_function(X), atol=1e-9)


def test_an_estimator_that_leaves_out_labels(data, tmp_path):
    X, y = data
    X = X.to_numpy()
    there_and_back(Pruned(POOL[1][1], share=0.2, random_state=0).fit(X, y), X, tmp_path)


def test_the_default_pool_needs_nothing_to_be_trusted(data, tmp_path):
    X, y = data
    frame = X.assign(city=["Oslo", "Rome"] * 40)
    there_and_back(AUCClassifierCV(cv=2, random_state=0).fit(frame, y), frame, tmp_path)


@pytest.mark.parametrize("labels", [[0, 1], [-1.0, 1.0], [False, True], np.array(["n", "y"], object)])
def test_labels_of_any_type(data, tmp_path, labels):
    y = np.asarray(labels)[(data[1] == "yes").astype(int)]
    estimator = BERClassifier(threshold=0.5, random_state=np.random.RandomState(3)).fit(data[0].to_numpy(), y)
    again = there_and_back(estimator, data[0].to_numpy(), tmp_path)
    assert again.classes_.dtype == y.dtype
    assert again.random_state.randint(1000) == estimator.random_state.randint(1000)


def test_json_beside_an_estimator(data, tmp_path):
    beside = {"columns": ["a", "ü"], "ranges": [[0.5, None]]}
    save_with(BERClassifier(threshold=0.0).fit(*data), tmp_path / "model", beside)
    assert load_with(tmp_path / "model")[1] == beside


@pytest.mark.parametrize("model", [network, network(3)], ids=["factory", "module"])
def test_a_network_of_the_users_own(data, tmp_path, model):
    X, y = data
    estimator = BERClassifier(model=model, epochs=2, n_seeds=2, threshold=0.0, random_state=0).fit(X, y)
    assert there_and_back(estimator, X, tmp_path, model=model).model is model
    (path,) = tmp_path.iterdir()
    with pytest.raises(ValueError, match=r"the network is your own, .*load\(path, model=...\).* got None"):
        load(path)
    with pytest.raises(ValueError, match=r"not the network that was saved: 0.0.weight is .* in the model given"):
        load(path, model=lambda d: nn.Sequential(nn.Linear(d, 5), nn.Tanh(), nn.Linear(5, 1)))
    save(BERClassifier(threshold=0.0).fit(X, y), path)
    with pytest.raises(ValueError, match="holds no network of your own"):
        load(path, model=model)


def test_networks_of_several_candidates(data, tmp_path):
    X, y = data
    other = nn.Linear(3, 1)
    common = {"epochs": 1, "n_seeds": 1, "threshold": 0.0, "random_state": 0}
    pool = [("deep", BERClassifier(model=network, **common)), ("flat", BERClassifier(model=other, **common))]
    estimator = BERClassifierCV(pool, cv=2, temperature=10.0, random_state=0).fit(X, y)
    there_and_back(estimator, X, tmp_path, model={"deep": network, "flat": other})
    with pytest.raises(ValueError, match="the network of candidate 'flat' is your own"):
        load(tmp_path / "model.safetensors", {"deep": network})


class Third(GaussianNB):
    """An estimator of another package."""


def test_candidates_of_others_are_loaded_if_their_types_are_trusted(data, tmp_path):
    pool = [("third", Third()), ("forest", RandomForestClassifier(3, random_state=0)), ("bayes", GaussianNB())]
    estimator = AUCClassifierCV(pool, cv=2, temperature=10.0, random_state=0).fit(*data)
    types = [f"{__name__}.Third", "sklearn.tree._tree.Tree"]
    save(estimator, tmp_path / "model.safetensors")
    for given in ((), types[:1]):
        with pytest.raises(ValueError, match="holds candidates that are not symloss's own") as refused:
            load(tmp_path / "model.safetensors", trusted=given)
        assert str(refused.value).endswith(f"load it with trusted={sorted(types)}")
        assert not isinstance(refused.value, DamagedFileError)
    there_and_back(estimator, data[0], tmp_path, trusted=types)


class Own(sl.Loss):
    """A loss of the user's own."""

    def value(self, z):
        return (1 - z) ** 2


class Further(BERClassifier):
    """A class of the user's own."""


def test_what_cannot_be_saved_leaves_the_old_file(data, tmp_path):
    path = tmp_path / "model"
    save(BERClassifier(threshold=0.0).fit(*data), path)
    before = path.read_bytes()
    own_code = make_pipeline(FunctionTransformer(lambda X: X), GaussianNB())
    for estimator, message in [
        (BERClassifier(), "not fitted"),
        (Further(threshold=0.0).fit(*data), "can save one of BERClassifier, .*, got Further"),
        (BERClassifier(Own(), threshold=0.0).fit(*data), "cannot save the loss .*: it is your own"),
        (BERClassifier(cv=(fold for fold in []), threshold=0.0).fit(*data), "cannot save <generator"),
        (BERClassifierCV([("own code", own_code)], cv=2).fit(*data), "cannot save Pipeline"),
    ]:
        with pytest.raises(ValueError, match=message):
            save(estimator, path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_damaged_files_are_refused(data, tmp_path):
    path = tmp_path / "model"
    save(AUCClassifierCV(POOL, cv=2).fit(*data), path)
    content = path.read_bytes()
    flipped = bytearray(content)
    flipped[-1000] ^= 1
    for damaged in (content[: len(content) // 2], bytes(flipped), content.replace(b"temperature", b"temperaturf"), b"",
                    b"[" * 10_000, pickle.dumps({})):  # fmt: skip
        path.write_bytes(damaged)
        with pytest.raises(DamagedFileError, match="model is damaged: ") as refused:
            load(path)
        assert "\n" not in str(refused.value)
    safetensors.torch.save_file({"x": torch.zeros(1)}, path)
    with pytest.raises(ValueError, match="is no file of 'symloss model 2'"):
        load(path)
    for nothing in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(ValueError, match=r"no model in .*: expected a file that symloss has saved"):
            load(nothing)


def forged(path, change):
    """Change what a file holds, and write the checksum that belongs to it, as somebody with bad intentions would."""
    with safe_open(path, framework="pt") as file:
        tensors, metadata = {key: file.get_tensor(key).clone() for key in file.keys()}, file.metadata()  # noqa: SIM118
    contents = json.loads(metadata["contents"])
    change(contents, tensors)
    text = json.dumps(contents)
    digest = hashlib.sha256(text.encode() + safetensors.torch.save(tensors)).hexdigest()
    safetensors.torch.save_file(tensors, path, metadata | {"contents": text, "sha256": digest})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.pop("estimator"), "no 'estimator'"),
        (lambda c: c.update(estimator=3), "expected an estimator, found int"),
        (lambda c: c["estimator"].update(estimator="os.system"), "unknown class 'os.system'"),
        (lambda c: c["estimator"]["parameters"].update(x=1), "'x'"),
        (lambda c: c["estimator"]["fitted"].update(predict=1), "'predict' is no name of a fitted"),
        (lambda c: c["estimator"]["fitted"].update(classes_={"array": "a9"}), "no 'a9'"),
        (lambda c: c["estimator"]["fitted"].update(scorer_={"subprocess.Popen": ["x"]}), "unknown kind of value"),
        (lambda c: c["estimator"]["fitted"].update(scorer_={"skops": "array0"}), "no 'skopsarray0'"),
        (lambda c: c["estimator"]["parameters"].update(loss={"loss": ["os:x", {}]}), "unknown loss 'os:x'"),
    ],
)
def test_forged_json_is_refused(data, tmp_path, change, message):
    save(BERClassifier(threshold=0.0).fit(*data), tmp_path / "model")
    forged(tmp_path / "model", lambda contents, _: change(contents))
    with pytest.raises(DamagedFileError, match=f"model is damaged: .*{message}"):
        load(tmp_path / "model")


FOREST = AUCClassifier(model="trees", n_estimators=3, min_samples_leaf=1, random_state=1)
BOOSTING = AUCClassifierCV([("boosting", HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5))], cv=2)


@pytest.mark.parametrize(
    ("estimator", "field", "number", "message"),
    [
        (FOREST, "left_child", 10**9, "a tree points outside itself"),
        (FOREST, "right_child", 0, "a tree points outside itself"),
        (FOREST, "right_child", 1, "a tree points twice to the same node"),
        (FOREST, "feature", 3, "a tree points outside itself"),
        (BOOSTING, "feature_idx", 500_000_000, "a tree points outside itself"),
        (BOOSTING, "right", 10**9, "a tree points outside itself"),
        (BOOSTING, "is_categorical", 1, "expected trees without categories"),
    ],
)
def test_trees_are_checked_before_they_are_followed(data, tmp_path, estimator, field, number, message):
    save(clone(estimator).fit(*data), tmp_path / "model")

    def change(contents, tensors):
        text = json.dumps(contents)
        start = text.index(f'["{field}", {{"array": "') + len(f'["{field}", {{"array": "')
        key = text[start : text.index('"', start)]
        if tensors[key].dtype == torch.uint32:  # which torch cannot change
            tensors[key] = torch.from_numpy(np.concatenate([[number], tensors[key].numpy()[1:]]).astype(np.uint32))
        else:
            tensors[key][0] = number

    forged(tmp_path / "model", lambda *_: None)
    load(tmp_path / "model")  # so far it is right
    forged(tmp_path / "model", change)
    with pytest.raises(DamagedFileError, match=f"model is damaged: {message}"):
        load(tmp_path / "model")


def fail_midway(path):
    path.write_text("half")
    raise ZeroDivisionError


def test_a_file_is_whole_or_as_it_was(tmp_path):
    path, link = tmp_path / "data.txt", tmp_path / "link.txt"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    with pytest.raises(ZeroDivisionError), whole_file(path) as temporary:
        fail_midway(temporary)
    assert path.read_text() == "old"
    write_whole(link, "new")  # a link is followed, and stays one
    assert (path.read_text(), path.stat().st_mode & 0o777, link.is_symlink()) == ("new", 0o640, True)
    assert {each.name for each in tmp_path.iterdir()} == {"data.txt", "link.txt"}
    with pytest.raises(IsADirectoryError, match="is a folder; expected the name of a file"):
        write_whole(tmp_path, "text")
    with pytest.raises(ValueError, match=r"is in .*, the model; nothing is written there"):
        check_outside(path, tmp_path, "the model")


def test_devices_and_pipes_are_written_into():
    code = "from pathlib import Path; from symloss.files import write_whole; write_whole(Path('/dev/stdout'), 'text')"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert found == "text"
