"""Sphinx extension: quiz and exercises of a chapter are folded, under headings that stay.

A reader who only wants the explanation scrolls past two lines instead of a third of the page. A
link to a question or an exercise opens its fold (``page.js``), and so does printing.
"""

import json
from pathlib import Path

from docutils import nodes
from reading_time import measures

UNIT_NAMES = {"quiz": ("questions", "question"), "exercises": ("exercises", "exercise")}


def fold(app, doctree, docname):
    """Put the content of the two sections into ``<details>``."""
    source = Path(app.srcdir, f"{docname}.ipynb")
    if app.builder.format != "html" or not source.exists():
        return
    counted = measures(json.loads(source.read_text("utf-8")))
    for section in list(doctree.findall(nodes.section)):
        name = next((name for name in section["ids"] if name in UNIT_NAMES), None)
        if name is None or not (count := counted[UNIT_NAMES[name][0]]):
            continue
        plural, singular = UNIT_NAMES[name]
        label = f"{count} {singular if count == 1 else plural}"
        start = f'<details class="ln-part"><summary>{label}</summary>'
        section.insert(1, nodes.raw("", start, format="html"))
        section.append(nodes.raw("", "</details>", format="html"))


def setup(app):
    """Connect the folds."""
    app.connect("doctree-resolved", fold)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
