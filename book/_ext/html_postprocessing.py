"""Sphinx extension: check, patch and complete the HTML of each page.

- Images without alt text and widgets that need a kernel are warnings, which ``-W`` turns into
  errors.
- A page loads the scripts and styles of the widgets that it contains, and only those.
- The states of explorers are moved into files that are loaded on demand, and MathJax is deferred.
- Wide tables are prepared for the list layout of phones.
- Faults of the theme are patched, and meta tags for search engines and link previews are added.
"""

import hashlib
import html
import re
from pathlib import Path

from docutils import nodes
from sphinx.util import logging

from lnbook.widgets import base

LOGGER = logging.getLogger(__name__)
WIDGET_MIME_TYPE = "application/vnd.jupyter.widget-view+json"
WIDGETS = base.widgets()
EXPLORER = re.compile(
    r'(?P<before><div class="ln-explorer" id="(?P<id>[^"]+)".*?<script type="text/plain"'
    r' class="ln-data")>(?P<states>[^<]+)',
    re.DOTALL,
)
HTML_PATCHES = [
    # The bibliography: a role that is deprecated, and not allowed within role="list".
    ('role="doc-biblioentry"', 'role="listitem"'),
    # A folded cell: an accessible name that differs from the text ("Show code cell source").
    ('<summary aria-label="Toggle hidden content">', "<summary>"),
    # Classes and tags that no style sheet and no script uses, about eighty on a page.
    ('class="cell_input docutils container"', 'class="cell_input"'),
    ('class="cell_output docutils container"', 'class="cell_output"'),
    ('<code class="docutils literal notranslate">', '<code class="literal notranslate">'),
    ("<pre><span></span>", "<pre>"),
]
# Pygments' spans of names, punctuation, white space, "." and "=", which have the color of the code
# around them. They are a fifth of a page.
UNSTYLED_TOKEN = re.compile(r'<span class="(?:(?:n|p|w)">([^<]*)|o">([.=]))</span>')
# The space of "Solution to Exercise 1" is part of the link, where it is underlined.
LINKED_SPACE = re.compile(r'(<a class="reference internal" href="#[^"]+">) (?=Exercise)')
TABLE = re.compile(r'<table class="([^"]*\btable)">(.*?)</table>', re.DOTALL)
MIN_WIDE_COLUMNS = 4  # a table with as many columns becomes a list on a phone
LONG_CELL_CHARS = 24  # with a longer cell, one column less is enough


def check_images(app, doctree):
    """Warn about images without alt text."""
    for image in doctree.findall(nodes.image):
        if not image.get("alt", "").strip():
            LOGGER.warning(
                "image %s has no alt text (Markdown: ![what it shows](…); a cell: metadata "
                "mystnb.image.alt)",
                image.get("uri", ""),
                location=image,
            )


def check_widgets(app, doctree):
    """Warn about Jupyter widgets, which need a kernel and load their code from the network."""
    for node in doctree.findall(nodes.container):
        if node.get("mime_type") == WIDGET_MIME_TYPE:
            LOGGER.warning(
                "a Jupyter widget does not work in the built book; use lnbook.show.Explorer",
                location=node,
            )


def label_table_cells(match):
    """Add the column name to each cell of a wide table, which a phone shows as a list of rows.

    A table is wide if it has the class ``ln-rows``, or many columns and no other ``ln-`` class,
    which would define its layout.

    Args:
        match: A match of ``TABLE``.
    """
    classes, table = match[1].split(), match[0]
    own_classes = [name for name in classes if name.startswith("ln-")]
    heads = [
        html.escape(html.unescape(re.sub(r"<[^>]+>", "", head)).strip(), quote=True)
        for head in re.findall(r"<th\b[^>]*>(.*?)</th>", match[2], re.DOTALL)
    ]
    cells = re.findall(r"<td\b[^>]*>(.*?)</td>", match[2], re.DOTALL)
    longest = max((len(re.sub(r"<[^>]+>", "", cell)) for cell in cells), default=0)
    is_wide = len(heads) >= MIN_WIDE_COLUMNS - (longest > LONG_CELL_CHARS)
    if own_classes not in ([], ["ln-rows"]) or not (own_classes or is_wide):
        return table
    if not own_classes:
        table = table.replace(f'class="{match[1]}"', f'class="ln-rows {match[1]}"', 1)

    def label_cells(row):
        columns = iter(heads)
        return re.sub(
            r"<td\b",
            lambda cell: (
                cell[0] if (head := next(columns)) == heads[0] else f'<td data-column="{head}"'
            ),
            row[0],
        )

    return re.sub(r"<tr\b.*?</tr>", label_cells, table, flags=re.DOTALL)


