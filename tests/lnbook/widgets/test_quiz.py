"""Quizzes without a browser: checks, HTML, errors, and the live widget."""

import re

import ipywidgets
import pytest

from lnbook.show import Quiz, choose, number, order
from lnbook.widgets.quiz import texts
from tests.cases.page import Page, parts
from tests.cases.quiz_questions import LAST, MEANS, STEPS


@pytest.mark.parametrize(
    ("text", "right", "why"),
    [
        ("1.165", True, "The standard deviation divides by H."),  # off by a little more in binary
        ("231/200", True, "The standard deviation divides by H."),
        ("1,155", True, "The standard deviation divides by H."),
        ("1.166", False, "Rounded too early."),
        ("1.3332", False, "That is the ratio of the variances."),
        ("-1.155", False, "Subtract the mean first."),
    ],
)
def test_numbers_are_accepted_within_the_tolerance_and_known_errors_explained(text, right, why):
    assert LAST.judge(text) == (right, why)


# The page.


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2*3*4", "2*3*4"),
        ("`a*b*c` *d*", "<code>a*b*c</code> <em>d</em>"),
        ("one ` alone", "one ` alone"),
        ("<*&*>", "&lt;<em>&amp;</em>&gt;"),
    ],
)
def test_markup_is_only_code_and_emphasis(text, written):
    assert texts.markup(text) == written


def test_keys_of_questions_only_change_with_the_question():
    options = {"a": "First.", "b": "Second."}
    questions = [
        choose("Which?", options, answer="a"),
        choose("Which?", options | {"b": "Second, in other words."}, answer="a"),
        choose("Which one?", options, answer="a"),
        choose("Which?", options, answer="b"),
        number("Which?", 1, why=".", hint="."),
        number("Which?", 2, why=".", hint="."),
        order("Which?", ["a", "b"], why=".", hint="."),
    ]
    keys = [re.search(r'data-key="(\w+)"', Quiz(one).to_html())[1] for one in questions]
    assert keys[0] == keys[1]
    assert len(set(keys)) == len(questions) - 1


# The live widget.


class Live:
    """A widget, used as a reader does."""

    def __init__(self, *questions, **options):
        self.box = Quiz(*questions, **options).widget()
        *self.rows, self.score = (c for c in self.box.children if not hasattr(c, "_esm"))
        self.rows = [row for row in self.rows if isinstance(row, ipywidgets.VBox)]

    def find(self, kind, row=0):
        return [part for part in parts(self.rows[row], kind) if type(part) is kind]

    def press(self, name, row=0):
        (button,) = (b for b in self.find(ipywidgets.Button, row) if b.description == name)
        button.click()

    def check(self, row=0):
        self.press("Check", row)
        return re.sub("<[^>]+>", "", self.find(ipywidgets.HTML, row)[-1].value)


def test_the_html_contains_every_option_with_its_explanation_escaped():
    source = Quiz(MEANS, LAST, STEPS, title="<b>&").to_html()
    page = Page(source)
    assert "<b>&" in page.texts("p")
    assert page.texts("summary")[:3] == ["1", "32", texts.plain_text(MEANS.options[2][0])]
    details = page.texts("details")
    assert details[1] == "32✓ Right. One for each example, if x < 2 & y."
    assert "1.155 ms (give or take 0.01)" in details[3]
    assert "1.333? That is the ratio of the variances." in details[3]
    assert details[4].startswith("Answer1/4 → a half → 1. 1/4 < 1/2 < 1.")
    wanted = {"data-answer": "1.155", "data-atol": "0.01", "data-unit": "ms"}
    assert len(page.find("li", **wanted)) == 1
    places = [int(a["data-place"]) for _, a, _ in page.elements if "data-place" in a]
    assert places == list(STEPS.start) != [0, 1, 2]


def test_live_choices_and_numbers_can_be_answered_repeatedly():
    page = Live(MEANS, LAST)
    (radio,) = page.find(ipywidgets.RadioButtons)
    (field,) = page.find(ipywidgets.Text, 1)
    assert page.check() == "Choose an option first."
    field.value = "<much>"
    assert page.check(1) == "Write a number, such as 0.25, 1/4, −3, or 2e-3."
    assert page.score.value == "0 of 2 answered, 0 right on the first try."
    radio.index = 0
    assert page.check() == "✗ Not yet. One mean over the &lt;table&gt; would mix examples."
    radio.index = 1
    assert page.check() == "✓ Right. One for each example, if x &lt; 2 &amp; y."
    field.value = "1,155"
    assert page.check(1) == "✓ Right. The standard deviation divides by H."
    assert page.score.value == "2 of 2 answered, 1 right on the first try."
