"""Sphinx extension: reduce the icon fonts (Font Awesome, 156 KB) to the icons that pages use.

An icon is used by an element with a class such as ``fa-bars``, which the style sheet of the theme
maps to a character, or directly by a style sheet.
"""

import logging
import re
from pathlib import Path

from fontTools import subset

FONTS = "vendor/fontawesome/webfonts/*.woff2"
CLASS = re.compile(r"\bfa-[a-z0-9-]+")
RULE = re.compile(r"[^{}]+\{[^{}]*\}")
CHARACTER = re.compile(r"\\([ef][0-9a-f]{3})\b")


def used_code_points(static, pages):
    """Return the code points of the icons that pages, scripts and style sheets use."""
    texts = [path.read_text("utf-8") for path in [*pages, *static.rglob("*.js")]]
    used_classes = {name for text in texts for name in CLASS.findall(text)}
    code_points = set()
    for sheet in static.rglob("*.css"):
        for rule in RULE.findall(sheet.read_text("utf-8")):
            classes = set(CLASS.findall(rule.partition("{")[0]))
            if not classes or classes & used_classes:
                code_points |= {int(code, 16) for code in CHARACTER.findall(rule)}
    return code_points


def subset_fonts(static, pages):
    """Remove the unused icons from the icon fonts."""
    logging.getLogger("fontTools").setLevel(logging.WARNING)  # it logs each table
    used = used_code_points(static, pages)
    for path in sorted(static.glob(FONTS)):
        options = subset.Options(flavor="woff2", notdef_outline=True, layout_features=[])
        font = subset.load_font(path, options)
        subsetter = subset.Subsetter(options)
        subsetter.populate(unicodes=used)
        subsetter.subset(font)
        subset.save_font(font, path, options)


def on_build_finished(app, exception):
    """Reduce the fonts after all pages have been written."""
    if exception is None and app.builder.format == "html":
        subset_fonts(Path(app.outdir, "_static"), sorted(Path(app.outdir).glob("*.html")))


def setup(app):
    """Connect the event handler, after unused files have been removed."""
    app.connect("build-finished", on_build_finished, priority=600)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
