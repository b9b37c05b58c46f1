import numpy as np
import pytest
import torch

from pretraining.measure import area, draw
from pretraining.network import LEVELS, PLACE, Network, Shape, attend
from pretraining.prior import draw_shape, draw_table
from pretraining.training import Trainer, losses, orthogonal

SMALL = Shape(width=32, heads=2, cell_layers=2, row_layers=2, questions=8)


@pytest.fixture
def network():
    """A small network whose every layer does something."""
    torch.manual_seed(0)
    network = Network(SMALL)
    for parameter in network.parameters():
        if not parameter.any():
            torch.nn.init.normal_(parameter, std=0.1)
    return network


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
    (tmp_path / "network_9.pt").write_bytes(b"of a checkpoint that was not written to its end")
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
