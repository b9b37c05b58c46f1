import re
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import DataLoader, TensorDataset

import symloss as sl


def labels_of(n_pos, n_neg, seed=0):
    return np.random.default_rng(seed).permutation(np.arange(n_pos + n_neg) < n_pos)


def all_ranks(labels, batch_size, ranks, **parameters):
    samplers = [
        sl.StratifiedBatchSampler(labels, batch_size, num_replicas=ranks, rank=rank, **parameters)
        for rank in range(ranks)
    ]
    epochs = [list(sampler) for sampler in samplers]
    assert [len(epoch) for epoch in epochs] == [len(sampler) for sampler in samplers]
    return epochs


SIZES = {
    "n_pos": st.integers(1, 60),
    "n_neg": st.integers(1, 60),
    "batch_size": st.integers(2, 40),
    "ranks": st.integers(1, 5),
    "seed": st.integers(0, 2**40),
}


@given(**SIZES, data=st.data())
def test_every_batch_has_both_classes_and_every_example_is_seen(n_pos, n_neg, batch_size, ranks, seed, data):
    labels = labels_of(n_pos, n_neg)
    least = data.draw(st.integers(1, min(n_pos, batch_size - 1)))
    epochs = all_ranks(labels, batch_size, ranks, random_state=seed, min_positives=least)
    assert len({len(epoch) for epoch in epochs}) == 1
    batches = [batch for epoch in epochs for batch in epoch]
    sizes = [len(batch) for batch in batches]
    assert max(sizes) <= batch_size
    assert max(sizes) - min(sizes) <= 1
    seen = Counter(index for batch in batches for index in batch)
    for of_class, fewest in ((labels, least), (~labels, 1)):
        rows = np.flatnonzero(of_class).tolist()
        in_batches = [sum(of_class[batch]) for batch in batches]
        assert min(in_batches) >= fewest
        assert max(in_batches) - min(in_batches) <= 1
        times = [seen[row] for row in rows]
        assert min(times) >= 1
        assert max(times) - min(times) <= 1
        assert sum(times) == max(len(rows), fewest * len(batches))  # repeated only to be in every batch
        assert all(len(set(batch)) == len(batch) for batch in batches)  # but never within one
    # No fewer batches would do.
    fewer = len(batches) - ranks
    assert fewer < 1 or max(n_pos, least * fewer) + max(n_neg, fewer) > fewer * batch_size


@given(**SIZES, share=st.floats(0.01, 0.99))
def test_a_share_of_positives(n_pos, n_neg, batch_size, ranks, seed, share):
    labels = labels_of(n_pos, n_neg)
    epochs = all_ranks(labels, batch_size, ranks, random_state=seed, positive_share=share)
    batches = [batch for epoch in epochs for batch in epoch]
    positives = min(max(round(share * batch_size), 1), batch_size - 1)
    assert {(len(batch), int(sum(labels[batch]))) for batch in batches} == {(batch_size, positives)}
    seen = Counter(index for batch in batches for index in batch)
    for rows in (np.flatnonzero(labels), np.flatnonzero(~labels)):
        times = [seen[row] for row in rows.tolist()]
        assert min(times) >= 1
        assert max(times) - min(times) <= 1
    fewer = len(batches) - ranks
    assert fewer < 1 or fewer * positives < n_pos or fewer * (batch_size - positives) < n_neg


def test_a_share_has_at_least_the_least_number_of_positives():
    labels = labels_of(30, 970)
    for share, positives in ((0.02, 8), (0.5, 25)):
        sampler = sl.StratifiedBatchSampler(labels, 50, positive_share=share, min_positives=8)
        assert {int(labels[batch].sum()) for batch in sampler} == {positives}


@given(**SIZES, epochs=st.integers(1, 3), data=st.data())
def test_a_resumed_epoch_loses_nothing(n_pos, n_neg, batch_size, ranks, seed, epochs, data):
    def make():
        return sl.StratifiedBatchSampler(
            labels_of(n_pos, n_neg), batch_size, random_state=seed, num_replicas=ranks, rank=ranks - 1
        )

    sampler = make()
    whole = [list(sampler) for _ in range(epochs + 1)]
    stopped, resumed = make(), make()
    done = [list(stopped) for _ in range(epochs - 1)]
    out = data.draw(st.integers(1, len(stopped)))
    part = [batch for _, batch in zip(range(out), stopped, strict=False)]
    resumed.load_state_dict(stopped.state_dict())
    if out < len(stopped):
        resumed.set_epoch(epochs - 1)  # where it is already: nothing is lost
        rest = [*done, part + list(resumed)]
    else:
        rest = [*done, part]
    assert [*rest, list(resumed)] == whole


def test_epochs_differ_and_are_reproducible():
    labels = labels_of(30, 70)
    sampler = sl.StratifiedBatchSampler(labels, 16)
    first, second = list(sampler), list(sampler)
    assert first != second
    assert sampler.epoch == 2
    sampler.set_epoch(1)
    assert list(sampler) == second
    assert list(sl.StratifiedBatchSampler(labels, 16, random_state=1)) != first
    sampler.set_epoch(0)
    next(iter(sampler))  # a look does not move the next iteration
    assert list(sampler) == first


