"""Sphinx extension: the icon font holds the dozen icons that the book shows, not two thousand.

Each page would load 156 KB of Font Awesome for them. An icon is shown by an element with a class
such as ``fa-bars``, whose character the theme's style sheet has, or by a style sheet itself.
"""

import logging
import re
from pathlib import Path

from fontTools import subset

FONTS = "vendor/fontawesome/webfonts/*.woff2"
CLASS = re.compile(r"\bfa-[a-z0-9-]+")
RULE = re.compile(r"[^{}]+\{[^{}]*\}")
CHARACTER = re.compile(r"\\([ef][0-9a-f]{3})\b")


def characters(static, pages):
    """Return the icons' characters, as numbers, that pages, scripts and style sheets show."""
    texts = [path.read_text("utf-8") for path in [*pages, *static.rglob("*.js")]]
    named = {name for text in texts for name in CLASS.findall(text)}
    results = set()
    for sheet in static.rglob("*.css"):
        for rule in RULE.findall(sheet.read_text("utf-8")):
            classes = set(CLASS.findall(rule.partition("{")[0]))
            if not classes or classes & named:
                results |= {int(code, 16) for code in CHARACTER.findall(rule)}
    return results


def reduce(static, pages):
    """Leave in the icon fonts what is shown."""
    logging.getLogger("fontTools").setLevel(logging.WARNING)  # it names each table
    used = characters(static, pages)
    for path in sorted(static.glob(FONTS)):
        options = subset.Options(flavor="woff2", notdef_outline=True, layout_features=[])
        font = subset.load_font(path, options)
        subsetter = subset.Subsetter(options)
        subsetter.populate(unicodes=used)
        subsetter.subset(font)
        subset.save_font(font, path, options)


def finish(app, exception):
    """Reduce the fonts when all pages stand."""
    if exception is None and app.builder.format == "html":
        reduce(Path(app.outdir, "_static"), sorted(Path(app.outdir).glob("*.html")))


def setup(app):
    """Connect it, after what is not used has left the build."""
    app.connect("build-finished", finish, priority=600)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
