"""A page with the styles of the built book, which does not need the built book."""

import importlib.util
import re
from pathlib import Path

from lnbook.figures import colors
from lnbook.widgets import base

STATIC = Path(__file__).parents[2] / "book" / "_static"


def _package(name, path):
    return Path(importlib.util.find_spec(name).origin).parent / path


STYLES = [
    *(_package("pydata_sphinx_theme", f"theme/pydata_sphinx_theme/static/styles/{name}.css")
      for name in ("theme", "pydata-sphinx-theme")),
    _package("sphinx_book_theme", "theme/sphinx_book_theme/static/styles/sphinx-book-theme.css"),
    _package("myst_nb", "static/mystnb.css"),
    STATIC / "custom.css",
]  # fmt: skip


def themed(web, *shown, width=760, theme="light", script=True):
    """Return a page of the given width with the HTML of outputs of a widget."""
    look = "".join(path.read_text("utf-8") for path in STYLES)
    look = re.sub(r"@import [^;]*;", "", look) + base.CONTROLS + web.style() + colors.css()
    outputs = "".join(
        '<div class="cell_output" style="padding: 0"><div class="output text_html">'
        f"{one.to_html()}</div></div>"
        for one in shown
    )
    code = f"<script>{web.book()}</script>" if script else ""
    block = 'style="display: block; max-width: none; padding: 0"'
    return (
        f'<!doctype html><html lang="en" data-theme="{theme}"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>A page</title><link rel="icon" href="data:,"><style>{look}</style><body {block}>'
        f'<main class="bd-main" {block}><article class="bd-article" style="max-width: {width}px; '
        f'padding: 16px; margin: auto; box-sizing: content-box"><h1>A page</h1>{outputs}'
        f"</article></main>{code}</body></html>"
    )
