"""Sphinx extension: a field below each exercise whose answer is numbers or an expression."""

import importlib
import re

from docutils import nodes
from sphinx_exercise.nodes import exercise_enumerable_node, exercise_node

from lnbook.widgets.quiz.answer_field import answer_field

CHECK = re.compile(r'^exercises\.check\("([\w-]+)", ', re.M)


def add_fields(app, doctree):
    """Add the field after the cell with the starter of each exercise."""
    for node in [*doctree.findall(exercise_node), *doctree.findall(exercise_enumerable_node)]:
        for code in list(node.findall(nodes.literal_block)):
            starter = code.astext()
            if (check := CHECK.search(starter)) is None:
                continue
            chapter = importlib.import_module(f"lnbook.chapters.{app.env.docname}.exercises")
            app.env.note_dependency(chapter.__file__)
            if field := answer_field(check[1], chapter.EXERCISES[check[1]], starter):
                node.append(nodes.raw("", field, format="html"))


def setup(app):
    """Connect the event handler, after the one that joins the parts of an exercise."""
    app.connect("doctree-read", add_fields, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
