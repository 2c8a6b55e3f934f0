"""The page for teachers: minutes, links and questions of lesson plans."""

import functools
import html
import json
import re

import pytest

from lnbook.widgets.quiz.notebook import read_questions
from lnbook.widgets.quiz.texts import markup
from tests.book.conftest import ROOT, build

SOURCE = (ROOT / "book" / "teaching.md").read_text("utf-8")
# {open}`words <page#state>`, or the option of a block.
LINKS = re.findall(r"(?:\{open\}`|:open: )[^<\n]+<(\w+)#([^>\n]+)>", SOURCE)
COMPUTED = ("play", "run", "scene", "sphere")  # computed in the page, which returns their values


def figure(state):
    return state.partition("&")[0]


def values(state):
    return dict(part.split("=", 1) for part in state.split("&")[1:])


def test_the_minutes_of_blocks_add_up_to_those_of_their_plan():
    minutes = {
        name: [int(m) for m in re.findall(r"^:minutes: (\d+)$", blocks, re.M)]
        for name, blocks in re.findall(r"^:{6}\{plan\} (\S+) \d+$(.*?)^:{6}$", SOURCE, re.M | re.S)
    }
    lecture, *meetings = minutes
    promised = re.search(r"^## One lecture of (\d+) minutes$", SOURCE, re.M)[1]
    assert sum(minutes[lecture]) == int(promised)
    each = re.search(r"^The seminar has four meetings of (\d+) minutes\.", SOURCE, re.M)[1]
    assert [sum(minutes[name]) for name in meetings] == 4 * [int(each)]
    assert len(re.findall(r"^:::::\{block\}", SOURCE, re.M)) == sum(map(len, minutes.values()))


@functools.cache
def controls(built_book, page, explorer):
    """Maps each control of an explorer of the built book to the texts of its values."""
    source = (built_book / f"{page}.html").read_text("utf-8")
    results = {}
    for control in re.finditer(
        rf'<(?:input|select)[^>]* id="{explorer}-([^"]+)"[^>]*>(.*?)(?=<input|<select|</div)',
        source,
        re.S,
    ):
        texts = re.search(r"""data-texts=(["'])(.*?)\1""", control[0], re.S)
        options = re.findall(r"<option[^>]*>(.*?)</option>", control[2], re.S)
        results[control[1]] = (
            json.loads(html.unescape(texts[2])) if texts else list(map(html.unescape, options))
        )
    return results


def test_links_to_explorers_use_existing_controls_and_values(built_book):
    links = [(page, state) for page, state in LINKS if figure(state) not in COMPUTED]
    assert len(links) > 40
    for page, state in links:
        known = controls(built_book, page, figure(state))
        assert known, f"{page} has no {figure(state)} with controls"
        for name, value in values(state).items():
            assert value in known.get(name, ()), f"{page}#{state}: {name} may be {known.get(name)}"


# A small page, without the book.
QUIZ = """Quiz(
    choose("Is 2 even?", {"Yes": "Twice 1.", "No": "You *counted* to 3."}, answer="Yes"),
    number("Half of 1?", 0.5, why="1/2.", hint="Divide.", misconceptions={2: "You doubled."}),
    order("Smallest first.", ["1", "2", "3"], why="Count.", hint="Look again.",
          misconceptions={("3", "2", "1"): "You began at the end."}),
)"""
PLAN = """# Teach

::::{plan} lecture 7

:::{block} First
:minutes: 4
:page: introduction
:open: a batch of one <introduction#explorer-1&batch_size=1&name=layer norm>

```{ask} two 1
:says: even
```
```{ask} two 2
:says: Half
```
```{ask} two 3
:says: Smallest
```
```{board} rows
```
:::

:::{block} Second
:minutes: 3
:page: introduction

Text.
:::
::::
"""


def notebook(cells):
    return json.dumps({"cells": [{"cell_type": kind, "source": [text]} for kind, text in cells]})


