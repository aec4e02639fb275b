"""The documentation site: Markdown of this folder, the Python package as it is
installed, the program's own help, and notebooks that are run while building."""

import os
import sys
from pathlib import Path

import stepwell

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_site"))

project = "Stepwell"
author = copyright = "the Stepwell developers"
release = version = stepwell.__version__

extensions = [
    "commands",
    "mathml",
    "navigation",
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]
exclude_patterns = ["_site", "pictures", "results/records", "requirements.txt"]
nitpicky = True
smartquotes = False
# Types of other libraries have no page here.
nitpick_ignore_regex = [("py:.*", r"(?!stepwell).*")]

#: The program whose help becomes the reference.
stepwell_program = os.environ.get("STEPWELL", str(HERE.parent / "target" / "release" / "stepwell"))

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_timeout = 300
nb_execution_raise_on_error = True
# The picture itself, not the page that answers to the pointer: it follows the site's colours.
nb_mime_priority_overrides = [("html", "image/svg+xml", 0)]

autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

html_math_renderer = "mathml"
html_theme = "furo"
html_title = "Stepwell"
html_static_path = ["_site/static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0247c0", "color-brand-content": "#0247c0"},
    "dark_css_variables": {"color-brand-primary": "#9db4fa", "color-brand-content": "#9db4fa"},
}
copybutton_exclude = ".linenos, .gp, .go"
