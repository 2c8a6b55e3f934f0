"""The forms of a quiz: answers, checks and messages."""

import itertools

import pytest

from lnbook.show import Quiz, choose, number, order
from lnbook.widgets.quiz.texts import NOT_YET, plain_text
from tests.book.quiz.conftest import (
    LAST,
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


@pytest.mark.every_browser
def test_a_form_replaces_the_answers_and_explains_each_option(page):
    assert page.get_by_role("group", name="How many means has x[:32]?").is_visible()
    assert page.get_by_role("radio", name="32", exact=True).is_visible()
    assert page.get_by_role("textbox", name="Your answer (ms)").is_visible()
    assert not page.locator("details, .ln-how, .ln-items").filter(visible=True).count()
    assert check(page, 0) == "Choose an option first."
    assert score(page) == "0 of 3 answered, 0 right on the first try."
    status = form(page, 0).get_by_role("status")
    assert status.get_attribute("aria-live") == "polite"
    for i in (0, 1, 2, 1):
        page.get_by_role("radio").nth(i).check()
        assert check(page, 0) == spoken(MEANS, i)  # begins with the verdict
        marks = page.locator(".ln-option").evaluate_all("es => es.map(e => e.dataset.verdict)")
        assert marks == ["right" if i == j == 1 else "wrong" if i == j else "" for j in range(3)]
        assert score(page) == "1 of 3 answered, 0 right on the first try."


CLOSE = number(
    "Near which?",
    0,
    atol=1,
    why="Zero.",
    misconceptions={
        3: "Three.",
        2: "Two.",
        2.6: "Most of three.",
    },  # each is within the tolerance of the others
    hint="Neither.",
)


NEAREST = {
    "Zero.": ["1"], "Two.": ["1.01", "2.29", "3/2"], "Most of three.": ["2.31", "2.79"],
    "Three.": ["2.81", "4", "2,990"],  # read as 2.99, because 2990 is not near any answer
    "Neither.": ["4.01"],
}  # fmt: skip


def test_the_nearest_known_wrong_number_is_explained_as_in_python(reader, write):
    with reader() as page:
        page.goto(write(Quiz(CLOSE)))
        for why, texts in NEAREST.items():
            for text in texts:
                assert CLOSE.judge(text) == (why == "Zero.", why)
                page.get_by_role("textbox").fill(text)
                assert check(page, 0) == spoken(CLOSE, text)


def test_invalid_numbers_get_a_message_and_do_not_count_as_answers(page):
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


def test_items_are_shuffled_and_checked_as_in_python(page):
    assert items(page) == [plain_text(STEPS.items[i]) for i in STEPS.start]
    for places in itertools.permutations(range(3)):
        to_order(page, places)
        assert check(page, 2) == spoken(STEPS, places)


@pytest.mark.every_browser
def test_items_moved_by_keys_keep_the_focus_and_announce_their_position(page):
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


def test_texts_of_authors_and_readers_are_escaped(reader, write):
    evil = "<img src=x onerror=alert(1)>"
    quiz = Quiz(
        choose(evil, {evil: evil, "b": "."}, answer="b"),
        order(evil + "?", [evil, "b"], why=evil, hint=evil),
        number(evil + "!", 1, why=evil, hint=evil, unit=evil),
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
