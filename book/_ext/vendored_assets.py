"""Sphinx extension: copy MathJax, plotly.js and the files of widgets into the book.

MathJax and plotly.js are copied from installed packages, colors and widgets from ``lnbook``, so
that the built book works without a network.
"""

import shutil
from pathlib import Path

import plotly_bundle
from execution_cache import package_folder

from lnbook.figures import colors, css_filter
from lnbook.widgets import base

MATHJAX_FONTS = "output/chtml/fonts/woff-v2"
MATHJAX_EXTENSIONS = "input/tex/extensions"  # loaded at first use, such as \boldsymbol


def copy_assets(app):
    """Copy MathJax (one script, fonts and extensions: 2.2 of 24 MB), plotly.js and widgets."""
    if app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    mathjax = package_folder("sphinx-mathjax-offline") / "static" / "mathjax"
    for path in (
        mathjax / "tex-chtml.js",
        *(mathjax / MATHJAX_FONTS).glob("*.woff"),
        *(mathjax / MATHJAX_EXTENSIONS).glob("*.js"),
    ):
        target = static / "mathjax" / path.relative_to(mathjax)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)
    (static / "plotly").mkdir(parents=True, exist_ok=True)
    plotly = strip_umd_wrapper(plotly_bundle.read())
    (static / "plotly" / "plotly.min.js").write_text(plotly, "utf-8")
    for widget in base.widgets():
        if (static / widget.name).exists():  # update the files of pages that are not written again
            widget.write(static)
    (static / "colors.css").write_text(colors.css(), "utf-8")
    (static / "controls.css").write_text(base.CONTROLS, "utf-8")
    (static / "pick.css").write_text(css_filter.STYLE, "utf-8")
    shutil.copy2(base.HERE / "address.js", static / "address.js")  # also used by page.js
    app.add_css_file("colors.css")
    app.add_js_file("address.js")


def strip_umd_wrapper(code):
    """Return plotly.js without the wrapper for module loaders (UMD).

    A browser only pre-parses the body of a function and parses it again when the function is
    called. Without the wrapper, the script is compiled in the background while it loads.
    """
    head, start, rest = code.partition('"use strict";var Plotly=')
    body, end, _ = rest.rpartition("return Plotly;")
    license_comment = head.partition("*/")[0] + "*/\n"
    return license_comment + start + body if start and end else code


def setup(app):
    """Connect the event handler."""
    app.connect("builder-inited", copy_assets)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
