"""Export the quizzes of all chapters as Moodle XML and as Markdown."""

import re
import textwrap
import xml.etree.ElementTree as ET
from collections.abc import Iterable

from lnbook.classroom import chapters
from lnbook.widgets.quiz import Choose, Number, Order
from lnbook.widgets.quiz.notebook import read_questions
from lnbook.widgets.quiz.questions import digest
from lnbook.widgets.quiz.texts import APOSTROPHE, EMPHASIS, markup

COURSE = "Layer normalization"


def quizzes() -> dict[str, tuple]:
    """Return the questions of each chapter, by its title, in the order of the book."""
    results = {}
    for chapter in chapters.in_order():
        path = chapters.book() / f"{chapter}.ipynb"
        title = re.search(r"^# (.+)$", chapters.cells(path)[0]["source"], re.M)[1]
        if in_chapter := read_questions(path):
            results[title] = in_chapter
    return results


# Moodle.


def moodle() -> str:
    """Return all questions as Moodle XML, with a category per chapter and feedback per answer.

    Moodle's ordering questions have no feedback on wrong orders. Here, they become multiple-choice
    questions: the right order, those with a known misconception, and a few others.
    """
    root = ET.Element("quiz")
    for title, in_chapter in quizzes().items():
        category = ET.SubElement(root, "question", type="category")
        # A slash in a name is doubled; a single slash would start a subcategory.
        path = "/".join(part.replace("/", "//") for part in (COURSE, title))
        _text(category, "category", f"$course$/top/{path}")
        for question in in_chapter:
            _question(root, question)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _text(parent: ET.Element, tag: str, text: str, **attributes: str) -> ET.Element:
    element = ET.SubElement(parent, tag, attributes)
    ET.SubElement(element, "text").text = text
    return element


def _question(root: ET.Element, question: Choose | Number | Order) -> None:
    kind = "numerical" if isinstance(question, Number) else "multichoice"
    element = ET.SubElement(root, "question", type=kind)
    _text(element, "name", textwrap.shorten(_bare(question.text), 80, placeholder=" …"))
    text = f"<p>{markup(question.text)}</p>"
    if isinstance(question, Number) and question.unit:
        text += f"<p>(in {markup(question.unit)}; write the number alone)</p>"
    _text(element, "questiontext", text, format="html")
    ET.SubElement(element, "defaultgrade").text = "1"
    ET.SubElement(element, "penalty").text = "0.3333333"
    ET.SubElement(element, "hidden").text = "0"
    key = digest(question.kind, *question.identity)[:8]
    ET.SubElement(element, "idnumber").text = f"layer-norm-{key}"
    if isinstance(question, Number):
        for value, right, why in _numbers(question):
            answer = _answer(element, value, right, why, "moodle_auto_format")
            ET.SubElement(answer, "tolerance").text = repr(question.atol)
        ET.SubElement(element, "unitgradingtype").text = "0"
        ET.SubElement(element, "showunits").text = "3"  # no unit is requested
        return
    ET.SubElement(element, "single").text = "true"
    ET.SubElement(element, "shuffleanswers").text = "true"
    ET.SubElement(element, "answernumbering").text = "abc"
    for option, right, why in _options(question):
        _answer(element, markup(option), right, why, "html")


def _answer(parent: ET.Element, text: str, right: bool, why: str, form: str) -> ET.Element:
    answer = _text(parent, "answer", text, fraction="100" if right else "0", format=form)
    _text(answer, "feedback", f"<p>{markup(why)}</p>", format="html")
    return answer


def _numbers(question: Number) -> Iterable[tuple[str, bool, str]]:
    yield repr(question.answer), True, question.why
    yield from ((repr(value), False, why) for value, why in question.misconceptions)
    yield "*", False, question.hint  # matches any other number


def _options(question: Choose | Order) -> list[tuple[str, bool, str]]:
    if isinstance(question, Choose):
        return [(o, i == question.answer, why) for i, (o, why) in enumerate(question.options)]
    right = tuple(range(len(question.items)))
    known = {right: question.why, **dict(question.misconceptions)}
    for order in (question.start, right[::-1], right[1:] + right[:1]):
        known.setdefault(order, question.hint)
    return [(question.named(order), order == right, why) for order, why in known.items()]


def _bare(text: str) -> str:
    return re.sub(r"<[^>]+>|`", "", EMPHASIS.sub(r"\1", text))


# Markdown.


def markdown() -> str:
    """Return all questions as Markdown, with the answers after the questions of each chapter."""
    lines = [f"# {COURSE}: the quizzes", ""]
    for title, quiz in quizzes().items():
        lines += [f"## {escaped(title)}", ""]
        for i, question in enumerate(quiz, 1):
            lines += [f"{i}. {escaped(question.text)}", ""]
            items = [line.removeprefix("- ") for line in question.choices()]
            lines += [f"   - {escaped(line)}" for line in items] + [""]
        lines += ["### Answers", ""]
        for i, question in enumerate(quiz, 1):
            right, *wrong = map(escaped, question.answered())
            lines += [f"{i}. {right}", "", *(f"   - {line}" for line in wrong), ""]
    return "\n".join(lines).rstrip() + "\n"


def escaped(text: str) -> str:
    r"""Return a text of a quiz as Markdown; only emphasis and code are markup.

    Example:
        >>> print(escaped("*Not* `2 * 3`, but 2*3*4 < a_b"))
        *Not* `2 * 3`, but 2\*3\*4 \< a\_b
    """
    parts = re.split(r"(`[^`]+`)", text)
    for index in range(0, len(parts), 2):
        marked = EMPHASIS.sub("\0\\1\0", APOSTROPHE.sub("’", parts[index]))
        parts[index] = re.sub(r"([\\`*_<>\[\]#|~$&])", r"\\\1", marked).replace("\0", "*")
    # A number or a dash at the start would begin a list.
    return re.sub(r"^(\d*)([.)+-])(?=\s)", r"\1\\\2", "".join(parts))
