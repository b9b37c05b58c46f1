"""The ``symloss`` command: each group of commands has a file, and they are put together here."""

from symloss.cli.application import app
from symloss.cli.audit import audit
from symloss.cli.compare import compare
from symloss.cli.datasets import datasets
from symloss.cli.fit import fit, predict
from symloss.cli.losses import analyze, figures, losses
from symloss.cli.report import explore, report
from symloss.cli.reproduce import reproduce

__all__ = ["app"]

for describing in (losses, analyze, figures, datasets):
    app.command()(describing)
for learning in (fit, predict, audit):
    app.command()(learning)
app.add_typer(reproduce, name="reproduce")
for showing in (compare, report, explore):
    app.command()(showing)
