"""A quiz's forms: what is answered, how it is judged, what is said."""

import itertools
import re

import pytest

from lnbook.show import Quiz, choose, number, order
from lnbook.widgets.quiz.texts import NOT_YET, RIGHT, plain_text
from tests.book.quiz.conftest import (
    KEPT,
    LAST,
    LONG,
    MEANS,
    NO_NUMBER,
    STEPS,
    check,
    feedback,
    form,
    items,
    score,
    spoken,
    to_order,
)


def test_a_form_takes_the_place_of_the_answers(page):
    assert page.get_by_role("group", name="How many means has x[:32]?").is_visible()
    assert page.get_by_role("radio").count() == 3
    assert page.get_by_role("radio", name="32", exact=True).is_visible()
    assert page.get_by_role("textbox", name="Your answer (ms)").is_visible()
    assert not page.locator("details, .ln-how, .ln-items").filter(visible=True).count()
    assert page.locator(".ln-ask code").filter(visible=True).all_inner_texts() == ["x[:32]", "ms"]
    assert score(page) == "0 of 3 answered, 0 right on the first try."
    assert page.locator(".ln-kept").inner_text() == KEPT


@pytest.mark.every_browser
def test_each_option_gets_its_explanation_as_often_as_one_likes(page):
    assert check(page, 0) == "Choose an option first."
    assert score(page) == "0 of 3 answered, 0 right on the first try."
    for i in (0, 1, 2, 1):
        page.get_by_role("radio").nth(i).check()
        assert check(page, 0) == spoken(MEANS, i)
        marks = page.locator(".ln-option").evaluate_all("es => es.map(e => e.dataset.verdict)")
        assert marks == ["right" if i == j == 1 else "wrong" if i == j else "" for j in range(3)]
        assert score(page) == "1 of 3 answered, 0 right on the first try."
    assert page.locator(".ln-said em, .ln-option code").count() == 1


def test_the_verdict_is_a_sign_and_a_word_and_a_color_at_the_question(page):
    looks = []
    for i in (0, 1):
        page.get_by_role("radio").nth(i).check()
        check(page, 0)
        status = form(page, 0).get_by_role("status")
        assert status.get_attribute("aria-live") == "polite"
        looks.append(
            (
                status.locator("b").inner_text(),
                status.evaluate("e => getComputedStyle(e).borderLeftColor"),
            )
        )
    assert [word for word, _ in looks] == [NOT_YET, RIGHT]
    assert looks[0][1] != looks[1][1]


TYPED = """
1.155|1.165|1.1651|1,155|1155|1.155 ms|1.155MS|1.155 s|231/200|1.17|1.175|1.18|1.2515|4/3|1.333
−1.155|–1.155|-1|--1|+1.155|.5|5.|01.155|1.155.0|2e-3|1.155e0|11.55E−1|1e2/1e2|1e999|e3|0,5|12,34
1,234,567|1,23,456|60 000|60\u202f000|1 155|1 1/4|1/0|1/2/3|1/1,000|1/−3|1,155/1|-/2|/|  1.16
a lot|0x1|Infinity|NaN|٣|1_0|ms|<b>
"""


def test_the_page_reads_and_judges_numbers_as_python_does(page):
    field = page.get_by_role("textbox")
    for text in [*re.split(r"[|\n]", TYPED.strip("\n")), LONG]:
        field.fill(text)
        expected = spoken(LAST, text) if LAST.judge(text) else NO_NUMBER
        assert (text, check(page, 1)) == (text, expected)
    assert {LAST.judge(text) for text in re.split(r"[|\n]", TYPED.strip("\n"))} >= {
        None,
        (True, LAST.why),
        *((False, why) for why in (LAST.otherwise, *dict(LAST.wrong).values())),
    }


CLOSE = number(
    "Near which?",
    0,
    within=1,
    why="Zero.",
    wrong={3: "Three.", 2: "Two.", 2.6: "Most of three."},  # each within the others' tolerance
    otherwise="Neither.",
)


