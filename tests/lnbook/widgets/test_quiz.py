"""Quizzes without a browser: checks, HTML, errors, and the live widget."""

import re

import ipywidgets
import pytest

from lnbook.show import Quiz, choose, number, order
from lnbook.widgets.number_parsing import readings
from lnbook.widgets.quiz import texts
from tests.cases.page import Page, parts
from tests.cases.quiz_questions import LAST, STEPS

MEANS = choose(
    "How many *means* has `x[:32]`?",
    {
        "1": "No. One mean over the table would mix examples.",
        "`32`": "Yes: one for each example, if x < 2 & y.",
        "100": "That is batch norm.",
    },
    answer="`32`",
)


WHY = "The standard deviation divides by H."


@pytest.mark.parametrize(
    ("text", "right", "why"),
    [
        ("1.155", True, WHY),
        ("1.165", True, WHY),  # in binary a little more than 0.01 off
        ("231/200", True, WHY),
        ("1,155", True, WHY),
        ("1.166", False, "Rounded too early."),
        ("1.3332", False, "That is the ratio of the variances."),
        ("1.4", False, "Subtract the mean first."),
        ("-1.155", False, "Subtract the mean first."),
    ],
)
def test_numbers_are_accepted_within_the_tolerance_and_known_errors_explained(text, right, why):
    assert LAST.judge(text) == (right, why)


@pytest.mark.parametrize(
    ("text", "numbers_read"),
    [
        ("3200", [3200]),
        (" 3,200 ", [3200, 3.2]),
        ("1,234,567.5", [1234567.5]),
        ("60\u202f000", [60000]),
        ("0,155", [0.155]),
        ("1,5", [1.5]),
        ("−1.5", [-1.5]),
        ("+.5", [0.5]),
        ("2e-3", [0.002]),
        ("1/4", [0.25]),
        ("1/1,000", [0.001, 1]),
        ("5 s", [5]),
        ("1e999", []),
        ("12,34", [12.34]),
        ("1,23,456", []),
        ("٣", []),
        ("nan", []),
        ("inf", []),
        ("1/0", []),
        ("1 2", []),
        ("", []),
    ],
)
def test_numbers_are_read_as_people_type_them(text, numbers_read):
    assert readings(text, "s") == numbers_read


@pytest.mark.parametrize("count", range(2, 8))
def test_initial_orders_are_deterministic_with_no_item_in_place(count):
    for text in "abcdefgh":
        made = [order(text, [*map(str, range(count))], why=".", hint=".") for _ in range(2)]
        (start,) = {one.start for one in made}
        assert sorted(start) == list(range(count))
        assert all(i != place for i, place in enumerate(start))


# The page.


def test_the_html_contains_every_option_with_its_explanation():
    page = Page(Quiz(MEANS).to_html())
    assert page.texts("summary") == ["1", "32", "100"]
    assert page.texts("details") == [
        "1✗ Not yet. One mean over the table would mix examples.",
        "32✓ Right. One for each example, if x < 2 & y.",
        "100✗ Not yet. That is batch norm.",
    ]
    assert page.texts("span", "data-correct") == ["One for each example, if x < 2 & y."]


def test_the_html_of_a_number_contains_answer_and_misconceptions():
    page = Page(Quiz(LAST).to_html())
    assert page.texts("details") == [
        f"Answer1.155 ms (give or take 0.01). {WHY}"
        "1.333? That is the ratio of the variances.1.17? Rounded too early."
        "Another number? Subtract the mean first."
    ]
    wanted = {"data-answer": "1.155", "data-atol": "0.01", "data-unit": "ms"}
    assert len(page.find("li", **wanted)) == 1


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2*3*4", "2*3*4"),
        ("*a b*, *c*", "<em>a b</em>, <em>c</em>"),
        ("`a*b*c` *d*", "<code>a*b*c</code> <em>d</em>"),
        ("one ` alone", "one ` alone"),
        ("<*&*>", "&lt;<em>&amp;</em>&gt;"),
        ("`<b>`", "<code>&lt;b&gt;</code>"),
    ],
)
def test_markup_is_only_code_and_emphasis(text, written):
    assert texts.markup(text) == written


def test_html_escapes_texts_of_authors():
    source = Quiz(MEANS, title="<b>&").to_html()
    assert "How many <em>means</em> has <code>x[:32]</code>?" in source
    assert "<b>&" in Page(source).texts("p")
    question = number('<i>"', 1, why="<u>", hint="<s>", unit='"<', misconceptions={2: "<q>"})
    assert not re.search("<[isuq]>", Quiz(question).to_html())


