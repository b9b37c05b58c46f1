"""Risks on clean labels, estimated from corrupted labels whose noise rates are known."""

import itertools
import math
import re
import warnings

import numpy as np
import pytest
import torch

import symloss as sl
from symloss.functional import MissingClassWarning, auc_risk, ber_risk

RISKS = [ber_risk, auc_risk]
RATES = [(0.8, 0.3), (1.0, 0.4), (0.7, 0.0)]
LOSSES = sl.list_losses()
SYMMETRIC = [name for name in LOSSES if sl.get_loss(name).properties.symmetric_constant is not None]


class Lowered(sl.Loss):
    """A loss with 3 subtracted: it takes negative values, so that its estimates are not kept non-negative."""

    def __init__(self, name):
        vars(self)["loss"] = sl.get_loss(name)

    def value(self, z):
        return self.loss.value(z) - 3

    def slope(self, z):
        return self.loss.slope(z)


def values(loss, z):
    return loss(torch.as_tensor(z, dtype=torch.float64)).numpy()


def reference(risk, scores, target, loss, pi, pi_prime, weight=None):
    """The means whose mean is the clean risk: two for the balanced error, one for the AUC.

    The means over clean classes solve linear equations, of which the means over corrupted classes are the right-hand
    side: two equations for points, four for pairs. The AUC is the corrupted risk less the excess of theorem 1.
    """
    weight = np.ones(len(scores)) if weight is None else weight
    classes = [(scores[target == y], weight[target == y]) for y in (1, 0)]
    mixing = np.array([[pi, 1 - pi], [pi_prime, 1 - pi_prime]])  # rows: CP and CN, columns: P and N
    theta = pi - pi_prime
    if risk is ber_risk:
        there, back = (
            np.linalg.solve(mixing, [np.average(values(loss, sign * s), weights=w) for s, w in classes])
            for sign in (1, -1)
        )
        return [there[0], back[1]]
    corrupted = []
    for (i, (s, w)), (j, (t, v)) in itertools.product(enumerate(classes), repeat=2):
        pairs = w[:, None] * v * (1 - np.eye(len(s)) if i == j else 1)
        corrupted.append((pairs * values(loss, s[:, None] - t)).sum() / pairs.sum())
    pp, pn, np_, nn = np.linalg.solve(np.kron(mixing, mixing), corrupted)  # means of l(first - second), clean classes
    excess = (1 - pi) * pi_prime * (pn + np_) + pi * pi_prime * pp + (1 - pi) * (1 - pi_prime) * nn
    return [(corrupted[1] - excess) / theta]


def problem(n=40, seed=0):
    rng = np.random.default_rng(seed)
    target = (np.arange(n) % 3 == 0).astype(int)
    return rng.normal(size=n) + target, target, rng.integers(1, 4, n) / 2


@pytest.mark.parametrize("rates", RATES)
@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("weighted", [False, True])
def test_against_the_theorems(risk, name, rates, weighted):
    scores, target, weight = problem()
    loss, weight = Lowered(name), weight if weighted else None
    parts = reference(risk, scores, target, loss, *rates, weight)
    found = risk(torch.from_numpy(scores), target, loss, weight, pi=rates[0], pi_prime=rates[1]).item()
    assert found == pytest.approx(np.mean(parts), rel=1e-9, abs=1e-9)
    loss = sl.get_loss(name)
    parts = reference(risk, scores, target, loss, *rates, weight)
    if name != "unhinged":
        parts = np.maximum(parts, 0)
    found = risk(torch.from_numpy(scores), target, loss, weight, pi=rates[0], pi_prime=rates[1]).item()
    assert found == pytest.approx(np.mean(parts), rel=1e-9, abs=1e-9)


P, N = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.2, 0.7])  # two distributions on three scores
SCORES = np.array([1.5, 0.25, -1.0])


def clean(risk, loss):
    """The risk of the two distributions, from its definition."""
    if risk is ber_risk:
        return 0.5 * (P @ values(loss, SCORES) + N @ values(loss, -SCORES))
    return P @ values(loss, SCORES[:, None] - SCORES) @ N


