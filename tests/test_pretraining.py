import pickle
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.sparse import csr_array
from sklearn.utils.estimator_checks import parametrize_with_checks

from pretraining import __main__, export, learner
from pretraining.learner import InContextClassifier
from pretraining.measure import area, draw
from pretraining.network import LEVELS, PLACE, Network, attend
from pretraining.prior import draw_shape, draw_table
from pretraining.training import SMALL, Trainer, last_step, losses, orthogonal
from pretraining.weights import read_weights, write_weights


def untrained():
    """Give a small network whose every layer does something."""
    torch.manual_seed(0)
    network = Network(SMALL)
    for parameter in network.parameters():
        if not parameter.any():
            torch.nn.init.normal_(parameter, std=0.1)
    return network


@pytest.fixture
def network():
    return untrained()


@pytest.fixture(scope="session")
def weights(tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "weights.npz"
    write_weights(untrained().state_dict(), SMALL, path)
    return str(path)


def drawn(tables, training, questions, features, seed=0):
    rng = np.random.default_rng(seed)
    several = [draw_table(rng, training, questions, features) for _ in range(tables)]
    return tuple(
        torch.from_numpy(np.stack([getattr(t, name) for t in several])) for name in ("columns", "clean", "given")
    )


def test_tables_of_the_prior_can_be_learned_from():
    rng = np.random.default_rng(1)
    rates = []
    for _ in range(150):
        _, _, _, features = draw_shape(rng, 10_000)
        table = draw_table(rng, 128, 64, features)
        assert table.columns.shape == (192, features)
        assert table.columns.dtype == np.float32
        assert np.isfinite(table.columns[~np.isnan(table.columns)]).all()
        for labels in (table.clean[:128], table.given, table.clean[128:]):
            assert labels.any()
            assert not labels.all()
        rates.append((table.clean[:128] != table.given).mean())
    assert min(rates) == 0
    assert max(rates) > 0.4


def test_new_rows_only_read_and_training_rows_have_no_order(network):
    columns, clean, _ = drawn(2, 96, 32, 5)
    columns[0, 3, 2] = torch.nan
    labels, place = clean[:, :96].float() * 2 - 1, torch.randn(2, 3, PLACE)
    new, old, noise = network(columns, labels, place)
    with torch.no_grad():
        order = torch.randperm(96)
        memory, given, quantiles = network.read(columns[:, order], labels[:, order], place)
        torch.testing.assert_close(network.answer(columns[:, 96:], memory), new, atol=1e-4, rtol=1e-4)
        torch.testing.assert_close(network.answer(columns[:, 96:100], memory), new[:, :4], atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(given, old[:, order], atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(quantiles, noise, atol=1e-4, rtol=1e-4)
    assert quantiles.shape == (2, 2, len(LEVELS))
    assert (quantiles.diff(dim=2) >= 0).all()


@pytest.mark.parametrize(("keys", "dtype"), [(12, torch.float32), (12, torch.bfloat16), (600, torch.bfloat16)])
def test_attention_by_hand_is_attention(keys, dtype):
    torch.manual_seed(0)
    parts = [torch.randn(2, 3, length, 8) for length in (700, keys, keys)]
    expected = torch.nn.functional.scaled_dot_product_attention(*parts)
    found = attend(*(part.to(dtype) for part in parts)).float()
    torch.testing.assert_close(found, expected, atol=0.03 if dtype == torch.bfloat16 else 1e-5, rtol=0.03)


def test_the_quantile_loss_is_least_at_the_shares_of_wrong_labels(network):
    columns, clean, given = drawn(4, 96, 32, 5)
    wrong = (clean[:, :96] != given).float()
    shares = torch.stack([(wrong * side).sum(1) / side.sum(1) for side in (~given, given)], 1)[..., None].expand(
        -1, -1, 9
    )
    at = []
    for off in (-0.1, 0.0, 0.1):
        network._noise = lambda *_, off=off: shares + off
        at.append(losses(network, columns, clean, given)[2].item())
    assert at[1] == 0 < min(at[0], at[2])


def test_a_few_steps_learn_which_given_labels_are_wrong():
    torch.manual_seed(0)
    trainer = Trainer(Network(SMALL), "cpu")
    values = [trainer.learn([drawn(8, 96, 32, 3, seed)], 1.0) for seed in range(60)]
    assert torch.stack(values[-10:]).mean(0)[1] < torch.stack(values[:10]).mean(0)[1] - 0.02


def test_a_resumed_run_goes_on_as_the_one_that_was_not_stopped(tmp_path):
    torch.manual_seed(0)
    trainer = Trainer(Network(SMALL), "cpu")
    for seed in range(3):
        trainer.learn([drawn(2, 64, 32, 3, seed)], 1.0)
    trainer.save(tmp_path)
    for name in ("network_9.pt", "optimizers_9.pt", "part_average_9.npz"):
        (tmp_path / name).write_bytes(b"of a checkpoint that was not written to its end")
    again = Trainer.load(tmp_path, "cpu")
    for one in (trainer, again):
        torch.manual_seed(1)
        one.learn([drawn(2, 64, 32, 3, 5)], 1.0)
    assert again.step == trainer.step == 4
    for name, value in trainer.network.state_dict().items():
        torch.testing.assert_close(again.network.state_dict()[name], value, atol=1e-4, rtol=1e-2)


def test_steps_are_orthogonal():
    x = orthogonal(torch.randn(3, 8, 20))
    values = torch.linalg.svdvals(x)
    assert (values > 0.5).all()
    assert (values < 1.3).all()


def test_drawn_noise_has_the_shares_asked_for():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((3000, 2)).astype(np.float32), rng.random(3000) < 0.4
    _, given, clean, _, truth = draw(rng, x, y, 0.8, 0.3, 500)
    assert clean[given].mean() == 0.8
    assert clean[~given].mean() == 0.3
    assert truth.mean() == 0.5
    assert area(truth.astype(np.float32), truth) == 1


# The classifier


def noisy(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where((X[:, 0] > 0) ^ (rng.random(n) < 0.2), "yes", "no")


@pytest.fixture
def classifier(weights):
    return InContextClassifier(weights=weights, random_state=0)


@parametrize_with_checks(
    [InContextClassifier(n_views=2)],
    expected_failed_checks=lambda _: {"check_classifiers_train": "asks for skill: these weights are not trained"},
)
def test_scikit_learn_checks(estimator, check, weights):
    check(estimator.set_params(weights=weights))


@pytest.mark.parametrize(("n", "d"), [(4, 1), (10, 3), (300, 1), (60, 500)])
def test_tables_of_all_sizes_are_answered(classifier, n, d):
    X, y = noisy(n, d)
    y[:2] = ["no", "yes"]
    noise = classifier.fit(X, y).noise_
    assert ((classifier.label_quality_ > 0) & (classifier.label_quality_ < 1)).all()
    assert 0 <= noise.pi_low <= noise.pi <= noise.pi_high <= 1
    assert 0 <= noise.pi_prime_low <= noise.pi_prime <= noise.pi_prime_high <= 1
    np.testing.assert_array_equal(classifier.predict(X) == "yes", classifier.predict_proba(X)[:, 1] > 0.5)


def test_words_missing_values_and_constant_columns_are_taken(classifier):
    X, y = noisy(80, 2)
    frame = pd.DataFrame({"size": X[:, 0], "city": np.where(X[:, 1] > 0, "Oslo", "Rome"), "unit": 1.0})
    frame.loc[3, "size"], frame.loc[5, "city"] = np.nan, None
    classifier.fit(frame, y)
    assert len(classifier._columns) == 4  # two cities and a missing one; the unit says nothing
    assert np.isfinite(classifier.decision_function(frame[["city", "unit", "size"]])).all()


def test_a_sparse_matrix_becomes_a_dense_one_if_it_is_not_too_large(classifier, monkeypatch):
    X, y = noisy(60, 4)
    X[X < 0] = 0
    expected = classifier.fit(X, y).decision_function(X)
    np.testing.assert_allclose(classifier.fit(csr_array(X), y).decision_function(csr_array(X)), expected, atol=1e-3)
    monkeypatch.setattr(learner, "DENSE", 100)
    with pytest.raises(ValueError, match="sparse X may have 100 entries"):
        classifier.fit(csr_array(X), y)


def test_many_rows_are_read_in_parts_that_hold_both_labels(classifier, monkeypatch):
    monkeypatch.setattr(learner, "ROWS", 64)
    monkeypatch.setattr(learner, "FEWEST", 5)
    X, _ = noisy(500, 3)
    y = np.arange(500) < 7
    classifier.set_params(n_jobs=2).fit(X, y)
    assert len(classifier._views) == 8
    assert all(y[view.rows].sum() == 5 for view in classifier._views)
    assert set(np.concatenate([view.rows for view in classifier._views])) == set(range(500))
    again = pickle.loads(pickle.dumps(classifier))
    np.testing.assert_allclose(again.decision_function(X), classifier.decision_function(X), atol=1e-3)


def test_weights_are_repetitions_and_every_label_has_a_quality(classifier):
    X, y = noisy(50, 3)
    counts = np.arange(50) % 3
    expected = classifier.fit(np.repeat(X, counts, 0), np.repeat(y, counts)).decision_function(X)
    np.testing.assert_allclose(classifier.fit(X, y, sample_weight=counts).decision_function(X), expected, atol=1e-3)
    classifier.fit(X, y, sample_weight=counts / counts.sum())
    assert ((classifier.label_quality_ > 0) & (classifier.label_quality_ < 1)).all()


def test_weights_that_are_damaged_or_missing_are_refused(weights, tmp_path):
    with np.load(weights) as file:
        arrays = dict(file)
    arrays["unknown"] = arrays["unknown"] + 1
    np.savez(tmp_path / "weights.npz", **arrays)
    with pytest.raises(ValueError, match="damaged: the SHA-256"):
        InContextClassifier(weights=str(tmp_path / "weights.npz")).fit(*noisy(20, 2))
    with pytest.raises(FileNotFoundError, match="got 'nowhere'"):
        InContextClassifier(weights="nowhere").fit(*noisy(20, 2))


def test_the_commands_train_resume_decay_and_export(tmp_path, monkeypatch, capsys):
    folder, out = tmp_path / "checkpoint", tmp_path / "weights.npz"
    command = f"pretraining --small --tokens 1000 --processes 1 --resume {folder} --seconds 1".split()
    monkeypatch.setattr(sys, "argv", command)
    __main__.main()
    (folder / "curve.csv").write_text("9,1,2,3,4,5,6\n9,99999,2,3,4,5,6\n9,")  # the others are of steps that were lost
    before = last_step(folder)
    monkeypatch.setattr(sys, "argv", [*command, "--decay", "1"])
    __main__.main()
    assert f" s, {before} steps" in capsys.readouterr().out
    assert last_step(folder) > before
    assert "99999" not in (folder / "curve.csv").read_text()
    names = {path.name.partition("_")[0] for path in folder.iterdir()}
    assert names == {"average", "curve.csv", "decayed.npz", "network", "optimizers"}
    monkeypatch.setattr(sys, "argv", ["export", str(folder), str(out)])
    export.main()
    found = read_weights(str(out), "cpu")
    assert found.sha256 in capsys.readouterr().out
    assert InContextClassifier(weights=str(out)).fit(*noisy(40, 2)).sha256_ == found.sha256
