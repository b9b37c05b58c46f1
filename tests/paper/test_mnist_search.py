"""The steps of benchmarks/mnist_search.py, against PyTorch's own gradients and optimizer."""

import csv
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional as F  # noqa: N812

import symloss as sl
from symloss.losses import Savage, Sigmoid
from symloss.paper.convolutional import Architecture, NetworkStack
from symloss.paper.convolutional.batches import classes_of
from symloss.paper.convolutional.network import NetworkLayers, state_dict
from symloss.paper.convolutional.patches import Patches

BENCHMARKS = Path(sl.__file__).parents[2] / "benchmarks"
SMALL = Architecture(1, 16, 2, 3, 8, 4)


@pytest.fixture(scope="module")
def search():
    if not BENCHMARKS.is_dir():
        pytest.skip("the benchmarks are not installed")
    sys.path.insert(0, str(BENCHMARKS))
    import mnist_search

    yield mnist_search
    sys.path.remove(str(BENCHMARKS))


def _stack_and_step(search, settings, rows):
    draw = np.random.default_rng(0)
    layers = [search.drawn_layers(SMALL, name, draw) for name in ("uniform", "lecun", "he")]
    margin = torch.tensor([setting.margin for setting in settings])[:, None]
    risks = [search.SearchRisk(row, loss, margin) for row in rows for loss in (Sigmoid(), Savage())]
    stack = NetworkStack(SMALL, layers * len(risks))
    generator = torch.Generator().manual_seed(3)
    return stack, search.SearchStep(stack, risks, (Patches(), Patches()), torch.float32, generator, settings)


def _score(network, images, masks, relu):
    x = images.permute(0, 3, 1, 2)
    for layer in (network.first, network.second):
        x = F.max_pool2d(layer(x), 2)
        x = x.relu() if relu else x
    before, after, last = masks
    side = SMALL.pooled[1]
    x = x.flatten(1) * before.unflatten(1, (side, side, -1)).permute(0, 3, 1, 2).flatten(1)
    x = network.narrow(network.wide(x).relu() * after).relu() * last
    return network.output(x).squeeze(1)


def _risk(row, loss, pos, neg):
    if row == "ber":
        return loss(pos).mean() + loss(-neg).mean()
    return loss(pos - neg).mean() if row == "auc: one by one" else loss(pos[:, None] - neg).mean()


def test_gradients_are_those_of_autograd_for_every_row_and_setting(search):
    settings = [
        search.Setting(),
        search.Setting(relu=True, margin=2.0, dropout=(0.5, 0.5, 0.5)),
        search.Setting(dropout=(0.0, 0.0, 0.0), margin=0.5),
    ]
    stack, step = _stack_and_step(search, settings, search.ROWS)
    images = torch.randn(3, 6, 16, 16, 1, generator=torch.Generator().manual_seed(0))
    sign = torch.tensor([[1.0, 1, 1, -1, -1, -1], [1, 1, 0, -1, -1, 0], [1, 1, 1, -1, -1, -1]])
    state = step.generator.get_state()
    step.write_gradients(images, classes_of(sign))
    step.generator.set_state(state)
    masks = step.masks(6)
    for j, risk in enumerate(step.risks):
        for t, setting in enumerate(settings):
            network = stack.network(j * len(settings) + t)
            scores = setting.margin * _score(network, images[t], [mask[t] for mask in masks], setting.relu)
            _risk(risk.row, risk.loss, scores[sign[t] > 0], scores[sign[t] < 0]).backward()
            ours = state_dict(NetworkLayers(*(part[j * len(settings) + t] for part in step.gradients)), SMALL)
            for name, parameter in network.named_parameters():
                torch.testing.assert_close(ours[name], parameter.grad, rtol=1e-3, atol=1e-6)


def test_every_network_has_its_own_optimizer(search):
    settings = [
        search.Setting(),
        search.Setting(1e-3, amsgrad=False, eps=1e-4, momentum=0.5, second=0.9, weight_decay=0.05),
        search.Setting(3e-4, momentum=0.0, second=0.99),
    ]
    stack, step = _stack_and_step(search, settings, search.ROWS[:1])
    optimizer = search.SearchAdam(stack, step, settings, kernels=False)
    theirs = [[part[k].clone().requires_grad_() for part in stack.layers] for k in range(3)]
    adams = [
        torch.optim.Adam(
            parts, setting.learning_rate, (setting.momentum, setting.second), setting.eps, setting.weight_decay,
            setting.amsgrad,
        )
        for setting, parts in zip(settings, theirs, strict=True)
    ]  # fmt: skip
    generator = torch.Generator().manual_seed(0)
    for size in (1.0, 5.0, 1.0, 0.1):
        step.gradient.copy_(size * torch.randn(step.gradient.shape, generator=generator))
        optimizer.step()
        for k, adam in enumerate(adams):
            for part, gradient in zip(theirs[k], step.gradients, strict=True):
                part.grad = gradient[k].clone()
            adam.step()
    for k, parts in enumerate(theirs):
        for ours, part in zip(stack.layers, parts, strict=True):
            torch.testing.assert_close(ours[k], part.detach(), rtol=1e-5, atol=1e-6)


