"""Results and losses as HTML pages: one file each, which needs a browser and no network."""

from symloss.report.content import Run
from symloss.report.explorer import explorer_section, write_explorer
from symloss.report.page import Section, render_page
from symloss.report.report import report_html, write_report

__all__ = ["Run", "Section", "explorer_section", "render_page", "report_html", "write_explorer", "write_report"]
