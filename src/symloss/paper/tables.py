"""Table 1 of the paper (losses and their properties), and the same for built-in losses that it leaves out."""

from __future__ import annotations

from dataclasses import dataclass

from symloss.losses import Loss, get_loss, list_losses

TABLE_1 = ("zero_one", "squared", "hinge", "logistic", "savage", "ramp", "sigmoid", "unhinged")


@dataclass(frozen=True)
class LossRow:
    """A row of Table 1, made from the properties that a loss declares.

    Examples
    --------
    >>> row = LossRow.of(get_loss("ramp"))
    >>> row.title, row.convex, row.symmetric, row.recovers_eta
    ('Ramp', False, True, False)
    """

    name: str
    title: str
    formula: str
    latex: str
    minimizer: str
    minimizer_latex: str
    convex: bool
    symmetric: bool
    recovers_eta: bool

    @classmethod
    def of(cls, loss: Loss) -> LossRow:
        """Return the row of a loss that declares its properties."""
        claims = loss.properties
        if claims is None:
            raise ValueError(f"{loss!r} declares no properties; symloss.theory.analyze finds them out")
        return cls(
            loss.name,
            loss.title,
            loss.formula,
            loss.latex,
            claims.minimizer.formula,
            claims.minimizer.latex,
            claims.convex,
            claims.symmetric_constant is not None,
            claims.minimizer.recovers_eta,
        )


def table_1() -> list[LossRow]:
    """Return Table 1: the eight losses of the paper and their properties.

    Examples
    --------
    >>> [row.title for row in table_1() if row.symmetric]
    ['Zero-one', 'Ramp', 'Sigmoid', 'Unhinged']
    """
    return [LossRow.of(get_loss(name)) for name in TABLE_1]


def further_losses() -> list[LossRow]:
    """Return rows like those of Table 1 for the built-in losses that it leaves out.

    Examples
    --------
    >>> [row.name for row in further_losses()][:4]
    ['squared_hinge', 'double_hinge', 'exponential', 'barrier_hinge']
    """
    return [LossRow.of(get_loss(name)) for name in list_losses() if name not in TABLE_1]
