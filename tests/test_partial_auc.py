"""The risk of the partial AUC against all pairs with the top of the negatives."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_curve

import symloss as sl
from symloss.functional import partial_auc_risk


def brute_force(scores, y, loss, weight, share):
    """Negatives in falling order, each with what is left of the share; equal scores divide it."""
    pos, w, neg, v = scores[y], weight[y], scores[~y], weight[~y]
    left, kept = share * v.sum(), torch.zeros_like(v)
    for value in neg.detach().unique().flip(0):
        tied = neg.detach() == value
        mass = v[tied].sum()
        kept[tied] = v[tied] * (min(left / mass, 1.0) if mass > 0 else 0.0)
        left = max(left - mass, 0.0)
    pairs = w[:, None] * kept
    return (pairs * sl.get_loss(loss)(pos[:, None] - neg)).sum() / pairs.sum()


@given(st.integers(0, 2**32 - 1), st.floats(0.01, 0.99), st.sampled_from(["zero_one", "hinge", "sigmoid", "squared"]))
def test_value_and_gradient_are_those_of_all_pairs_with_the_top(seed, share, loss):
    generator = torch.Generator().manual_seed(seed)
    n = int(torch.randint(4, 60, (1,), generator=generator))
    y = torch.rand(n, generator=generator) < 0.4
    y[:2] = torch.tensor([True, False])
    scores = (torch.randn(n, generator=generator, dtype=torch.float64) * 4).round() / 4  # with ties
    weight = torch.randint(0, 3, (n,), generator=generator).double()
    weight[:2] = 1.0
    leaf = scores.requires_grad_()
    risk = partial_auc_risk(leaf, y, loss, weight, max_fpr=share)
    expected = brute_force(leaf, y, loss, weight, share)
    torch.testing.assert_close(risk, expected)
    found, wanted = (torch.autograd.grad(of, leaf, allow_unused=True)[0] for of in (risk, expected))
    torch.testing.assert_close(found, torch.zeros_like(found) if wanted is None else wanted, atol=1e-12, rtol=1e-9)


def test_with_the_zero_one_loss_it_is_the_area_under_the_start_of_the_curve():
    generator = np.random.default_rng(0)
    y = generator.random(500) < 0.3
    scores = generator.normal(size=500) + y
    fpr, tpr, _ = roc_curve(y, scores, drop_intermediate=False)
    for share in (0.05, 0.1, 0.333):
        start = fpr < share
        ends = np.append(fpr[start], share), np.append(tpr[start], np.interp(share, fpr, tpr))
        risk = partial_auc_risk(torch.from_numpy(scores), y, "zero_one", max_fpr=share)
        assert risk.item() == pytest.approx(1 - np.trapezoid(ends[1], ends[0]) / share, abs=1e-12)


def test_problems_of_a_batch_are_independent_and_weights_are_repetitions():
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(5, 40, generator=generator, dtype=torch.float64)
    y = torch.rand(5, 40, generator=generator) < 0.5
    weight = torch.randint(1, 4, (40,), generator=generator)
    criterion = sl.PartialAUCLoss("logistic", max_fpr=0.2)
    together = criterion(scores, y, weight)
    for k in range(5):
        repeated = (column.repeat_interleave(weight) for column in (scores[k], y[k]))
        torch.testing.assert_close(together[k], criterion(*repeated))


def test_bad_shares_are_refused_and_a_missing_class_is_zero():
    for share in (0.0, 1.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="max_fpr must be between 0 and 1"):
            sl.PartialAUCLoss(max_fpr=share)
    with pytest.warns(UserWarning, match="lacks a class"):
        assert sl.PartialAUCLoss()(torch.tensor([1.0, 2.0]), [1, 1]) == 0


def test_negatives_without_weight_huge_weights_and_nan():
    scores = torch.tensor([1.0, 2.0, 0.0, -1.0, 0.5])
    assert partial_auc_risk(scores, [1, 0, 0, 0, 1], "hinge", [1, 0, 1, 1, 1], max_fpr=0.5) == partial_auc_risk(
        scores[[0, 2, 3, 4]], [1, 0, 0, 1], "hinge", max_fpr=0.5
    )
    with pytest.warns(UserWarning, match="lacks a class"):
        assert partial_auc_risk(scores[:2], [1, 0], "hinge", [1.0, 0.0], max_fpr=0.5) == 0
    huge = torch.full((5,), 1e308, dtype=torch.float64)
    torch.testing.assert_close(
        partial_auc_risk(scores, [1, 0, 0, 0, 1], "hinge", huge, max_fpr=0.5),
        partial_auc_risk(scores, [1, 0, 0, 0, 1], "hinge", max_fpr=0.5),
    )
    with pytest.raises(ValueError, match="scores must be finite, got nan at position 1"):
        partial_auc_risk(torch.tensor([1.0, float("nan"), 0.0]), [1, 0, 0], "hinge", max_fpr=0.5)
