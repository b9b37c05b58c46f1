"""Cells of MNIST and CIFAR-10 on made-up images: how networks are scored, and how corrupted labels choose an epoch."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

import symloss as sl
from symloss.paper import protocol
from symloss.paper.convolutional import Architecture
from symloss.paper.images import _draws, _summary, choose_epochs, halves, load_images, run_image_trials, validation_size
from symloss.paper.results import PUBLISHED
from symloss.paper.training import Risk

sys.path.insert(0, str(Path(__file__).parent))
from made_up_images import QUICK, made_up_images

RISKS = [Risk(risk, loss) for risk in ("ber", "auc") for loss in (sl.Sigmoid(), sl.Squared())]
SMALL = Architecture(3, 16, 4, 6, 16, 8)


class Exploding(sl.Loss):
    def value(self, z):
        return z * torch.nan


def drawn_scores(y, epochs=6, trials=3, seed=0):
    """Scores that tell the classes apart a little, more so in some epochs; and how the test images are split."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(epochs, len(RISKS), trials, len(y))) + 0.3 * rng.random((epochs, 1, 1, 1)) * y
    folds = [halves(y, 0.8, 0.3, np.random.default_rng(trial)) for trial in range(trials)]
    return torch.from_numpy(scores).float(), folds


def run(images, **changes):
    options = {"losses": [sl.Sigmoid(), sl.Squared()], "trials": 2, "name": "x", "architecture": SMALL} | changes
    return run_image_trials(images, 0.8, 0.3, options.pop("settings", QUICK), **options)


@pytest.fixture(scope="module")
def images():
    return made_up_images(side=16)


def test_settings_are_the_papers():
    assert (protocol.MNIST.n_positive, protocol.CIFAR10.n_positive) == (15_000, 4540)
    assert protocol.IMAGE_TRIALS == 10
    assert sl.datasets.info("cifar10").label_names[1:] == protocol.CIFAR10_PAIRS
    assert Architecture().features == 5 * 5 * 48


@pytest.mark.parametrize(("pi", "pi_prime"), protocol.NOISES)
def test_the_halves_of_the_test_images_are_disjoint_and_corrupted_as_asked(pi, pi_prime):
    y = np.repeat([1, -1], [1000, 1100])
    first, second = halves(y, pi, pi_prime, np.random.default_rng(0))
    for half, other in ((first, second), (second, first)):
        chooses = np.concatenate([half.corrupted_positive, half.corrupted_negative])
        scored = np.concatenate([half.positive, half.negative])
        assert len(set(chooses)) == len(chooses)
        assert not set(chooses) & set(scored)
        assert set(chooses) <= set(other.positive) | set(other.negative)
        assert (y[half.positive] == 1).all()
        assert (y[half.negative] == -1).all()
        assert len(half.corrupted_positive) == len(half.corrupted_negative) >= 454
        for rows, share in ((half.corrupted_positive, pi), (half.corrupted_negative, pi_prime)):
            assert np.mean(y[rows] == 1) == pytest.approx(share, abs=1 / len(rows))
    assert len(first.positive) + len(second.positive) == 1000


def test_as_many_images_as_suffice():
    for pi, pi_prime in protocol.NOISES:
        n = validation_size(pi, pi_prime, 500, 550)
        for size, fits in ((n, True), (n + 1, False)):
            taken = round(pi * size) + round(pi_prime * size)
            assert (taken <= 500 and 2 * size - taken <= 550) is fits


