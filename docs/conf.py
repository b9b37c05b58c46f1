import collections
import inspect
import re

import matplotlib
from sphinx_gallery.sorting import ExplicitOrder

import symloss

matplotlib.use("Agg")

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
    "sphinx_gallery.gen_gallery",
]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
autosummary_generate = True
toc_object_entries_show_parents = "hide"
autosummary_ignore_module_all = False
numpydoc_show_class_members = False
autodoc_typehints = "none"  # the sections on parameters name the types
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates", "gallery/*.ipynb", "gallery/*.py", "gallery/*.md5", "gallery/*.zip"]
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"[/\\](?!with_|distributed)\w+\.py$",  # those of other libraries run in the tests
    "within_subsection_order": ExplicitOrder(
        [
            "noisy_labels.py",
            "audit.py",
            "relabel.py",
            "corrupted_labels.py",
            "symmetric_losses.py",
            "positive_unlabeled.py",
            "keywords.py",
            "boosting.py",
            "no_probabilities.py",
            "early_stopping.py",
            "unprinted_decay.py",
            "*",
        ]
    ),
    "remove_config_comments": True,  # such as the path of a picture
    "download_all_examples": False,
    "image_srcset": ["2x"],
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "symloss"
html_static_path = ["_static"]
html_css_files = ["symloss.css"]
html_show_sourcelink = False
html_sidebars = {"**": ["pages.html"]}  # all pages, by what a reader starts from
html_theme_options = {
    "navbar_center": [],
    "navigation_with_keys": False,
    "navbar_align": "left",
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
}


def _without_foreign_references(_app, _what, _name, _object, _options, lines):
    """Inherited docstrings refer to sections of scikit-learn's documentation, which are not here."""
    lines[:] = [re.sub(r":ref:`([^`<]+?) <[^`>]+>`", r"\1", line) for line in lines]


def _with_shared_sections(_app, _what, _name, _object, _options, lines):
    """A class whose parameters are those of another one shows their descriptions, too."""
    shared = re.search(r"Parameters and attributes are those of\s+``(\w+)``", "\n".join(lines))
    if shared:
        text = inspect.getdoc(getattr(symloss, shared[1]))
        sections = text[text.index("Parameters\n---") : text.index("Examples\n---")].splitlines()
        start = next((k for k, line in enumerate(lines) if line == "Examples"), len(lines))
        lines[start:start] = [*sections, ""]


def _without_generated(_app, _what, name, member, _skip, _options):
    """Skip what nobody has written: fields of named tuples, and the methods that scikit-learn adds for metadata."""
    generated = re.fullmatch(r"set_\w+_request|get_metadata_routing|extra_repr", name)
    return True if generated or isinstance(member, collections._tuplegetter) else None


def setup(app):
    """Connect what changes docstrings, and which of them are shown."""
    app.connect("autodoc-process-docstring", _with_shared_sections, priority=400)  # before numpydoc reads them
    app.connect("autodoc-process-docstring", _without_foreign_references)
    app.connect("autodoc-skip-member", _without_generated)
