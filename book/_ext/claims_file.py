"""Sphinx extension: all that the page of claims is made of, as a file beside it."""

import json
from pathlib import Path

from lnlib import claims

PAGE = "weigh_the_claims"


def write(app, exception):
    """Weigh the claims by the book's records and write them as JSON, if the book has the page."""
    page = Path(app.outdir, f"{PAGE}.html")
    if exception is None and app.builder.format == "html" and page.exists():
        weighed = claims.as_json(claims.weigh(Path(app.srcdir, "runs")))
        text = json.dumps(weighed, indent=1, ensure_ascii=False)
        page.with_suffix(".json").write_text(text + "\n", "utf-8")


def setup(app):
    """Write when the pages stand."""
    app.connect("build-finished", write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
