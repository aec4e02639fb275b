"""The order of the site's pages, and titles that only the site needs.

Pages stay plain Markdown, which is readable without Sphinx."""

from pathlib import Path

from docutils import nodes

NAVIGATION = {
    "Start": ["install", "tutorial", "notebooks/classify-molecules", "notebooks/predict-vertices", "examples"],
    "Your data": ["inputs", "molecules", "edges", "targets", "vertices", "clustering", "coming-from"],
    "How good is it": ["protocol", "comparison", "results/README"],
    "Deploy": ["deploy", "gpu", "cluster", "scale"],
    "Understand": ["reservoir", "pooling", "notebooks/look-at-a-pyramid", "lifting", "convergence", "readout", "design"],
    "Reference": ["cli", "python", "rust", "adding-a-pooling"],
    "Project": ["architecture", "contributing", "changelog"],
}

#: Tables come from `stepwell reproduce` without a title.
TITLES = {
    "results/tables/table1": "Table 1: datasets",
    "results/tables/table2": "Table 2: accuracy with two blocks",
    "results/tables/table3": "Table 3: accuracy with three blocks",
    "results/tables/table4": "Table 4: pooled graphs",
    "results/tables/times": "Times",
    "results/tables/baselines": "Baselines",
    "results/tables/tests": "Tests",
    "results/tables/claims": "Claims",
}


def toctree(pages, caption=None, hidden=True):
    options = [f":caption: {caption}"] if caption else []
    options += [":hidden:"] if hidden else []
    return "\n\n```{toctree}\n" + "\n".join([*options, "", *pages]) + "\n```\n"


def complete(app, docname, source):
    found = app.env.found_docs
    if docname == "index":
        for caption, pages in NAVIGATION.items():
            source[0] += toctree([page for page in pages if page in found], caption)
    elif docname == "examples":
        for path in sorted(Path(app.srcdir).parent.glob("examples/*.*")):
            language = {".py": "python", ".rs": "rust"}[path.suffix]
            source[0] += f"\n## {path.name}\n\n```{{literalinclude}} ../examples/{path.name}\n:language: {language}\n```\n"
    elif docname == "results/README":
        others = sorted(page for page in found if page.startswith("results/") and page != docname)
        source[0] += toctree([f"/{page}" for page in others])
    elif docname.startswith("results/") and not source[0].lstrip().startswith("# "):
        source[0] = f"# {TITLES.get(docname, docname.rpartition('/')[2].capitalize())}\n\n{source[0]}"


def dashes(app, doctree, docname):
    """Sphinx writes two hyphens before what a parameter is, and leaves the dash to a
    transform that would spoil the names of options."""
    for text in list(doctree.findall(nodes.Text)):
        if text == " -- ":
            text.parent.replace(text, nodes.Text(" – "))


def setup(app):
    app.connect("source-read", complete)
    app.connect("doctree-resolved", dashes)
    return {"parallel_read_safe": True}
