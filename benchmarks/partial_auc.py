"""Compare the partial AUC risk with LibAUC's losses for it: what each computes on given scores, and in what time.

    python benchmarks/partial_auc.py [--out FOLDER]

It needs LibAUC (`pip install --no-deps libauc==2.0.1`). All take the squared hinge loss. The exact value and gradient
are by brute force: for each positive, the mean over the top tenth of the negatives. LibAUC's losses keep a number per
positive, which each step improves; so the same scores are given to them many times. Their settings are those that their
documentation suggests. In the second table, scores come in batches, drawn anew for each step, and gradients are added
up over the second half of the steps. Values are divided by the exact one, and the cosine is that of the angle between
a gradient and the exact one.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
from libauc.losses.auc import pAUC_CVaR_Loss, pAUC_DRO_Loss
from torch import Tensor

import symloss as sl

POSITIVES, NEGATIVES, MAX_FPR = 100, 1000, 0.1
STEPS = (1, 100, 3000)
BATCH = (10, 50)  # positives and negatives
SIZES = ((50, 50), (500, 500), (200, 10_000), (5000, 5000))

Criterion = Callable[[Tensor, Tensor, Tensor], Tensor]  # of scores, labels and the numbers of the examples


def criteria(positives: int, negatives: int, settings: bool = True) -> dict[str, Criterion]:
    """Return symloss and LibAUC's losses, with all suggested settings or with the defaults only."""
    ours = sl.PartialAUCLoss("squared_hinge", max_fpr=MAX_FPR)
    found: dict[str, Criterion] = {"symloss `PartialAUCLoss`": lambda scores, target, _: ours(scores, target)}
    sizes = {"data_len": positives + negatives, "device": torch.device("cpu")}
    for eta in (10.0, 1.0, 0.1, 0.01) if settings else (0.1,):
        found[f"LibAUC `pAUC_CVaR_Loss`, eta = {eta:g}"] = pAUC_CVaR_Loss(
            pos_len=positives, beta=MAX_FPR, eta=eta, **sizes
        )
    for weight in (0.1, 1.0, 10.0) if settings else (1.0,):
        found[f"LibAUC `pAUC_DRO_Loss`, Lambda = {weight:g}"] = pAUC_DRO_Loss(Lambda=weight, **sizes)
    return found


def problem(positives: int, negatives: int) -> tuple[Tensor, Tensor]:
    """Return normal scores, those of positives one higher, and labels."""
    target = (torch.arange(positives + negatives) < positives).long()
    return (torch.randn(len(target)) + target).requires_grad_(), target


def brute_force(scores: Tensor, target: Tensor) -> tuple[float, Tensor]:
    """Return the exact value and gradient from the matrix of all pairs with the top negatives."""
    exact = scores.detach().double().requires_grad_()
    top = exact[target == 0].topk(round(MAX_FPR * int((target == 0).sum()))).values
    value = (1 - exact[target == 1][:, None] + top).clamp(min=0).square().mean()
    (gradient,) = torch.autograd.grad(value, exact)
    return value.item(), gradient


def row(name: str, found: list[tuple[float, Tensor]], exact: tuple[float, Tensor]) -> str:
    """Return a line with the value and the cosine of each finding."""
    cells = []
    for value, gradient in found:
        cosine = torch.nn.functional.cosine_similarity(gradient.double(), exact[1], 0).item()
        cells += [f"{value / exact[0]:.3f}", f"{cosine:.3f}"]
    return f"| {name} | {' | '.join(cells)} |"


def on_given_scores(scores: Tensor, target: Tensor) -> list[str]:
    """Return the table for the same scores in every step."""
    heads = "".join(f" value, step {step:,} | cosine, step {step:,} |" for step in STEPS)
    lines = [f"| |{heads}", "|---" * (1 + 2 * len(STEPS)) + "|"]
    for name, criterion in criteria(POSITIVES, NEGATIVES).items():
        found = []
        for step in range(1, max(STEPS) + 1):
            value = criterion(scores, target, torch.arange(len(target)))
            if step in STEPS:
                found.append((value.item(), torch.autograd.grad(value, scores)[0]))
        lines.append(row(name, found, brute_force(scores, target)))
    return lines


def in_batches(scores: Tensor, target: Tensor, steps: int = 20_000) -> list[str]:
    """Return the table for random batches: the mean of values and the sum of gradients over the second half."""
    lines = ["| | mean value | cosine |", "|---|---|---|"]
    for name, criterion in criteria(POSITIVES, NEGATIVES).items():
        torch.manual_seed(1)
        total, values = torch.zeros(len(scores), dtype=torch.float64), []
        for step in range(steps):
            chosen = torch.cat(
                [torch.randperm(POSITIVES)[: BATCH[0]], POSITIVES + torch.randperm(NEGATIVES)[: BATCH[1]]]
            )
            batch = scores.detach()[chosen].requires_grad_()
            value = criterion(batch, target[chosen], chosen)
            if 2 * step >= steps:
                values.append(value.item())
                total[chosen] += torch.autograd.grad(value, batch)[0]
        lines.append(row(name, [(statistics.fmean(values), total)], brute_force(scores, target)))
    return lines


def seconds(rounds: int = 31) -> list[str]:
    """Return the table of times of value and gradient, medians of steps that take turns."""
    names = list(criteria(*SIZES[0], settings=False))
    lines = [f"| positives and negatives | {' | '.join(f'{name}, ms' for name in names)} |", "|---" * 4 + "|"]
    for size in SIZES:
        scores, target = problem(*size)
        times: dict[str, list[float]] = {name: [] for name in names}
        found = criteria(*size, settings=False)
        for _ in range(rounds if size[0] * size[1] < 10**7 else 5):
            for name, criterion in found.items():
                start = time.thread_time()
                torch.autograd.grad(criterion(scores, target, torch.arange(len(target))), scores)
                times[name].append(time.thread_time() - start)
        cells = [f"{1e3 * statistics.median(values):.2f}" for values in times.values()]
        lines.append(f"| {size[0]:,} and {size[1]:,} | {' | '.join(cells)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="folder to write partial_auc_given.md and others into")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    given = problem(POSITIVES, NEGATIVES)
    parts = {"given": on_given_scores(*given), "batches": in_batches(*given), "seconds": seconds()}
    for name, lines in parts.items():
        text = "\n".join(lines) + "\n"
        print(text)
        if options.out:
            options.out.mkdir(parents=True, exist_ok=True)
            (options.out / f"partial_auc_{name}.md").write_text(text)


if __name__ == "__main__":
    main()
