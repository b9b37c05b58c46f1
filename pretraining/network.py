"""A network that reads a table with noisy labels and answers for new rows, given labels and their noise.

A row is a few tokens: one for every pair of columns, and two for the row itself, which also hold its label. A layer
over cells lets the tokens of a row see each other, then lets each column see a summary of itself over the training
rows: a few learned questions are asked of the column, and its cells read the answers. A layer over rows, after each of
them, lets the row's own tokens attend to those of all training rows. New rows only read: what they read is the `Memory`
of the training rows, so that any number of new rows can be scored against it later.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from pretraining import short_attention

PLACE = 32  # length of the random vectors that tell columns apart
RATES = (1, 2, 4, 8, 16)  # of the waves over ranks that tell near values apart
VALUES = 3 + 2 * len(RATES)  # numbers that stand for a value
ROW_TOKENS = 2
BLOCK = 512  # rows that attend at a time on a CPU
LEVELS = (0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975)


@dataclass(frozen=True)
class Shape:
    """Sizes of a network."""

    width: int = 128
    heads: int = 4
    cell_layers: int = 5
    row_layers: int = 6  # one after each layer over cells, then the rest
    questions: int = 48  # that a column is asked
    pair: int = 2  # columns in a token


class Scaling(NamedTuple):
    """What is known of columns from their training rows, (tables, features) each."""

    mean: Tensor
    deviation: Tensor
    ordered: Tensor  # (tables, features, training rows), missing values as infinity
    count: Tensor

    @classmethod
    def of(cls, columns: Tensor) -> "Scaling":
        """Measure the columns of training rows, (tables, training rows, features)."""
        missing = columns.isnan()
        count = (~missing).sum(1).clamp(min=1)
        mean = columns.nan_to_num().sum(1) / count
        deviation = (((columns - mean[:, None]).nan_to_num() ** 2).sum(1) / count).sqrt() + 1e-6
        ordered = columns.masked_fill(missing, torch.inf).transpose(1, 2).contiguous().sort(2).values
        return cls(mean, deviation, ordered, count)

    def apply(self, columns: Tensor) -> Tensor:
        """Give every value as `VALUES` numbers: distance from the mean, rank in training rows, missing, waves."""
        missing = columns.isnan()
        z = ((columns - self.mean[:, None]) / self.deviation[:, None]).nan_to_num()
        z = z / (1 + (z / 6) ** 2).sqrt()
        wanted = columns.nan_to_num().transpose(1, 2).contiguous()
        below, upto = (torch.searchsorted(self.ordered, wanted, side=side) for side in ("left", "right"))
        rank = ((below + upto) / self.count[:, :, None] - 1).transpose(1, 2).clamp(-1, 1).masked_fill(missing, 0)
        angle = rank[..., None] * (math.pi / 2 * torch.tensor(RATES, device=rank.device))
        known = torch.stack([z, rank, missing.to(z.dtype)], 3)
        return torch.cat([known, angle.sin(), angle.cos().masked_fill(missing[..., None], 0)], 3)


class Norm(nn.Module):
    """Tokens of mean square 1, then a weight for each entry, in the type of the tokens."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        """Scale each token."""
        weight = self.weight.to(x.dtype)
        if x.is_cuda or torch.is_grad_enabled():
            return functional.rms_norm(x, self.weight.shape, weight, 1e-6)
        square = torch.linalg.vector_norm(x, dim=-1, keepdim=True) ** 2 / self.weight.numel()
        return x * (weight * (square + 1e-6).rsqrt().to(x.dtype))  # a third of the time on a CPU


def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Attention; on a CPU, where PyTorch's own is slow for few keys and in half precision, by hand."""
    short = key.shape[2] <= 32
    if query.is_cuda or not (short or query.dtype == torch.bfloat16):
        return functional.scaled_dot_product_attention(query, key, value)
    turned, parts = key.transpose(2, 3), []
    for part in (query * query.shape[3] ** -0.5).split(BLOCK, 2):  # so that the weights stay in the cache
        scores = part @ turned
        if short:
            weights = (scores - scores.detach().amax(3, keepdim=True)).exp()
            parts.append(weights @ value / weights.sum(3, keepdim=True))
        else:
            parts.append(scores.softmax(3) @ value)
    return torch.cat(parts, 2)