NEAREST = {
    "Zero.": ["1"], "Two.": ["1.01", "2.29", "3/2"], "Most of three.": ["2.31", "2.79"],
    "Three.": ["2.81", "4", "2,990"],  # 2.99, for 2990 is near nothing
    "Neither.": ["4.01"],
}  # fmt: skip


def test_the_nearest_known_wrong_number_explains_here_and_in_python(reader, write):
    with reader() as page:
        page.goto(write(Quiz(CLOSE)))
        for why, texts in NEAREST.items():
            for text in texts:
                assert CLOSE.judge(text) == (why == "Zero.", why)
                page.get_by_role("textbox").fill(text)
                assert check(page, 0) == spoken(CLOSE, text)


def test_a_text_that_is_no_number_gets_a_sentence_and_does_not_count(page):
    field = page.get_by_role("textbox")
    field.fill("<b>much</b>")
    field.press("Enter")
    assert feedback(page, 1) == NO_NUMBER
    assert score(page) == "0 of 3 answered, 0 right on the first try."
    field.fill("1.155")
    field.press("Enter")
    assert feedback(page, 1) == spoken(LAST, "1.155")
    assert score(page) == "1 of 3 answered, 1 right on the first try."
    field.fill("?")
    field.press("Enter")
    assert feedback(page, 1) == NO_NUMBER
    assert "verdict" not in form(page, 1).locator(".ln-said").inner_html()
    assert score(page) == "1 of 3 answered, 1 right on the first try."


def test_a_phone_offers_digits_and_a_minus_where_one_may_be_needed(reader, write):
    cold = number("How cold?", 3, why=".", otherwise=".", wrong={-3: "The sign."})
    below = number("How far below?", -3, why=".", otherwise=".", wrong={3: "The sign."})
    with reader() as page:
        page.goto(write(Quiz(LAST, cold, below)))
        modes = page.get_by_role("textbox").evaluate_all("es => es.map(e => e.inputMode)")
    assert modes == ["decimal", "text", "text"]


def test_items_start_as_python_mixed_them_and_every_order_is_judged_as_python_does(page):
    assert items(page) == [plain_text(STEPS.items[i]) for i in STEPS.start]
    for places in itertools.permutations(range(3)):
        to_order(page, places)
        assert check(page, 2) == spoken(STEPS, places)


@pytest.mark.every_browser
def test_an_item_is_moved_by_keys_keeps_the_focus_and_says_where_it_is(page):
    first, second, third = items(page)
    mover = page.get_by_role("button", name=f"Move down: {first}")
    mover.focus()
    focused = "document.activeElement.ariaLabel"
    news = form(page, 2).get_by_role("status").first
    for key, order_now, heard in [
        ("Enter", [second, first, third], f"{first}: now 2 of 3."),
        ("Space", [second, third, first], f"{first}: now 3 of 3."),
        ("Enter", [second, third, first], f"{first}: already 3 of 3."),
    ]:
        page.keyboard.press(key)
        assert items(page) == order_now
        assert news.text_content() == heard
        assert page.evaluate(focused) == f"Move down: {first}"
    page.keyboard.press("Shift+Tab")
    assert page.evaluate(focused) == f"Move up: {first}"
    page.keyboard.press("Enter")
    assert items(page) == [second, first, third]
    at_the_end = "es => es.map(e => e.getAttribute('aria-disabled'))"
    assert page.locator(".ln-move").evaluate_all(at_the_end) == [
        *("true", "false"),
        *("false", "false"),
        *("false", "true"),
    ]


def test_what_authors_and_readers_write_is_text(reader, write):
    evil = "<img src=x onerror=alert(1)>"
    quiz = Quiz(
        choose(evil, {evil: evil, "b": "."}, right="b"),
        order(evil + "?", [evil, "b"], why=evil, otherwise=evil),
        number(evil + "!", 1, why=evil, otherwise=evil, unit=evil),
        title=evil,
    )
    with reader() as page:
        page.goto(write(quiz))
        page.get_by_role("radio").first.check()
        assert check(page, 0) == f"{NOT_YET} {evil}"
        assert check(page, 1) == f"{NOT_YET} {evil}"
        page.get_by_role("textbox").fill(evil)
        check(page, 2)
        assert page.locator("img").count() == 0
