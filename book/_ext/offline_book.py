"""Sphinx extension: a book that answers without a network, a kernel or a silent hole.

- Notebooks run with ``LNLIB_STATIC=1``, so that explorers come out as HTML; their results are
  cached under a hash of everything they read, not of the notebook alone.
- MathJax and plotly.js are copied from the installed packages, from lnbook the colors and the
  scripts, look and data of each widget that a page has; a page loads those of its own.
- What the reader would miss is a warning: a dead widget, an image without a text. (myst-nb warns of
  an output it cannot show, such as a bare plotly figure. ``-W`` makes a failed build of a warning,
  and the next build looks again.)
- Small faults of the theme are set right.
"""

import hashlib
import html
import importlib.util
import os
import re
import shutil
from importlib.metadata import version
from pathlib import Path

import plotly_bundle
from docutils import nodes
from sphinx.util import logging

from lnbook.figures import colors, css_filter
from lnbook.widgets import base

LOGGER = logging.getLogger(__name__)
WIDGET = "application/vnd.jupyter.widget-view+json"
FONTS = "output/chtml/fonts/woff-v2"
MACROS = "input/tex/extensions"
# Names, brackets and space have the color of the code around them, a dot and an equals sign need no
# other; the tags are a fifth of a page.
PLAIN = re.compile(r'<span class="(?:(?:n|p|w)">([^<]*)|o">([.=]))</span>')
# "Solution to Exercise 1": the link has the space before it, underlined.
LINKED_SPACE = re.compile(r'(<a class="reference internal" href="#[^"]+">) (?=Exercise)')
EXPLORER = re.compile(
    r'(?P<before><div class="ln-explorer" id="(?P<id>[^"]+)".*?<script type="text/plain"'
    r' class="ln-data")>(?P<states>[^<]+)',
    re.DOTALL,
)
WIDGETS = base.widgets()


def prepare(app, config):
    """Set what kernels inherit, and name the cache after what notebooks read."""
    os.environ["LNLIB_STATIC"] = "1"
    # Jupyter Book passes --toc on as typed, Sphinx would look for it in book/.
    config.external_toc_path = str(Path(config.external_toc_path).resolve())
    files = [path for name in ("lnlib", "lnlab", "lnbook") for path in package(name).rglob("*")]
    read = [
        *(path for path in files if path.suffix in (".py", ".json")),
        *Path(app.srcdir, "runs").rglob("*.json"),
    ]
    read = [path for path in read if "classroom" not in path.parts]  # no chapter needs it
    computed_by = [f"{name} {version(name)}" for name in ("numpy", "torch", "plotly")]
    digest = hashlib.sha256(" ".join(["LNLIB_STATIC=1", *computed_by]).encode())
    for path in sorted(read):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    name = f".jupyter_cache-{digest.hexdigest()[:12]}"
    config.nb_execution_cache_path = str(Path(app.outdir).parent / name)


def forget_old_caches(app):
    """Keep only the cache of the sources as they are."""
    now = Path(app.config.nb_execution_cache_path)
    for path in now.parent.glob(".jupyter_cache-*"):
        if path != now:
            shutil.rmtree(path, ignore_errors=True)


