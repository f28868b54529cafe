"""How Sphinx builds the site; ``make docs`` runs it over what ``site_source`` has written."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

import numalet
from site_source import theme

project = "numalet"
author = "the numalet authors"
copyright = "the numalet authors, Apache-2.0"
version = release = numalet.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["files/**"]

# It would make one dash of the two before an option.
smartquotes = False

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["tables.css"]
html_title = f"numalet {release}"
html_show_sphinx = False
html_copy_source = False
html_theme_options = {
    "light_css_variables": theme.light(),
    "dark_css_variables": theme.dark(),
}

myst_enable_extensions = ["deflist"]
# As GitHub makes them.
myst_heading_anchors = 4
# A prompt is not part of a command.
copybutton_prompt_text = "$ "
copybutton_line_continuation_character = "\\"
highlight_language = "text"

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "undoc-members": False}
