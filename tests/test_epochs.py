"""Pairs beyond one batch: whole epochs in two passes, and a bank of past scores."""

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import symloss as sl


def data(n=90, seed=0):
    generator = torch.Generator().manual_seed(seed)
    X = torch.randn(n, 3, generator=generator, dtype=torch.float64)
    return X, torch.rand(n, generator=generator) < 0.2, torch.rand(n, generator=generator, dtype=torch.float64)


def network(*layers):
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(3, 8), *layers, nn.Tanh(), nn.Linear(8, 1), nn.Flatten(0)).double()


def gradients(model):
    return [parameter.grad.clone() for parameter in model.parameters()]


@pytest.mark.parametrize("criterion", [sl.AUCLoss(), sl.BERLoss("hinge"), sl.PartialAUCLoss(max_fpr=0.3)])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_whole_epoch_is_one_step_on_all_examples(criterion, weighted):
    columns = data() if weighted else data()[:2]
    model = network()
    expected = criterion(model(columns[0]), *columns[1:])
    expected.backward()
    wanted = gradients(model)
    model.zero_grad()
    risk = sl.whole_epoch(model, DataLoader(TensorDataset(*columns), batch_size=17), criterion)
    torch.testing.assert_close(risk, expected.detach())
    assert not risk.requires_grad
    for got, want in zip(gradients(model), wanted, strict=True):
        torch.testing.assert_close(got, want)


def test_gradients_are_added_as_backward_adds_them_and_also_without_a_gradient_outside():
    model, batches = network(), [data()[:2]]
    for _ in range(2):
        with torch.no_grad():
            sl.whole_epoch(model, batches, sl.AUCLoss())
    twice = gradients(model)
    model.zero_grad()
    sl.whole_epoch(model, batches, sl.AUCLoss())
    for got, want in zip(twice, gradients(model), strict=True):
        torch.testing.assert_close(got, 2 * want)


def test_dropout_is_the_same_in_both_passes_and_random_numbers_go_on_as_after_one():
    X, y, _ = data()
    model, batches = network(nn.Dropout(0.5)), [(X[:40], y[:40]), (X[40:], y[40:])]
    torch.manual_seed(2)
    risk = sl.whole_epoch(model, batches, sl.AUCLoss())
    after = torch.rand(1)
    found = gradients(model)
    model.zero_grad()
    torch.manual_seed(2)
    expected = sl.AUCLoss()(torch.cat([model(inputs) for inputs, _ in batches]), y)
    assert torch.rand(1) == after
    expected.backward()
    torch.testing.assert_close(risk, expected.detach())
    for got, want in zip(found, gradients(model), strict=True):
        torch.testing.assert_close(got, want)


def test_batches_that_are_not_the_same_twice_are_refused():
    columns, model = data()[:2], network()
    with pytest.raises(ValueError, match="got a generator"):
        sl.whole_epoch(model, (batch for batch in [columns]), sl.AUCLoss())
    with pytest.raises(ValueError, match="were the batches shuffled"):
        sl.whole_epoch(model, DataLoader(TensorDataset(*columns), batch_size=17, shuffle=True), sl.AUCLoss())
    with pytest.raises(ValueError, match="at least one batch"):
        sl.whole_epoch(model, [], sl.AUCLoss())
    with pytest.raises(ValueError, match="all batches or none must have weights"):
        sl.whole_epoch(model, [columns, data()], sl.AUCLoss())
    with pytest.raises(ValueError, match=r"scores of shape \(n,\), got \(90, 1\)"):
        sl.whole_epoch(lambda X: model(X)[:, None], [columns], sl.AUCLoss())


def mean_over_pairs(loss, pos, neg, w, v):
    pairs = w[:, None] * v
    return (pairs * loss(pos[:, None] - neg)).sum() / pairs.sum()


