"""The questions of a chapter, read from its notebook, for whoever shows them elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from lnbook.widgets.quiz import Choose, Number, Order, Quiz, choose, number, order

NAMES = {"Quiz": Quiz, "choose": choose, "number": number, "order": order, "np": np}


def questions(notebook: Path) -> tuple[Choose | Number | Order, ...]:
    """Return the questions of every quiz of a chapter, in its order.

    Args:
        notebook: The chapter's file. Its cells that begin with ``Quiz(`` are evaluated.
    """
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    quizzes = [eval(source, dict(NAMES)) for source in sources if source.startswith("Quiz(")]
    return tuple(question for quiz in quizzes for question in quiz.questions)
