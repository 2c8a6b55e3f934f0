"""Sphinx extension: what a page loads, in which order, and what the built book is made of.

- A page loads a script or a style sheet only if its body has something that needs it.
- No script keeps a page waiting: all are deferred, those of its figures come first.
- Neither script nor style sheet stands in a page itself, where the content security policy of a
  host may forbid it.
- What no page asks for leaves the build: source maps, other languages, fonts for old browsers.
"""

import html
import itertools
import re
import shutil
from pathlib import Path

from lnbook.widgets import base

# From the start of a file's name to what a page's body has if it needs the file.
NEEDED_BY = {
    "clipboard.min.js": '<div class="highlight',
    "copybutton.": '<div class="highlight',
    "design-tabs.js": 'class="sd-',
    "exercise.css": "exercise",
    "mystnb.": 'class="cell',
    "sphinx-design.": 'class="sd-',
    "togglebutton.": "dropdown",
}
SEARCH_OF_SPHINX = ("sphinx_highlight.js", "searchtools.js", "language_data.js")
# Set on every page by Jupyter Book, and read by nothing that this book loads.
UNREAD = re.compile(r"DOCUMENTATION_OPTIONS\.pagename = '[^']*';")
OPTIONS, SETTINGS, MATHJAX = "documentation_options.js", "settings.js", "mathjax/settings.js"
# A template has them in their place; Jupyter Book would add them to every page.
PLACED = ("first/", "search/")
UNUSED = (
    *SEARCH_OF_SPHINX,
    "**/*.map",
    "locales",
    "mathjax/**/all-packages.js",  # what the others hold, once more
    "scripts/fontawesome.js*",
    "styles/theme.css",
    "vendor/fontawesome/webfonts/*.ttf",
)
SHEET = re.compile(r"<style[^>]*>(.*?)</style>", re.DOTALL)
TAG = re.compile(r"""(<[a-zA-Z][\w-]*)(\s(?:"[^"]*"|'[^']*'|[^<>"'])*>)""")
HANDLER = re.compile(r'\son([a-z]+)="([^"]*)"')
LISTEN = """document.querySelector('[data-listens="{}"]').addEventListener("{}", function (event) {{
  {}
}});"""
SOURCE_MAP = re.compile(r"\n?(?://|/\*)# sourceMappingURL=\S+(?: ?\*/)?\s*\Z")


def name_of(asset):
    """Return the name of a script or style sheet within ``_static``; nothing of an inline one."""
    return str(asset.filename or "").removeprefix("_static/")


def needed(asset, body):
    """Say whether a page loads a script or style sheet."""
    if name_of(asset).startswith(SEARCH_OF_SPHINX):
        return False
    results = [part for start, part in NEEDED_BY.items() if name_of(asset).startswith(start)]
    return all(part in body for part in results)


def choose(app, pagename, templatename, context, doctree):
    """Leave out what a page does not need; defer the rest, the scripts of its figures first."""
    static = Path(app.outdir, "_static")
    if "body" in context:
        context["body"], sheets, handlers = apart(context["body"])
        for end, texts in (("css", sheets), ("js", handlers)):
            if texts:
                write(static / "pages" / f"{pagename}.{end}", texts)
        if sheets:
            app.add_css_file(f"pages/{pagename}.css", priority=900)
        if handlers:
            app.add_js_file(f"pages/{pagename}.js")
    body = context.get("body", "")
    context["css_files"] = [sheet for sheet in context["css_files"] if needed(sheet, body)]
    inline = dict.fromkeys(s.attributes["body"] for s in context["script_files"] if not s.filename)
    inline = [text for text in inline if not UNREAD.fullmatch(text)]
    for name in (SETTINGS, MATHJAX):
        if texts := [t for t in inline if ("window.MathJax" in t) == (name == MATHJAX)]:
            write(static / name, texts)
            app.add_js_file(name)
    scripts = [s for s in context["script_files"] if s.filename and needed(s, body)]
    scripts = [s for s in scripts if not name_of(s).startswith(PLACED)]
    for script in scripts:
        # MathJax comes after the figures, or at any time: its settings have to be there by then.
        if not (name_of(script).startswith("mathjax/tex") or name_of(script) == MATHJAX):
            script.attributes["defer"] = "defer"
    order = [
        OPTIONS,
        SETTINGS,
        "address.js",
        *(f"{w.name}/" for w in figures(body)),
        "page.js",
        MATHJAX,
    ]

    def load_position(script):
        known = (k for k, start in enumerate(order) if name_of(script).startswith(start))
        return next(known, len(order))

    context["ordered_scripts"] = sorted(scripts, key=load_position)
    context["preloaded"] = [
        f"_static/{widget.name}/{name}" for widget in figures(body) for name in widget.preloaded
    ]


def apart(body):
    """Return a page's body without its style sheets and event handlers, and these.

    Example:
        >>> apart('<style>p { margin: 0 }</style><input oninput="f(1)">')[:2]
        ('<input data-listens="0">', ['p { margin: 0 }'])
    """
    sheets, handlers = SHEET.findall(body), []

    elements = itertools.count()

    def listen(tag):
        name, attributes = tag.groups()
        if not (result := HANDLER.findall(attributes)):
            return tag[0]
        element = next(elements)
        handlers.extend(
            LISTEN.format(element, event, html.unescape(code)) for event, code in result
        )
        return f'{name} data-listens="{element}"{HANDLER.sub("", attributes)}'

    return TAG.sub(listen, SHEET.sub("", body)), sheets, handlers


def write(path, texts):
    """Write texts into a file, one after the other."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(texts) + "\n", "utf-8")


def figures(body):
    """Return the widgets that a page has, in the order of its figures."""
    first = {}
    for widget in base.widgets():
        if result := re.search(rf'class="{widget.selector[1:]}[ "]', body):
            first[widget] = result.start()
    return sorted(first, key=first.get)


def clear(app, exception):
    """Remove from the build what no page asks for."""
    if exception is not None or app.builder.format != "html":
        return
    static = Path(app.outdir, "_static")
    for pattern in UNUSED:
        for path in sorted(static.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for path in [*static.rglob("*.js"), *static.rglob("*.css")]:
        tail = path.read_text("utf-8")
        if SOURCE_MAP.search(tail[-300:]):
            path.write_text(SOURCE_MAP.sub("\n", tail), "utf-8")


def setup(app):
    """Choose when all has been added to a page, and clear when all pages stand."""
    app.connect("html-page-context", choose, priority=950)
    app.connect("build-finished", clear)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": False}