def test_the_bank_pairs_each_batch_with_the_newest_scores_of_earlier_ones():
    loss, size = sl.Logistic(), 20
    criterion = sl.BankedAUCLoss(loss, size=size).double()
    past = {True: torch.empty(2, 0, dtype=torch.float64), False: torch.empty(2, 0, dtype=torch.float64)}
    for seed in range(6):
        _, y, weight = data(30, seed)
        scores = torch.randn(30, dtype=torch.float64, generator=torch.Generator().manual_seed(seed), requires_grad=True)
        risk = criterion(scores, y, weight)
        risk.backward()
        new = {of: torch.stack([scores[y == of], weight[y == of]]) for of in (True, False)}
        everyone = {of: torch.cat([past[of], new[of]], 1) for of in new}
        (p, w), (n, v), (all_p, all_w), (all_n, all_v) = new[True], new[False], everyone[True], everyone[False]
        expected = (mean_over_pairs(loss, p, all_n, w, all_v) + mean_over_pairs(loss, all_p, n, all_w, v)) / 2
        torch.testing.assert_close(risk, expected)
        torch.testing.assert_close(scores.grad, torch.autograd.grad(expected, scores)[0])
        past = {of: everyone[of].detach()[:, -size:] for of in everyone}


def test_an_empty_bank_is_the_auc_risk_and_evaluation_fills_none():
    X, y, weight = data()
    criterion = sl.BankedAUCLoss("sigmoid").eval()
    for _ in range(2):
        torch.testing.assert_close(criterion(X[:, 0], y, weight), sl.AUCLoss()(X[:, 0], y, weight))
    criterion.train()(X[:, 0], y)
    assert criterion(X[:5, 1], torch.zeros(5)) > 0
    criterion.reset()
    with pytest.warns(UserWarning, match="lacks a class"):
        assert criterion(X[:5, 1], torch.zeros(5)) == 0


def test_a_bank_is_saved_with_its_module():
    X, y, _ = data()
    criterion = sl.BankedAUCLoss("hinge", size=7)
    criterion(X[:, 0], y)
    again = sl.BankedAUCLoss("hinge", size=7)
    again.load_state_dict(criterion.state_dict())
    assert again(X[:, 1], y) == criterion(X[:, 1], y)
    assert repr(criterion) == "BankedAUCLoss(Hinge(), size=7)"
    with pytest.raises(ValueError, match="size must be a whole number of at least 1, got 0"):
        sl.BankedAUCLoss(size=0)
    with pytest.raises(ValueError, match=r"scores must have shape \(n,\), got \(2, 90\)"):
        criterion(X.T[:2], y)


def test_points_that_do_not_count_leave_no_trace_in_the_bank():
    scores, y = torch.tensor([0.5, 0.0, 3.0, float("nan"), float("inf")]), torch.tensor([1, 0, 1, 1, 0])
    weight = torch.tensor([1.0, 1.0, 0.0, 0.0, 0.0])
    first, second = sl.BankedAUCLoss("hinge", size=3), sl.BankedAUCLoss("hinge", size=3)
    assert first(scores, y, weight) == second(scores[:2], y[:2]) == 0.5
    assert first(torch.tensor([1.0]), [0]) == second(torch.tensor([1.0]), [0]) == 1.5
    with pytest.raises(ValueError, match="scores must be finite, got nan at position 0"):
        second(torch.tensor([float("nan"), 2.0]), [1, 0])
    assert second(torch.tensor([1.0, 0.0]), [1, 0]).isfinite()  # a step that is skipped does not spoil the next ones


def test_a_second_pass_of_other_length_and_scores_that_are_not_finite_are_told():
    model, (X, y, _) = network(), data()

    class Shrinking(list):
        def __iter__(self):
            self.pop()
            return super().__iter__()

    with pytest.raises(ValueError, match="must have the 2 batches of the first, got another number"):
        sl.whole_epoch(model, Shrinking([(X, y)] * 3), sl.AUCLoss())
    with pytest.raises(ValueError, match="scores must be finite numbers"):
        sl.whole_epoch(lambda X: X[:, 0] / 0, [(X, y)], sl.AUCLoss())
    risk = sl.whole_epoch(model, [(X, y), (X[:0], y[:0])], sl.AUCLoss())
    torch.testing.assert_close(risk, sl.AUCLoss()(model(X), y).detach())
