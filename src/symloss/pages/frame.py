"""The frame of a page: one HTML file that contains its style and scripts, and needs no network.

A page without scripts may not run any: its Content-Security-Policy forbids them, and its colors follow the system's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from symloss.pages.rendering import Templates

_TEMPLATES = Templates("symloss.pages")


@dataclass(frozen=True)
class Section:
    """One section of a page.

    Parameters
    ----------
    id : str
        Its id in the page, which links use.
    title : str
        Its heading, also the text of its link in the navigation.
    html : Markup
        What stands below the heading; ``Markup`` says that it is HTML already.
    data : mapping of str to JSON data
        What the script reads with ``symloss.data(id)``.
    script, style : str
        JavaScript that runs once the page is loaded, and CSS.

    Examples
    --------
    >>> Section("results", "Results", Markup("<p>All good.</p>")).title
    'Results'
    """

    id: str
    title: str
    html: Markup
    data: Mapping[str, Any] = field(default_factory=dict)
    script: str = ""
    style: str = ""


def framed(
    title: str,
    sections: Sequence[Section],
    lead: str = "",
    footer: str = "",
    *,
    style: Sequence[str] = (),
    scripts: Sequence[str] = (),
) -> str:
    """Return a self-contained HTML page.

    Parameters
    ----------
    title : str
        The title of the document and its first heading.
    sections : sequence of Section
        The sections, in order; with more than one, the page starts with links to them.
    lead, footer : str
        A sentence below the title, and one at the end of the page.
    style, scripts : sequence of str
        CSS and JavaScript that stand before those of the sections.

    Examples
    --------
    >>> page = framed("Losses", [Section("one", "One", Markup("<p>1 &lt; 2</p>"))])
    >>> page.startswith("<!doctype html>"), "<p>1 &lt; 2</p>" in page, "<script" in page
    (True, True, False)
    """
    if len({section.id for section in sections}) < len(sections):
        raise ValueError(f"sections need ids of their own, got {', '.join(section.id for section in sections)}")
    page = _TEMPLATES.render(
        "page.html.j2",
        title=title,
        lead=lead,
        footer=footer,
        sections=sections,
        style=[_TEMPLATES.source("page.css"), *style, *(section.style for section in sections)],
        scripts=[text for text in (*scripts, *(section.script for section in sections)) if text],
    )
    return str(page)
