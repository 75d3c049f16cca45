"""Settings of Sphinx for the documentation site: `make docs`."""

from __future__ import annotations

project = "Heartbit"
extensions = ["myst_parser"]
root_doc = "README"
nitpicky = True
suppress_warnings = ["misc.highlighting_failure"]  # examples with `...` in the place of the rest
myst_heading_anchors = 4
html_theme = "furo"
html_title = "Heartbit"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_use_index = False
html_show_sphinx = False
html_theme_options = {"top_of_page_buttons": []}
