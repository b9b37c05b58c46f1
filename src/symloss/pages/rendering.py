"""Templates of a package, filled with values that are escaped unless they are ``Markup``."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from symloss.extras import require

if TYPE_CHECKING:
    from jinja2 import Environment


class Templates(NamedTuple):
    """The templates, style sheets and scripts in the folder ``templates`` of a package.

    Examples
    --------
    >>> "color-scheme" in Templates("symloss.pages").source("page.css")
    True
    """

    package: str

    def render(self, template: str, **values: Any) -> Markup:
        """Return a template, filled with the values; these are escaped unless they are ``Markup``."""
        return Markup(_environment(self.package).get_template(template).render(values))

    def source(self, name: str) -> str:
        """Return the text of a style sheet or script."""
        environment = _environment(self.package)
        assert environment.loader
        return environment.loader.get_source(environment, name)[0]


@cache
def _environment(package: str) -> Environment:
    require("report", "pages need jinja2", "jinja2")
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(package),
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
