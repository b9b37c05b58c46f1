import re

import symloss

project = "symloss"
author = "The symloss developers"
copyright = "The symloss developers"
release = symloss.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "myst_parser",
]
myst_enable_extensions = ["dollarmath"]
autosummary_generate = True
autosummary_ignore_module_all = False
numpydoc_show_class_members = False
exclude_patterns = ["_build"]
html_theme = "pydata_sphinx_theme"
html_title = "symloss"


def _without_foreign_references(_app, _what, _name, _object, _options, lines):
    """Inherited docstrings refer to sections of scikit-learn's documentation, which are not here."""
    lines[:] = [re.sub(r":ref:`([^`<]+?) <[^`>]+>`", r"\1", line) for line in lines]


def setup(app):
    """Connect what changes docstrings."""
    app.connect("autodoc-process-docstring", _without_foreign_references)
