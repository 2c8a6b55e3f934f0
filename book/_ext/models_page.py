"""Sphinx extension: replace ``<!-- all models -->`` by a section per model with its sources."""

from lnbook.chapters.which_norm.models import MODELS, sources
from lnbook.figures.table import day

PLACEHOLDER = "<!-- all models -->"


def section(model):
    """Return the section of a model as MyST."""
    dates = f"<p>First published in {model.year}; sources read on {day(model.read)}:</p>"
    body = f'<div class="ln-sources">{dates}{sources(model)}</div>'
    return f"({model.anchor})=\n## {model.model}\n\n{body}\n"


def insert_sections(app, docname, source):
    """Replace the placeholder in the source of a page."""
    if PLACEHOLDER in source[0]:
        source[0] = source[0].replace(PLACEHOLDER, "\n".join(map(section, MODELS)))


def setup(app):
    """Connect the event handler."""
    app.connect("source-read", insert_sections)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
