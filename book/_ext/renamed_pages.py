"""Sphinx extension: the former address of a page leads to the page, with its state and its answers.

``sphinx-reredirects`` writes a page for each former address. A browser has stored the answers to a
quiz under the address of its page, so a renamed page names its former address in a meta tag.
"""

from pathlib import Path

from lnbook.renamed import NEW_NAMES


def redirect(app, config):
    """Redirect the former addresses of the pages that this book has."""
    known = {path.stem for path in Path(app.srcdir).iterdir()}
    config.redirects = {old: f"{new}.html" for old, new in NEW_NAMES.items() if new in known}
    config.redirect_html_template_file = "_templates/redirect.txt"


def name_former_address(app, pagename, templatename, context, doctree):
    """Write the former name of a page into its head."""
    former = next((old for old, new in NEW_NAMES.items() if new == pagename), None)
    if former and doctree is not None:
        tag = f'<meta name="ln-former-page" content="{former}.html">'
        context["metatags"] = f"{context.get('metatags', '')}\n{tag}"


def setup(app):
    """Connect the redirects."""
    app.connect("config-inited", redirect)
    app.connect("html-page-context", name_former_address)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
