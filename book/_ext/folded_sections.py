"""Sphinx extension: fold the quiz, the exercises, the notes, and the topics of a chapter.

They are more than half of a page. A topic is a section of the third level, which most readers do
not need. The headings stay visible. ``page.js`` opens a fold for links into it and for printing.
"""

import json
from pathlib import Path

from docutils import nodes
from reading_time import measures

ITEM_NAMES = {"quiz": ("questions", "question"), "exercises": ("exercises", "exercise")}
NOTES = "Sources and details"
TOPIC_LEVEL = 3


def fold_sections(app, doctree, docname):
    """Put the content of these sections into ``<details>`` elements."""
    source = Path(app.srcdir, f"{docname}.ipynb")
    if app.builder.format != "html" or not source.exists():
        return
    counted = measures(json.loads(source.read_text("utf-8")))
    for section in list(doctree.findall(nodes.section)):
        name = next((name for name in section["ids"] if name in ITEM_NAMES), None)
        if name and (count := counted[ITEM_NAMES[name][0]]):
            fold(section, f"{count} {ITEM_NAMES[name][count == 1]}")
        elif "notes" in section["ids"]:
            fold(section, NOTES)
        elif counted["questions"] and level(section) == TOPIC_LEVEL:
            fold(section)


def level(section):
    """Return the level of a section: 1 for the page."""
    return 1 if not isinstance(section.parent, nodes.section) else 1 + level(section.parent)


def fold(section, label=None):
    """Fold a section under a label below its title, or under the title itself.

    Args:
        section: The section, whose first child is its title.
        label: Text of the summary; ``None`` for the title of the section.
    """
    position = 1 if label else 0
    kind = "ln-part" if label else "ln-part ln-topic"
    section.insert(position, html(f'<details class="{kind}"><summary>{label or ""}'))
    section.insert(position + (1 if label else 2), html("</summary>"))
    section.append(html("</details>"))


def html(text):
    """Return a node that writes HTML as it is."""
    return nodes.raw("", text, format="html")


def setup(app):
    """Connect the event handler."""
    app.connect("doctree-resolved", fold_sections)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
