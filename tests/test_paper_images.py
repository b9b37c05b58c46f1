"""The reproduction on MNIST and CIFAR-10, on made-up images: a stack against one network at a time, and its scores."""

import re
from dataclasses import asdict, replace
from typing import NamedTuple

import numpy as np
import pytest
import torch
from matplotlib.colors import to_hex
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from torch import nn
from torch.nn import functional as F  # noqa: N812
from typer.testing import CliRunner

import symloss as sl
from symloss.cli import app
from symloss.drawing import COLORS
from symloss.paper import figures
from symloss.paper import run as running
from symloss.paper.compare import compare
from symloss.paper.images import (
    KERNEL,
    Architecture,
    Images,
    Layers,
    Stack,
    choose_epochs,
    convolve_and_pool,
    draw_batches,
    halves,
    has_kernels,
    load_images,
    run_image_trials,
    train_networks,
)  # fmt: skip
from symloss.paper.perceptrons import Classes, Risk
from symloss.paper.results import CIFAR10, CIFAR10_PAIRS, MNIST, NOISES, PROTOCOLS, ImageSettings, read_run, write_run

SMALL = Architecture(3, 16, 6, 8, 32, 16)
QUICK = ImageSettings(24, 24, epochs=2, batch_size=16, learning_rate=1e-3)
TRAINING = replace(QUICK, epochs=3, dropout=0.0, mean=(0.5, 0.4, 0.3), sd=(0.2, 0.3, 0.4))
RISKS = [Risk(risk, loss) for risk in ("ber", "auc") for loss in (sl.BarrierHinge(), sl.Sigmoid(), sl.Squared())]
TWO = [Risk(risk, loss) for risk in ("ber", "auc") for loss in (sl.Sigmoid(), sl.Squared())]


class Exploding(sl.Loss):
    def value(self, z):
        return z * torch.nan


