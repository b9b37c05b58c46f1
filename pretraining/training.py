"""Training on tables of the prior: processes draw them, one device learns from them."""

import multiprocessing as mp
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

from pretraining.network import LEVELS, PLACE, ROW_TOKENS, Network
from pretraining.prior import draw_batches

RATE = 2e-3
WARM_UP = 200  # steps


Batches = Iterator[tuple[Tensor, Tensor, Tensor]]


def batches(seed: int, step: int, cells: int, processes: int) -> Batches:
    """Draw batches in other processes, others at each `step` that training is resumed from."""
    context = mp.get_context("spawn")
    queue = context.Queue(maxsize=4 * processes)
    for i in range(processes):
        context.Process(target=draw_batches, args=((seed, step, i), cells, queue), daemon=True).start()
    while True:
        columns, clean, given = (torch.from_numpy(part) for part in queue.get())
        if torch.cuda.is_available():  # so that copies to it do not wait for what it computes
            columns, clean, given = columns.pin_memory(), clean.pin_memory(), given.pin_memory()
        yield columns, clean, given


def losses(network: Network, columns: Tensor, clean: Tensor, given: Tensor) -> Tensor:
    """Losses of the three answers: new labels with either class as frequent, given labels, shares of wrong labels."""
    training = given.shape[1]
    place = torch.randn(len(columns), -(-columns.shape[2] // network.shape.pair), PLACE, device=columns.device)
    new, old, noise = network(columns, given.float() * 2 - 1, place)
    truth = clean.float()
    share = truth.mean(1, keepdim=True)
    asked = truth[:, training:]
    weight = 0.5 * (asked / share + (1 - asked) / (1 - share))
    first = (functional.binary_cross_entropy_with_logits(new.float(), asked, reduction="none") * weight).mean()
    second = functional.binary_cross_entropy_with_logits(old.float(), truth[:, :training])
    wrong = (clean[:, :training] != given).float()
    shares = torch.stack([(wrong * side).sum(1) / side.sum(1) for side in (~given, given)], 1)
    levels = torch.tensor(LEVELS, device=columns.device)
    error = shares[..., None] - noise
    third = torch.maximum(levels * error, (levels - 1) * error).mean()
    return torch.stack([first, second, third])


class Muon:
    """Momentum whose step is the nearest orthogonal matrix (Jordan et al., 2024); all matrices of a shape at once."""

    def __init__(self, matrices: list[torch.nn.Parameter]) -> None:
        self.groups: dict[tuple[int, ...], list[torch.nn.Parameter]] = {}
        for matrix in matrices:
            self.groups.setdefault(tuple(matrix.shape), []).append(matrix)
        self.momentum = {
            shape: torch.stack([torch.zeros_like(m) for m in group]) for shape, group in self.groups.items()
        }

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """Change the matrices, and clear their gradients."""
        for shape, group in self.groups.items():
            gradient, momentum = torch.stack([matrix.grad for matrix in group]), self.momentum[shape]
            momentum.lerp_(gradient, 0.05)
            change = orthogonal(gradient.lerp(momentum, 0.95)) * (0.2 * max(shape) ** 0.5)
            torch._foreach_mul_(group, 1 - 0.01 * rate)
            torch._foreach_add_(group, list(change.unbind()), alpha=-rate)
            for matrix in group:
                matrix.grad = None


def orthogonal(x: Tensor) -> Tensor:
    """Five steps of Newton and Schulz towards the orthogonal factor of each matrix."""
    dtype, wide = x.dtype, x.shape[1] <= x.shape[2]
    x = x.bfloat16() if x.is_cuda else x
    x = x if wide else x.mT
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(5):
        square = x @ x.mT
        x = 3.4445 * x + torch.baddbmm(square, square, square, beta=-4.775, alpha=2.0315) @ x
    return (x if wide else x.mT).to(dtype)


class Trainer:
    """A network, its optimizers and the running average of its weights."""

    def __init__(self, network: Network, device: str) -> None:
        self.network, self.device = network.to(device), device
        layers = ("cell_layers", "row_layers")
        matrices, others = [], []
        for name, parameter in network.named_parameters():
            inside = name.startswith(layers) and parameter.ndim == 2 and "questions" not in name
            (matrices if inside else others).append(parameter)
        self.muon = Muon(matrices)
        self.adam = torch.optim.AdamW(others, lr=RATE, betas=(0.9, 0.98), weight_decay=0.01)
        self.average = {name: value.detach().clone() for name, value in network.state_dict().items()}
        self.step, self.tables, self.tokens, self.seconds = 0, 0, 0, 0.0

    def learn(self, several: list[tuple[Tensor, Tensor, Tensor]], factor: float) -> Tensor:
        """Take one step on several batches, at `factor` of the full rate; give the three losses."""
        total = torch.zeros(3, device=self.device)
        for batch in several:
            columns, clean, given = (part.to(self.device, non_blocking=True) for part in batch)
            with torch.autocast(self.device, torch.bfloat16):
                three = losses(self.network, columns, clean, given)
            (three @ torch.tensor([1.0, 0.5, 4.0], device=self.device) / len(several)).backward()
            total += three.detach() / len(several)
            self.tables += len(columns)
            self.tokens += columns.shape[0] * columns.shape[1] * (-(-columns.shape[2] // 2) + ROW_TOKENS)
        parameters = list(self.network.parameters())
        for parameter in parameters:
            parameter.grad.nan_to_num_(0, 0, 0)
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        rate = RATE * factor * min(1, (self.step + 1) / WARM_UP)
        self.muon.step(rate)
        for group in self.adam.param_groups:
            group["lr"] = rate
        self.adam.step()
        self.adam.zero_grad(set_to_none=True)
        self.step += 1
        late = min(0.998, 1 - 1 / (1 + 0.2 * self.step))
        torch._foreach_lerp_(
            list(self.average.values()), [v.detach() for v in self.network.state_dict().values()], 1 - late
        )
        return total

    def save(self, folder: Path) -> None:
        """Write all that `load` needs, in three files below 16 MiB."""
        folder.mkdir(parents=True, exist_ok=True)
        numbers = {name: getattr(self, name) for name in ("step", "tables", "tokens", "seconds")}
        momentum = {"x".join(map(str, shape)): value.bfloat16() for shape, value in self.muon.momentum.items()}
        parts = {
            "network": self.network.state_dict(),
            "average": self.average,
            "optimizers": {"adam": self.adam.state_dict(), "momentum": momentum, **numbers},
        }
        for name, part in parts.items():
            torch.save(part, folder / f"{name}.tmp")
            (folder / f"{name}.tmp").replace(folder / f"{name}.pt")

    def load(self, folder: Path) -> None:
        """Go on from where `save` was called."""
        network, average, rest = (
            torch.load(folder / f"{name}.pt", map_location=self.device, weights_only=True)
            for name in ("network", "average", "optimizers")
        )
        self.network.load_state_dict(network)
        for name, value in average.items():
            self.average[name].copy_(value)
        for shape, value in self.muon.momentum.items():
            value.copy_(rest["momentum"]["x".join(map(str, shape))])
        self.adam.load_state_dict(rest["adam"])
        for name in ("step", "tables", "tokens", "seconds"):
            setattr(self, name, rest[name])


def train(trainer: Trainer, source: Batches, seconds: float, log: Path, falling: bool = False) -> None:
    """Train for `seconds`, at a rate that falls to 0 if `falling`; write a line of `log` now and then.

    Every two minutes the checkpoint is written beside `log`, and the average of the weights is kept, to see what more
    training gives.
    """
    start, before, history = time.monotonic(), trainer.seconds, []
    while (now := time.monotonic() - start) < seconds:
        history.append(trainer.learn([next(source), next(source)], 1 - now / seconds if falling else 1))
        last, trainer.seconds = trainer.seconds, before + now
        if last // 120 < trainer.seconds // 120 and not falling:
            average = {name: value.half() for name, value in trainer.average.items()}
            torch.save(average, log.with_name(f"after_{trainer.seconds:.0f}.pt"))
            trainer.save(log.parent)
        if trainer.step % 50 == 0:
            first, second, third = torch.stack(history).mean(0).tolist()
            history.clear()
            counts = f"{trainer.seconds:.0f},{trainer.step},{trainer.tables},{trainer.tokens}"
            row = f"{counts},{first:.4f},{second:.4f},{third:.5f}"
            with log.open("a") as file:
                file.write(row + "\n")
            if trainer.step % 250 == 0:
                print(row, flush=True)