class Attention(nn.Module):
    """Attention with several heads, without biases; it adds nothing before training."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.heads = heads
        nn.init.zeros_(self.out.weight)

    def split(self, x: Tensor) -> Tensor:
        """(sequences, length, width) to (sequences, heads, length, width of a head)."""
        return x.unflatten(2, (self.heads, -1)).transpose(1, 2)

    def keys(self, context: Tensor) -> tuple[Tensor, Tensor]:
        """What is attended to."""
        return self.split(self.key(context)), self.split(self.value(context))

    def within(self, x: Tensor) -> Tensor:
        """Attend from each of the few tokens of a sequence to all of them."""
        if x.is_cuda and short_attention.triton is not None and x.shape[1] <= short_attention.LONGEST:
            return self.out(short_attention.short_attention(self.query(x), self.key(x), self.value(x), self.heads))
        return self(x, self.keys(x))

    def forward(self, x: Tensor, keys: tuple[Tensor, Tensor], heat: Tensor | None = None) -> Tensor:
        """Attend from `x` to `keys`; `heat` scales the scores of each head."""
        query = self.split(self.query(x))
        if heat is not None:
            query = query * heat[:, None, None].to(query.dtype)
        return self.out(attend(query, *keys).transpose(1, 2).flatten(2))


class Perceptron(nn.Module):
    """Two layers on each token; they add nothing before training."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(width, hidden, bias=False), nn.Linear(hidden, width, bias=False)
        nn.init.zeros_(self.down.weight)

    def forward(self, x: Tensor) -> Tensor:
        """Apply both layers."""
        return self.down(functional.gelu(self.up(x)))


class CellLayer(nn.Module):
    """Tokens of a row see each other; then each column is asked questions, and its cells read the answers."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.norms = nn.ModuleList(Norm(shape.width) for _ in range(4))
        self.across, self.ask, self.read = (Attention(shape.width, shape.heads) for _ in range(3))
        nn.init.normal_(self.ask.out.weight, std=shape.width**-0.5)
        self.questions = nn.Parameter(torch.randn(shape.questions, shape.width) * 0.5)
        self.perceptron = Perceptron(shape.width, 2 * shape.width)

    def forward(self, x: Tensor, training: int, answers: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Give the tokens, (tables, rows, tokens, width), and the answers of the first `training` rows."""
        tables, rows, tokens, width = x.shape
        h = self.norms[0](x).flatten(0, 1)
        x = x + self.across.within(h).unflatten(0, (tables, rows))
        columns = self.norms[1](x).transpose(1, 2).reshape(tables * tokens, rows, width)
        if answers is None:
            asked = self.questions.to(columns.dtype).expand(tables * tokens, -1, -1)
            answers = self.norms[2](self.ask(asked, self.ask.keys(columns[:, :training])))
        read = self.read(columns, self.read.keys(answers))
        x = x + read.view(tables, tokens, rows, width).transpose(1, 2)
        return x + self.perceptron(self.norms[3](x)), answers


class RowLayer(nn.Module):
    """Rows attend to training rows."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(Norm(width) for _ in range(2))
        self.attention, self.perceptron = Attention(width, heads), Perceptron(width, width)
        self.heat = nn.Parameter(torch.zeros(heads))

    def forward(
        self, x: Tensor, training: int, size: Tensor, keys: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Give the rows, (tables, rows, width), and what later rows read of the first `training` rows."""
        h = self.norms[0](x)
        if keys is None:
            keys = self.attention.keys(h[:, :training])
        x = x + self.attention(h, keys, 1 + self.heat * size)
        return x + self.perceptron(self.norms[1](x)), keys


class Memory(NamedTuple):
    """What new rows read of the training rows."""

    scaling: Scaling
    place: Tensor
    size: Tensor
    answers: list[Tensor]
    keys: list[tuple[Tensor, Tensor]]