class Net(nn.Module):
    """One network of the paper in plain PyTorch, with the parameters of network k of a stack."""

    def __init__(self, layers, k, sizes):
        super().__init__()
        p, side = Layers(*(part[k].detach().clone() for part in layers)), ((sizes.side - 4) // 2 - 4) // 2
        self.convolutions = nn.ParameterList()
        for matrix in (p.first, p.second):
            self.convolutions.append(matrix[:-1].unflatten(0, (KERNEL, KERNEL, -1)).permute(3, 2, 0, 1).contiguous())
            self.convolutions.append(matrix[-1].clone())
        wide = (
            p.wide.unflatten(0, (side, side, -1)).permute(2, 0, 1, 3).flatten(0, 2)
        )  # channels first, as PyTorch does
        self.linear = nn.ParameterList([wide, p.wide_bias[0], p.narrow, p.narrow_bias[0], p.output, p.output_bias[0]])

    def forward(self, images, masks=(1.0, 1.0)):
        first, a, second, b = self.convolutions
        x = F.max_pool2d(F.conv2d(F.max_pool2d(F.conv2d(images, first, a), 2), second, b), 2).flatten(1)
        wide, a, narrow, b, output, c = self.linear
        x = torch.relu(torch.relu(x @ wide + a) * masks[0] @ narrow + b) * masks[1]
        return (x @ output + c).squeeze(1)


def risk_of(risk, scores, sign):
    pos, neg = scores[sign > 0], scores[sign < 0]
    if risk.name == "ber":
        return risk.loss(pos).mean() + risk.loss(-neg).mean()
    return risk.loss(pos[:, None] - neg[None, :]).mean()


def stack_of(sizes=SMALL, trials=2, risks=RISKS, dtype=torch.float64, device="cpu", convolution=convolve_and_pool):
    initial = [sizes.initial(np.random.default_rng(trial)) for trial in range(trials)]
    parts = [torch.stack(list(of) * len(risks)).to(device, dtype) for of in zip(*initial, strict=True)]
    generator = torch.Generator(device).manual_seed(3)
    return Stack(Layers(*(of.requires_grad_() for of in parts)), trials, 0.5, generator, convolution)


@pytest.mark.parametrize("channels", [1, 3])
def test_gradients_are_autograds(channels):
    sizes = replace(SMALL, channels=channels)
    stack, images = stack_of(sizes), torch.randn(2, 5, 16, 16, channels).double()
    sign = torch.tensor([[-1.0, 1, -1, 1, 0], [-1, 1, -1, 1, -1]]).double()
    masks = stack.masks(5)
    stack.generator.manual_seed(3)
    found = stack.gradients(images, Classes.of(sign), RISKS)
    for k in range(len(RISKS) * 2):
        j, t = divmod(k, 2)
        net = Net(stack.layers, k, sizes)
        risk_of(RISKS[j], net(images[t].permute(0, 3, 1, 2), [mask[t] for mask in masks]), sign[t]).backward()
        ours = Net(Layers(*found), k, sizes)  # the gradients, in the shapes of PyTorch's parameters
        for parameter, gradient in zip(net.parameters(), ours.parameters(), strict=True):
            torch.testing.assert_close(gradient.detach(), parameter.grad, rtol=1e-9, atol=1e-11)


def drawn(seed=0):
    rng = np.random.default_rng(seed)
    images = torch.from_numpy(rng.integers(0, 256, (60, 3, 16, 16), dtype=np.uint8))
    rows = np.stack([rng.permutation(60)[:40] for _ in range(2)])
    return images, rows, np.tile([1, -1], (2, 20))


def generators():
    return [np.random.default_rng(seed) for seed in (5, 6)]


@pytest.mark.parametrize("balanced", [False, True])
def test_networks_come_out_as_if_trained_alone(balanced):
    images, rows, y = drawn()
    settings = replace(TRAINING, balanced=balanced)
    found = train_networks(images, rows, y, images, RISKS, generators(), SMALL, settings)
    mean, sd = (torch.tensor(part)[:, None, None] for part in (settings.mean, settings.sd))
    pixels = (images / 255 - mean) / sd
    for k in (0, 1, 4, 7, 11):
        j, t = divmod(k, 2)
        generator = generators()[t]
        net = Net(Layers(*(part[None] for part in SMALL.initial(generator))), 0, SMALL)
        batches = draw_batches(rows[t : t + 1], y[t : t + 1], [generator], settings)
        adam = torch.optim.Adam(net.parameters(), lr=1e-3, weight_decay=settings.weight_decay, amsgrad=True)
        for of_step, sign in zip(*(part[:, 0] for part in batches), strict=True):
            adam.zero_grad()
            risk_of(RISKS[j], net(pixels[of_step]), sign).backward()
            adam.step()
        expected = net(pixels).detach()
        for way in (0, 1):  # there is no dropout
            torch.testing.assert_close(found[way, -1, j, t], expected, rtol=0, atol=5e-3 * float(expected.std()))


def test_a_network_depends_on_no_other_risk_and_dropout_is_on_where_it_is_said():
    images, rows, y = drawn()
    settings = replace(TRAINING, dropout=0.5)
    every, some = (
        train_networks(images, rows, y, images, of, generators(), SMALL, settings) for of in (RISKS, RISKS[3:4])
    )
    torch.testing.assert_close(every[:, :, 3:4], some)
    assert not torch.equal(*every)
    stack, pixels = stack_of(), torch.randn(7, 16, 16, 3).double()
    masks = stack.masks(7)
    stack.generator.manual_seed(3)
    off, on = stack.both_ways(pixels).detach()
    for k in (0, 3, 11):
        j, t = divmod(k, 2)
        net = Net(stack.layers, k, SMALL)
        for found, drop in ((off, (1.0, 1.0)), (on, [mask[t] for mask in masks])):
            torch.testing.assert_close(found[j, t], net(pixels.permute(0, 3, 1, 2), drop).detach())
    assert {float(value) for mask in masks for value in mask.unique()} == {0.0, 2.0}


@pytest.mark.gpu
@pytest.mark.skipif(not has_kernels(torch.device("cuda" if torch.cuda.is_available() else "cpu")), reason="no Triton")
@pytest.mark.parametrize(("dtype", "limit"), [(torch.float32, 1e-4), (torch.bfloat16, 0.05)])
def test_kernels_do_what_plain_convolutions_do(dtype, limit):
    from symloss.paper.kernels import convolve_and_pool as by_kernels

    sign = torch.tensor([1.0, -1.0] * 20, device="cuda").repeat(2, 1)
    images = torch.randn(2, 40, 32, 32, 3, device="cuda")
    found = []
    for kind, convolution in ((torch.float64, convolve_and_pool), (dtype, by_kernels)):
        stack = replace(stack_of(Architecture(), dtype=kind, device="cuda", convolution=convolution), dropout=0.0)
        found.append(
            stack.gradients(
                images.to(kind), Classes.of(sign.to(kind).double().to(torch.promote_types(kind, torch.float32))), RISKS
            )
        )
    for expected, ours in zip(*found, strict=True):
        assert float((ours.double() - expected).norm() / expected.norm()) < limit


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_graph_trains_as_a_cpu_does():
    images, rows, y = drawn()
    settings = replace(TRAINING, learning_rate=1e-4)
    cpu, gpu = (
        train_networks(
            images.to(device), rows, y, images.to(device), RISKS, generators(), SMALL, settings, kernels=False
        )
        for device in ("cpu", "cuda")
    )
    torch.testing.assert_close(gpu.cpu(), cpu, rtol=0, atol=0.02 * float(cpu.std()))


# Scores and epochs


def drawn_scores(y, epochs=6, trials=3):
    """Scores that tell the classes apart a little, more so in some epochs; and how the test images are split."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(epochs, len(TWO), trials, len(y))) + 0.3 * rng.random((epochs, 1, 1, 1)) * y
    folds = [halves(y, 0.8, 0.3, np.random.default_rng(trial)) for trial in range(trials)]
    return torch.from_numpy(scores).float(), folds


@pytest.mark.parametrize(("pi", "pi_prime"), NOISES)
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
        n = len(half.corrupted_positive)
        assert n == len(half.corrupted_negative) >= 454
        for rows, share in ((half.corrupted_positive, pi), (half.corrupted_negative, pi_prime)):
            assert np.mean(y[rows] == 1) == pytest.approx(share, abs=1 / n)
        taken = round(pi * (n + 1)) + round(pi_prime * (n + 1))
        assert taken > 500 or 2 * (n + 1) - taken > 550  # there are not enough for more


def test_the_epoch_is_chosen_on_one_half_and_scored_on_the_other():
    y = np.repeat([1, -1], 40)
    scores, folds = drawn_scores(y)
    parts = [choose_epochs(scores, [(fold[side],) * 2 for fold in folds], TWO) for side in (0, 1)]
    for found, both in zip(choose_epochs(scores, folds, TWO), zip(*parts, strict=True), strict=True):
        torch.testing.assert_close(found, sum(both) / 2)
    for side, (chosen, epoch, corrupted) in enumerate(parts):
        for j, risk in enumerate(TWO):
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


def made_up_images(n=40, side=16):
    """Noise, in which the positives are brighter by half a standard deviation."""
    rng = np.random.default_rng(0)
    y = np.repeat([1, -1], n)
    parts = [rng.normal(120 + 20 * y[:, None, None, None], 60, (2 * n, 3, side, side)).clip(0, 255) for _ in range(2)]
    train, test = (torch.from_numpy(part.astype(np.uint8)) for part in parts)
    return Images(train, y, test, y)


def trials(settings=QUICK, **changes):
    options = {"losses": [sl.Sigmoid(), sl.Squared()], "trials": 2, "name": "x", "architecture": SMALL} | changes
    return run_image_trials(made_up_images(), 0.8, 0.3, settings, **options)


def test_every_trial_curve_and_way_of_scoring():
    scores, curves = trials(replace(QUICK, epochs=10))
    assert (
        scores.keys() == curves.keys() == {(risk, loss) for risk in ("ber", "auc") for loss in ("sigmoid", "squared")}
    )
    for key in scores:
        assert {way: len(of) for way, of in scores[key].items()} == dict.fromkeys(
            ("score", "dropout_off", "chosen_epoch", "chosen_at"), 2
        )
        assert set(map(len, curves[key].values())) == {10}
        for way in ("score", "dropout_off"):
            assert np.mean(scores[key][way]) == pytest.approx(curves[key][way][-1])
            assert curves[key][f"{way}_se"][-1] == pytest.approx(np.std(scores[key][way], ddof=1) / 2**0.5)
        assert all(1 <= number <= 10 for number in scores[key]["chosen_at"])
    assert np.mean(scores["auc", "squared"]["dropout_off"]) > 80  # the networks learn


def test_a_trial_depends_on_its_number_and_seed_alone_and_what_diverged_is_nan():
    still = replace(QUICK, dropout=0.0)
    three, two, other = (trials(still, **of)[0]["auc", "sigmoid"]["score"] for of in ({"trials": 3}, {}, {"seed": 1}))
    np.testing.assert_allclose(three[:2], two, atol=0.1)
    assert other != two
    scores, curves = trials(losses=[Exploding()])
    assert np.isnan(scores["auc", f"{__name__}:Exploding"]["score"]).all()
    assert curves["auc", f"{__name__}:Exploding"]["score"] == [50.0] * QUICK.epochs


def test_settings_and_images_are_the_papers(monkeypatch):
    assert (MNIST.n_positive, CIFAR10.n_positive) == (15_000, 4540)
    assert sl.datasets.info("cifar10").label_names[1:] == CIFAR10_PAIRS
    assert Architecture().initial(np.random.default_rng(0))[2].shape == (5 * 5 * 48, 800)

    class Split(NamedTuple):
        data: np.ndarray
        target: np.ndarray

    def load(name, split, download):
        n = 6 if split == "train" else 4
        return Split(np.ones((n, 1, 28, 28), np.uint8), np.tile([1, -1], n // 2))

    monkeypatch.setattr("symloss.datasets.load", load)
    monkeypatch.setattr(
        "symloss.datasets.load_cifar10_class",
        lambda name, download: tuple(np.full((n, 3, 32, 32), len(name), np.uint8) for n in (5, 2)),
    )
    load_images.cache_clear()
    digits, horses = load_images("mnist", "mnist"), load_images("cifar10", "horse")
    load_images.cache_clear()
    assert (digits.train.shape, digits.test.shape) == ((6, 1, 32, 32), (4, 1, 32, 32))
    assert digits.train[0, 0, :2].sum() == 0
    assert digits.train[0, 0, 2:30, 2:30].min() == 1
    for pixels, y in ((horses.train, horses.y_train), (horses.test, horses.y_test)):
        assert y.tolist() == np.where(pixels[:, 0, 0, 0] == len("airplane"), 1, -1).tolist()
        assert (y == 1).sum() == len(y) / 2


# The command, and figures


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setitem(PROTOCOLS, "cifar10", {"matched": QUICK})
    monkeypatch.setattr(running, "load_images", lambda *_: made_up_images())


def reproduce(*arguments):
    fixed = ["--device", "cpu", "--trials", "1"]
    command = ["reproduce", "cifar10", *fixed, *map(str, arguments)]
    return CliRunner().invoke(app, command, env={"COLUMNS": "100", "NO_COLOR": "1"})


def test_results_are_kept_completed_and_compared(quick, tmp_path):
    options = ["--pairs", "horse,cat", "--noise", "0.65,0.45", "--out", tmp_path, "--losses"]
    result = reproduce(*options, "sigmoid")
    assert result.exit_code == 0, result.output
    assert "horse (0.65, 0.45): " in result.output
    (summary,) = (line.split() for line in result.output.splitlines() if line.startswith("all  "))
    assert summary[1] == "4"  # two pairs, two risks, one loss
    before = read_run(tmp_path)
    assert (before.family, before.protocol, before.settings) == ("cifar10", "matched", plain(QUICK))
    assert before.ways == ["score", "dropout_off", "chosen_epoch"]
    assert reproduce(*options, "sigmoid").output.count("done before") == 2
    assert reproduce(*options, "sigmoid,hinge").exit_code == 0
    after = read_run(tmp_path)
    for old, new, number in ((before.scores, after.scores, 1), (before.curves, after.curves, QUICK.epochs)):
        assert new[new["loss"] == "sigmoid"].reset_index(drop=True).equals(old)
        assert len(new) == 2 * 2 * 2 * number
    drawn = figures.save_result_figures(tmp_path / "figures", compare([after]))
    assert {path.stem for path in drawn} == {"noise_cifar10", "epochs_cifar10", "figure5", "ours_against_paper"}
    shown = CliRunner().invoke(app, ["compare", str(tmp_path), "--scores", "chosen_epoch"])
    assert re.search(r"\nall +8 ", shown.stdout)


def plain(settings):
    return {name: list(of) if isinstance(of, tuple) else of for name, of in asdict(settings).items()}


def test_progress_is_told_and_bad_input_is_one_line(quick, tmp_path):
    told = []
    planned = running.plan("cifar10", trials=1)
    parts = [("horse", 0.8, 0.3)]
    list(running.run(tmp_path, planned, parts, [sl.Sigmoid()], ["auc"], 1, progress=lambda *of: told.append(of)))
    assert told == [(1, QUICK.epochs), (2, QUICK.epochs)]
    result = reproduce("--pairs", "car", "--out", tmp_path)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "pairs must be of automobile, bird" in result.stderr


def test_figures_of_curves(tmp_path):
    rng = np.random.default_rng(0)
    folder = tmp_path / "results"
    for family, dataset in (("mnist", "mnist"), ("cifar10", "horse"), ("cifar10", "cat")):
        for pi, pi_prime in ((1.0, 0.0), (0.65, 0.45)):
            keys = [(risk, loss) for risk in ("ber", "auc") for loss in ("barrier_hinge", "hinge")]
            scores, curves = (
                running.tidy(
                    {key: {way: rng.uniform(60, 90, n) for way in ways} for key in keys}, number, dataset, pi, pi_prime
                )
                for number, n, ways in (("trial", 2, ["score"]), ("epoch", 3, ["score", "score_se"]))
            )
            write_run(folder / family, running.replace(running.plan(family, trials=2), scores=scores, curves=curves))
    cells = compare([read_run(folder / family) for family in ("mnist", "cifar10")])
    figure = figures.figure_5(cells)
    assert [axes.get_title() for axes in figure.axes[:4]] == [
        f"{name}: {score}" for name in ("MNIST", "airplane against horse") for score in ("Balanced accuracy", "AUC")
    ]
    assert figure.axes[4].get_xlabel() == "epoch, at (π, π') = (0.65, 0.45)"
    (cell,) = (c for c in cells if (c.dataset, c.risk, c.loss, c.pi) == ("horse", "auc", "hinge", 0.65))
    (line,) = (
        of
        for of in figure.axes[7].lines
        if to_hex(of.get_color()) == COLORS["hinge"].lower() and len(of.get_xdata()) > 1
    )
    np.testing.assert_allclose(line.get_xydata(), list(enumerate(cell.curve, start=1)))
    names = {axes.get_title() for axes in figures.epochs_figure([c for c in cells if c.family == "cifar10"]).axes}
    assert names == {"horse", "cat", ""}
