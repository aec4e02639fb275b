"""Formulas as MathML, made while building: pages need no script and no network."""

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml


def visit(block):
    def write(self, node):
        self.body.append(tex2mathml(node.astext(), as_block=block))
        raise nodes.SkipNode

    return write


def depart(self, node):
    """Nothing is left to close."""


def setup(app):
    app.add_html_math_renderer("mathml", (visit(False), depart), (visit(True), depart))
    return {"parallel_read_safe": True}
