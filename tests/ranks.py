"""One rank of ``test_distributed.py``: ``python ranks.py RANK WORLD INIT_FILE DEVICE``; it fails if a check does.

Every rank knows the batches of all ranks, and so what a single process makes of them concatenated.
"""

import sys
import warnings

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import symloss as sl
from symloss.functional import MissingClassWarning

MODULES = (sl.AUCLoss, sl.BERLoss)
LOSSES = ("sigmoid", "barrier_hinge", "logistic", "ramp", "exponential", "unhinged")
largest_error = 0.0


def close(found, expected):
    """Raise unless the two are equal up to 1e-12, and keep the largest difference."""
    global largest_error
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    largest_error = max(largest_error, (found - expected).abs().max().item())


def batches(case, world, seed):
    """Return (X, labels, weights or None) of every rank."""
    drawing = {"generator": torch.Generator("cpu").manual_seed(seed), "device": "cpu"}
    sizes = [[5, 9, 1, 12], [6, 0, 7, 3]][case == "a rank is empty"][:world]
    drawn = []
    for rank, n in enumerate(sizes):
        X, y = torch.randn(n, 3, **drawing).double(), torch.rand(n, **drawing) < 0.4
        if n > 1:
            y[0], y[1] = True, False
        if case == "ranks lack a class" and rank < 2:
            y[:] = rank == 0
        if case == "no rank has negatives":
            y[:] = True
        weight = torch.rand(n, **drawing).double()
        weighted = case == "weights" or (case == "weights on one rank" and rank == 1)
        drawn.append((X, y.long() if rank % 2 else y, weight if weighted else None))
    here = torch.get_default_device()
    return [(X.to(here), y.to(here), None if weight is None else weight.to(here)) for X, y, weight in drawn]


def concatenated(drawn):
    """Return the batches as one."""
    weights = None
    if any(weight is not None for _, _, weight in drawn):
        weights = torch.cat([torch.ones(len(X)).double() if w is None else w for X, _, w in drawn])
    return torch.cat([X for X, _, _ in drawn]), torch.cat([y.bool() for _, y, _ in drawn]), weights


def network():
    """Return the same small network on every rank."""
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1), nn.Flatten(0)).double()


def step(model, loss, batch):
    """Return the loss and leave the gradients."""
    X, y, weight = batch
    model.zero_grad()
    value = loss(model(X), y, weight)
    value.backward()
    return value.detach()


def check_one_step(rank, world, case, module, name, **rates):
    """Loss and gradients are those of the concatenated batch, on every rank."""
    drawn = batches(case, world, seed=len(case))
    alone, model = network(), DistributedDataParallel(network())
    expected = step(alone, module(name, **rates), concatenated(drawn))
    close(step(model, module(name, process_group="world", **rates), drawn[rank]), expected)
    for own, other in zip(model.parameters(), alone.parameters(), strict=True):
        close(own.grad, other.grad)


def check_training(rank, world, module):
    """After several steps of SGD, with accumulated gradients, the parameters are those of a single process."""
    alone, model = network(), DistributedDataParallel(network())
    optimizers = [torch.optim.SGD(network.parameters(), lr=2.0, momentum=0.9) for network in (alone, model)]
    for seed in range(4):
        first, second = batches("uneven", world, seed), batches("ranks lack a class", world, seed + 10)
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss = module("sigmoid", process_group="world")
        with model.no_sync():
            loss(model(first[rank][0]), first[rank][1]).backward()
        loss(model(second[rank][0]), second[rank][1]).backward()
        for drawn in (first, second):
            X, y, _ = concatenated(drawn)
            module("sigmoid")(alone(X), y).backward()
        for optimizer in optimizers:
            optimizer.step()
    moved = max((a - b).abs().max().item() for a, b in zip(alone.parameters(), network().parameters(), strict=True))
    assert moved > 0.1
    for own, other in zip(model.parameters(), alone.parameters(), strict=True):
        close(own, other)


def check_shapes_and_precisions(rank, world):
    """Leading dimensions are independent problems; float32 stays float32, half precision gets its own gradient."""
    torch.manual_seed(2)
    parts = [(torch.randn(2, n), torch.rand(2, n) < 0.5) for n in (4, 7, 2, 5)[:world]]
    scores, target = (torch.cat(part, -1) for part in zip(*parts, strict=True))
    for module in MODULES:
        for dtype in (torch.float32, torch.float64, torch.bfloat16):
            own = parts[rank][0].to(dtype).requires_grad_()
            value = module("sigmoid", process_group="world")(own, parts[rank][1])
            leaf = scores.to(dtype).requires_grad_()
            expected = module("sigmoid")(leaf, target)
            assert value.dtype == expected.dtype
            torch.testing.assert_close(value, expected)
            start = sum(part[0].shape[-1] for part in parts[:rank])
            (gradient,) = torch.autograd.grad(expected.sum(), leaf)
            (found,) = torch.autograd.grad(value.sum(), own)
            torch.testing.assert_close(found, world * gradient[:, start : start + own.shape[-1]])