@pytest.mark.parametrize("rates", RATES)
@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize("name", LOSSES)
def test_unbiased_over_all_samples(risk, name, rates):
    pi, pi_prime = rates
    loss, target = Lowered(name), [1, 1, 0, 0, 0]
    drawn = np.array(list(itertools.product(range(3), repeat=5)))
    positives, negatives = pi * P + (1 - pi) * N, pi_prime * P + (1 - pi_prime) * N
    probability = positives[drawn[:, :2]].prod(1) * negatives[drawn[:, 2:]].prod(1)
    estimates = risk(torch.from_numpy(SCORES[drawn]), target, loss, pi=pi, pi_prime=pi_prime).numpy()
    assert probability.sum() == pytest.approx(1)
    assert probability @ estimates == pytest.approx(clean(risk, loss), rel=1e-11)


def test_unbiased_over_all_labels():
    """Four positives and four negatives, and all the ways to give one of each the wrong label: pi = 3/4, pi' = 1/4."""
    wrong = np.array(list(itertools.product(range(4), repeat=2)))
    rows, scores = np.arange(len(wrong)), torch.tensor([2.0, 0.5, -0.5, -1.0, 1.0, 0.0, -1.25, -3.0]).double()
    target = np.tile(np.repeat([1, 0], 4), (len(wrong), 1))
    target[rows, wrong[:, 0]], target[rows, 4 + wrong[:, 1]] = 0, 1
    loss = Lowered("logistic")
    estimates = ber_risk(scores.expand(len(wrong), 8), target, loss, pi=0.75, pi_prime=0.25)
    exact = ber_risk(scores, np.repeat([1, 0], 4), loss)
    assert estimates.mean().item() == pytest.approx(exact.item(), rel=1e-12)


@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize("name", ["logistic", "hinge"])
def test_unbiased_in_simulation(risk, name):
    generator = torch.Generator().manual_seed(0)
    pi, pi_prime, repetitions = 0.8, 0.3, 4000
    positive = torch.rand(repetitions, 60, generator=generator) < torch.tensor([pi, pi_prime]).repeat(30)
    scores = 0.5 * torch.randn(repetitions, 60, generator=generator, dtype=torch.float64) + 0.5 * positive
    loss, target = Lowered(name), torch.tensor([1, 0]).repeat(30)
    estimates = risk(scores, target, loss, pi=pi, pi_prime=pi_prime)
    pos, neg = scores[positive], scores[~positive]
    many = [0.5 * (loss(pos).mean() + loss(-neg).mean()), sl.pairwise_risk(pos[:2000], neg[:2000], loss)]
    error = estimates.std().item() / math.sqrt(repetitions)
    assert estimates.mean().item() == pytest.approx(many[risk is auc_risk].item(), abs=4 * error + 0.01)
    uncorrected = risk(scores, target, loss).mean().item()
    assert abs(uncorrected - many[risk is auc_risk].item()) > 20 * error


@pytest.mark.parametrize("share", [0.5, 0.3])
@pytest.mark.parametrize("name", ["sigmoid", "logistic", "squared"])
def test_positive_unlabeled_as_published(name, share):
    """Kiryo et al. (2017), equation 6, with its two terms; BER counts each class one half instead of its share."""
    scores, target, _ = problem()
    scores = 0.1 * scores
    loss = sl.get_loss(name)
    p, u = scores[target == 1], scores[target == 0]
    for shift in (0.0, 0.9 if name == "squared" else 5.0):  # then the second term is negative and becomes zero
        r_p_plus, r_p_minus, r_u_minus = (values(loss, z).mean() for z in (p + shift, -p - shift, -u + shift))
        first, second = share * r_p_plus, max(0, r_u_minus - share * r_p_minus)
        assert (second == 0) == (shift > 0)
        moved = torch.from_numpy(np.where(target == 1, scores + shift, scores - shift))
        found = ber_risk(moved, target, loss, pi=1.0, pi_prime=share).item()
        assert found == pytest.approx(0.5 * (first / share + second / (1 - share)))
        if share == 0.5:
            assert found == pytest.approx(first + second)


@pytest.mark.parametrize("theta", [(0.8, 0.3), (0.6, 0.4), (1.0, 0.5)])
@pytest.mark.parametrize("name", ["sigmoid", "logistic", "squared"])
def test_two_unlabeled_sets_as_published(name, theta):
    """Lu et al. (2019), theorem 4, at a class prior of 1/2, with partial risks made non-negative (Lu et al., 2020)."""
    high, low = theta
    scores, target, _ = problem()
    loss, prior = sl.get_loss(name), 0.5
    first, second = scores[target == 1], scores[target == 0]
    a, b = (1 - low) * prior / (high - low), low * (1 - prior) / (high - low)
    c, d = high * (1 - prior) / (high - low), (1 - high) * prior / (high - low)
    positive = a * values(loss, first).mean() - d * values(loss, second).mean()
    negative = c * values(loss, -second).mean() - b * values(loss, -first).mean()
    found = ber_risk(torch.from_numpy(scores), target, loss, pi=high, pi_prime=low).item()
    assert found == pytest.approx(max(0, positive) + max(0, negative))


