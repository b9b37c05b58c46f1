"""The paper's tables that hold no experiment: Table 1 (losses) and the table of proposition 10."""

from __future__ import annotations

from dataclasses import dataclass

from symloss.losses import Loss, get_loss, list_losses

TABLE_1 = ("zero_one", "squared", "hinge", "logistic", "savage", "ramp", "sigmoid", "unhinged")


@dataclass(frozen=True)
class LossRow:
    """A row of Table 1, read off a loss's declared properties.

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
    minimiser: str
    minimiser_latex: str
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
            claims.minimiser.formula,
            claims.minimiser.latex,
            claims.convex,
            claims.symmetric_constant is not None,
            claims.minimiser.recovers_eta,
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
    """Return the same for the built-in losses that Table 1 leaves out.

    Examples
    --------
    >>> [row.name for row in further_losses()]
    ['squared_hinge', 'double_hinge', 'exponential', 'barrier_hinge']
    """
    return [LossRow.of(get_loss(name)) for name in list_losses() if name not in TABLE_1]


def table_1_latex() -> str:
    r"""Return Table 1 as a LaTeX tabular (booktabs).

    Examples
    --------
    >>> print(table_1_latex().splitlines()[4])
    Squared & $(1-z)^{2}$ & $2\eta(x)-1$ & $\checkmark$ & $\times$ & $\checkmark$ \\
    """

    def mark(holds: bool) -> str:
        return r"$\checkmark$" if holds else r"$\times$"

    lines = [
        r"\begin{tabular}{lllccc}",
        r"\toprule",
        r"Loss name & $\ell(z)$ & $f^{\ell*}(x)$ & Convex & Symmetric & Recover $\eta(x)$ \\ \midrule",
    ]
    lines += [
        f"{row.title} & ${row.latex}$ & ${row.minimiser_latex}$ & "
        f"{mark(row.convex)} & {mark(row.symmetric)} & {mark(row.recovers_eta)} \\\\"
        for row in table_1()
    ]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])
