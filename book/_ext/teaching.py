"""Sphinx extension: directives for lesson plans that refer to the chapters.

- The role ``{open}`words <page#state>``` is a link to a page with a given state of its figure.
- ``{ask} chapter 2`` shows question 2 of the quiz of a chapter, its answers, and the misconception
  behind each wrong answer. ``:says:`` is a word that the question must contain, so that a change of
  the order of questions is detected.
- ``{board} name`` is a sketch for the blackboard, or a diagram of a chapter.
- ``{plan} name 90`` contains blocks, whose minutes must add up to 90, below a table of them.
- ``{block} Title`` is a folded part of a plan, with ``:minutes:``, ``:page:`` and ``:open:``.
"""

import functools
import html
import json
import re
from pathlib import Path
from urllib.parse import quote

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective, SphinxRole

from lnbook import diagrams
from lnbook.widgets.quiz import Choose, Order
from lnbook.widgets.quiz.notebook import read_questions
from lnbook.widgets.quiz.texts import format_number, markup

OPEN_TARGET = re.compile(r"(?P<words>.+?)\s*<(?P<page>\w+)#(?P<state>[^>]+)>", re.DOTALL)
DIAGRAMS = {
    "lstm": diagrams.lstm,
    "wire": functools.partial(
        diagrams.residual,
        forms=("pre", "post"),
        title="Pre-norm, post-norm: one connection differs",
    ),
}
PLAN_TABLE = (
    ":::{table}\n:class: ln-rows ln-plan\n\n| Time | Block | Page | Open it at |\n|---|---|---|---|"
)


def page_url(page, state):
    """Return the relative URL of a page with a state of the form ``name=value&name=value``.

    Example:
        >>> page_url("introduction", "explorer-1&batch_size=1")
        'introduction.html#explorer-1&batch_size=1'
        >>> page_url("transformer_ablation", "run&text=To be")
        'transformer_ablation.html#run&text=To%20be'
    """
    pairs = (part.split("=", 1) for part in state.split("&"))
    return f"{page}.html#" + "&".join("=".join(quote(v, safe="") for v in pair) for pair in pairs)


def find_source(app, page):
    """Return the source file of a page, or ``None``."""
    paths = (Path(app.srcdir, f"{page}.{suffix}") for suffix in ("ipynb", "md"))
    return next((path for path in paths if path.exists()), None)


def short_title(path):
    """Return the title of a chapter up to its colon."""
    text = "".join(json.loads(path.read_text("utf-8"))["cells"][0]["source"])
    return re.search(r"^# ([^:\n]+)", text, re.M)[1]


class OpenRole(SphinxRole):
    """A link to a page with a given state of its figure."""

    def run(self):
        """Check that the page exists, and return the link."""
        result = OPEN_TARGET.fullmatch(self.text)
        if not result or not find_source(self.env.app, result["page"]):
            text = f"open must be `words <page#state>` of a page of the book, got {self.text!r}"
            message = self.inliner.reporter.error(text, line=self.lineno)
            return [self.inliner.problematic(self.rawtext, self.rawtext, message)], [message]
        link = nodes.reference(
            refuri=page_url(result["page"], result["state"]), classes=["ln-open"]
        )
        link += nodes.Text(result["words"])
        return [link], []


def answers(question):
    """Return the possible answers to a question as tuples ``(is_right, answer, explanation)``.

    ``is_right`` is ``None`` for any other answer.
    """
    if isinstance(question, Choose):
        return [(i == question.answer, o, why) for i, (o, why) in enumerate(question.options)]
    if isinstance(question, Order):
        known = {tuple(range(len(question.items))): question.why, **dict(question.misconceptions)}
        listed = [
            (k == 0, question.named(order), why) for k, (order, why) in enumerate(known.items())
        ]
        return [*listed, (None, "Another order", question.hint)]
    wrong = [(False, format_number(float(f"{v:.4g}")), why) for v, why in question.misconceptions]
    return [(True, question.correct, question.why), *wrong, (None, "Another", question.hint)]


def question_html(question, source):
    """Return a question, its answers and its source as HTML."""
    signs = {True: "✓", False: "✗", None: "…"}
    items = "".join(
        f'<li class="ln-{ {True: "right", False: "wrong", None: "other"}[right] }">'
        f"<b>{signs[right]} {markup(answer)}</b> {markup(why)}</li>"
        for right, answer, why in answers(question)
    )
    return (
        f'<div class="ln-asked"><p><b>Ask: {markup(question.text)}</b> '
        f'<span class="ln-from">{source}</span></p><ul>{items}</ul></div>'
    )