def test_the_html_of_an_order_contains_shuffled_items_and_the_answer():
    page = Page(Quiz(STEPS).to_html())
    places = [int(a["data-place"]) for tag, a, _ in page.elements if "data-place" in a]
    assert [["1/4", "a half", "1"][i] for i in places] == page.texts("li", "data-place")
    assert places == list(STEPS.start) != [0, 1, 2]
    assert page.texts("details") == [
        "Answer1/4 → a half → 1. 1/4 < 1/2 < 1."
        "1 → a half → 1/4? You began with the largest.Another order? Compare two at a time."
    ]
    assert [a["data-order"] for _, a, _ in page.elements if "data-order" in a] == ["2 1 0"]


def keys(*questions):
    return re.findall(r'data-key="(\w+)"', Quiz(*questions).to_html())


def test_keys_of_questions_only_change_with_the_question():
    options = {"a": "First.", "b": "Second."}
    first = choose("Which?", options, answer="a")
    same = choose("Which?", options | {"b": "Second, in other words."}, answer="a")
    others = [
        choose("Which one?", options, answer="a"),
        choose("Which?", options, answer="b"),
        choose("Which?", {"a": "First.", "c": "Second."}, answer="a"),
        *(number("Which?", answer, why=".", hint=".") for answer in (1, 2)),
        order("Which?", ["a", "b"], why=".", hint="."),
    ]
    assert keys(first) == keys(same)
    assert len({*keys(first), *(keys(other)[0] for other in others)}) == 7


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


def test_live_choices_can_be_answered_repeatedly():
    page = Live(MEANS, LAST)
    (radio,) = page.find(ipywidgets.RadioButtons)
    assert [label for label, _ in radio.options] == ["1", "32", "100"]
    assert page.check() == "Choose an option first."
    assert page.score.value == "0 of 2 answered, 0 right on the first try."
    radio.index = 0
    assert page.check() == "✗ Not yet. One mean over the table would mix examples."
    radio.index = 1
    assert page.check() == "✓ Right. One for each example, if x &lt; 2 &amp; y."
    assert page.score.value == "1 of 2 answered, 0 right on the first try."


def test_live_numbers_are_checked_and_invalid_ones_get_a_message():
    page = Live(MEANS, LAST)
    (field,) = page.find(ipywidgets.Text, 1)
    assert field.description == "Your answer (ms)"
    field.value = "<much>"
    assert page.check(1) == "Write a number, such as 0.25, 1/4, −3, or 2e-3."
    assert page.score.value == "0 of 2 answered, 0 right on the first try."
    field.value = "1,155"
    assert page.check(1) == f"✓ Right. {WHY}"
    assert page.score.value == "1 of 2 answered, 1 right on the first try."
    field.value = "1.333"
    assert page.check(1) == "✗ Not yet. That is the ratio of the variances."
    assert page.score.value == "1 of 2 answered, 1 right on the first try."


def test_live_orders_are_changed_by_buttons_and_keep_the_selection():
    page = Live(STEPS)
    (listed,) = page.find(ipywidgets.Select)
    assert STEPS.judge([2, 1, 0]) == (False, "You began with the largest.")
    assert page.check() == "✗ Not yet. Compare two at a time."
    for place, item in enumerate(range(3)):
        listed.index = [value for _, value in listed.options].index(item)
        while listed.index != place:
            page.press("Move up" if listed.index > place else "Move down")
            assert listed.value == item
    assert [label for label, _ in listed.options] == ["1/4", "a half", "1"]
    listed.index = 2
    page.press("Move down")  # does nothing at the end
    assert page.check() == "✓ Right. 1/4 &lt; 1/2 &lt; 1."


def test_the_nearest_wrong_number_is_explained():
    close = number(
        "?", 0, atol=1, why="0.", misconceptions={2: "Two.", 3: "Three."}, hint="Neither."
    )
    reasons = [close.judge(x)[1] for x in ("1", "2.4", "2.6", "4", "4.1")]
    assert reasons == ["0.", "Two.", "Three.", "Three.", "Neither."]


def test_long_texts_are_wrapped():
    long = choose("word " * 40, {"a": "word " * 40, "b": "."}, answer="a")
    lines = repr(Quiz(long, title="Long")).splitlines()
    assert lines[0] == "Long (1 question)"
    assert max(map(len, lines)) <= texts.LINE_WIDTH
    assert sum(line.count("word") for line in lines) == 80
