"""Answers stored in the reader's browser, also if the stored data is invalid."""

import json

import pytest

from lnbook.show import Quiz, choose, number
from lnbook.widgets.quiz.texts import RIGHT
from tests.book.quiz.conftest import (
    LAST,
    LONG,
    MEANS,
    STEPS,
    answer_all,
    check,
    feedback,
    items,
    reload,
    score,
    spoken,
    to_order,
)


def as_answered(page):
    return (
        page.get_by_role("radio").evaluate_all("es => es.map(e => e.checked)"),
        page.get_by_role("textbox").input_value(),
        items(page),
        [feedback(page, i) for i in range(3)],
        score(page),
    )


@pytest.mark.every_browser
def test_a_reload_keeps_answers_and_first_tries(page):
    fresh = as_answered(page)
    answer_all(page)
    answered = as_answered(page)
    assert answered[-1] == "3 of 3 answered, 1 right on the first try."
    reload(page)
    assert as_answered(page) == answered
    to_order(page, range(3))
    check(page, 2)
    reload(page)
    assert items(page) == ["1/4", "a half", "1"]
    assert feedback(page, 2) == spoken(STEPS, (0, 1, 2))
    assert score(page) == answered[-1]
    page.get_by_role("button", name="Delete my answers").click()
    assert as_answered(page) == fresh
    assert page.locator(".ln-kept").inner_text() == "Your answers have been deleted."
    assert page.evaluate("localStorage.length") == 0
    reload(page)
    assert as_answered(page) == fresh


def test_storage_keys_contain_the_page_and_the_quiz(page):
    """Another format would lose the answers of readers."""
    answer_all(page)
    ((name, text),) = page.evaluate("Object.entries(localStorage)")
    assert name == f"ln-quiz {page.evaluate('location.pathname')} 0"
    right_at_first = [answer for _, answer in json.loads(text)]
    order = " ".join(map(str, STEPS.start))
    assert right_at_first == [["1", False], ["1,155 ms", True], [order, False]]


def test_answers_under_the_former_address_of_a_page_are_found(page):
    answer_all(page)
    answered = as_answered(page)
    page.evaluate("""() => {
        const [name] = Object.keys(localStorage);
        const text = localStorage[name];
        localStorage.clear();
        localStorage[name.replace(/[^/]* 0$/, "start.html 0")] = text;
    }""")
    reload(page)
    assert as_answered(page) != answered
    page.add_init_script("""document.addEventListener("DOMContentLoaded", () =>
        document.head.insertAdjacentHTML("beforeend",
            '<meta name="ln-former-page" content="start.html">'), { capture: true })""")
    reload(page)
    assert as_answered(page) == answered


def test_only_changed_questions_lose_their_answers(reader, write):
    with reader() as page:
        page.goto(write(Quiz(MEANS, LAST, STEPS)))
        answer_all(page)
        options = dict(MEANS.options) | {"`32`": "In other words."}
        reworded = choose(MEANS.text, options, answer="`32`")
        moved = number(LAST.text, 2, why=".", hint=".", unit="ms")
        write(Quiz(reworded, moved, STEPS))
        reload(page)
        assert [feedback(page, i) for i in range(3)] == [
            f"{RIGHT} In other words.",
            "",
            spoken(STEPS, STEPS.start),
        ]
        assert page.get_by_role("textbox").input_value() == ""
        assert score(page) == "2 of 3 answered, 0 right on the first try."
        check(page, 2)
        (saved_entries,) = page.evaluate("Object.values(localStorage)")
        assert len(json.loads(saved_entries)) == 2, "the old answer is still there"


@pytest.mark.parametrize(
    "fault",
    [
        "Object.defineProperty(window, 'localStorage', { get() { throw new Error('no') } })",
        "Storage.prototype.setItem = () => { throw new DOMException('full') }",
    ],
    ids=["throws", "full"],
)
def test_without_storage_the_quiz_works_and_says_so(reader, write, fault):
    with reader() as page:
        page.add_init_script(fault)
        page.goto(write(Quiz(MEANS, LAST, STEPS)))
        answer_all(page)
        assert feedback(page, 0) == spoken(MEANS, 1)
        assert score(page) == "3 of 3 answered, 1 right on the first try."
        assert "cannot store" in page.locator(".ln-kept").inner_text()
        page.get_by_role("button", name="Delete my answers").click()
        assert score(page) == "0 of 3 answered, 0 right on the first try."


@pytest.mark.parametrize(
    "stored", ["{", "null", '{"a": 1}', '[null, 3, ["x"], {}]', '[["x", ["__proto__", 1]]]', LONG]
)
def test_invalid_stored_answers_are_dropped(page, stored):
    """Such as those of another version or of other scripts."""
    fresh = as_answered(page)
    page.evaluate("text => { localStorage[`ln-quiz ${location.pathname} 0`] = text }", stored)
    reload(page)
    assert as_answered(page) == fresh
    page.get_by_role("radio").nth(1).check()
    check(page, 0)
    reload(page)
    assert feedback(page, 0) == spoken(MEANS, 1)


@pytest.mark.parametrize("answer", [None, ["0"], [0, True], ["7", True], ["0 1", True]])
def test_one_invalid_stored_answer_leaves_the_others(page, answer):
    answer_all(page)
    (stored,) = page.evaluate("Object.values(localStorage)")
    (key, _), *others = json.loads(stored)
    page.evaluate(
        "text => { localStorage[Object.keys(localStorage)[0]] = text }",
        json.dumps([[key, answer], *others]),
    )
    reload(page)
    assert score(page).startswith("2 of 3 answered")
    assert feedback(page, 0) == ""
