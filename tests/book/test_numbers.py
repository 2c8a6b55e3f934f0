"""Typed numbers are parsed alike in Python and JavaScript."""

import pytest

from lnbook.show import Quiz, number
from lnbook.widgets import number_parsing, quiz
from tests.cases.themed_page import themed

# Inputs, and the numbers that they can mean.
CASES = {
    "3200": [3200], " 7 ": [7], "+3": [3], "007": [7], "1.5": [1.5], ".5": [0.5], "5.": [5],
    "1.155": [1.155], "1,5": [1.5], ",5": [0.5], "0,155": [0.155], "1,1550": [1.155],
    "−3": [-3], "–3": [-3], "−1,5": [-1.5], "1e−3": [1e-3], "1.5e+2": [150], "1,5e2": [150],
    "1,155": [1155, 1.155], "-1,155": [-1155, -1.155], "1,155.5": [1155.5],
    "1,234,567.5": [1234567.5], "60 000": [60000], "60\u202f000": [60000],
    "1 234 567.5": [1234567.5], "1 155,5": [1155.5], "1/4": [0.25], " -1 / 4 ": [-0.25],
    "1,5/2": [0.75], "1.5/2,5": [0.6], "1,155/2": [577.5, 0.5775], "1/1,000": [0.001, 1],
    "2,000/3,000": [2 / 3], "": [], "abc": [], "1.2.3": [], "1,2,3": [], "1,23,456": [],
    "1.234,5": [], "1 23": [], "1  155": [], "1/0": [], "1/2/3": [], "/": [], "-": [], ".": [],
    "--1": [], "1e": [], "1 155e3": [], "nan": [], "Infinity": [], "0x10": [], "1_000": [],
    "٣": [], "1e999": [], "-1e999": [], "1e308/1e-9": [],
}  # fmt: skip


@pytest.fixture(scope="module")
def page(browse):
    """One question for each reading of each case."""
    entries = [
        number(f"{text!r}, {i}?", answer, why="It is.", hint="It is not.")
        for text, answers in CASES.items()
        for i, answer in enumerate(answers or [0])
    ]
    return browse(themed(quiz.WEB, Quiz(*entries)))


def test_python_and_the_page_parse_typed_numbers_alike(page):
    assert {text: number_parsing.readings(text) for text in CASES} == CASES
    result = page.evaluate("all => all.map((text) => lnNumbers.readings(text))", [*CASES])
    assert dict(zip(CASES, result, strict=True)) == CASES
    forms = page.evaluate("all => all.map((text) => lnNumbers.forms(text))", [*CASES])
    assert dict(zip(CASES, forms, strict=True)) == {
        text: number_parsing.forms(text) for text in CASES
    }


@pytest.mark.parametrize("unit", ["MS", " ms"])
def test_a_number_can_be_followed_by_its_unit(page, unit):
    for text, answers in CASES.items():
        assert number_parsing.readings(text + unit, "ms") == answers, text
        result = page.evaluate("([t, u]) => lnNumbers.readings(t, u)", [text + unit, "ms"])
        assert result == answers, text


def test_the_quiz_accepts_every_reading_of_an_ambiguous_number(page):
    entries = [(text, answer) for text, answers in CASES.items() for answer in answers or [0]]
    result = page.evaluate(
        """texts => [...document.querySelectorAll(".ln-question")].map((question, k) => {
          const field = question.querySelector(".ln-form input");
          field.value = texts[k];
          field.dispatchEvent(new Event("input", { bubbles: true }));
          question.querySelector(".ln-check").click();
          return question.querySelector(".ln-said").textContent;
        })""",
        [text for text, _ in entries],
    )
    for (text, answer), texts in zip(entries, result, strict=True):
        judged = number("?", answer, why="It is.", hint="It is not.").judge(text)
        assert judged == ((True, "It is.") if CASES[text] else None), text
        assert texts.startswith("✓ Right." if CASES[text] else "Write a number"), (text, answer)