def finish_page(app, pagename, templatename, context, doctree):
    """Add the assets and meta tags of a page, and patch its body."""
    body = context.get("body", "")
    has_explorer = 'class="ln-explorer"' in body
    defer_mathjax(context, has_explorer)
    if has_explorer:
        body = externalize_states(body, Path(app.outdir, "_static", "states"), pagename)
    add_widget_assets(app, body)
    # A playground with all its controls ("small": false) and wide widgets use the whole width.
    # The list of sections would take a quarter of it.
    if "&quot;small&quot;: false" in body or any(w.wide and w.on(body) for w in WIDGETS):
        context["meta"] = (context.get("meta") or {}) | {"html_theme.sidebar_secondary.remove": ""}
    body = TABLE.sub(label_table_cells, body)
    for old, new in HTML_PATCHES:
        body = body.replace(old, new)
    body = UNSTYLED_TOKEN.sub(r"\1\2", body)
    context["body"] = LINKED_SPACE.sub(r" \1", body)
    if doctree is not None:
        first = next((p.astext() for p in doctree.findall(nodes.paragraph)), "")
        site_url = app.config.html_baseurl
        context["metatags"] = context.get("metatags", "") + meta_tags(
            site=app.config.html_title,
            title=context.get("title", ""),
            description=" ".join(first.split())[:160],
            image=f"{site_url or context['pathto']('', 1)}_static/share.png",
            url=f"{site_url}{pagename}.html" if site_url else "",
        )


def add_widget_assets(app, body):
    """Add the scripts and styles of the widgets in a page's body."""
    on_page = [widget for widget in WIDGETS if widget.on(body)]
    for widget in on_page:
        if not Path(app.outdir, "_static", widget.name).exists():  # else vendored_assets updated it
            widget.write(Path(app.outdir, "_static"))
        path = f"{widget.name}/{widget.name}"
        app.add_css_file(f"{path}.css", priority=900)  # after custom.css
        app.add_js_file(f"{path}.js")
    has_filter = 'class="ln-pick' in body
    if has_filter:
        app.add_css_file("pick.css", priority=900)
    if has_filter or on_page:
        app.add_css_file("controls.css", priority=850)  # before the styles of the widgets


def meta_tags(site, title, description, image, url):
    """Return the meta tags for search engines and link previews (Open Graph)."""
    properties = {
        "og:type": "article",
        "og:site_name": site,
        "og:title": html.unescape(re.sub("<[^>]+>", "", title)),
        "og:description": description,
        "og:image": image,
        **({"og:url": url} if url else {}),
        "og:image:alt": "Two networks read a digit layer by layer: in one it fades to nothing, in "
        "the other, with layer norm, it arrives",
    }
    tags = [f'<meta name="description" content="{html.escape(description)}">']
    for name, value in properties.items():
        tags.append(f'<meta property="{name}" content="{html.escape(value)}">')
    return "\n".join(tags)


def externalize_states(body, folder, pagename):
    """Move the states of the explorers of a page into scripts that are loaded on demand."""
    folder.mkdir(parents=True, exist_ok=True)

    def write(match):
        explorer, states = match["id"], match["states"]
        name = f"{pagename}-{explorer}.js"
        (folder / name).write_text(f'lnStates("{explorer}","{states}");\n', "utf-8")
        version = hashlib.sha256(states.encode()).hexdigest()[:8]  # invalidates a browser's cache
        return f'{match["before"]} data-file="states/{name}?v={version}">'

    return EXPLORER.sub(write, body)


def defer_mathjax(context, has_explorer):
    """Keep MathJax, as large as plotly.js, from delaying the other scripts.

    On a page with explorers, ``explorer.js`` starts it after the first figures are drawn. On other
    pages it is loaded asynchronously with low priority.
    """
    for script in context.get("script_files", []):
        if "mathjax/" in str(getattr(script, "filename", "")):
            script.attributes.pop("defer", None)
            script.attributes.update(
                {"type": "text/later"}
                if has_explorer
                else {"async": "async", "fetchpriority": "low"}
            )


def setup(app):
    """Connect the event handlers."""
    app.add_config_value("comments_config", {}, "html")  # Jupyter Book always sets it
    app.connect("doctree-read", check_images)
    app.connect("doctree-read", check_widgets)
    app.connect("html-page-context", finish_page, priority=900)
    # Two processes could write the files of a widget at the same time.
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": False}
