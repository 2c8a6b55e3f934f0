"""Choose the slides of each track from the built pages.

A chapter has a slide with its title and first sentence; for each figure a question, the interactive
figure and the answer; and the first sentences of its summary. The figures and questions are those
in the lesson plans of the page for teachers. A chapter without a plan shows its first figure and
the first question of its quiz. The speaker notes contain what a plan says about a figure.
"""

import copy
import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml
from bs4 import BeautifulSoup, Tag

from lnbook.widgets.base import widgets
from lnbook.widgets.quiz import Choose, Number, Order
from lnbook.widgets.quiz.notebook import read_questions
from lnbook.widgets.quiz.texts import markup

PLANS = "teaching"  # the page for teachers
FIGURES = [web.selector for web in widgets() if web.name != "quiz"]
SENTENCE = re.compile(r".+?(?:[?!]|(?<!\beq)(?<!\beqs)\.)(?=\s|$)\s*", re.DOTALL)  # not "eq. 4"
FEW = 8  # words; a shorter sentence is followed by the next one
NO_DECK = ("In production", "Look it up")  # parts of the book without slides


@dataclass(frozen=True)
class Figure:
    """A figure of a page, in a given state.

    Args:
        page: The name of the page.
        place: The CSS selector of the figure.
        state: The fragment of its address, or "".
    """

    page: str
    css_selector: str
    state: str = ""


@dataclass(frozen=True)
class Slide:
    """A slide.

    Args:
        kind: ``chapter``, ``ask``, ``figure``, ``answer`` or ``keep``.
        page: The name of the page it is made from.
        title: The title.
        body: The content, as HTML.
        notes: The speaker notes, as HTML.
        figure: The figure below the title.
    """

    kind: str
    page: str
    title: str
    body: str = ""
    notes: str = ""
    figure: Figure | None = None


def decks(built: Path, source: Path) -> dict[str, list[Slide]]:
    """Return the slides of each track, by its name.

    Args:
        built: The folder of the built pages.
        source: The folder of the chapters; its parent contains ``_toc.yml``.

    Raises:
        ValueError: If the book is not built.
    """
    toc = yaml.safe_load((source.parent / "_toc.yml").read_text("utf-8"))
    plans = blocks(built)
    result, first = {}, [toc["root"]]  # the first page belongs to the first track
    for part in toc["parts"]:
        if part["caption"] in NO_DECK:
            continue
        pages = first + [entry["file"] for entry in part["chapters"]]
        pages = [page for page in pages if (source / f"{page}.ipynb").exists()]
        if pages:
            result[part["caption"]] = [s for p in pages for s in chapter(p, plans, built, source)]
            first = []
    return result


def read(built: Path, page: str) -> BeautifulSoup:
    """Parse a built page."""
    path = built / f"{page}.html"
    if not path.exists():
        raise ValueError(f"{path} is missing: build the book first, with make book")
    return BeautifulSoup(path.read_text("utf-8"), "html.parser")


def blocks(built: Path) -> list[tuple[str, str, str, Tag]]:
    """Return the page, state, title and text of each block of a plan that opens a figure."""
    if not (built / f"{PLANS}.html").exists():
        return []
    page = read(built, PLANS)
    results = []
    for fold in page.select("details.ln-block"):
        row = page.select_one(f'.ln-plan a[href="#{fold["id"]}"]').find_parent("tr")
        if link := row.select_one("a.ln-open"):
            name, _, state = link["href"].partition(".html#")
            title = fold.summary.find("span").next_sibling.strip()
            results.append((name, state, title, fold.select_one(".ln-block-body")))
    return results


def chapter(
    name: str, plans: list[tuple[str, str, str, Tag]], built: Path, source: Path
) -> Iterator[Slide]:
    """Yield the slides of a chapter."""
    page = read(built, name)
    heading = page.select_one("article h1").find(string=True)
    title, _, topic = heading.partition(":")
    lead = page.select_one("article h1").find_next_sibling(lambda t: t.name == "p" and not t.attrs)
    topic = f'<p class="topic">{html.escape(topic.strip())}</p>' if topic else ""
    yield Slide("chapter", name, title, f"{topic}<p>{sentence(lead)}</p>", spoken([lead]))

    shown = set()
    for state, block_title, text in (rest for opened, *rest in plans if opened == name):
        figure = Figure(name, figure_selector(page, state), state)
        if figure.css_selector not in shown:
            shown.add(figure.css_selector)
            about = prediction(name, text, source)
            yield from about[:1]
            yield Slide("figure", name, block_title, notes=spoken(text.children), figure=figure)
            yield from about[1:]
    if not shown and (first := page.select_one(", ".join(FIGURES))):
        question = read_questions(source / f"{name}.ipynb")[0]
        yield question_slide(name, question)
        below = first.find_parent(class_="cell")
        text = [t for t in below.find_next_siblings() if t.name in ("p", "ul", "div")][:2]
        text = [t for t in text if "cell" not in t.get("class", [])]
        css_selector = f'[id="{first["id"]}"]' if first.get("id") else f".{first['class'][0]}"
        yield Slide("figure", name, title, notes=spoken(text), figure=Figure(name, css_selector))
        yield answer(name, question)

    if lines := page.select("section#summary > ul > li"):
        notes = spoken([line.find_parent("ul") for line in lines[:1]])
        yield Slide("keep", name, "Summary", f"<p>{sentence(lines[0].p)}</p>", notes)


