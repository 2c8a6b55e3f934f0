"""Sphinx extension: export the quizzes and the glossary as files for download."""

from pathlib import Path

from lnbook.classroom import exports

PAGE = "glossary"


def write_exports(app, exception):
    """Write the files, if the book has the page that links to them."""
    page = Path(app.outdir, f"{PAGE}.html")
    if exception is None and app.builder.format == "html" and page.exists():
        exports.write(page.parent)


def setup(app):
    """Connect the event handler."""
    app.connect("build-finished", write_exports)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