def test_the_epoch_is_chosen_on_one_half_and_scored_on_the_other():
    y = np.repeat([1, -1], 40)
    scores, folds = drawn_scores(y)
    parts = [choose_epochs(scores, [(fold[side],) * 2 for fold in folds], RISKS) for side in (0, 1)]
    for found, both in zip(choose_epochs(scores, folds, RISKS), zip(*parts, strict=True), strict=True):
        torch.testing.assert_close(found, sum(both) / 2)
    for side, (chosen, epoch, corrupted) in enumerate(parts):
        for j, risk in enumerate(RISKS):
            measure = roc_auc_score if risk.name == "auc" else lambda truth, s: balanced_accuracy_score(truth, s > 0)
            for t, fold in enumerate(folds):
                on_corrupted, clean = (
                    [100 * measure(np.repeat([1, 0], list(map(len, rows))), s[np.concatenate(rows)].numpy())
                     for s in scores[:, j, t]]
                    for rows in (fold[side][:2], fold[side][2:])
                )  # fmt: skip
                best = int(epoch[j, t].item()) - 1
                assert on_corrupted[best] == pytest.approx(max(on_corrupted))
                assert chosen[j, t].item() == pytest.approx(clean[best])
                np.testing.assert_allclose(corrupted[:, j, t], on_corrupted)


def test_what_is_scored_has_no_say_in_the_choice_and_what_chooses_none_in_the_score():
    y = np.repeat([1, -1], 40)
    scores, folds = drawn_scores(y)
    # One fold only, in both places, so that the other half is never what chooses.
    same = [(first, first) for first, _ in folds]
    _, epoch, corrupted = choose_epochs(scores, same, RISKS)
    for t, (first, _) in enumerate(folds):
        changed = scores.clone()
        changed[:, :, t, np.concatenate([first.positive, first.negative])] *= -3
        _, again, corrupted_again = choose_epochs(changed, same, RISKS)
        assert torch.equal(again, epoch)
        assert torch.equal(corrupted_again, corrupted)
    # The labels of the images that choose enter as corrupted ones only: let their scores all be alike but in epoch 4.
    for t, (first, _) in enumerate(folds):
        rows = np.concatenate([first.corrupted_positive, first.corrupted_negative])
        for shift in (0.0, 100.0):
            changed = scores.clone()
            changed[:, :, t, rows] = shift
            changed[3, :, t, first.corrupted_positive] = 1.0 + shift
            changed[3, :, t, first.corrupted_negative] = -1.0 - shift
            found, number, _ = choose_epochs(changed, same, RISKS)
            assert (number[:, t] == 4).all()
            pos, neg = (changed[3, :, t, side] for side in (first.positive, first.negative))
            for j, risk in enumerate(RISKS):
                expected = (
                    (pos[j, :, None] > neg[j]).double().mean()
                    if risk.name == "auc"
                    else ((pos[j] > 0).double().mean() + (neg[j] < 0).double().mean()) / 2
                )
                assert found[j, t].item() == pytest.approx(100 * expected.item())


def test_the_epoch_is_chosen_with_dropout_off_and_the_published_score_is_with_dropout_on():
    y = np.repeat([1, -1], 20)
    good = torch.from_numpy(y).float()
    off, on = torch.stack([-good, good, -good]), torch.stack([good, -good, good])
    scores = torch.stack([off, on])[:, :, None, None].expand(-1, -1, len(RISKS), 1, -1)
    found = _summary(scores, y, [halves(y, 1.0, 0.0, np.random.default_rng(0))], RISKS)
    for risk in RISKS:
        at = risk.name, risk.loss.name
        assert found["epoch"].scores[at[0]][at[1]] == [2.0]
        assert found["chosen_epoch"].scores[at[0]][at[1]] == [100.0]
        assert found["dropout_off"].scores[at[0]][at[1]] == [0.0]
        assert found[PUBLISHED].scores[at[0]][at[1]] == [100.0]


def test_of_epochs_that_are_as_good_it_is_the_earliest_and_never_one_that_diverged():
    y = np.repeat([1, -1], 20)
    scores = torch.from_numpy(y).float().expand(5, len(RISKS), 1, -1).clone()
    scores[0] = torch.nan
    _, epoch, _ = choose_epochs(scores, [halves(y, 1.0, 0.0, np.random.default_rng(0))], RISKS)
    assert (epoch == 2).all()


