"""Typed numbers are parsed alike in Python and JavaScript, in the norm table and in the quiz."""

import pytest

from lnbook.show import NormTable, Quiz, number
from lnbook.widgets import norm_table, number_parsing, quiz

# Inputs, and the numbers that they can mean.
CASES = {
    "3200": [3200], " 7 ": [7], "\ufeff7\u2003": [7], "+3": [3], "0": [0], "007": [7],
    "1.5": [1.5], ".5": [0.5], "5.": [5], "0.1": [0.1], "1.155": [1.155], "1.000": [1],
    "1,5": [1.5], ",5": [0.5], "5,": [5], "0,155": [0.155], "12,34": [12.34], "1,1550": [1.155],
    "−3": [-3], "–3": [-3], "-3": [-3], "−1.5": [-1.5], "−1,5": [-1.5],
    "1e-3": [1e-3], "1e−3": [1e-3], "2E3": [2e3], "1.5e+2": [150], "1,5e2": [150],
    "1,155": [1155, 1.155], "-1,155": [-1155, -1.155], "999,999": [999999, 999.999],
    "1,155.5": [1155.5], "1,234,567": [1234567], "1,234,567.5": [1234567.5], "1,155e3": [1155],
    "1 155": [1155], "60 000": [60000], "60\u00a0000": [60000], "60\u202f000": [60000],
    "60\u2009000": [60000], "1 234 567.5": [1234567.5], "1 155,5": [1155.5],
    "1/4": [0.25], " -1 / 4 ": [-0.25], "1/−4": [-0.25], "1,5/2": [0.75], "3/1,5": [2],
    "1.5/2,5": [0.6], "1,155/2": [577.5, 0.5775], "1/1,000": [0.001, 1],
    "2,000/3,000": [2 / 3], "1,155/2,5": [0.462], "1 155/5": [231],
    "": [], " ": [], "abc": [], "1.2.3": [], "1,2,3": [], "1,23,456": [], "1,1550,000": [],
    "1,234 567": [], "1.234,5": [], "0,155,000": [], "1 23": [], "1  155": [], "1 155 00": [],
    "1 1/4": [], "1/0": [], "1/0,0": [], "1/2/3": [], "/2": [], "1/": [], "/": [], "-": [],
    ".": [], ",": [], "--1": [], "+-1": [], "1e": [], "e5": [], "1e2.5": [], "1 155e3": [],
    "nan": [], "inf": [], "Infinity": [], "0x10": [], "1_000": [], "٣": [], "１": [], "1e999": [],
    "-1e999": [], "1e308/1e-9": [], "½": [], "1,155,": [],
}  # fmt: skip
HUGE = ("1e999", "-1e999", "1e308/1e-9")
NORM_TABLE = NormTable([[1.0]], title="T")


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory):
    """A norm table, and one question for each reading of each case."""
    entries = [
        number(f"{text!r}, {i}?", answer, why="It is.", hint="It is not.")
        for text, answers in CASES.items()
        for i, answer in enumerate(answers or [0])
    ]
    things = NORM_TABLE, Quiz(*entries)
    scripts = "".join(f"<script>{widget.WEB.book()}</script>" for widget in (norm_table, quiz))
    path = tmp_path_factory.mktemp("numbers") / "page.html"
    html = "".join(thing.to_html() for thing in things)
    path.write_text(f'<!doctype html><meta charset="utf-8"><body>{html}{scripts}', "utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    yield page
    page.close()


def test_python_parses_typed_numbers():
    assert {text: number_parsing.readings(text) for text in CASES} == CASES


def test_the_page_parses_numbers_as_python_does(page):
    result = page.evaluate("all => all.map((text) => lnNumbers.readings(text))", [*CASES])
    assert dict(zip(CASES, result, strict=True)) == CASES
    forms = page.evaluate("all => all.map((text) => lnNumbers.forms(text))", [*CASES])
    assert dict(zip(CASES, forms, strict=True)) == {
        text: number_parsing.forms(text) for text in CASES
    }


@pytest.mark.parametrize("unit", ["ms", "MS", " ms"])
def test_a_number_can_be_followed_by_its_unit(page, unit):
    for text, answers in CASES.items():
        assert number_parsing.readings(text + unit, "ms") == answers, text
        result = page.evaluate("([t, u]) => lnNumbers.readings(t, u)", [text + unit, "ms"])
        assert result == answers, text


def test_the_norm_table_rejects_ambiguous_numbers(page):
    readings = page.evaluate(
        """texts => {
          const norm = document.querySelector(".norm-table-norm select");
          norm.value = "none";
          norm.dispatchEvent(new Event("input", { bubbles: true }));
          const field = document.querySelector("[data-at='x 0 0']");
          return texts.map((text) => {
            for (field.value of ["0", text])
              field.dispatchEvent(new Event("input", { bubbles: true }));
            return [".norm-table-warning", "[data-at='y 0 0']"].map(
              (place) => document.querySelector(place).textContent);
          });
        }""",
        [*CASES],
    )
    for (text, answers), (warning, output) in zip(CASES.items(), readings, strict=True):
        if len(answers) == 1:
            assert warning == ""
            assert output == page.evaluate("v => lnNormTableTexts.shown(v)", answers[0]), text
        else:
            assert output == "?", text
            assert warning.startswith("Example 1, feature 1 "), text
            assert ("which could be" in warning) == (len(answers) == 2), text
            assert ("beyond the largest float64 number" in warning) == (text in HUGE), text


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
