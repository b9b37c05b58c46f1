import math
import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import symloss as sl
from symloss.pairwise import tiles

LOSSES = sl.list_losses()


def matrix(pos, neg, name, w=None, v=None):
    """All pairs at once in float64, with the loss's own derivative."""
    loss = sl.get_loss(name)
    pos, neg = pos.double(), neg.double()
    w = torch.ones_like(pos) if w is None else w.double()
    v = torch.ones_like(neg) if v is None else v.double()
    w, v = w / w.sum(-1, keepdim=True), v / v.sum(-1, keepdim=True)
    z, weight = pos[..., :, None] - neg[..., None, :], w[..., :, None] * v[..., None, :]
    slopes = weight * loss.derivative(z)
    return (weight * loss(z)).sum((-2, -1)), slopes.sum(-1), -slopes.sum(-2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", LOSSES)
def test_tiles_are_the_matrix(name, dtype, monkeypatch):
    monkeypatch.setitem(tiles._PAIRS, "cpu", 64)  # many ragged tiles
    pos = torch.randn(3, 1, 23, dtype=dtype, requires_grad=True)
    neg = torch.randn(2, 17, dtype=dtype, requires_grad=True)
    w, v = torch.rand(23, dtype=dtype), torch.rand(2, 17, dtype=dtype)
    value = sl.pairwise_risk(pos, neg, name, w, v)
    expected, grad_pos, grad_neg = matrix(pos.detach(), neg.detach(), name, w, v)
    rtol = 2e-7 if dtype == torch.float32 else 1e-12
    assert value.shape == (3, 2)
    torch.testing.assert_close(value.double(), expected, rtol=rtol, atol=0)
    gradients = torch.autograd.grad(value.sum(), (pos, neg))
    for gradient, exact in zip(gradients, (grad_pos.sum(1, keepdim=True), grad_neg.sum(0)), strict=True):
        assert gradient.dtype == dtype
        assert (gradient.double() - exact).abs().max() <= rtol * exact.abs().max()


@pytest.mark.parametrize("name", LOSSES)
@given(data=st.data())
def test_shift_permutation_repetition(name, data):
    draw = st.lists(st.integers(-64, 64).map(lambda k: k / 16), min_size=1, max_size=9)
    pos, neg = (torch.tensor(data.draw(draw), dtype=torch.float64) for _ in range(2))
    value = sl.pairwise_risk(pos, neg, name)
    shift = data.draw(st.sampled_from([-1e4, 0.25, 1e4]))
    torch.testing.assert_close(sl.pairwise_risk(pos + shift, neg + shift, name), value, rtol=1e-12, atol=1e-13)
    torch.testing.assert_close(sl.pairwise_risk(pos.flip(0), neg.flip(0), name), value, rtol=1e-12, atol=1e-13)
    torch.testing.assert_close(sl.pairwise_risk(pos.repeat(3), neg.repeat(2), name), value, rtol=1e-12, atol=1e-13)
    # The pair (s, t) and the pair (-t, -s) have the same margin.
    torch.testing.assert_close(sl.pairwise_risk(-neg, -pos, name), value, rtol=1e-12, atol=1e-13)


def test_memory_stays_linear():
    pos, neg = torch.randn(3000), torch.randn(3000)
    with torch.autograd.profiler.profile(profile_memory=True) as profile:
        sl.pairwise_risk(pos, neg, "sigmoid")
    largest = max(event.self_cpu_memory_usage for event in profile.function_events)
    assert largest < 3000 * 3000 * 8 / 10


@pytest.mark.parametrize("name", LOSSES)
def test_degenerate_sizes(name):
    for n, m in ((0, 3), (3, 0), (0, 0)):
        pos, neg = torch.randn(n, requires_grad=True), torch.randn(m, requires_grad=True)
        value = sl.pairwise_risk(pos, neg, name)
        value.backward()
        assert value.item() == 0
        assert not pos.grad.any()
    one = sl.pairwise_risk(torch.tensor([2.0]), torch.tensor([2.0]), name)
    torch.testing.assert_close(one, sl.get_loss(name)(torch.zeros(())))


def test_nan_and_infinity_as_the_matrix():
    neg = torch.tensor([0.0, 1.0])
    assert sl.pairwise_risk(torch.tensor([math.nan, 1.0]), neg, "hinge").isnan()
    assert sl.pairwise_risk(torch.tensor([math.inf, 1.0]), neg, "hinge").isfinite()
    assert sl.pairwise_risk(torch.tensor([-math.inf]), neg, "hinge").item() == math.inf


def test_strided_and_expanded_scores():
    base = torch.randn(20, 2)
    pos, neg = base[:, 0], torch.randn(1).expand(5)
    torch.testing.assert_close(
        sl.pairwise_risk(pos, neg, "logistic"), sl.pairwise_risk(pos.clone(), neg.clone(), "logistic")
    )


def test_differentiating_twice_raises():
    pos, neg = torch.randn(4, requires_grad=True), torch.randn(4)
    (gradient,) = torch.autograd.grad(sl.pairwise_risk(pos, neg, "sigmoid"), pos, create_graph=True)
    with pytest.raises(RuntimeError, match="differentiated once"):
        gradient.sum().backward()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((torch.zeros(()), torch.zeros(2)), "pos must have shape (..., n)"),
        ((torch.zeros(3, 2), torch.zeros(2, 2)), "must broadcast, got (3, 2) and (2, 2)"),
        ((torch.zeros(2), torch.zeros(2), "sigmoid", torch.ones(3)), "pos_weight must have the scores' shape (2,)"),
        ((torch.zeros(2), torch.zeros(2), "sigmoid", None, -torch.ones(2)), "neg_weight must hold finite numbers >= 0"),
        (
            (torch.zeros(2), torch.zeros(2), "sigmoid", None, None, "fast"),
            "method must be one of auto, tiles, got 'fast'",
        ),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        sl.pairwise_risk(*arguments)