def test_a_cell_holds_every_trial_curve_and_way_of_scoring(images):
    found = run(images)
    of = {part: {way: getattr(of, part) for way, of in found.items()} for part in ("scores", "curves", "errors")}
    of = {part: {way: numbers for way, numbers in ways.items() if numbers} for part, ways in of.items()}
    assert set(of["scores"]) == {PUBLISHED, "dropout_off", "chosen_epoch", "epoch"}
    assert set(of["curves"]) == {PUBLISHED, "dropout_off", "corrupted"}
    assert set(of["errors"]) == {PUBLISHED, "dropout_off"}
    for risk in ("ber", "auc"):
        for loss in ("sigmoid", "squared"):
            for scores in of["scores"].values():
                assert len(scores[risk][loss]) == 2
            for curves in (*of["curves"].values(), *of["errors"].values()):
                assert len(curves[risk][loss]) == QUICK.epochs
            for way in (PUBLISHED, "dropout_off"):
                last, curve, errors = (of[part][way][risk][loss] for part in ("scores", "curves", "errors"))
                assert np.mean(last) == pytest.approx(curve[-1])
                assert errors[-1] == pytest.approx(np.std(last, ddof=1) / 2**0.5)
            assert all(1 <= number <= QUICK.epochs for number in of["scores"]["epoch"][risk][loss])


def test_networks_learn_what_tells_the_images_apart(images):
    found = run(images, settings=replace(QUICK, epochs=10))
    assert np.mean(found["dropout_off"].scores["auc"]["squared"]) > 80


def test_without_dropout_a_trial_depends_on_its_number_and_its_seed_alone(images):
    still = replace(SMALL, dropout=0.0)
    three, two = (run(images, trials=trials, architecture=still)[PUBLISHED].scores for trials in (3, 2))
    np.testing.assert_allclose(three["auc"]["sigmoid"][:2], two["auc"]["sigmoid"], atol=1e-3)
    other = run(images, seed=1, architecture=still)[PUBLISHED].scores
    assert other["auc"]["sigmoid"] != two["auc"]["sigmoid"]


def test_what_diverged_is_nan_in_its_trials_and_chance_in_the_curves(images):
    found = run(images, losses=[Exploding()])[PUBLISHED]
    (values,) = found.scores["auc"].values()
    assert np.isnan(values).all()
    (curve,) = found.curves["auc"].values()
    assert curve == [50.0] * QUICK.epochs


def test_mnist_is_padded_and_even_digits_are_positive(monkeypatch):
    class Split:
        def __init__(self, n):
            self.data, self.target = np.ones((n, 1, 28, 28), np.uint8), np.tile([1, -1], n // 2)

    monkeypatch.setattr("symloss.datasets.load", lambda name, split, download: Split(6 if split == "train" else 4))
    load_images.cache_clear()
    found = load_images("mnist", "mnist")
    load_images.cache_clear()
    assert found.train.shape == (6, 1, 32, 32)
    assert found.test.shape == (4, 1, 32, 32)
    assert found.train[0, 0, :2].sum() == 0
    assert found.train[0, 0, 2:30, 2:30].min() == 1


def test_airplanes_are_positive(monkeypatch):
    shades = {"airplane": 1, "horse": 2}
    monkeypatch.setattr(
        "symloss.datasets.load_cifar10_class",
        lambda name, download: tuple(np.full((n, 3, 32, 32), shades[name], np.uint8) for n in (5, 2)),
    )
    load_images.cache_clear()
    found = load_images("cifar10", "horse")
    load_images.cache_clear()
    for pixels, y in ((found.train, found.y_train), (found.test, found.y_test)):
        assert y.tolist() == np.where(pixels[:, 0, 0, 0] == 1, 1, -1).tolist()
        assert (y == 1).sum() == len(y) / 2


def test_given_draws_replace_the_random_ones(images):
    still = {"architecture": replace(SMALL, dropout=0.0), "losses": [sl.Squared()]}
    rows, y = _draws(images.y_train, 0.8, 0.3, QUICK, [np.random.default_rng(trial) for trial in range(2)])
    drawn = run(images, draws=(rows, y), **still)[PUBLISHED].scores
    assert drawn != run(images, **still)[PUBLISHED].scores
    assert drawn != run(images, draws=(rows, -y), **still)[PUBLISHED].scores
    assert drawn == run(images, draws=(rows.copy(), y.copy()), **still)[PUBLISHED].scores
