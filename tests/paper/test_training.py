"""Training: hand-written gradients against autograd, and each perceptron as if it were trained alone."""

import copy
import warnings

import numpy as np
import pytest
import torch

import symloss as sl
from symloss.functional import auc_risk, ber_risk
from symloss.models import Perceptron
from symloss.paper.convolutional.batches import classes_of
from symloss.paper.training import Risk, train
from symloss.paper.training.first_layer import DensePoints, SparsePoints, points_of
from symloss.paper.training.risks import Classes

PAPER = ["barrier_hinge", "unhinged", "sigmoid", "logistic", "hinge", "squared", "savage"]
BOTH = [Risk(risk, sl.get_loss(name)) for risk in ("ber", "auc") for name in PAPER]


class Tangent(sl.Loss):
    def value(self, z):
        return (2 * torch.atan(z) - 1) ** 2


def problem(trials=1, n=60, d=4, seed=0):
    generator = torch.Generator().manual_seed(seed)
    y = torch.where(torch.rand(trials, n, generator=generator) < 0.5, 1, -1)
    return y[..., None] + 2 * torch.randn(trials, n, d, generator=generator), y


def risk_of(risk, scores, y):
    """The risk by its definition."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sl.functional.MissingClassWarning)
        if risk.name == "ber":
            return 2 * ber_risk(scores, y, risk.loss)  # R_pos + R_neg: no factor 1/2
        return auc_risk(scores, y, risk.loss)


def plainly_trained(X, y, risk, seed, epochs, batch_size, hidden_units, weight_decay):
    """One perceptron by autograd and torch's own Adam, on the batches that ``train`` draws."""
    generator = np.random.default_rng(seed)
    model = Perceptron(X.shape[1], hidden_units, generator)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, amsgrad=True, weight_decay=weight_decay)
    for _ in range(epochs):
        for rows in torch.from_numpy(generator.permutation(len(X))).split(batch_size):
            optimizer.zero_grad()
            risk_of(risk, model(X[rows]), y[rows]).backward()
            optimizer.step()
    return model


