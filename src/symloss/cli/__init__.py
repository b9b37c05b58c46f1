"""The ``symloss`` command: each group of commands has a file, and they are put together here."""

from symloss.cli.application import app
from symloss.cli.compare import compare
from symloss.cli.datasets import datasets
from symloss.cli.losses import analyze, figures, losses
from symloss.cli.report import explore, report
from symloss.cli.reproduce import reproduce
from symloss.cli.tables import audit, fit, page, predict

__all__ = ["app"]

for of_tables in (fit, predict, audit, page):
    app.command()(of_tables)
for of_losses in (losses, analyze, figures, explore):
    app.command()(of_losses)
app.add_typer(reproduce, name="reproduce")
for of_the_paper in (compare, report, datasets):
    app.command()(of_the_paper)
