"""The ``symloss`` command: each group of commands has a file, and they are put together here."""

from symloss.cli.application import app
from symloss.cli.losses import analyze, explore, figures, losses
from symloss.cli.paper import compare, datasets, report, reproduce
from symloss.cli.tables import annotators, audit, fit, page, predict, review

__all__ = ["app"]

for of_tables in (fit, predict, audit, review, page, annotators):
    app.command()(of_tables)
for of_losses in (losses, analyze, figures, explore):
    app.command()(of_losses)
for of_the_paper in (reproduce, compare, report, datasets):
    app.command()(of_the_paper)
