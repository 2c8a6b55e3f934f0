"""A quiz with three questions in a browser, and its reader."""

from contextlib import contextmanager

import pytest

from lnbook.show import Quiz
from lnbook.widgets.quiz import WEB
from lnbook.widgets.quiz.texts import NOT_YET, RIGHT, plain_text
from tests.book.conftest import new_visit
from tests.cases.quiz_questions import LAST, MEANS, STEPS
from tests.cases.themed_page import themed

NO_NUMBER = "Write a number, such as 0.25, 1/4, −3, or 2e-3."


@pytest.fixture
def write(tmp_path):
    """``write(quiz, …, **look)``: a page at a fixed address."""

    def to_file(*quizzes, **look):
        (tmp_path / "page.html").write_text(themed(WEB, *quizzes, **look), "utf-8")
        return (tmp_path / "page.html").as_uri()

    return to_file


@pytest.fixture
def reader(browser):
    """``with reader(**options) as page``: the browser of one reader, with its own storage."""

    @contextmanager
    def read(**options):
        with new_visit(browser, **options) as v:
            yield v.page
            assert (v.complaints, v.outside) == ([], [])

    return read


@pytest.fixture
def page(reader, write):
    """A new page with one question of each kind."""
    with reader() as page:
        page.goto(write(Quiz(MEANS, LAST, STEPS)))
        yield page


def reload(page):
    """Reload the page after the browser has stored everything, as for a real reader.

    Chromium writes localStorage through one channel and reads it through another, without a defined
    order: a page that is loaded within milliseconds of a write might not see it.
    """
    stored = "JSON.stringify(Object.entries(localStorage).sort())"
    before = page.evaluate(f"window.name = {stored}")  # the name of a tab survives a reload
    # Before any script of the page, which would store incomplete data again.
    page.add_init_script(f"window.found = {stored}; if (name && name !== found) stop()")
    for _ in range(40):
        page.reload(wait_until="commit")
        if page.evaluate("found") == before:
            page.wait_for_load_state()
            page.evaluate("window.name = ''")
            return
        page.wait_for_timeout(250)
    raise AssertionError(f"what was stored is gone: {before}")


def form(page, i):
    return page.locator(".ln-form").nth(i)


def check(page, i):
    """Press the button and return the message."""
    form(page, i).locator(".ln-check").click()
    return feedback(page, i)


def feedback(page, i):
    return form(page, i).locator(".ln-said").inner_text()


def score(page):
    return page.locator(".ln-score").inner_text()


def items(page):
    return page.locator(".ln-sort > li > span").all_inner_texts()


def to_order(page, places):
    """Reorder the items of STEPS with the button Move up."""
    for place, i in enumerate(places):
        name = plain_text(STEPS.items[i])
        while (at := items(page).index(name)) != place:
            page.locator(".ln-sort > li").nth(at).locator(".ln-move").first.click()


def spoken(question, answer):
    """The message of Python for an answer, as the page shows it."""
    right, why = question.judge(answer)
    return f"{RIGHT if right else NOT_YET} {plain_text(why)}"


def answer_all(page):
    """Answer the first question wrong and then right, the second right, the third unchanged."""
    for i in (0, 1):
        page.get_by_role("radio").nth(i).check()
        check(page, 0)
    page.get_by_role("textbox").fill("1,155 ms")
    check(page, 1)
    check(page, 2)


LONG = "1" * 100_000 + "x"
