# SPDX-License-Identifier: Apache-2.0
"""Configuration of the documentation's site. scripts/docs builds it."""

import os
import re
import sys

from docutils import nodes
from sphinx.util.nodes import make_refnode

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.join(ROOT, "python"))

project = "graphd"
author = "the authors of graphd"
copyright = "the authors of graphd, Apache License 2.0"  # pylint: disable=redefined-builtin
with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as file:
    release = re.search(r"project\(graphd VERSION ([0-9.]+)", file.read()).group(1)
version = release

extensions = [
    "myst_parser",
    "breathe",
    "sphinx.ext.autodoc",
    "sphinx.ext.graphviz",
    "sphinx.ext.napoleon",
]
smartquotes = False  # dashes of options stay as they are
nitpicky = True
# The C++ reference does not declare the identifiers of std, namespaces, and internal types.
nitpick_ignore_regex = [("cpp:identifier", r"\w+(::\w+)?")]
highlight_language = "none"
toc_object_entries_show_parents = "hide"
default_role = "py:obj"  # The role of `name` in docstrings.

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

graphviz_output_format = "svg"

# The package is read without its compiled module, and without the libraries that it uses.
autodoc_mock_imports = ["graphd._graphd", "matplotlib", "numpy", "torch", "torch_geometric"]
autodoc_member_order = "bysource"
autodoc_inherit_docstrings = False
autodoc_typehints = "none"  # the docstrings name the types
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False

breathe_projects = {"graphd": os.path.join(ROOT, "build", "docs", "doxygen", "xml")}
breathe_default_project = "graphd"
breathe_domain_by_extension = {"h": "cpp"}

html_theme = "furo"
html_title = f"graphd {release}"
html_static_path = ["_static"]
html_css_files = ["graphd.css"]
html_copy_source = False
html_show_sphinx = False


def python_name(app, env, node, contnode):
    """Links a name of the package that is written without its module, in text or as a type."""
    if node.get("refdomain") != "py" or node.get("reftype") not in ("obj", "class", "exc"):
        return None
    objects = env.get_domain("py").objects
    target = node["reftarget"]
    found = sorted(
        (name for name in objects if name == target or name.endswith("." + target)), key=len
    )
    if found:
        entry = objects[found[0]]
        return make_refnode(
            app.builder, node["refdoc"], entry.docname, entry.node_id, contnode, found[0]
        )
    # Types are phrases ("int64 tensor, or dict of node type to tensor"), not names.
    # In text, names of parameters stand in the same quotes as names of classes and functions.
    phrase = node["reftype"] != "obj" or re.fullmatch(r"[a-z_]+", target)
    return contnode if phrase else None


def dashes(_, doctree):
    """Draws the dash between a parameter and its description, and none where there is no description."""
    for text in list(doctree.findall(nodes.Text)):
        if text.astext() == " -- ":
            after = text.parent[text.parent.index(text) + 1 :]
            text.parent.replace(
                text,
                nodes.Text(" \u2013 " if "".join(node.astext() for node in after).strip() else ""),
            )


def setup(app):
    app.connect("missing-reference", python_name)
    app.connect("doctree-read", dashes)