class QuestionDirective(SphinxDirective):
    """``{ask}``: a question of a quiz, with the misconceptions behind its wrong answers."""

    required_arguments = 2
    option_spec = {"says": directives.unchanged_required}  # noqa: RUF012

    def run(self):
        """Read the quiz, and note that this page depends on the chapter."""
        chapter, number = self.arguments
        path = Path(self.env.app.srcdir, f"{chapter}.ipynb")
        if not path.exists():
            raise self.error(f"ask must name a chapter as _toc.yml does, got {chapter!r}")
        self.env.note_dependency(str(path))
        questions = read_questions(path)
        if not number.isdecimal() or not 1 <= int(number) <= len(questions):
            raise self.error(f"{chapter} has questions 1 to {len(questions)}, got {number!r}")
        question, word = questions[int(number) - 1], self.options.get("says")
        if not word or word not in question.text:
            raise self.error(
                f"question {number} of {chapter} must have the word of :says:, got {word!r} for "
                f"{question.text!r}; if the quiz has changed, choose the question anew"
            )
        link = f'<a href="{chapter}.html#quiz">{html.escape(short_title(path))}</a>, {number}'
        return [nodes.raw("", question_html(question, link), format="html")]


class BoardDirective(SphinxDirective):
    """``{board}``: a sketch for the blackboard."""

    required_arguments = 1

    def run(self):
        """Return the sketch as HTML."""
        name = self.arguments[0]
        try:
            diagram = DIAGRAMS[name]() if name in DIAGRAMS else diagrams.board(name)
        except ValueError as error:
            raise self.error(f"{error}; or {', '.join(DIAGRAMS)}") from error
        return [nodes.raw("", diagram.to_html(), format="html")]


class BlockDirective(SphinxDirective):
    """``{block}``: a part of a plan: what to open, ask, draw and leave out."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = {  # noqa: RUF012
        "minutes": directives.positive_int,
        "page": directives.unchanged_required,
        "open": directives.unchanged_required,
    }

    def run(self):
        """Parse the content, which the plan puts into a fold."""
        if missing := [name for name in ("minutes", "page") if name not in self.options]:
            raise self.error(f"a block needs :{missing[0]}:")
        block = nodes.container(classes=["ln-block-body"], title=self.arguments[0], **self.options)
        self.state.nested_parse(self.content, self.content_offset, block)
        return [block]


class PlanDirective(SphinxDirective):
    """``{plan}``: a table of blocks, followed by the blocks. Their minutes must add up."""

    required_arguments = 2
    has_content = True

    def run(self):
        """Parse the blocks, check their minutes, and return the table and the folds."""
        name, promised = self.arguments
        container = nodes.container(classes=["ln-plan-body"])
        self.state.nested_parse(self.content, self.content_offset, container)
        blocks = [node for node in container.children if "ln-block-body" in node.get("classes", ())]
        total = sum(block["minutes"] for block in blocks)
        if promised != str(total):
            raise self.error(f"the blocks of {name} take {total} minutes, promised are {promised}")
        clock, rows, folds = 0, [], []
        for k, block in enumerate(blocks, 1):
            time = f"{clock // 60}:{clock % 60:02}, {block['minutes']} min"
            clock += block["minutes"]
            rows.append(self.row(f"{name}-{k}", time, block))
            summary = f"<span>{time}</span> {html.escape(block['title'])}"
            start = f'<details class="ln-block" id="{name}-{k}"><summary>{summary}</summary>'
            end = nodes.raw("", "</details>", format="html")
            folds += [nodes.raw("", start, format="html"), block, end]
        table = nodes.container()
        lines = StringList(
            [*PLAN_TABLE.splitlines(), *rows, ":::"], source=self.get_source_info()[0]
        )
        self.state.nested_parse(lines, self.content_offset, table)
        return [*table.children, *folds]

    def row(self, anchor, time, block):
        """Return a row of the table as MyST."""
        path = find_source(self.env.app, block["page"])
        if path is None or path.suffix != ".ipynb":
            raise self.error(f":page: must name a chapter as _toc.yml does, got {block['page']!r}")
        fold = f'<a href="#{anchor}">{html.escape(block["title"])}</a>'
        link = f"{{open}}`{block['open']}`" if "open" in block else ""
        return f"| {time} | {fold} | [{short_title(path)}]({path.name}) | {link} |"


def setup(app):
    """Add the role and the directives."""
    app.add_role("open", OpenRole())
    for name, directive in {
        "ask": QuestionDirective,
        "board": BoardDirective,
        "block": BlockDirective,
        "plan": PlanDirective,
    }.items():
        app.add_directive(name, directive)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
