"""Sphinx extension: the quizzes and the glossary as files, beside the pages that link to them."""

from pathlib import Path

from lnbook.classroom import exports

PAGE = "glossary"


def write(app, exception):
    """Write the files, if the book has the page that links to them."""
    page = Path(app.outdir, f"{PAGE}.html")
    if exception is None and app.builder.format == "html" and page.exists():
        exports.write(page.parent)


def setup(app):
    """Write when the pages stand."""
    app.connect("build-finished", write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
