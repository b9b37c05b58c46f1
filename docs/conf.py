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
