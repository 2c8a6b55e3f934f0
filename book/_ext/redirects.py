"""Sphinx extension: redirect ``index.html`` and the former addresses of renamed pages.

``sphinx-reredirects`` writes a page for each former address; the fragment, which holds the state of
figures, is passed on. A browser stores the answers to a quiz under the address of the page, so a
renamed page also names its former address in a meta tag, which ``quiz.js`` reads.
"""

import html
from pathlib import Path

from lnbook.renamed import NEW_NAMES


def set_redirects(app, config):
    """Redirect the former addresses of the pages that this book has."""
    known = {path.stem for path in Path(app.srcdir).iterdir()}
    config.redirects = {old: f"{new}.html" for old, new in NEW_NAMES.items() if new in known}
    config.redirect_html_template_file = "_templates/redirect.txt"


def write_index(app):
    """Write an ``index.html`` that redirects to the first page."""
    if app.builder.name == "html":
        first, title = f"{app.config.root_doc}.html", html.escape(app.config.html_title)
        Path(app.outdir, "index.html").write_text(
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
            f'<meta http-equiv="refresh" content="0; url={first}">'
            f'<p><a href="{first}">{title}</a></p></html>\n',
            encoding="utf-8",
        )


def add_former_page_tag(app, pagename, templatename, context, doctree):
    """Add a meta tag with the former name of a page."""
    former = next((old for old, new in NEW_NAMES.items() if new == pagename), None)
    if former and doctree is not None:
        tag = f'<meta name="ln-former-page" content="{former}.html">'
        context["metatags"] = f"{context.get('metatags', '')}\n{tag}"


def setup(app):
    """Connect the event handlers."""
    app.connect("config-inited", set_redirects)
    app.connect("builder-inited", write_index)
    app.connect("html-page-context", add_former_page_tag)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
