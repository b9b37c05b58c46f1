"""The protocol against a transcription of the paper, and one cell of its tables."""

import csv
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import symloss as sl
from symloss.functional import RISKS
from symloss.paper import protocol
from symloss.paper.experiment import label, run_trials, standardized

QUICK = replace(
    protocol.MATCHED,
    n_positive=40,
    n_negative=40,
    n_test=60,
    hidden_units=20,
    epochs=5,
    batch_size=40,
    learning_rate=0.05,
)


class Tangent(sl.Loss):
    def value(self, z):
        return (2 * torch.atan(z) - 1) ** 2


class Diverging(sl.Loss):
    def value(self, z):
        return z * torch.nan


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = np.repeat([1, -1], 200)
    return y[:, None] + rng.normal(size=(400, 3)), y


def test_settings_are_the_papers():
    assert [loss.name for loss in protocol.LOSSES] == [
        "barrier_hinge", "unhinged", "sigmoid", "logistic", "hinge", "squared", "savage"]  # fmt: skip
    assert protocol.LOSSES[0] == sl.BarrierHinge(b=200, r=50)
    assert protocol.NOISES == ((1.0, 0.0), (0.8, 0.3), (0.7, 0.4), (0.65, 0.45))
    assert protocol.UCI_DATASETS == (
        "spambase", "phoneme", "phishing", "waveform", "susy", "w8a", "adult", "twonorm", "mushroom")  # fmt: skip
    assert protocol.TRIALS == 20
    printed = protocol.PRINTED
    assert (printed.n_positive, printed.n_negative, printed.n_test, printed.hidden_units) == (500, 500, 500, 500)
    assert (printed.epochs, printed.batch_size, printed.learning_rate, printed.weight_decay) == (100, 500, 1e-3, 0)
    assert replace(printed, weight_decay=0.05) == protocol.MATCHED
    assert set(protocol.UCI_DATASETS) <= set(sl.datasets.list_datasets())


def test_names_and_orders_are_those_of_the_published_tables():
    path = os.environ.get("SYMLOSS_PAPER_TABLES")
    if not path:
        pytest.skip("set SYMLOSS_PAPER_TABLES to a CSV file of the published cells")
    with Path(path).open() as file:
        cells = [row for row in csv.DictReader(file) if row["family"] == "uci"]

    def order(*columns):
        return list(dict.fromkeys(tuple(row[column] for column in columns) for row in cells))

    assert order("dataset") == [(name,) for name in protocol.UCI_DATASETS]
    assert order("pi", "pi_prime") == [(str(pi), str(pi_prime)) for pi, pi_prime in protocol.NOISES]
    assert order("loss") == [(loss.name.replace("barrier_hinge", "barrier"),) for loss in protocol.LOSSES]
    assert order("objective") == [(name,) for name in RISKS]
    for name, dim in order("dataset", "dim"):
        assert sl.datasets.info(name).dim == int(dim)


def test_a_cell_holds_a_score_a_trial(data):
    found = run_trials(*data, 0.8, 0.3, trials=3, settings=QUICK)
    assert list(found) == ["ber", "auc"]
    assert all(list(of_losses) == [loss.name for loss in protocol.LOSSES] for of_losses in found.values())
    scores = np.array([list(of_losses.values()) for of_losses in found.values()])
    assert scores.shape == (2, 7, 3)
    assert 80 < scores.mean() <= 100


def test_a_trial_depends_on_its_identity_alone(data):
    def scores(pi=0.8, pi_prime=0.3, losses=protocol.LOSSES, **others):
        return run_trials(*data, pi, pi_prime, losses, **{"trials": 2, "settings": QUICK, "name": "a", **others})

    every = scores()
    assert scores() == every
    assert scores(losses=protocol.LOSSES[3:1:-1], risks=["auc"], trials=1) == {
        "auc": {"logistic": every["auc"]["logistic"][:1], "sigmoid": every["auc"]["sigmoid"][:1]}
    }
    for other in ({"seed": 1}, {"name": "b"}, {"pi": 0.9}, {"pi_prime": 0.2}):
        assert scores(**other) != every


def test_ones_own_loss_beside_the_papers(data):
    found = run_trials(*data, 1.0, 0.0, [Tangent(), sl.Hinge()], trials=1, settings=QUICK)
    assert 80 < found["auc"][label(Tangent())][0] <= 100
    assert found["ber"]["hinge"] == run_trials(*data, 1.0, 0.0, [sl.Hinge()], trials=1, settings=QUICK)["ber"]["hinge"]


def test_a_training_that_diverges_has_no_score_and_spoils_no_other(data):
    found = run_trials(*data, 1.0, 0.0, [Diverging(), sl.Hinge()], trials=1, settings=QUICK)
    assert np.isnan(found["ber"][label(Diverging())]).all()
    assert np.isfinite(found["ber"]["hinge"]).all()


def test_losses_of_one_name_are_refused(data):
    with pytest.raises(ValueError, match="different names, got barrier_hinge, barrier_hinge"):
        run_trials(*data, 1.0, 0.0, [sl.BarrierHinge(), sl.BarrierHinge(b=200, r=50)])


def test_features_are_standardized_on_the_training_points():
    rng = np.random.default_rng(0)
    train, test = rng.normal(5, 3, size=(50, 4)), rng.normal(5, 3, size=(20, 4))
    train[:, 2] = 0.1  # a constant
    found_train, found_test = standardized(train, test)
    np.testing.assert_allclose(found_train[:, [0, 1, 3]].mean(0), 0, atol=1e-6)
    np.testing.assert_allclose(found_train[:, [0, 1, 3]].std(0, correction=0), 1, rtol=1e-6)
    np.testing.assert_allclose(found_test[:, 2], test[:, 2] - 0.1, rtol=1e-5)
    assert found_train.dtype == found_test.dtype == torch.float32
