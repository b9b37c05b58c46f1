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

from collections.abc import Sequence
from functools import cache
from typing import Any

from markupsafe import Markup

from symloss.extras import require
from symloss.pages import Section, Templates, framed

_TEMPLATES = Templates("symloss.report")


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
    return framed(title, sections, lead, footer, scripts=[_plotly(), source("page.js")])


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
    return _TEMPLATES.render(template, **values)


def source(name: str) -> str:
    """Return the text of a style sheet or script of this package.

    Examples
    --------
    >>> "symloss" in source("page.js")
    True
    """
    return _TEMPLATES.source(name)


@cache
def _plotly() -> str:
    require("report", "pages need jinja2 and plotly", "plotly")
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


__all__ = ["Section", "plot", "render", "render_page", "source"]