def check_groups(rank, world):
    """A group pairs the points of its own ranks; others are refused."""
    pair = dist.new_group([0, 1])
    drawn = batches("uneven", world, seed=3)
    scores = [X[:, 0] for X, _, _ in drawn]
    loss = sl.AUCLoss("logistic", process_group=pair)
    if rank < 2:
        expected = sl.AUCLoss("logistic")(torch.cat(scores[:2]), torch.cat([y.bool() for _, y, _ in drawn[:2]]))
        close(loss(scores[rank], drawn[rank][1]), expected)
    else:
        with pytest.raises(RuntimeError, match=f"rank {rank} is not in the process_group"):
            loss(scores[rank], drawn[rank][1])
    world_loss = sl.AUCLoss("logistic", process_group=dist.group.WORLD)
    X, y, _ = concatenated(drawn)
    close(world_loss(scores[rank], drawn[rank][1]), sl.AUCLoss("logistic")(X[:, 0], y))


def check_errors(rank, world):
    """Mistakes are raised on all ranks, also those of one rank: the others would wait for it."""
    loss = sl.BERLoss("sigmoid", process_group="world")
    right = torch.zeros(3), torch.tensor([0, 1, 1])
    for wrong in (
        (torch.zeros(3), [0, 1, 2]),
        (torch.zeros(3), [0, 1]),
        (*right, -torch.ones(3)),
        ("scores", [0, 1]),
        (torch.zeros(2), [1, 10**400]),
        (torch.ones(3).to_sparse(), [0, 1, 1]),
        (torch.zeros(3, device="meta"), [0, 1, 1]),
    ):
        for culprit in range(world):
            kinds = (ValueError, TypeError, OverflowError, NotImplementedError) if rank == culprit else RuntimeError
            message = None if rank == culprit else f"rank {culprit} of the process_group refused its batch"
            with pytest.raises(kinds, match=message):
                loss(*wrong if rank == culprit else right)
    with pytest.raises(ValueError, match="same leading dimensions"):
        loss(torch.zeros(1 + rank, 3), [0, 1, 1])
    for shape in ([2, 3, 3] if rank else [3, 2, 3], [6, 3] if rank else [2, 3, 3]):  # as many problems
        with pytest.raises(ValueError, match=r"same leading dimensions on all ranks, got \[\([23], [23]?"):
            loss(torch.zeros(shape), [0, 1, 1])
    with pytest.raises(ValueError, match="8 leading dimensions across ranks, got 9"):
        loss(torch.zeros([1] * 9 + [3]), [0, 1, 1])
    with pytest.raises(ValueError, match="must be 'world'"):
        sl.BERLoss(process_group="all")(torch.zeros(2), [0, 1])
    scores = torch.zeros(2, requires_grad=True)
    (gradient,) = torch.autograd.grad(loss(scores, [0, 1]), scores, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


def check_sampler(rank, world):
    """The ranks of the process group are the sampler's, and the batches of all ranks are an epoch."""
    labels = torch.arange(103) % 7 == 0
    sampler = sl.StratifiedBatchSampler(labels, 8)
    own = torch.tensor([row for batch in sampler for row in batch])
    sizes = [torch.zeros((), dtype=torch.long) for _ in range(world)]
    dist.all_gather(sizes, torch.tensor(len(own)))
    rows = [torch.zeros(max(sizes), dtype=torch.long) for _ in range(world)]
    dist.all_gather(rows, nn.functional.pad(own, (0, max(sizes) - len(own))))
    seen = torch.cat([row[:size] for row, size in zip(rows, sizes, strict=True)])
    negatives = seen[~labels[seen]]
    assert sorted(negatives.tolist()) == torch.nonzero(~labels).flatten().tolist()
    assert set(seen[labels[seen]].tolist()) == set(torch.nonzero(labels).flatten().tolist())


def check_missing_class(rank, world):
    """A class that no rank has: a warning, and for the AUC a zero with zero gradients."""
    for module in MODULES:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            check_one_step(rank, world, "no rank has negatives", module, "sigmoid")
        assert sum(issubclass(warning.category, MissingClassWarning) for warning in seen) == 2  # alone, and together


def main(rank, world, init_file, device):
    """Run all checks."""
    torch.set_num_threads(1)
    torch.set_default_device(device)
    dist.init_process_group("gloo", init_method=f"file://{init_file}", rank=rank, world_size=world)
    warnings.simplefilter("error", MissingClassWarning)  # no rank may look at its own batch alone
    for module in MODULES:
        for name in LOSSES:
            for case in ("uneven", "ranks lack a class", "a rank is empty", "weights", "weights on one rank"):
                check_one_step(rank, world, case, module, name)
        for case in ("uneven", "a rank is empty", "weights"):
            check_one_step(rank, world, case, module, "logistic", pi=0.9, pi_prime=0.2)
        check_training(rank, world, module)
    check_missing_class(rank, world)
    check_shapes_and_precisions(rank, world)
    check_groups(rank, world)
    check_errors(rank, world)
    check_sampler(rank, world)
    print(f"rank {rank} of {world}: largest difference {largest_error:.1e}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
