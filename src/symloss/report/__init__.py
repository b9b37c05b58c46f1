"""Results and losses as HTML pages: one file each, which needs a browser and no network."""

from symloss.report.explorer import write_explorer
from symloss.report.results import Run, report_html, write_report

__all__ = ["Run", "report_html", "write_explorer", "write_report"]
