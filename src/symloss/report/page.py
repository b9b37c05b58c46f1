"""The frame of a page: one HTML file that contains its style, scripts, data and Plotly, and needs no network.

A page has a title and sections. A section has its HTML, its data and its script. The script can use these functions of
``window.symloss`` (``templates/page.js``)::

    symloss.data(id)                      the data given under that id
    symloss.draw(figure, {data, layout})  draw or redraw a Plotly figure in <figure id=... class="plot">, in the colors
                                          of the theme, and again when the theme changes; a table below shows its
                                          numbers (those of trace.meta.numbers, if given, instead of those drawn)
    symloss.element(tag, attributes, ...children)   a new HTML element
    symloss.escaped(text)                 the text, escaped so that a label or hovertemplate of Plotly shows it as it is
    symloss.keepInAddress(names, entries) put entries into the page's address, in place of all that have these names
    symloss.settingsOf(section, names)    say which section has these names, so that a link which sets them leads there
    symloss.color(hex)                    the color, made light or dark enough to be seen on this theme

``plot`` gives the HTML of one such figure. A Plotly figure made in Python goes into ``data`` as
``json.loads(figure.to_json())``. All numbers of ``data`` must be finite (JSON has no others).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from symloss.extras import require

if TYPE_CHECKING:
    from jinja2 import Environment


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


def render_page(title: str, sections: Sequence[Section], lead: str = "", footer: str = "") -> str:
    """Return a self-contained HTML page.

    Parameters
    ----------
    title : str
        The title of the document and its first heading.
    sections : sequence of Section
        The sections, in order; with more than one, the page starts with links to them.
    lead, footer : str
        A sentence below the title, and one at the end of the page.

    Examples
    --------
    >>> page = render_page("Losses", [Section("one", "One", Markup("<p>1 &lt; 2</p>"))])
    >>> page.startswith("<!doctype html>"), '<p>1 &lt; 2</p>' in page
    (True, True)
    """
    if len({section.id for section in sections}) < len(sections):
        raise ValueError(f"sections need ids of their own, got {', '.join(section.id for section in sections)}")
    return render(
        "page.html.j2",
        title=title,
        lead=lead,
        footer=footer,
        sections=sections,
        style=[source("page.css"), *(section.style for section in sections)],
        scripts=[_plotly(), source("page.js"), *(section.script for section in sections)],
    )


def plot(id: str, description: str, caption: str) -> Markup:
    """Return the HTML of an empty figure, which ``symloss.draw`` fills.

    The description is for readers who cannot see the figure; the caption stands below it.

    Examples
    --------
    >>> print(plot("curves", "Curves of two losses", "Both fall."))
    <figure id="curves" class="plot">
    ...
    """
    return render("plot.html.j2", id=id, description=description, caption=caption)


def render(template: str, **values: Any) -> Markup:
    """Return a template of this package, filled with the values; these are escaped unless they are ``Markup``.

    Examples
    --------
    >>> "&lt;b&gt;" in render("plot.html.j2", id="x", description="y", caption="<b>")
    True
    """
    return Markup(_environment().get_template(template).render(values))


def source(name: str) -> str:
    """Return the text of a style sheet or script of this package.

    Examples
    --------
    >>> "symloss" in source("page.js")
    True
    """
    environment = _environment()
    assert environment.loader
    return environment.loader.get_source(environment, name)[0]


@cache
def _environment() -> Environment:
    require("report", "pages need jinja2 and plotly", "jinja2", "plotly")
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("symloss.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["as_data"] = _as_data
    environment.filters["as_script"] = _as_script
    return environment


def _as_data(value: Any) -> Markup:
    """Return a value as JSON that cannot end the HTML element around it."""
    return Markup(json.dumps(value, allow_nan=False, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c"))


def _as_script(text: str) -> Markup:
    """Return a script or style sheet unchanged; refuse one that would end the HTML element around it."""
    if "</script" in text.lower() or "</style" in text.lower():
        raise ValueError("a script or style sheet of the page must not hold an end tag of its own element")
    return Markup(text)


@cache
def _plotly() -> str:
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())
