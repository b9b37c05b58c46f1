"""A stack of networks against one network at a time; by kernels only where there is a GPU."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from symloss.paper.convolutional import Architecture, NetworkStack, TrainingSettings, _both_ways, train_networks
from symloss.paper.convolutional.network import initial_layers
from symloss.paper.convolutional.step import has_kernels, make_step

sys.path.insert(0, str(Path(__file__).parent))
from references import RISKS, TRAINING, exact_convolutions, forward, gradient_errors, train_alone

SMALL = Architecture(3, 16, 6, 8, 32, 16)


def drawn(side=16, seed=0):
    rng = np.random.default_rng(seed)
    images = torch.from_numpy(rng.integers(0, 256, (60, 3, side, side), dtype=np.uint8))
    rows = np.stack([rng.permutation(60)[:40] for _ in range(2)])
    return images, rows, np.tile([1, -1], (2, 20))


def needs_kernels():
    if not has_kernels(torch.device("cuda" if torch.cuda.is_available() else "cpu")):
        pytest.skip("no Triton")


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(("dtype", "limit"), [(torch.float64, 1e-12), (torch.float32, 1e-4)])  # 1e3 to 1e4 roundings
def test_gradients_are_autograds(channels, dtype, limit):
    assert max(gradient_errors(replace(SMALL, channels=channels), dtype=dtype).values()) < limit


@pytest.mark.parametrize("balanced", [False, True])
def test_networks_come_out_as_if_trained_alone(balanced):
    images, rows, y = drawn()
    architecture, training = replace(SMALL, dropout=0.0), replace(TRAINING, balanced=balanced)
    trained = train_networks(images, rows, y, images, RISKS, [5, 6], architecture, training)
    pixels = (images / 255 - torch.tensor(training.mean)[:, None, None]) / torch.tensor(training.sd)[:, None, None]
    for k in range(len(trained.stack)):
        j, t = divmod(k, 2)
        model = train_alone(images, rows[t], y[t], RISKS[j], 5 + t, architecture, training)
        with torch.no_grad():
            scores = model(pixels)
            again = trained.stack.network(k).eval()(pixels)
        for found in (trained.scores[0, -1, j, t], trained.scores[1, -1, j, t], again):
            torch.testing.assert_close(found, scores, rtol=0, atol=5e-3 * float(scores.std()))


def test_a_network_depends_on_no_other_risk():
    images, rows, y = drawn()
    of = [
        train_networks(images, rows, y, images, risks, [5, 6], SMALL, TRAINING).scores for risks in (RISKS, RISKS[3:4])
    ]
    torch.testing.assert_close(of[0][:, :, 3:4], of[1])


def test_dropout_off_and_on_differ_only_by_dropout():
    images, rows, y = drawn()
    trained = train_networks(images, rows, y, images, RISKS[:1], [5, 6], SMALL, replace(TRAINING, epochs=1))
    assert not torch.equal(*trained.scores)
    assert not torch.equal(trained.scores[0, 0, 0, 0], trained.scores[0, 0, 0, 1])


def test_scores_with_dropout_on_are_those_of_masks_drawn_for_every_image():
    trials, n = 2, 7
    initial = [initial_layers(SMALL, np.random.default_rng(trial)) for trial in range(trials)]
    stack = NetworkStack(SMALL, initial * len(RISKS))
    generator = torch.Generator().manual_seed(3)
    step, _ = make_step(stack, RISKS, generator, 1e-4, 0.0, False, torch.float32)
    images = torch.randn(n, SMALL.side, SMALL.side, SMALL.channels)
    with torch.no_grad():
        masks = step.masks(n)
        generator.manual_seed(3)
        off, on = _both_ways(step, images)
        for k in range(len(stack)):
            j, t = divmod(k, trials)
            expected, _ = forward(stack.network(k), images, [mask[t] for mask in masks])
            torch.testing.assert_close(on[j, t], expected, rtol=1e-4, atol=1e-6)
            expected, _ = forward(stack.network(k), images, [torch.ones(())] * 2)
            torch.testing.assert_close(off[j, t], expected, rtol=1e-4, atol=1e-6)
    for mask in masks:
        assert set(mask.unique().tolist()) == {0.0, 2.0}
        assert len({tuple(row.tolist()) for row in mask.flatten(0, 1)}) == trials * n


@pytest.mark.gpu
def test_kernels_gradients_are_autograds():
    needs_kernels()
    assert max(gradient_errors(Architecture(), "cuda", kernels=True).values()) < 1e-4
    assert max(gradient_errors(Architecture(1), "cuda", kernels=True, n=40).values()) < 1e-4
    low = gradient_errors(Architecture(), "cuda", kernels=True, dtype=torch.bfloat16, n=40)
    same = gradient_errors(Architecture(), "cuda", kernels=False, dtype=torch.bfloat16, n=40)
    assert all(low[name] < 1.2 * same[name] + 1e-3 for name in low)


@pytest.mark.gpu
def test_kernels_and_graph_train_as_plain_products_do():
    needs_kernels()
    images, rows, y = drawn(32)
    architecture, training = replace(Architecture(), dropout=0.0), TrainingSettings(2, 16, learning_rate=1e-4)
    cpu = train_networks(images, rows, y, images, RISKS, [5, 6], architecture, training).scores
    gpu = [
        train_networks(
            images.cuda(), rows, y, images.cuda(), RISKS, [5, 6], architecture, training, dtype=torch.float32
        ).scores.cpu()
        for _ in range(2)
    ]
    assert torch.equal(*gpu)
    torch.testing.assert_close(gpu[0], cpu, rtol=0, atol=0.02 * float(cpu.std()))


@pytest.mark.gpu
def test_kernels_train_as_one_network_at_a_time_does():
    needs_kernels()
    images, rows, y = drawn(32)
    images = images.cuda()
    architecture, training = replace(Architecture(), dropout=0.0), TrainingSettings(2, 16, learning_rate=1e-4)
    found = train_networks(images, rows, y, images, RISKS, [5, 6], architecture, training, dtype=torch.float32)
    for k in range(len(found.stack)):
        j, t = divmod(k, 2)
        model = train_alone(images, rows[t], y[t], RISKS[j], 5 + t, architecture, training)
        with torch.no_grad(), exact_convolutions():
            scores = model(images / 255)
        torch.testing.assert_close(found.scores[0, -1, j, t], scores, rtol=0, atol=0.02 * float(scores.std()))
