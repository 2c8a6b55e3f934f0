"""Sphinx extension: which scripts and style sheets a page loads, and in which order.

- A page loads a script or a style sheet only if its body contains something that needs it.
- All scripts are deferred; those of the page's figures come first.
- Inline scripts, styles and event handlers are moved into files, because a content security policy
  may forbid them.
- Files that no page uses are removed: source maps, translations, fonts for old browsers.
"""

import html
import itertools
import re
import shutil
from pathlib import Path

from lnbook.widgets import base

# Maps the prefix of a file name to a text in the body of the pages that need the file.
REQUIRED_TEXT = {
    "clipboard.min.js": '<div class="highlight',
    "copybutton.": '<div class="highlight',
    "design-tabs.js": 'class="sd-',
    "exercise.css": "exercise",
    "mystnb.": 'class="cell',
    "sphinx-design.": 'class="sd-',
    "togglebutton.": "dropdown",
}
SPHINX_SEARCH = ("sphinx_highlight.js", "searchtools.js", "language_data.js")
# Set by Jupyter Book on every page; no script of this book reads it.
UNUSED_SETTING = re.compile(r"DOCUMENTATION_OPTIONS\.pagename = '[^']*';")
OPTIONS, SETTINGS = "documentation_options.js", "settings.js"
MATHJAX_SETTINGS = "mathjax/settings.js"
# Templates include these; Jupyter Book would add all scripts of _static to every page.
IN_TEMPLATES = ("first/", "search/")
UNUSED_FILES = (
    *SPHINX_SEARCH,
    "**/*.map",
    "locales",
    "mathjax/**/all-packages.js",  # a copy of the other extensions
    "scripts/fontawesome.js*",
    "styles/theme.css",
    "vendor/fontawesome/webfonts/*.ttf",
)
STYLE_ELEMENT = re.compile(r"<style[^>]*>(.*?)</style>", re.DOTALL)
START_TAG = re.compile(r"""(<[a-zA-Z][\w-]*)(\s(?:"[^"]*"|'[^']*'|[^<>"'])*>)""")
EVENT_HANDLER = re.compile(r'\son([a-z]+)="([^"]*)"')
LISTEN = """document.querySelector('[data-listens="{}"]').addEventListener("{}", function (event) {{
  {}
}});"""
SOURCE_MAP = re.compile(r"\n?(?://|/\*)# sourceMappingURL=\S+(?: ?\*/)?\s*\Z")


def asset_name(asset):
    """Return the path of a script or style sheet in ``_static``, or "" if it is inline."""
    return str(asset.filename or "").removeprefix("_static/")


def is_needed(asset, body):
    """Return whether a page with this body needs a script or style sheet."""
    if asset_name(asset).startswith(SPHINX_SEARCH):
        return False
    return all(
        text in body
        for prefix, text in REQUIRED_TEXT.items()
        if asset_name(asset).startswith(prefix)
    )


def select_assets(app, pagename, templatename, context, doctree):
    """Drop the assets that a page does not need, and order and defer its scripts."""
    static = Path(app.outdir, "_static")
    if "body" in context:
        context["body"], sheets, handlers = extract_inline_assets(context["body"])
        for suffix, texts in (("css", sheets), ("js", handlers)):
            if texts:
                write_lines(static / "pages" / f"{pagename}.{suffix}", texts)
        if sheets:
            app.add_css_file(f"pages/{pagename}.css", priority=900)
        if handlers:
            app.add_js_file(f"pages/{pagename}.js")
    body = context.get("body", "")
    context["css_files"] = [sheet for sheet in context["css_files"] if is_needed(sheet, body)]
    inline = dict.fromkeys(s.attributes["body"] for s in context["script_files"] if not s.filename)
    inline = [text for text in inline if not UNUSED_SETTING.fullmatch(text)]
    for name in (SETTINGS, MATHJAX_SETTINGS):
        if texts := [t for t in inline if ("window.MathJax" in t) == (name == MATHJAX_SETTINGS)]:
            write_lines(static / name, texts)
            app.add_js_file(name)
    scripts = [s for s in context["script_files"] if s.filename and is_needed(s, body)]
    scripts = [s for s in scripts if not asset_name(s).startswith(IN_TEMPLATES)]
    for script in scripts:
        # MathJax is started by explorer.js or loaded asynchronously, after its settings.
        if not asset_name(script).startswith(("mathjax/tex", MATHJAX_SETTINGS)):
            script.attributes["defer"] = "defer"
    order = [
        OPTIONS,
        SETTINGS,
        "address.js",
        *(f"{w.name}/" for w in widgets_on_page(body)),
        "page.js",
        MATHJAX_SETTINGS,
    ]

    def load_position(script):
        matches = (k for k, prefix in enumerate(order) if asset_name(script).startswith(prefix))
        return next(matches, len(order))

    context["ordered_scripts"] = sorted(scripts, key=load_position)
    context["preloaded"] = [
        f"_static/{widget.name}/{name}"
        for widget in widgets_on_page(body)
        for name in widget.preloaded
    ]


def extract_inline_assets(body):
    """Return a body without inline styles and event handlers, the styles, and scripts for the rest.

    Example:
        >>> extract_inline_assets('<style>p { margin: 0 }</style><input oninput="f(1)">')[:2]
        ('<input data-listens="0">', ['p { margin: 0 }'])
    """
    sheets, scripts = STYLE_ELEMENT.findall(body), []
    ids = itertools.count()

    def replace_handlers(tag):
        name, attributes = tag.groups()
        if not (handlers := EVENT_HANDLER.findall(attributes)):
            return tag[0]
        element = next(ids)
        scripts.extend(
            LISTEN.format(element, event, html.unescape(code)) for event, code in handlers
        )
        return f'{name} data-listens="{element}"{EVENT_HANDLER.sub("", attributes)}'

    return START_TAG.sub(replace_handlers, STYLE_ELEMENT.sub("", body)), sheets, scripts


def write_lines(path, texts):
    """Write texts into a file, one per line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(texts) + "\n", "utf-8")


def widgets_on_page(body):
    """Return the widgets in a body, in the order of their first figures."""
    positions = {}
    for widget in base.widgets():
        if match := re.search(rf'class="{widget.selector[1:]}[ "]', body):
            positions[widget] = match.start()
    return sorted(positions, key=positions.get)


def remove_unused_files(app, exception):
    """Remove files that no page uses, and references to source maps."""
    if exception is not None or app.builder.format != "html":
        return
    static = Path(app.outdir, "_static")
    for pattern in UNUSED_FILES:
        for path in sorted(static.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for path in [*static.rglob("*.js"), *static.rglob("*.css")]:
        code = path.read_text("utf-8")
        if SOURCE_MAP.search(code[-300:]):
            path.write_text(SOURCE_MAP.sub("\n", code), "utf-8")


def setup(app):
    """Connect the event handlers, after those of the other extensions."""
    app.connect("html-page-context", select_assets, priority=950)
    app.connect("build-finished", remove_unused_files)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": False}