def test_another_epoch_than_the_resumed_one_is_whole():
    sampler, other = (sl.StratifiedBatchSampler(labels_of(30, 70), 16) for _ in range(2))
    next(iter(sampler))
    other.load_state_dict(sampler.state_dict())
    for each in (sampler, other):
        each.set_epoch(4)
    assert other.state_dict() == {"epoch": 4, "position": 0, "batches": 7, "random_state": 0}
    resumed = list(other)
    assert len(resumed) == 7
    assert resumed == list(sampler)


def test_the_same_in_another_process():
    code = (
        "import numpy as np, symloss as sl; sampler = sl.StratifiedBatchSampler(np.arange(50) % 3 == 0, 8, "
        "random_state=5); sampler.set_epoch(3); print(list(sampler))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    sampler = sl.StratifiedBatchSampler(np.arange(50) % 3 == 0, 8, random_state=5)
    sampler.set_epoch(3)
    assert result.stdout.strip() == str(list(sampler))


def test_label_codings_agree():
    y = torch.arange(40) % 4 == 0
    epochs = [
        list(sl.StratifiedBatchSampler(labels, 7))
        for labels in (y, y.long(), 2 * y.long() - 1, y.float(), y.numpy(), y.tolist())
    ]
    assert all(epoch == epochs[0] for epoch in epochs)


@pytest.mark.parametrize("workers", [0, 2])
def test_in_a_data_loader(workers):
    X, y = torch.arange(100.0), torch.arange(100) % 10 == 0
    sampler = sl.StratifiedBatchSampler(y, 12)
    loader = DataLoader(TensorDataset(X, y), batch_sampler=sampler, num_workers=workers)
    assert len(loader) == len(sampler) == 9
    for _ in range(2):
        seen = []
        for rows, labels in loader:
            sl.AUCLoss()(torch.randn(len(rows)), labels)  # would warn of a missing class
            seen += rows.tolist()
        assert sorted(seen) == X.tolist()


def test_a_data_loader_that_stops_and_goes_on():
    X, y = torch.arange(100), torch.arange(100) % 10 == 0

    def loader(state=None):
        sampler = sl.StratifiedBatchSampler(y, 12)
        if state is not None:
            sampler.load_state_dict(state)
        return DataLoader(X, batch_sampler=sampler), sampler

    before, sampler = loader()
    seen = [batch.tolist() for _, batch in zip(range(4), before, strict=False)]
    after, _ = loader(sampler.state_dict())
    assert seen + [batch.tolist() for batch in after] == [batch.tolist() for batch in loader()[0]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"labels": [1, 1, 1]}, "labels must hold both classes, got 3 positive and 0 negative labels"),
        ({"labels": [0, 0]}, "got 0 positive and 2 negative labels"),
        ({"labels": []}, "got 0 positive and 0 negative labels"),
        ({"labels": [[0, 1]]}, "labels must have shape (n,), got (1, 2)"),
        ({"labels": [0, 1, 2]}, "got the values 0, 1, 2"),
        ({"batch_size": 1}, "batch_size must be a whole number of at least 2, got 1"),
        ({"batch_size": 2.5}, "batch_size must be a whole number of at least 2, got 2.5"),
        ({"random_state": None}, "random_state must be a whole number of at least 0, got None"),
        ({"positive_share": 1.0}, "positive_share must be a number between 0 and 1, got 1.0"),
        ({"positive_share": "x"}, "positive_share must be a number between 0 and 1, got 'x'"),
        ({"min_positives": 0}, "min_positives must be a whole number of at least 1, got 0"),
        ({"min_positives": 2}, "min_positives must be below batch_size = 2, got 2"),
        ({"min_positives": 3, "batch_size": 5}, "min_positives must be at most 2, the number of positives, got 3"),
        ({"rank": 1}, "give both num_replicas and rank or neither, got None and 1"),
        ({"rank": 2, "num_replicas": 2}, "rank must be below num_replicas, got rank 2 of 2"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        sl.StratifiedBatchSampler(**{"labels": [0, 1, 1], "batch_size": 2, **arguments})


def test_bad_states():
    sampler = sl.StratifiedBatchSampler(labels_of(30, 70), 16)
    state = sampler.state_dict()
    with pytest.raises(ValueError, match="the state is of 3 batches an epoch, this sampler has 7"):
        sampler.load_state_dict({**state, "batches": 3})
    with pytest.raises(ValueError, match=r"the state is of random_state=1, this sampler has 0"):
        sampler.load_state_dict({**state, "random_state": 1})
    with pytest.raises(ValueError, match=r"one of state_dict\(\), got one without position, random_state"):
        sampler.load_state_dict({"epoch": 0, "batches": 7})
    with pytest.raises(ValueError, match="position must be at most 7"):
        sampler.load_state_dict({**state, "position": 8})
    with pytest.raises(ValueError, match="epoch must be a whole number"):
        sampler.set_epoch(-1)
    sampler.load_state_dict({**state, "position": 7})  # all of epoch 0 trained on
    assert sampler.epoch == 1
    assert len(list(sampler)) == 7
