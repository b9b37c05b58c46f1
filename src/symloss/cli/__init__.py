"""The ``symloss`` command: each group of commands has a file, and they are put together here."""

from symloss.cli.application import app
from symloss.cli.paper import analyze, compare, datasets, explore, figures, losses, report, reproduce
from symloss.cli.tables import annotators, audit, fit, page, predict, review

__all__ = ["app"]

for panel, commands in (
    ("Tables in files", (fit, predict, audit, review, page, annotators)),
    ("Losses", (losses, analyze, figures, explore)),
    ("The paper's experiments", (reproduce, compare, report, datasets)),
):
    for command in commands:
        app.command(rich_help_panel=panel)(command)
