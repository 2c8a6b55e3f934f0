"""Read the quiz questions of a chapter from its notebook, for slides, exports and homework."""

import json
from pathlib import Path

import numpy as np

from lnbook.widgets.quiz import Choose, Number, Order, Quiz, choose, number, order

NAMESPACE = {"Quiz": Quiz, "choose": choose, "number": number, "order": order, "np": np}


def read_questions(notebook: Path) -> tuple[Choose | Number | Order, ...]:
    """Return the questions of all quizzes in a notebook, in order.

    Args:
        notebook: The path of the notebook. Its code cells that begin with ``Quiz(`` are evaluated.
    """
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    quizzes = [eval(source, dict(NAMESPACE)) for source in sources if source.startswith("Quiz(")]
    return tuple(question for quiz in quizzes for question in quiz.questions)