def test_the_nearest_way_of_scoring_is_found(search):
    noise, published = search.NOISES[-1], {"sigmoid": 92.2, "savage": 90.6}
    curves = {
        search.Curve("near", *noise, trial, search.ROWS[1], loss): {2: (50.0, mean + off), 4: (50.0, 99.0)}
        for loss, mean in published.items()
        for trial, off in enumerate((-1.0, 1.0))
    }
    fits = search.all_fits(curves)
    (rms, way) = search.totals(fits, search.ROWS[1:2])["near"]
    assert rms == pytest.approx(0.0, abs=1e-9)
    assert way == "epoch 2, dropout on"


def test_variants_of_the_ablation_and_the_comparison_in_bfloat16_take_all_pairs(search):
    import bfloat16
    import mnist_ablation

    assert mnist_ablation.VARIANTS
    assert not any(settings.one_by_one for settings in mnist_ablation.VARIANTS.values())
    assert not any(settings.one_by_one for *_, settings in bfloat16.PAIRS)


def test_the_summary_has_the_screen_of_one_trial_and_the_finalists_of_all(search, tmp_path, capsys):
    wave = search.WAVES["pairs"]
    ours, other = (search.name_of(setting, wave) for setting in wave.settings[:2])
    names = [loss.name for loss in search.LOSSES]
    curves = {}
    for row in wave.rows:
        for name, noises, trials, losses in (
            (ours, search.NOISES, 2, names),
            (other, search.NOISES[-1:], 1, [name for name in names if name != "hinge"]),
        ):
            for noise in noises:
                for trial in range(trials):
                    for loss in losses:
                        paper = search.find_published("mnist", "mnist", row[:3], *noise, loss).mean
                        away = 3.0 if name == other else 4.0 * trial  # 0 and 4: 2 in the mean
                        at = {2: (50.0, paper + 1.0), 50: (50.0, paper + away)}
                        curves[search.Curve(name, *noise, trial, row, loss)] = at
    lines = search.summaries(curves)
    found = {(line.setting, line.pi, line.row[:3], line.trials): line for line in lines}
    assert len(lines) == len(found) == 2 * 2 + 4 * 2
    for risk in ("ber", "auc"):
        screened, away = found[ours, 0.65, risk, 1], found[other, 0.65, risk, 1]
        assert (screened.wave, screened.rms, screened.nearest) == ("pairs", pytest.approx(0), pytest.approx(0))
        assert "hinge" not in screened.scores
        assert (away.rms, away.nearest, away.way) == (pytest.approx(3), pytest.approx(1), "epoch 2, dropout on")
        for noise in search.NOISES:
            assert found[ours, noise[0], risk, 2].rms == pytest.approx(2)
    search.write_summary(tmp_path / "summary.csv", lines)
    rows = (tmp_path / "summary.csv").read_text().splitlines()
    assert len(rows) == 1 + len(lines)
    assert f'pairs,"{other}",0.65,ber,1,3.00,95.8,53.0,86.1,67.0,,76.0,66.9,1.00,"epoch 2, dropout on"' in rows
    search.print_summary(lines)
    table = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[0] for line in table[2:]] == ["| `script`", "| `learning_rate=0.0002`"]


def test_the_page_has_the_settings_of_the_committed_summary():
    path = BENCHMARKS / "results" / "mnist_search.csv"
    if not path.is_file():
        pytest.skip("the results are only in the repository")
    page = (BENCHMARKS.parent / "docs" / "reproduction" / "images.md").read_text(encoding="utf-8")
    with path.open(newline="") as stream:
        lines = [line for line in csv.DictReader(stream) if line["row"] != "ber" and line["trials"] == "1"]
    assert len(lines) == 44
    for line in lines:
        scores = [line[name] for name in ("barrier_hinge", "unhinged", "sigmoid", "logistic", "squared", "savage")]
        (shown,) = (row for row in page.splitlines() if f" | {' | '.join(scores)} | " in row)
        assert f"`{line['setting'].split(',')[0]}" in shown
        assert line["way"] in shown
