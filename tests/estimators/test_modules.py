import io

import numpy as np
import onnxruntime
import pytest
import torch
from sklearn.exceptions import NotFittedError
from torch import nn

import symloss as sl

torch.manual_seed(0)  # a network of one's own keeps its weights: they must be the same in every run
LOC, SCALE = np.array([5.0, -300.0, 0.0, 1.0, 2.0]), np.array([1.0, 40.0, 0.01, 1.0, 1.0])
MODELS = {
    "linear": {"model": "linear"},
    "kernel": {"model": "kernel", "n_landmarks": 60, "alpha": 1e-4, "loss": "logistic"},
    "gaussian_process": {"model": "gaussian_process", "n_landmarks": 60, "loss": "squared"},
    "mlp": {"model": "mlp", "n_seeds": 3, "hidden_units": 20, "epochs": 3},
    "module": {"model": nn.Sequential(nn.Linear(5, 4), nn.Dropout(0.5), nn.ReLU(), nn.Linear(4, 1)), "epochs": 2},
    "factory": {"model": lambda d: nn.Sequential(nn.Linear(d, 1), nn.Flatten(0)), "n_seeds": 2, "epochs": 2},
}


@pytest.fixture(scope="module")
def data():
    generator = np.random.default_rng(0)
    y = generator.random(300) < 0.5
    return (generator.standard_normal((300, 5)) + 0.7 * y[:, None]) * SCALE + LOC, y


@pytest.fixture(scope="module", params=MODELS)
def fitted(request, data):
    estimator = sl.AUCClassifier if request.param == "mlp" else sl.BERClassifier
    return estimator(**MODELS[request.param], threshold=0.25, random_state=0).fit(*data)


def points(n):
    return (np.random.default_rng(n).standard_normal((n, 5)) * 2 * SCALE + LOC).astype(np.float32)


def check(call, fitted):
    for n in (1, 2, 50):  # the batch size is free
        X = points(n)
        scores = np.asarray(call(torch.from_numpy(X)))
        assert scores.shape == (n,)
        assert scores.dtype == np.float32
        np.testing.assert_allclose(scores, fitted.decision_function(X), rtol=1e-5, atol=1e-5)


def through_bytes(save, load):
    buffer = io.BytesIO()
    save(buffer)
    buffer.seek(0)
    return load(buffer)


def test_the_module_and_its_state_dict(fitted, data):
    module = fitted.to_module()
    with torch.no_grad():
        check(module, fitted)
    assert not module.training
    other = fitted.to_module()
    other.load_state_dict(module.state_dict())
    before = fitted.decision_function(data[0])
    for parameter in module.parameters():
        parameter.data.zero_()  # a copy: the estimator keeps its own
    np.testing.assert_array_equal(fitted.decision_function(data[0]), before)


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_points_of_another_width(fitted):
    module = fitted.to_module()
    for X in (torch.zeros(3, 1), torch.zeros(3, 6), torch.zeros(5)):
        with pytest.raises(ValueError, match=r"X must have shape \(n, 5\), got \["):
            module(X)
        with pytest.raises(torch.jit.Error, match=r"X must have shape \(n, 5\), got \["):
            torch.jit.script(module)(X)


@pytest.mark.parametrize("model", MODELS)
def test_features_far_from_zero(model, data):
    """Seconds since 1970: float32 knows them to two minutes only."""
    X, y = data[0] + 1.7e9, data[1]
    fitted = sl.BERClassifier(**MODELS[model], threshold=0.25, random_state=0).fit(X, y)
    expected = fitted.decision_function(X)
    with torch.no_grad():
        scores = fitted.to_module()(torch.from_numpy(X))
        rounded = fitted.to_module()(torch.from_numpy(X.astype(np.float32)))
    assert scores.dtype == rounded.dtype == torch.float32
    assert expected.std() > 0.05
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(rounded, fitted.decision_function(X.astype(np.float32)), rtol=1e-4, atol=1e-4)


def test_torch_export(fitted):
    batch = torch.export.Dim("batch", min=1)
    program = torch.export.export(fitted.to_module(), (torch.from_numpy(points(3)),), dynamic_shapes=({0: batch},))
    loaded = through_bytes(lambda file: torch.export.save(program, file), torch.export.load)
    with torch.no_grad():
        check(loaded.module(), fitted)


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
@pytest.mark.parametrize("how", ["trace", "script"])
def test_torch_jit(fitted, how):
    module = fitted.to_module()
    compiled = torch.jit.trace(module, torch.from_numpy(points(3))) if how == "trace" else torch.jit.script(module)
    loaded = through_bytes(lambda file: torch.jit.save(compiled, file), torch.jit.load)
    with torch.no_grad():
        check(loaded, fitted)


@pytest.mark.filterwarnings("ignore:.*isinstance.treespec, LeafSpec:FutureWarning")  # the exporter's own
def test_onnx(fitted, tmp_path):
    path = tmp_path / "scores.onnx"
    batch = torch.export.Dim("batch", min=1)
    program = torch.onnx.export(
        fitted.to_module(), (torch.from_numpy(points(3)),), dynamo=True, dynamic_shapes=({0: batch},), verbose=False
    )
    program.save(path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (name,) = (value.name for value in session.get_inputs())
    check(lambda X: session.run(None, {name: X.numpy()})[0], fitted)


def test_trees_and_unfitted_estimators(data):
    with pytest.raises(ValueError, match="model='trees' is not a network"):
        sl.BERClassifier(model="trees", n_estimators=2).fit(*data).to_module()
    with pytest.raises(NotFittedError):
        sl.AUCClassifier().to_module()