def package(name):
    """Find the folder of an installed package without importing it."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"The book needs {name}: tools/setup.sh book")
    return Path(spec.origin).parent


def copy_vendored(app):
    """Copy MathJax (one script, its fonts and macros, 2.2 MB of 24) and plotly.js into the book."""
    if app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    mathjax = package("sphinx-mathjax-offline") / "static" / "mathjax"
    # Fonts, and what MathJax loads when a formula first asks for it, such as \boldsymbol.
    results = [*(mathjax / FONTS).glob("*.woff"), *(mathjax / MACROS).glob("*.js")]
    parts = [path.relative_to(mathjax) for path in results]
    for part in (Path("tex-chtml.js"), *parts):
        (static / "mathjax" / part).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(mathjax / part, static / "mathjax" / part)
    (static / "plotly").mkdir(parents=True, exist_ok=True)
    bare = unwrapped(plotly_bundle.read())
    (static / "plotly" / "plotly.min.js").write_text(bare, "utf-8")
    for widget in WIDGETS:
        if (static / widget.name).exists():  # for a page that is not written again
            widget.write(static)
    (static / "colors.css").write_text(colors.css(), "utf-8")
    (static / "controls.css").write_text(base.CONTROLS, "utf-8")
    (static / "pick.css").write_text(css_filter.STYLE, "utf-8")
    shutil.copy2(base.HERE / "address.js", static / "address.js")  # page.js, too, needs it
    app.add_css_file("colors.css")
    app.add_js_file("address.js")


def unwrapped(code):
    """Take from plotly.js the wrapper for module loaders, which a script tag does not need.

    Within a function, which may never be called, the browser only skims its 5 MB in the
    background, and reads them again while the page waits.
    """
    head, start, rest = code.partition('"use strict";var Plotly=')
    body, end, _ = rest.rpartition("return Plotly;")
    notice = head.partition("*/")[0] + "*/\n"
    return notice + start + body if start and end else code


def write_index(app):
    """Let index.html, which people open first, lead to the first page."""
    if app.builder.name == "html":
        first, title = f"{app.config.root_doc}.html", html.escape(app.config.html_title)
        Path(app.outdir, "index.html").write_text(
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
            f'<meta http-equiv="refresh" content="0; url={first}">'
            f'<p><a href="{first}">{title}</a></p></html>\n',
            encoding="utf-8",
        )


def check_images(app, doctree):
    """Warn of an image that says nothing to those who do not see it."""
    for image in doctree.findall(nodes.image):
        if not image.get("alt", "").strip():
            LOGGER.warning(
                "image %s has no alt text (Markdown: ![what it shows](…); a cell: metadata "
                "mystnb.image.alt)",
                image.get("uri", ""),
                location=image,
            )


def check_widgets(app, doctree):
    """Warn of a widget, which is dead without a kernel and asks the network for its code."""
    for node in doctree.findall(nodes.container):
        if node.get("mime_type") == WIDGET:
            LOGGER.warning(
                "a widget is dead in the book; make it an lnbook.show.Explorer",
                location=node,
            )


MENDED = [
    # The bibliography: a role that is deprecated, and not allowed inside the list's.
    ('role="doc-biblioentry"', 'role="listitem"'),
    # A folded cell: a name that is not the text on it ("Show code cell source").
    ('<summary aria-label="Toggle hidden content">', "<summary>"),
    # Names and tags that no style or script asks for, some eighty a page.
    ('class="cell_input docutils container"', 'class="cell_input"'),
    ('class="cell_output docutils container"', 'class="cell_output"'),
    ('<code class="docutils literal notranslate">', '<code class="literal notranslate">'),
    ("<pre><span></span>", "<pre>"),
]


# A table of Markdown; what begins with "ln-" says how it is laid out.
TABLE = re.compile(r'<table class="([^"]*\btable)">(.*?)</table>', re.DOTALL)
COLUMNS = 4  # so many are too narrow on a phone, which shows each row as a list
LETTERS = 24  # in a cell: with such cells, one column less is too many


def rows_on_a_phone(table):
    """Name the column before each cell of a table that a phone shows as a list."""
    names, whole = table[1].split(), table[0]
    own = [name for name in names if name.startswith("ln-")]
    heads = [
        html.escape(html.unescape(re.sub(r"<[^>]+>", "", head)).strip(), quote=True)
        for head in re.findall(r"<th\b[^>]*>(.*?)</th>", table[2], re.DOTALL)
    ]
    cells = re.findall(r"<td\b[^>]*>(.*?)</td>", table[2], re.DOTALL)
    longest = max((len(re.sub(r"<[^>]+>", "", cell)) for cell in cells), default=0)
    narrow = len(heads) >= COLUMNS - (longest > LETTERS)
    if own not in ([], ["ln-rows"]) or not (own or narrow):
        return whole
    if not own:
        whole = whole.replace(f'class="{table[1]}"', f'class="ln-rows {table[1]}"', 1)

    def name(row):
        columns = iter(heads)
        return re.sub(
            r"<td\b",
            lambda cell: (
                cell[0] if (head := next(columns)) == heads[0] else f'<td data-column="{head}"'
            ),
            row[0],
        )

    return re.sub(r"<tr\b.*?</tr>", name, whole, flags=re.DOTALL)


def finish_page(app, pagename, templatename, context, doctree):
    """Set right what the theme gets wrong, and add what the page's widgets load."""
    drawn = 'class="ln-explorer"' in context.get("body", "")
    hasten(context, drawn)
    if drawn:
        context["body"] = apart(context["body"], Path(app.outdir, "_static", "states"), pagename)
    for widget in WIDGETS:
        if widget.on(context.get("body", "")):
            if not Path(app.outdir, "_static", widget.name).exists():  # else they are new already
                widget.write(Path(app.outdir, "_static"))
            path = f"{widget.name}/{widget.name}"
            app.add_css_file(f"{path}.css", priority=900)  # on top of custom.css
            app.add_js_file(f"{path}.js")
    body = context.get("body", "")
    if 'class="ln-pick' in body:
        app.add_css_file("pick.css", priority=900)
    if 'class="ln-pick' in body or any(widget.on(body) for widget in WIDGETS):
        app.add_css_file("controls.css", priority=850)  # what each of them arranges
    # A playground is, too, where it has all its controls.
    if "&quot;small&quot;: false" in body or any(w.wide and w.on(body) for w in WIDGETS):
        # The whole width is the figure's: the list of sections beside it would take a quarter.
        context["meta"] = (context.get("meta") or {}) | {"html_theme.sidebar_secondary.remove": ""}
    context["body"] = TABLE.sub(rows_on_a_phone, context.get("body", ""))
    for wrong, right in MENDED:
        context["body"] = context.get("body", "").replace(wrong, right)
    context["body"] = PLAIN.sub(r"\1\2", context["body"])
    context["body"] = LINKED_SPACE.sub(r" \1", context["body"])
    if doctree is not None:
        first = next((p.astext() for p in doctree.findall(nodes.paragraph)), "")
        context["metatags"] = context.get("metatags", "") + shared(
            site=app.config.html_title,
            title=context.get("title", ""),
            description=" ".join(first.split())[:160],
            picture=f"{app.config.html_baseurl or context['pathto']('', 1)}_static/share.png",
            address=f"{base}{pagename}.html" if (base := app.config.html_baseurl) else "",
        )


