"""Training on tables of the prior: processes draw them, one device learns from them."""

import multiprocessing as mp
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
import torch.fx.experimental._config
from torch import Tensor
from torch.nn import functional

from pretraining import short_attention
from pretraining.network import LEVELS, PLACE, ROW_TOKENS, Network, Shape
from pretraining.prior import draw_batches
from pretraining.weights import read_weights, write_weights

RATE = 2e-3
WARM_UP = 200  # steps
SMALL = Shape(width=32, heads=2, cell_layers=2, row_layers=2, questions=8)


PARTS = ("network", "optimizers", "average")  # of a checkpoint, a file each
PATIENCE = 300  # seconds without a batch

Batches = Iterator[tuple[Tensor, Tensor, Tensor]]


def drawn_batches(seed: int, step: int, cells: int, processes: int) -> Any:
    """Start processes that draw batches into a queue, others at each `step` that training is resumed from."""
    context = mp.get_context("spawn")
    queue = context.Queue(maxsize=4 * processes)
    for i in range(processes):
        context.Process(target=draw_batches, args=((seed, step, i), cells, queue), daemon=True).start()
    return queue


def batches(queue: Any) -> Batches:
    """Take batches out of the queue."""
    while True:
        columns, clean, given = (torch.from_numpy(part) for part in queue.get(timeout=PATIENCE))
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
        """Write all that `load` needs, in three files below 16 MB; only when all are there the last ones go."""
        folder.mkdir(parents=True, exist_ok=True)
        numbers = {name: getattr(self, name) for name in ("step", "tables", "tokens", "seconds")}
        momentum = {"x".join(map(str, shape)): value.bfloat16() for shape, value in self.muon.momentum.items()}
        parts = {
            "network": self.network.state_dict(),
            "optimizers": {
                "adam": self.adam.state_dict(), "momentum": momentum, "shape": asdict(self.network.shape), **numbers
            },
        }  # fmt: skip
        for name, part in parts.items():
            torch.save(part, folder / "part.pt")
            (folder / "part.pt").replace(folder / f"{name}_{self.step}.pt")
        self.write_average(folder / f"average_{self.step}.npz")
        for name in PARTS:
            for old in folder.glob(f"{name}_*"):
                if old.stem != f"{name}_{self.step}":
                    old.unlink()

    def write_average(self, path: Path) -> None:
        """Write the running average of the weights."""
        write_weights(self.average, self.network.shape, path)

    @classmethod
    def load(cls, folder: Path, device: str) -> "Trainer":
        """Go on from where `save` was called last."""
        step = last_step(folder)
        network, rest = (
            torch.load(folder / f"{name}_{step}.pt", map_location=device, weights_only=True) for name in PARTS[:2]
        )
        trainer = cls(Network(Shape(**rest["shape"])), device)
        trainer.network.load_state_dict(network)
        average = read_weights(str(folder / f"average_{step}.npz"), device).network.state_dict()
        for name, value in average.items():
            trainer.average[name].copy_(value)
        for shape, value in trainer.muon.momentum.items():
            value.copy_(rest["momentum"]["x".join(map(str, shape))])
        trainer.adam.load_state_dict(rest["adam"])
        for name in ("step", "tables", "tokens", "seconds"):
            setattr(trainer, name, rest[name])
        return trainer


def last_step(folder: Path) -> int | None:
    """Find the step of the last checkpoint of which no file is missing."""
    steps = [{int(path.stem.rpartition("_")[2]) for path in folder.glob(f"{name}_*.*")} for name in PARTS]
    return max(set.intersection(*steps), default=None)


def start(folder: Path, small: bool = False) -> Trainer:
    """Give the trainer of the last checkpoint, or a new one, on the GPU if there is one, with compiled layers."""
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if (step := last_step(folder)) is None:
        trainer = Trainer(Network(SMALL if small else Shape()), device)
    else:
        trainer = Trainer.load(folder, device)
        print(f"resumed after {trainer.seconds:.0f} s, {step} steps, {trainer.tables:,} tables", flush=True)
    forget_later(folder, step or 0)
    if device == "cuda":
        torch.backends.cuda.enable_cudnn_sdp(False)  # its backward pass fails on odd shapes
        torch.set_float32_matmul_precision("high")
        torch.fx.experimental._config.use_duck_shape = False  # sizes that are the same by chance stay apart
        torch._dynamo.config.recompile_limit = 64
        if short_attention.works() and compiles():
            for layer in (*trainer.network.cell_layers, *trainer.network.row_layers):
                layer.compile(dynamic=True)
        else:
            print("Triton or the compiler does not work here: training is slower", flush=True)
            short_attention.triton = None
    return trainer


def compiles() -> bool:
    """Try the compiler on the GPU."""
    try:
        x = torch.ones(64, device="cuda", requires_grad=True)
        torch.compile(lambda x: functional.gelu(x) * 2)(x).sum().backward()
        return True
    except Exception:
        return False


def train(trainer: Trainer, source: Batches, seconds: float, folder: Path, falling: bool = False) -> None:
    """Train for `seconds`, at a rate that falls to 0 if `falling`; write a line of `curve.csv` now and then.

    Every two minutes the checkpoint is written, and every four the average of the weights is kept, to see what more
    training gives. What falls is not part of the checkpoint, but is written every 20 seconds.
    """
    start, before, history = time.monotonic(), trainer.seconds, []
    while (now := time.monotonic() - start) < seconds:
        history.append(trainer.learn([next(source), next(source)], 1 - now / seconds if falling else 1))
        last, trainer.seconds = trainer.seconds, before + time.monotonic() - start
        if last // 120 < trainer.seconds // 120 and not falling:
            trainer.save(folder)
        if last // 240 < trainer.seconds // 240 and not falling:
            trainer.write_average(folder / f"after_{trainer.seconds:.0f}.npz")
        if last // 20 < trainer.seconds // 20 and falling:  # nearly as good as those of the end
            write_weights(trainer.network.state_dict(), trainer.network.shape, folder / "decayed.npz")
        if trainer.step % 50 == 0:
            first, second, third = torch.stack(history).mean(0).tolist()
            history.clear()
            counts = f"{trainer.seconds:.0f},{trainer.step},{trainer.tables},{trainer.tokens}"
            row = f"{counts},{first:.4f},{second:.4f},{third:.5f}"
            with (folder / "curve.csv").open("a") as file:
                file.write(row + "\n")
            if trainer.step % 250 == 0:
                print(row, flush=True)


def forget_later(folder: Path, step: int) -> None:
    """Take lines out of `curve.csv` that belong to steps which were lost."""
    path = folder / "curve.csv"
    if path.exists():
        rows = [line.split(",") for line in path.read_text().splitlines()]
        kept = [row for row in rows if len(row) == 7 and int(row[1]) <= step]  # the last one may be cut off
        path.write_text("".join(",".join(row) + "\n" for row in kept))
