"""Sphinx settings of the site that docs/site/build makes; it runs in a copy of the documents, beside Doxygen's XML."""

project = "trine"
author = "the authors of trine"
project_copyright = "BSD-3-Clause"
extensions = ["breathe", "myst_parser"]
root_doc = "index"
source_suffix = {".md": "markdown"}
html_theme = "furo"
html_static_path = ["site-static"]
html_css_files = ["site.css"]
html_title = "trine"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
nitpicky = False
# Members of structs without a name, such as `cpu` of trine_semiring_source, are listed with their struct and again by themselves.
suppress_warnings = ["duplicate_declaration.c"]
highlight_language = "none"  # blocks without a language: output, formulas, folders

# Headings get the anchors that they have on a web page of the repository.
myst_heading_anchors = 4

breathe_projects = {"trine": "../xml"}
breathe_default_project = "trine"
breathe_domain_by_extension = {"h": "c"}
breathe_show_include = False
breathe_order_parameters_first = True