def shared(site, title, description, picture, address):
    """Return the tags that a search engine reads, and whoever shows a link to the page."""
    properties = {
        "og:type": "article",
        "og:site_name": site,
        "og:title": html.unescape(re.sub("<[^>]+>", "", title)),
        "og:description": description,
        "og:image": picture,
        **({"og:url": address} if address else {}),
        "og:image:alt": "Two networks read a digit layer by layer: in one it fades to nothing, in "
        "the other, with layer norm, it arrives",
    }
    tags = [f'<meta name="description" content="{html.escape(description)}">']
    for name, value in properties.items():
        tags.append(f'<meta property="{name}" content="{html.escape(value)}">')
    return "\n".join(tags)


def apart(body, folder, pagename):
    """Put the states of a page's explorers into files of their own, read when they are needed."""
    folder.mkdir(parents=True, exist_ok=True)

    def write(match):
        explorer, states = match["id"], match["states"]
        name = f"{pagename}-{explorer}.js"
        (folder / name).write_text(f'lnStates("{explorer}","{states}");\n', "utf-8")
        version = hashlib.sha256(states.encode()).hexdigest()[:8]  # else a browser keeps the old
        return f'{match["before"]} data-file="states/{name}?v={version}">'

    return EXPLORER.sub(write, body)


def hasten(context, drawn):
    """Let a page be usable soon, although MathJax is as much to load and run as plotly.js.

    Where figures are drawn it is held back, and ``explorer.js`` starts it after those in reach.
    Elsewhere it comes when it comes, and no other script waits for it.
    """
    for script in context.get("script_files", []):
        if "mathjax/" in str(getattr(script, "filename", "")):
            script.attributes.pop("defer", None)
            late = {"type": "text/later"} if drawn else {"async": "async", "fetchpriority": "low"}
            script.attributes.update(late)


def stay_failed(app, exception):
    """Forget what was read after a warning, or the next -W build would pass it in silence."""
    if exception is None and app._warncount:
        Path(app.doctreedir, "environment.pickle").unlink(missing_ok=True)


def setup(app):
    """Connect the parts."""
    app.add_config_value("comments_config", {}, "html")  # Jupyter Book always sets it
    app.connect("config-inited", prepare, priority=100)
    app.connect("builder-inited", forget_old_caches)
    app.connect("builder-inited", copy_vendored)
    app.connect("builder-inited", write_index)
    app.connect("doctree-read", check_images)
    app.connect("doctree-read", check_widgets)
    app.connect("html-page-context", finish_page, priority=900)
    app.connect("build-finished", stay_failed)
    # Two pages written at once could both write the files of a widget.
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": False}
