"""The frame of a page, one HTML file that needs no network, and templates that escape what they are given."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from symloss.messages import require

if TYPE_CHECKING:
    from jinja2 import Environment


class Templates(NamedTuple):
    """The templates, style sheets and scripts in the folder ``templates`` of a package."""

    package: str

    def render(self, template: str, **values: Any) -> Markup:
        """Return a template, filled with the values; these are escaped unless they are ``Markup``."""
        return Markup(_environment(self.package).get_template(template).render(values))

    def source(self, name: str) -> Markup:
        """Return the text of a style sheet or script, as it is."""
        environment = _environment(self.package)
        assert environment.loader
        return Markup(environment.loader.get_source(environment, name)[0])


class Section(NamedTuple):
    """One section of a page: its id, which links use, its heading, and the HTML below it."""

    id: str
    title: str
    html: Markup


def framed(
    title: str,
    sections: Sequence[Section],
    lead: str = "",
    footer: str = "",
    *,
    style: Sequence[str] = (),
    scripts: Sequence[str] = (),
) -> str:
    """Return a self-contained HTML page; one without scripts may not run any.

    Parameters
    ----------
    title : str
        The title of the document and its first heading.
    sections : sequence of Section
        The sections, in order; with more than one, the page starts with links to them.
    lead, footer : str
        A sentence below the title, and one at the end of the page.
    style, scripts : sequence of str
        CSS after that of all pages, and JavaScript that runs once the page is there.
    """
    own = Templates("symloss.pages")
    texts = {"title": title, "lead": lead, "footer": footer}
    css, code = [own.source("page.css"), *map(Markup, style)], [*map(Markup, scripts)]
    return str(own.render("page.html.j2", sections=sections, style=css, scripts=code, **texts))


@cache
def _environment(package: str) -> Environment:
    require("report", "pages need jinja2", "jinja2")
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(package), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["as_data"] = _as_data
    return environment


def _as_data(value: Any) -> Markup:
    """Return a value as JSON that cannot end the HTML element around it."""
    return Markup(json.dumps(value, allow_nan=False, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c"))