class Network(nn.Module):
    """The network: `forward` in training; `read` and `answer` in use."""

    def __init__(self, shape: Shape | None = None) -> None:
        super().__init__()
        self.shape = shape = shape or Shape()
        wide = ROW_TOKENS * shape.width
        self.cell = nn.Linear(VALUES * shape.pair, shape.width)
        self.place = nn.Linear(PLACE, shape.width, bias=False)
        self.label, self.size = nn.Linear(1, wide), nn.Linear(1, wide, bias=False)
        self.unknown = nn.Parameter(torch.zeros(wide))  # in place of a label
        self.cell_layers = nn.ModuleList(CellLayer(shape) for _ in range(shape.cell_layers))
        self.row_layers = nn.ModuleList(RowLayer(wide, shape.heads) for _ in range(shape.row_layers))
        self.norm = Norm(wide)
        self.new_label, self.given_label = (
            nn.Sequential(nn.Linear(wide, wide), nn.GELU(), nn.Linear(wide, 1)) for _ in range(2)
        )
        self.noise = nn.Sequential(nn.Linear(2 * wide + 1, shape.width), nn.GELU(), nn.Linear(shape.width, len(LEVELS)))

    def forward(self, columns: Tensor, labels: Tensor, place: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Answer for tables whose first rows have `labels` of -1 and 1: logits of new rows, of given labels; noise.

        The logits are of a positive clean label; for new rows as if either class were as frequent. The noise is
        quantiles of the share of wrong labels, (tables, 2, levels), first of those labeled negative.
        """
        training = labels.shape[1]
        rows, _ = self._rows(columns, labels, Scaling.of(columns[:, :training]), place)
        given, new = self.norm(rows[:, :training]), self.norm(rows[:, training:])
        return self.new_label(new)[..., 0], self.given_label(given)[..., 0], self._noise(given, labels)

    def read(self, columns: Tensor, labels: Tensor, place: Tensor) -> tuple[Memory, Tensor, Tensor]:
        """Read training rows: what new rows need of them, logits of their clean labels, and their noise."""
        rows, memory = self._rows(columns, labels, Scaling.of(columns), place)
        given = self.norm(rows)
        return memory, self.given_label(given)[..., 0], self._noise(given, labels)

    def answer(self, columns: Tensor, memory: Memory) -> Tensor:
        """Give the logits of new rows."""
        rows, _ = self._rows(columns, None, memory.scaling, memory.place, memory)
        return self.new_label(self.norm(rows))[..., 0]

    def _rows(
        self, columns: Tensor, labels: Tensor | None, scaling: Scaling, place: Tensor, memory: Memory | None = None
    ) -> tuple[Tensor, Memory]:
        cells = self.cells(scaling.apply(columns), place)
        tables, rows, _, width = cells.shape
        training = 0 if labels is None else labels.shape[1]
        size = memory.size if memory else torch.tensor(math.log(training / 1000), device=cells.device)
        known = cells.new_empty(tables, 0, ROW_TOKENS * width)
        if labels is not None:
            known = self.label(labels[..., None].to(cells.dtype)).to(cells.dtype)
        unknown = self.unknown.to(cells.dtype).expand(tables, rows - training, -1)
        own = torch.cat([known, unknown], 1) + self.size(size[None]).to(cells.dtype)
        x = torch.cat([cells, own.unflatten(2, (ROW_TOKENS, width))], 2)
        answers, keys = [], []
        for i, row_layer in enumerate(self.row_layers):
            if i < len(self.cell_layers):
                x, kept = self.cell_layers[i](x, training, memory.answers[i] if memory else None)
                answers.append(kept)
                own = x[:, :, -ROW_TOKENS:].flatten(2).contiguous()
            own, kept_keys = row_layer(own, training, size, memory.keys[i] if memory else None)
            keys.append(kept_keys)
            if i + 1 < len(self.cell_layers):
                x = torch.cat([x[:, :, :-ROW_TOKENS], own.unflatten(2, (ROW_TOKENS, width))], 2)
        return own, Memory(scaling, place, size, answers, keys)

    def cells(self, values: Tensor, place: Tensor) -> Tensor:
        """Turn scaled values, (tables, rows, features, VALUES), into tokens; `place` is (tables, tokens, 32)."""
        features, pair = values.shape[2], self.shape.pair
        short = -features % pair
        values = functional.pad(values, (0, 0, 0, short)).unflatten(2, (-1, pair)).flatten(3)
        if short:  # the last token holds fewer columns, with more weight
            weight = values.new_ones(values.shape[2])
            weight[-1] = (pair / (pair - short)) ** 0.5
            values = values * weight[:, None]
        x = self.cell(values)
        return x + self.place(place)[:, None].to(x.dtype)

    def _noise(self, rows: Tensor, labels: Tensor) -> Tensor:
        weight = torch.stack([labels < 0, labels > 0], 1).to(rows.dtype)
        mean = torch.bmm(weight, rows) / weight.sum(2, keepdim=True).clamp(min=1)
        size = torch.full_like(mean[..., :1], math.log(labels.shape[1] / 1000))
        raw = self.noise(torch.cat([mean, mean.flip(1), size], 2)).float()
        return torch.sigmoid(torch.cat([raw[..., :1], functional.softplus(raw[..., 1:])], 2).cumsum(2) - 4)