def figure_selector(page: BeautifulSoup, state: str) -> str:
    """Return the selector of the figure that a state belongs to: by name, or the first widget."""
    name = state.partition("&")[0]
    if page.find(id=name):
        return f'[id="{name}"]'
    first = page.select_one(", ".join(FIGURES))
    return f".{first['class'][0]}" if first else "none"


def prediction(page: str, text: Tag, source: Path) -> list[Slide]:
    """Return slides with the first question of a block and its answer, from a quiz or its text."""
    if first := text.select_one(".ln-asked .ln-from"):
        quiz = first.a["href"].partition(".html")[0]
        number = int(first.get_text().rpartition(",")[2])
        question = read_questions(source / f"{quiz}.ipynb")[number - 1]
        first.find_parent(class_="ln-asked").decompose()
        return [question_slide(page, question), answer(page, question)]
    for paragraph in text.find_all("p"):
        emphasis = paragraph.find("em")
        if (
            paragraph.get_text().startswith("Ask")
            and emphasis
            and emphasis.get_text().endswith("?")
        ):
            return [
                Slide("ask", page, "Predict", f"<p>{inner_html(emphasis)}</p>", spoken([paragraph]))
            ]
    return []


def question_slide(page: str, question: Choose | Number | Order) -> Slide:
    """Return a slide with a question of a quiz, and the answers in the notes."""
    body = f"<p>{markup(question.text)}</p>"
    if not isinstance(question, Number):
        options = [re.sub(r"^(\w\.|-) ", "", line) for line in question.choices()]
        kind = "ol" if isinstance(question, Choose) else "ul"
        body += f"<{kind}>{''.join(f'<li>{markup(option)}</li>' for option in options)}</{kind}>"
    right, *others = (f"<li>{markup(line)}</li>" for line in question.answered())
    notes = f"<p><strong>Correct answer:</strong></p><ul>{right}</ul><ul>{''.join(others)}</ul>"
    return Slide("ask", page, "Predict", body, notes)


def answer(page: str, question: Choose | Number | Order) -> Slide:
    """Return a slide with the right answer to a question of a quiz, and the explanation."""
    if isinstance(question, Choose):
        right, why = question.choices()[question.answer], question.options[question.answer][1]
    elif isinstance(question, Number):
        right, why = question.correct, question.why
    else:
        right, why = question.named(range(len(question.items))), question.why
    body = f'<p>{markup(right)}</p><p class="why">{markup(why)}</p>'
    return Slide("answer", page, "Answer", body, f"<p>{markup(question.text)}</p>")


def sentence(paragraph: Tag) -> str:
    """Return the first sentence of a paragraph as HTML, followed by the next one if it is short.

    Links are replaced by their text; formulas are kept.
    """
    prose = copy.copy(paragraph)
    for link in prose.find_all("a"):
        link.unwrap()
    for tag in prose.find_all(id=True):
        del tag["id"]  # the id would occur twice
    beginning = ""
    for result in SENTENCE.finditer(inner_html(prose)):
        beginning += result[0]
        if len(beginning.split()) >= FEW:
            break
    return beginning.strip() or inner_html(prose)


def inner_html(tag: Tag) -> str:
    """Return the inner HTML of an element."""
    return tag.decode_contents().strip()


def spoken(parts) -> str:
    """Return text for the speaker view, without links, drawings and formulas."""
    selected = BeautifulSoup("".join(str(part) for part in parts), "html.parser")
    for drawn in selected.select(".ln-diagram, .ln-from, svg, script, .headerlink"):
        drawn.decompose()
    for formula in selected.select(".math"):
        formula.replace_with(re.sub(r"^\\[(\[]|\\[)\]]$", "", formula.get_text()))
    for link in selected.find_all("a"):
        link.name = "em"
        link.attrs = {}
    return str(selected).strip()
