"""Sphinx extension: fold the sections with the quiz and the exercises of a chapter.

They are a third of a page. The headings stay visible. ``page.js`` opens a fold for links into it
and for printing.
"""

import json
from pathlib import Path

from docutils import nodes
from reading_time import measures

ITEM_NAMES = {"quiz": ("questions", "question"), "exercises": ("exercises", "exercise")}


def fold_sections(app, doctree, docname):
    """Put the content of the two sections into ``<details>`` elements."""
    source = Path(app.srcdir, f"{docname}.ipynb")
    if app.builder.format != "html" or not source.exists():
        return
    counted = measures(json.loads(source.read_text("utf-8")))
    for section in list(doctree.findall(nodes.section)):
        name = next((name for name in section["ids"] if name in ITEM_NAMES), None)
        if name is None or not (count := counted[ITEM_NAMES[name][0]]):
            continue
        plural, singular = ITEM_NAMES[name]
        label = f"{count} {singular if count == 1 else plural}"
        start = f'<details class="ln-part"><summary>{label}</summary>'
        section.insert(1, nodes.raw("", start, format="html"))
        section.append(nodes.raw("", "</details>", format="html"))


def setup(app):
    """Connect the event handler."""
    app.connect("doctree-resolved", fold_sections)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
