"""Sphinx configuration. ``make docs`` builds the site; nothing comes from a network."""

import re
import sys
from pathlib import Path

import locallin

sys.path.insert(0, str(Path(__file__).parent))
import _digits

project = "locallin"
author = "The locallin developers"
copyright = "The locallin developers, BSD-3-Clause"
version = release = locallin.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_templates", "paper"]
templates_path = ["_templates"]
# Formulas and tables stand in indented blocks; Python is marked as such.
highlight_language = "none"
nitpicky = True
nitpick_ignore_regex = [
    (r"py:.*", r"(sklearn|numpy|scipy|matplotlib|pandas|onnx|skl2onnx)\..*")
]

# The pages are plain Markdown: they are also read on a code host.
myst_enable_extensions = ["attrs_block"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# In this order; what is not named comes last.
EXAMPLES = (
    "tutorial",
    "demo",
    "sine",
    "loess",
    "latent",
    "charts",
    "few_labels",
    "codings",
    "anchors",
    "explain",
    "counterfactuals",
    "elsewhere",
)


def place(filename: str) -> tuple[int, str]:
    """Sort key of an example."""
    name = Path(filename).stem
    return (EXAMPLES.index(name) if name in EXAMPLES else len(EXAMPLES), name)


def arguments(gallery, script) -> list[str]:
    """Examples take a folder for what they write, seen from theirs."""
    return ["../docs/_build/demo"]


sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"beside_shap\.py",  # needs a package that is not ours
    "within_subsection_order": place,
    "reset_argv": arguments,
    "backreferences_dir": "generated/examples",
    "doc_module": ("locallin",),
    "reference_url": {"locallin": None},
    "abort_on_example_error": True,
    "capture_repr": (),  # what is printed, not what an expression happens to return
    "download_all_examples": False,
    "write_computation_times": False,
    "min_reported_time": 1e9,
    "show_signature": False,
    "remove_config_comments": True,
    "nested_sections": False,
}
suppress_warnings = ["config.cache"]  # the two functions above

html_theme = "pydata_sphinx_theme"
html_title = "locallin"
html_static_path = ["_static"]
html_css_files = ["locallin.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "locallin"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 7,
    "show_nav_level": 2,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
# Pages without pages below them have no use for a second list of pages.
html_sidebars = {
    name: []
    for name in ("index", "start", "faq", "playground", "benchmarks", "extending")
}


def ours(app, what, name, member, skip, options):
    """Leave out what every scikit-learn estimator inherits."""
    home = getattr(member, "__module__", None) or ""
    return True if home.startswith("sklearn.") else None


def shapes(app, what, name, obj, options, lines):
    """In a shape, ``n_iter_`` is a name; to reStructuredText it would be a link."""
    for i, line in enumerate(lines):
        if " of shape (" in line:
            lines[i] = re.sub(r"_(?=[,)])", r"\\_", line)


def gallery_links(app, docname, source):
    """Lead to the gallery's page where the text leads to a script."""
    names = "|".join(EXAMPLES)
    source[0] = source[0].replace("](../examples)", "](gallery/index.rst)")
    source[0] = re.sub(
        rf"\(\.\./examples/({names})\.py\)", r"(gallery/\1.rst)", source[0]
    )


def playground(app, error):
    """Fit the playground's model; it is part of the site, not of the clone."""
    if error is None and app.builder.format == "html":
        _digits.write(Path(app.outdir) / "_static")


def setup(app):
    """Register what the settings above cannot say."""
    app.connect("source-read", gallery_links)
    app.connect("build-finished", playground)
    app.connect("autodoc-skip-member", ours)
    app.connect("autodoc-process-docstring", shapes, priority=400)  # before numpydoc