class Pages:
    """Two chapters, one of which has a quiz, and a page for teachers, built by Sphinx."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "conf.py").write_text(
            "extensions = ['myst_parser', 'teaching']\nmyst_enable_extensions = ['colon_fence']\n"
        )

    def write(self, name, text):
        path = self.folder / name
        if not path.exists() or path.read_text("utf-8") != text:  # keeps its mtime
            path.write_text(text, "utf-8")

    def build(self, quiz=QUIZ, plan=PLAN):
        start = [("markdown", "# Start here: one word")]
        two = [("markdown", "# Number two"), ("code", quiz)]
        self.write("introduction.ipynb", notebook(start))
        self.write("two.ipynb", notebook(two))
        self.write("index.md", plan)
        path = {"PYTHONPATH": f"{ROOT}/book/_ext"}
        done = build("sphinx-build", "-q", ".", "out", folder=self.folder, **path)
        built = self.folder / "out" / "index.html"
        return done.stdout, built.read_text("utf-8") if built.exists() else ""


@pytest.fixture(scope="module")
def teaching(tmp_path_factory):
    """The valid pages, built once."""
    pages = Pages(tmp_path_factory.mktemp("teaching"))
    text, pages.first = pages.build()
    assert text == ""
    return pages


def test_questions_are_shown_with_all_answers_and_misconceptions(teaching):
    items = re.findall(r'<li class="ln-(\w+)"><b>(.*?)</b> (.*?)</li>', teaching.first)
    assert items == [
        ("right", "✓ Yes", "Twice 1."),
        ("wrong", "✗ No", "You <em>counted</em> to 3."),
        ("right", "✓ 0.5", "1/2."),
        ("wrong", "✗ 2", "You doubled."),
        ("other", "… Another", "Divide."),
        ("right", "✓ 1 → 2 → 3", "Count."),
        ("wrong", "✗ 3 → 2 → 1", "You began at the end."),
        ("other", "… Another order", "Look again."),
    ]


def test_the_table_of_a_plan_lists_start_times_and_figures(teaching):
    cells = re.findall(r"<td[^>]*><p>(.*?)</p></td>", teaching.first)
    plain = [re.sub("<[^>]+>", "", cell) for cell in cells[:7]]
    assert plain[:4] == ["0:00, 4 min", "First", "Start here", "a batch of one"]
    assert plain[4:] == ["0:04, 3 min", "Second", "Start here"]
    assert 'href="introduction.html#explorer-1&amp;batch_size=1&amp;name=layer%20norm"' in cells[3]


def test_invalid_plans_fail_the_build_with_advice(teaching):
    faults = {
        "the blocks of lecture take 8 minutes, promised are 7": (":minutes: 3", ":minutes: 4"),
        "question 1 of two must have the word of :says:, got 'odd' for 'Is 2 even?'": (
            "says: even", "says: odd"),
        "two has questions 1 to 3, got '9'": ("two 3", "two 9"),
        "board: name must be one of": ("{board} rows", "{board} walls"),
    }  # fmt: skip
    plan = functools.reduce(lambda text, change: text.replace(*change), faults.values(), PLAN)
    plan += "\n{open}`one <nowhere#explorer-1>`\n\n```{ask} nowhere 1\n```\n"
    texts, _ = teaching.build(plan=plan)
    for words in (
        *faults,
        "open must be `words <page#state>` of a page of the book, got 'one <nowhere#explorer-1>'",
        "ask must name a chapter as _toc.yml does, got 'nowhere'",
    ):
        assert words in texts


def test_questions_on_the_page_are_those_of_the_chapters(built_book):
    source = (built_book / "teaching.html").read_text("utf-8")
    directives = re.findall(r"```\{ask\} (\w+) (\d+)", SOURCE)
    assert len(directives) > 30
    for chapter, number in directives:
        question = read_questions(ROOT / "book" / f"{chapter}.ipynb")[int(number) - 1]
        assert f"<b>Ask: {markup(question.text)}</b>" in source
    for chapter in {chapter for chapter, _ in directives}:
        assert 'id="quiz"' in (built_book / f"{chapter}.html").read_text("utf-8")
