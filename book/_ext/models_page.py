"""Sphinx extension: in the page of models ``<!-- all models -->`` becomes a section a model."""

from lnbook.chapters.which_norm.models import MODELS, sources

MARK = "<!-- all models -->"


def section(model):
    """Write a model's sources as MyST."""
    read = f"<p>{model.year}; read on {model.read}:</p>"
    body = f'<div class="ln-sources">{read}{sources(model)}</div>'
    return f"({model.anchor})=\n## {model.model}\n\n{body}\n"


def fill(app, docname, source):
    """Put the sections in."""
    if MARK in source[0]:
        source[0] = source[0].replace(MARK, "\n".join(map(section, MODELS)))


def setup(app):
    """Fill the page as it is read."""
    app.connect("source-read", fill)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