def assert_alike(found, expected):
    """Equal to rounding, but for the bias under the AUC: its gradient is zero, and Adam makes steps of its rounding."""
    for part, other in zip(found.layers[:2], expected.layers[:2], strict=True):
        torch.testing.assert_close(part, other, rtol=1e-3, atol=1e-4)
    ber = len(found) // 2
    torch.testing.assert_close(found.layers.bias[:ber], expected.layers.bias[:ber], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("risk", ["ber", "auc"])
@pytest.mark.parametrize("loss", [*map(sl.get_loss, sl.list_losses()), sl.BarrierHinge(b=10, r=1), Tangent()], ids=repr)
def test_gradient_by_the_scores_against_autograd(risk, loss):
    risk, scores, positives = Risk(risk, loss), torch.randn(5, 40), [20, 13, 30, 40, 0]
    scores[0, :8] = scores[0, 25:33]  # pairs at z = 0 exactly
    scores[1] = scores[1].round()  # and at corners
    found = risk.gradient(scores, Classes.of(positives, 40))
    for row, count in enumerate(positives):
        leaf = scores[row].clone().requires_grad_()
        risk_of(risk, leaf, torch.arange(40) < count).backward()
        torch.testing.assert_close(found[row], leaf.grad, rtol=1e-5, atol=1e-6 * float(leaf.grad.abs().max()))


@pytest.mark.parametrize("loss", ["sigmoid", "hinge", "squared"])
def test_gradient_of_pairs_one_by_one_against_autograd(loss):
    sign = torch.tensor([1.0, -1.0]).repeat_interleave(6).repeat(3, 1)
    sign[1, [4, 5, 10, 11]] = 0.0  # empty places of a last batch
    sign[2, 6:] = 0.0  # a class is missing
    scores = torch.randn(3, 12, dtype=torch.float64, requires_grad=True)
    margins = scores[:, :6] - scores[:, 6:]
    means = [sl.get_loss(loss)(margins[0]).mean(), sl.get_loss(loss)(margins[1, :4]).mean()]
    (expected,) = torch.autograd.grad(sum(means), scores)
    found = Risk("auc", sl.get_loss(loss), one_by_one=True).gradient(scores.detach(), classes_of(sign.double()))
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("risk", [*BOTH, Risk("auc", Tangent())], ids=str)
def test_training_equals_autograd_and_adam(risk):
    X, y = problem()
    found = train(X, y, [risk], [3], hidden_units=30, epochs=20, batch_size=25, weight_decay=0.05)
    expected = plainly_trained(X[0], y[0], risk, 3, 20, 25, 30, 0.05)
    torch.testing.assert_close(found(X[0])[0], expected(X[0]), rtol=1e-3, atol=1e-3)


def test_each_perceptron_comes_out_as_if_trained_alone():
    X, y = problem(trials=3)
    settings = {"hidden_units": 20, "epochs": 5, "batch_size": 25, "weight_decay": 0.05}
    together = train(X, y, BOTH, [0, 1, 2], **settings)
    assert len(together) == 3 * len(BOTH)
    for j, t in ((0, 0), (5, 1), (8, 2), (13, 1)):
        alone = train(X[t : t + 1], y[t : t + 1], [BOTH[j]], [t], **settings)
        assert torch.equal(together.rows[j * 3 + t], alone.rows[0])


def test_what_else_is_trained_changes_no_bit():
    X, y = problem()
    settings = {"hidden_units": 20, "epochs": 5, "batch_size": 25}
    every, some = (train(X, y, part, [0], **settings) for part in (BOTH, BOTH[10:2:-3]))
    assert torch.equal(every.rows[[10, 7, 4]], some.rows)


def test_all_perceptrons_at_once_as_on_a_gpu():
    X, y = problem(trials=3)
    settings = {"hidden_units": 20, "epochs": 5, "batch_size": 25, "weight_decay": 0.05}
    apart, stacked = (train(X, y, BOTH, [0, 1, 2], stacked=stacked, **settings) for stacked in (False, True))
    assert_alike(stacked, apart)


def test_a_seed_determines_the_result():
    X, y = problem()
    one, two, other = (train(X, y, BOTH[:2], [seed], epochs=2) for seed in (5, 5, 6))
    assert torch.equal(one.rows, two.rows)
    assert not torch.equal(one.rows, other.rows)


def test_sparse_features_give_what_dense_ones_give():
    X = torch.where(torch.rand(50, 40) < 0.05, torch.randn(50, 40), torch.randn(40))  # a usual value a column
    y = torch.arange(50) % 2
    hidden = torch.empty(1, 20, 7)
    assert isinstance(points_of(X[None], 1, hidden), SparsePoints)
    dense, sparse = DensePoints(X[None], 1, hidden), SparsePoints(X, X.median(0).values)
    rows, weights = torch.randperm(50)[None, :20], torch.randn(1, 41, 7)
    by_scores, mask = torch.randn(1, 20), (torch.randn(1, 20, 7) > 0).float()
    results = []
    for features in (dense, sparse):
        batch, out = features.batch(rows), torch.empty(1, 41, 7)
        product = batch.times(weights).clone()
        batch.transposed_times(by_scores, mask, out)
        results.append((product, out))
    for expected, found in zip(*results, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    settings = {"hidden_units": 20, "epochs": 5, "batch_size": 20}
    sparse, dense = (train(X[None], y[None], BOTH[2:4], [0], stacked=stacked, **settings) for stacked in (False, True))
    torch.testing.assert_close(sparse(X), dense(X), rtol=1e-3, atol=1e-4)


def test_batches_that_lack_a_class_do_no_harm():
    X, y = problem(n=12)
    y[0, :] = -1
    y[0, 0] = 1  # of four batches at most one holds both classes
    stack = train(X, y, BOTH, [0], hidden_units=10, epochs=3, batch_size=3)
    assert stack(X[0]).isfinite().all()
    untouched = train(X, torch.ones_like(y), [BOTH[9]], [0], hidden_units=10, epochs=3, batch_size=3)
    torch.testing.assert_close(untouched.perceptron(0).hidden.weight, Perceptron(4, 10, 0).hidden.weight)


def test_weight_decay_is_added_to_the_gradient():
    X, y = problem(n=10)
    lone = torch.ones_like(y)  # the AUC risk has no gradient: what is left is the decay
    start, end = Perceptron(4, 10, 0), train(X, lone, [BOTH[9]], [0], hidden_units=10, epochs=1, weight_decay=0.1)
    expected = copy.deepcopy(start)
    optimizer = torch.optim.Adam(expected.parameters(), lr=1e-3, amsgrad=True)
    for parameter in expected.parameters():
        parameter.grad = 0.1 * parameter.detach()
    optimizer.step()
    torch.testing.assert_close(end.perceptron(0).hidden.weight, expected.hidden.weight)


def test_says_what_is_wrong():
    X, y = problem()
    with pytest.raises(ValueError, match="risk must be one of ber, auc, got 'roc'"):
        Risk("roc", sl.Hinge())
    with pytest.raises(ValueError, match=r"needs y of shape \(1, 60\) and 1 random states, got \(60,\) and 1"):
        train(X, y[0], BOTH, [0])
    with pytest.raises(ValueError, match=r"1 random states, got .* and 2"):
        train(X, y, BOTH, [0, 1])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_agrees_with_the_cpu():
    X, y = problem(trials=3)
    settings = {"hidden_units": 20, "epochs": 5, "batch_size": 25, "weight_decay": 0.05}
    cpu, cuda = (train(X.to(device), y.to(device), BOTH, [0, 1, 2], **settings) for device in ("cpu", "cuda"))
    # Adam makes whole steps of the rounding of gradients that are zero, so parameters may differ where scores do not.
    found, expected = (stack.cpu()(X.repeat(len(BOTH), 1, 1)).detach() for stack in (cuda, cpu))
    found, expected = (scores - scores.mean(1, keepdim=True) for scores in (found, expected))
    torch.testing.assert_close(found, expected, rtol=0, atol=0.02)
