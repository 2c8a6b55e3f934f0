"""Quizzes that check the reader's answers, in a notebook and in the built book.

A chapter displays a :class:`Quiz`, made of questions by :func:`choose`, :func:`number` and
:func:`order`. Each wrong answer has its own explanation, which can name the misconception behind
it. With a kernel, the quiz is a widget. In the built book (``LNLIB_STATIC=1``) it is HTML that can
be read without JavaScript, and ``quiz.js`` turns it into forms. As plain text, it is the questions
followed by the answers.
"""

import html
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lnbook.display import Displayed
from lnbook.figures import colors
from lnbook.widgets.base import WidgetFiles, box
from lnbook.widgets.quiz.make import choose, number, order
from lnbook.widgets.quiz.questions import Choose, Number, Order, digest
from lnbook.widgets.quiz.texts import NOT_YET, RIGHT, markup, wrap_paragraph

__all__ = ["WEB", "Choose", "Number", "Order", "Quiz", "choose", "number", "order"]

WEB = WidgetFiles(Path(__file__).parent, ("../number_parsing.js", "expressions.js", "quiz.js"))


class Quiz(Displayed):
    """A list of questions, the same in a notebook and in the built book.

    Make it the last line of a cell tagged ``hide-input``. A reader can answer as often as they
    like. The answers are checked locally, and the built book stores them only in the reader's
    browser.

    Args:
        *questions: Made by :func:`choose`, :func:`number` and :func:`order`.
        title: The title of the card. ``None``: the heading of the section serves as the title.

    Raises:
        ValueError: If there are no questions, or two have the same text.
        TypeError: If an argument is not a question.

    Example:
        >>> Quiz(choose("Is 2 even?", {"Yes": "Twice 1.", "No": "It is."}, answer="Yes"))
        Check yourself (1 question)
        <BLANKLINE>
        1. Is 2 even?
           a. Yes
           b. No
        <BLANKLINE>
        Answers
        <BLANKLINE>
        1. a. Yes: Twice 1.
           Not b. No: It is.
    """

    missing = "\n\n(To answer here: pip install ipywidgets)"

    def __init__(self, *questions: Choose | Number | Order, title: str | None = None):
        if not questions:
            raise ValueError("Quiz: questions must not be empty.")
        for question in questions:
            if not isinstance(question, Choose | Number | Order):
                raise TypeError(
                    "Quiz: a question must be made by choose, number, or order, got "
                    f"{type(question).__name__} (the title is a keyword)."
                )
        texts = [question.text for question in questions]
        twice = {text for text in texts if texts.count(text) > 1}
        if twice:
            raise ValueError(f"Quiz: questions must differ, got {sorted(twice)} more than once.")
        self.questions, self.title = questions, title

    def to_html(self) -> str:
        """Return HTML that is complete without JavaScript; ``quiz.js`` turns it into forms."""
        title = self.title or "Check yourself"
        return (
            f'<div class="ln-quiz" role="group" aria-label="{html.escape(title)}">'
            + (f'<p class="ln-title">{markup(self.title)}</p>' if self.title else "")
            + '<p class="ln-how">Decide on your answer, then open it to check.</p>'
            + f'<ol class="ln-questions" role="list">{"".join(map(question_html, self.questions))}'
            "</ol></div>"
        )

    def widget(self) -> Any:
        """Build the live widget: for each question its controls, a button and the explanation."""
        import ipywidgets as widgets

        first: dict[int, bool] = {}  # for each answered question, whether the first try was right
        score = widgets.HTML()

        def question(i, item):
            controls, read = item.control()
            check = widgets.Button(description="Check", tooltip=f"Check the answer to question {i}")
            text = widgets.HTML()

            def judge(_):
                answer = read()
                verdict = item.judge(answer)
                if verdict is None:
                    text.value = feedback(None, item.nothing)
                    return
                first.setdefault(i, verdict[0])
                text.value = feedback(*verdict)
                score.value = scored(first, len(self.questions))

            check.on_click(judge)
            head = widgets.HTML(f"<p><b>{i}.</b> {markup(item.text)}</p>")
            return widgets.VBox([head, *controls, check, text])

        title = f"<b>{markup(self.title)}</b>" if self.title else ""
        head = widgets.HTML(f"<style>{colors.css()}</style>{title}")
        rows = [question(i, item) for i, item in enumerate(self.questions, 1)]
        score.value = scored(first, len(rows))
        card = box([head, *rows, score])
        card.add_class("ln-quiz-live")
        return card

    def __repr__(self) -> str:
        """Return the questions, then the answers, as text."""
        count = len(self.questions)
        lines = [f"{self.title or 'Check yourself'} ({count} question{'s' * (count > 1)})", ""]
        for i, question in enumerate(self.questions, 1):
            lines += wrap_paragraph(f"{i}. ", [question.text, *question.choices()])
        lines += ["", "Answers", ""]
        for i, question in enumerate(self.questions, 1):
            lines += wrap_paragraph(f"{i}. ", question.answered())
        return "\n".join(lines)


def question_html(question: Choose | Number | Order) -> str:
    """Return the HTML of a question; ``data-key`` identifies its stored answer."""
    data = ""
    if isinstance(question, Number):
        data = f' data-answer="{question.answer!r}" data-atol="{question.atol!r}"'
        data += f' data-unit="{html.escape(question.unit)}"' if question.unit else ""
    key = digest(question.kind, *question.identity)[:8]
    return (
        f'<li class="ln-question" data-kind="{question.kind}" data-key="{key}"{data}>'
        f'<p class="ln-ask">{markup(question.text)}</p>{question.html()}</li>'
    )


def feedback(right: bool | None, why: str) -> str:
    """Return the explanation as HTML for the live widget; for ``None``, without a verdict."""
    verdict = {True: f"<b>{RIGHT}</b> ", False: f"<b>{NOT_YET}</b> ", None: ""}[right]
    color = {True: "holds", False: "fails", None: "gray"}[right]
    return (
        f'<p role="status" aria-live="polite" style="border-left: 4px solid var(--ln-{color});'
        f' padding-left: 0.6em; line-height: 1.5">{verdict}{markup(why)}</p>'
    )


def scored(first: Mapping[int, bool], count: int) -> str:
    """Return a sentence on how many questions were answered, and how many right at first."""
    return f"{len(first)} of {count} answered, {sum(first.values())} right on the first try."
