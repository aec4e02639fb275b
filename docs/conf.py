"""The documentation site: the Markdown pages of this folder, the docstrings of the installed
Python package, the program's help, and notebooks, which run during the build."""

import importlib.util
import os
import sys
import types
from pathlib import Path

import stepwell


class Absent(types.ModuleType):
    """Stands for a package that is not installed, so that autodoc can import its users.

    Sphinx's own mocks do not support ``type | None`` in annotations."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


MODULES = "duckdb polars pyspark pyspark.errors pyspark.sql pyspark.sql.pandas pyspark.sql.pandas.types ray ray.data"
for name in MODULES.split():
    parent, _, child = name.rpartition(".")
    if isinstance(sys.modules.get(parent), Absent) or (not parent and importlib.util.find_spec(name) is None):
        sys.modules[name] = Absent(name)
        if parent:
            setattr(sys.modules[parent], child, sys.modules[name])

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