@pytest.mark.parametrize("name", ["squared", "logistic"])
def test_auc_from_positive_and_unlabeled_as_published(name):
    """Sakai, Niu and Sugiyama (2018), the PU-AUC risk, over pairs of different points."""
    scores, target, _ = problem()
    loss, share = sl.get_loss(name), 0.3
    p, u = scores[target == 1], scores[target == 0]
    pu = values(loss, p[:, None] - u).mean()
    pp = np.mean([values(loss, x - y) for x, y in itertools.permutations(p, 2)])
    expected = pu / (1 - share) - share / (1 - share) * pp
    found = auc_risk(torch.from_numpy(scores), target, loss, pi=1.0, pi_prime=share).item()
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("rates", RATES)
@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize("name", SYMMETRIC)
def test_an_affine_map_of_the_corrupted_risk_for_symmetric_losses(risk, name, rates):
    """Corollaries 2 and 4, solved for the clean risk; no estimate is below zero at these scores."""
    scores, target, weight = problem(n=41)
    scores = torch.from_numpy(0.1 * scores)  # nobody errs by far
    loss, (pi, pi_prime) = Lowered(name) if name == "zero_one" else sl.get_loss(name), rates
    constant = 2 * loss(torch.zeros(1, dtype=torch.float64)).item()
    corrupted = risk(scores, target, loss, weight).item()
    expected = (corrupted - constant * (1 - pi + pi_prime) / 2) / (pi - pi_prime)
    found = risk(scores, target, loss, weight, pi=pi, pi_prime=pi_prime).item()
    assert found == pytest.approx(expected, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("shared", [True, False])
def test_gradient_by_finite_differences(risk, name, shared):
    scores = torch.randn(2, 10, dtype=torch.float64) * 0.3 + 0.017
    scores.requires_grad_()
    target = torch.arange(10) % 3 == 0
    if not shared:
        target = torch.stack([target, target.roll(1)])
    weight = torch.rand(10, dtype=torch.float64)
    loss = Lowered(name)
    assert torch.autograd.gradcheck(lambda s: risk(s, target, loss, weight, pi=0.9, pi_prime=0.2), (scores,), atol=1e-6)


@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize("name", LOSSES)
def test_problems_with_labels_of_their_own(risk, name):
    scores = torch.randn(3, 12, dtype=torch.float64, requires_grad=True)
    target = torch.arange(36).reshape(3, 12) % 5 < 2
    together = risk(scores, target, name, pi=0.9, pi_prime=0.2)
    alone = torch.stack([risk(s, y, name, pi=0.9, pi_prime=0.2) for s, y in zip(scores, target, strict=True)])
    torch.testing.assert_close(together, alone, rtol=1e-11, atol=1e-12)
    for first, second in zip(*(torch.autograd.grad(x.sum(), scores) for x in (together, alone)), strict=True):
        torch.testing.assert_close(first, second, rtol=1e-10, atol=1e-12)


def test_weights():
    scores, target, weight = problem()
    tensor, rates = torch.from_numpy(scores), {"pi": 0.8, "pi_prime": 0.3}
    loss = Lowered("logistic")
    for risk in RISKS:
        value = risk(tensor, target, loss, weight, **rates).item()
        for factor in (1e-300, 7.0, 1e300):  # their size does not matter
            assert risk(tensor, target, loss, factor * weight, **rates).item() == pytest.approx(value)
        more = np.append(scores, [1e4, -1e4]), np.append(target, [0, 1]), np.append(weight, [0, 0])
        exponential = Lowered("exponential")  # infinite at the points without weight
        torch.testing.assert_close(
            risk(torch.from_numpy(more[0]), more[1], exponential, more[2], **rates),
            risk(tensor, target, exponential, weight, **rates),
        )
    repeated = (np.repeat(x, (2 * weight).astype(int)) for x in (scores, target))
    again = ber_risk(torch.from_numpy(next(repeated)), next(repeated), loss, **rates).item()
    assert again == pytest.approx(ber_risk(tensor, target, loss, weight, **rates).item())


def test_points_that_do_not_count_cannot_poison():
    # With pi = 1 only l(g) of positives and l(-g) of all points count, and exp(1e4) is infinite.
    scores = torch.tensor([0.5, 1.0, -1e4, -0.5], requires_grad=True)
    value = ber_risk(scores, [1, 1, 0, 0], "exponential", pi=1.0, pi_prime=0.2)
    value.backward()
    assert value.isfinite()
    assert scores.grad.isfinite().all()


@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_precision_in_and_out(risk, dtype):
    scores = torch.randn(50, dtype=dtype, requires_grad=True)
    target = torch.arange(50) % 2
    value = risk(scores, target, "logistic", pi=0.9, pi_prime=0.3)
    value.backward()
    assert value.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    assert scores.grad.dtype == dtype
    exact = risk(scores.detach().double(), target, "logistic", pi=0.9, pi_prime=0.3)
    assert value.item() == pytest.approx(exact.item(), rel=4e-6)


@pytest.mark.parametrize("name", ["hinge", "logistic", "squared", "barrier_hinge", "savage"])
def test_many_points_by_the_structure_of_the_loss(name):
    generator = torch.Generator().manual_seed(0)
    target = torch.arange(1500) % 3 == 0
    scores = torch.randn(1500, generator=generator, dtype=torch.float64) + target
    expected = reference(auc_risk, scores.numpy(), target.numpy().astype(int), sl.get_loss(name), 0.9, 0.2)[0]
    found = auc_risk(scores, target, name, pi=0.9, pi_prime=0.2).item()
    assert expected > 0
    assert found == pytest.approx(expected, rel=1e-9)


def test_no_matrix_of_pairs():
    scores, target = torch.randn(400_000), torch.arange(400_000) % 2
    assert auc_risk(scores, target, "logistic", pi=0.8, pi_prime=0.3) > 0  # 1.6e11 pairs


@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize("name", ["zero_one", "ramp", "sigmoid"])
def test_never_negative(risk, name):
    """Where corrupted labels are learned by heart, the estimate is below zero: it becomes zero, without a gradient."""
    scores, target, _ = problem()
    moved = torch.from_numpy(np.where(target == 1, 3.0, -3.0) + 0.1 * scores).requires_grad_()
    value = risk(moved, target, name, pi=0.7, pi_prime=0.4)
    value.backward()
    assert risk(moved, target, Lowered(name), pi=0.7, pi_prime=0.4).item() + 3 < -0.1
    assert value.item() == 0
    assert not moved.grad.any()


def test_a_loss_that_may_be_negative_keeps_its_estimate():
    scores, target = torch.tensor([9.0, 9.0, -9.0, -9.0]), [1, 1, 0, 0]
    for risk in RISKS:
        assert risk(scores, target, "unhinged", pi=0.7, pi_prime=0.4).item() < -10
        assert risk(scores, target, lambda z: 5 - z, pi=0.7, pi_prime=0.4).item() < -10  # negative beyond 5
    assert ber_risk(scores, target, "hinge", pi=0.7, pi_prime=0.4).item() == 0


def test_an_estimate_of_exactly_zero_has_a_gradient():
    shifted = torch.tensor([1.0, -1.0], requires_grad=True)
    value = ber_risk(shifted, [1, 0], "hinge", pi=1.0, pi_prime=0.0)
    value.backward()
    assert value.item() == 0
    assert shifted.grad.tolist() == [-0.25, 0.25]  # half of the slope at a corner, and half of the risk


@pytest.mark.parametrize("risk", RISKS)
def test_clean_rates_change_nothing(risk):
    scores, target, weight = problem()
    for name in LOSSES:
        plain, same = (
            risk(torch.from_numpy(scores), target, name, weight, **rates) for rates in ({}, {"pi": 1, "pi_prime": 0})
        )
        torch.testing.assert_close(plain, same, rtol=1e-14, atol=1e-15)


def test_clean_probabilities_from_the_logistic_loss():
    """On the corrupted distributions, sigmoid(g) becomes the probability of the clean label at equal shares."""
    pi, pi_prime = 0.8, 0.3
    weight = torch.from_numpy(np.concatenate([pi * P + (1 - pi) * N, pi_prime * P + (1 - pi_prime) * N]))
    target = torch.tensor([1, 1, 1, 0, 0, 0])
    for rates, expected in (
        ({"pi": pi, "pi_prime": pi_prime}, P / (P + N)),
        ({}, (weight[:3] / (weight[:3] + weight[3:])).numpy()),
    ):
        scores = torch.zeros(3, dtype=torch.float64, requires_grad=True)
        solver = torch.optim.LBFGS(
            [scores], max_iter=200, tolerance_grad=1e-12, tolerance_change=1e-15, line_search_fn="strong_wolfe"
        )

        def closure():
            solver.zero_grad()  # noqa: B023
            value = ber_risk(scores.repeat(2), target, "logistic", weight, **rates)  # noqa: B023
            value.backward()
            return value

        solver.step(closure)
        np.testing.assert_allclose(torch.sigmoid(scores.detach()).numpy(), expected, rtol=1e-5)


@pytest.mark.parametrize("make", [sl.BERLoss, sl.AUCLoss, lambda **rates: lambda s, y: ber_risk(s, y, **rates),
                                  lambda **rates: lambda s, y: auc_risk(s, y, **rates)])  # fmt: skip
@pytest.mark.parametrize(("rates", "message"), [
    ({"pi": 0.3, "pi_prime": 0.8}, "pi must exceed pi', got pi = 0.3 and pi' = 0.8"),
    ({"pi": 0.5, "pi_prime": 0.5}, "pi must exceed pi', got 0.5 for both"),
    ({"pi": 1.2, "pi_prime": 0.5}, "pi must be between 0 and 1, got 1.2"),
    ({"pi": 0.8, "pi_prime": -0.1}, "pi_prime must be between 0 and 1, got -0.1"),
    ({"pi": math.nan, "pi_prime": 0.1}, "pi must be between 0 and 1, got nan"),
    ({"pi": 0.8}, "pi and pi_prime go together, got pi=0.8 and pi_prime=None"),
    ({"pi_prime": 0.1}, "pi and pi_prime go together, got pi=None and pi_prime=0.1"),
])  # fmt: skip
def test_rates_that_cannot_be(make, rates, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make(**rates)(torch.zeros(2), [0, 1])


@pytest.mark.parametrize(("module", "risk"), [(sl.BERLoss, ber_risk), (sl.AUCLoss, auc_risk)])
def test_modules(module, risk):
    criterion = module("barrier_hinge", b=10, r=1, pi=0.8, pi_prime=0.3)
    assert repr(criterion) == f"{module.__name__}(BarrierHinge(b=10, r=1), pi=0.8, pi_prime=0.3)"
    scores, target, weight = problem()
    tensor = torch.from_numpy(scores)
    expected = risk(tensor, target, sl.BarrierHinge(10, 1), weight, pi=0.8, pi_prime=0.3)
    assert criterion(tensor, target, weight) == expected
    earlier = module("logistic")
    del earlier.pi, earlier.pi_prime  # a module pickled by a version without rates
    assert earlier(tensor, target) == risk(tensor, target, "logistic")


@pytest.mark.parametrize("risk", RISKS)
def test_a_missing_class(risk):
    scores = torch.tensor([[0.5, -2.0, 1.0], [0.0, 1.0, 2.0]], requires_grad=True)
    with pytest.warns(MissingClassWarning, match="lacks a class: the .* zero"):
        value = risk(scores, [[1, 1, 1], [0, 0, 1]], "logistic", pi=0.9, pi_prime=0.0)
    value.sum().backward()
    assert value[0] == 0
    assert value[1] > 0
    assert not scores.grad[0].any()
    for label, rates in ((1, (1.0, 0.3)), (0, (0.7, 0.0))):
        with pytest.warns(MissingClassWarning):
            assert risk(scores, 3 * [label], Lowered("hinge"), pi=rates[0], pi_prime=rates[1]).tolist() == [0, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MissingClassWarning)
        assert risk(torch.zeros(0), torch.zeros(0), pi=0.9, pi_prime=0.3) == 0


def test_a_class_of_one_point():
    scores = torch.tensor([0.5, -2.0, 1.0], requires_grad=True)
    with pytest.warns(MissingClassWarning, match="a single point of a class"):
        value = auc_risk(scores, [1, 0, 0], "logistic", pi=0.9, pi_prime=0.3)
    value.backward()
    assert value == 0
    assert not scores.grad.any()
    # With pi' = 0, positives are not paired with each other; with a point of no weight there is one point again.
    assert auc_risk(scores, [1, 0, 0], "logistic", pi=0.9, pi_prime=0.0) > 0
    with pytest.warns(MissingClassWarning, match="a single point of a class"):
        auc_risk(scores, [1, 0, 0], "logistic", torch.tensor([1, 1, 0]), pi=0.9, pi_prime=0.0)


@pytest.mark.parametrize("risk", RISKS)
def test_under_vmap(risk):
    scores, labels = torch.randn(4, 10, dtype=torch.float64), torch.arange(40).reshape(4, 10) % 3 == 0

    def one(s, y):
        return risk(s, y, "logistic", pi=0.9, pi_prime=0.2)

    torch.testing.assert_close(torch.func.vmap(one)(scores, labels), one(scores, labels), rtol=1e-12, atol=1e-13)
    gradients = torch.func.vmap(torch.func.grad(one))(scores, labels)
    leaf = scores.clone().requires_grad_()
    torch.testing.assert_close(gradients, torch.autograd.grad(one(leaf, labels).sum(), leaf)[0], rtol=1e-11, atol=1e-13)


@pytest.mark.filterwarnings("ignore")  # the compiler's own
@pytest.mark.parametrize("module", [sl.BERLoss, sl.AUCLoss])
def test_under_compile(module):
    criterion = module("logistic", pi=0.9, pi_prime=0.2)
    compiled = torch.compile(criterion, backend="aot_eager", fullgraph=module is sl.BERLoss)
    scores, target = torch.randn(16, requires_grad=True), torch.arange(16) % 2
    value, expected = compiled(2 * scores, target), criterion(2 * scores, target)
    torch.testing.assert_close(value, expected)
    torch.testing.assert_close(*(torch.autograd.grad(x, scores)[0] for x in (value, expected)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("light", [1e-3, 1e-7, 1e-12, 1e-16, 1e-24])
def test_a_point_that_outweighs_its_class_is_still_not_paired_with_itself(light, dtype):
    """Two points of each class: the only pair within a class is that of the two, whatever their weights."""
    scores = torch.tensor([0.5, -0.5, 1.0, -1.0], dtype=dtype, requires_grad=True)
    weight = torch.tensor([1.0, light, 1.0, light], dtype=torch.float64)
    target, rates = torch.tensor([1, 1, 0, 0]), {"pi": 0.8, "pi_prime": 0.3}
    found = auc_risk(scores, target, "logistic", weight, **rates)
    (gradient,) = torch.autograd.grad(found, scores)
    exact = scores.detach().double().requires_grad_()
    s, t, w = exact[:2], exact[2:], weight[:2] / weight[:2].sum()

    def mean(first, second):
        return w @ sl.get_loss("logistic")(first[:, None] - second[None, :]) @ w

    def within(of):
        gap = of[0] - of[1]
        return sl.get_loss("logistic")(torch.stack([gap, -gap])).mean()

    b, d = 0.4, 0.6
    expected = (1 + b) * (1 + d) * mean(s, t) + b * d * mean(t, s) - (1 + b) * d * within(s) - b * (1 + d) * within(t)
    (slopes,) = torch.autograd.grad(expected, exact)
    torch.testing.assert_close(found.double(), expected, rtol=1e-6, atol=0)
    torch.testing.assert_close(gradient.double(), slopes, rtol=1e-5, atol=1e-9)


def test_many_weights_of_all_sizes_within_a_class():
    """Every third point outweighs all lighter ones: level by level, against all pairs of different points."""
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(2, 24, generator=generator, dtype=torch.float64)
    weight = 10.0 ** torch.arange(0.0, -36.0, -1.5, dtype=torch.float64)[torch.randperm(24, generator=generator)]
    target = torch.arange(24) % 2
    found = auc_risk(scores, target, "sigmoid", weight, pi=1.0, pi_prime=0.5)
    for row, value in zip(scores, found, strict=True):
        s, t, w, v = row[target == 1], row[target == 0], weight[target == 1], weight[target == 0]
        values = sl.get_loss("sigmoid")
        between = (w / w.sum()) @ values(s[:, None] - t) @ (v / v.sum())
        pairs = (w[:, None] * w).fill_diagonal_(0.0)
        expected = 2 * between - (pairs * values(s[:, None] - s)).sum() / pairs.sum()
        torch.testing.assert_close(value, expected.clamp(min=0), rtol=1e-9, atol=1e-12)
