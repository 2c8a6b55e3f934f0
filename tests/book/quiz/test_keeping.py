"""Answers stored in the reader's browser, also if the stored data is invalid."""

import json

import pytest

from lnbook.show import Quiz, choose, number
from lnbook.widgets.quiz.texts import RIGHT
from tests.book.quiz.conftest import (
    KEPT,
    LAST,
    LONG,
    LOST,
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


def test_quizzes_on_a_page_are_stored_separately(reader, write):
    with reader() as page:
        page.goto(write(Quiz(MEANS), Quiz(MEANS, title="Again")))
        page.locator(".ln-quiz").last.get_by_role("radio").first.check()
        check(page, 1)
        reload(page)
        assert [feedback(page, 0), feedback(page, 1)] == ["", spoken(MEANS, 0)]
        scores = page.locator(".ln-score").all_inner_texts()
        assert [score[:15] for score in scores] == ["0 of 1 answered", "1 of 1 answered"]
        page.get_by_role("button", name="Delete my answers").first.click()
        assert feedback(page, 1) == spoken(MEANS, 0)


@pytest.mark.parametrize(
    "fault",
    [
        "Object.defineProperty(window, 'localStorage', { get() { throw new Error('no') } })",
        "Object.defineProperty(window, 'localStorage', { value: null })",
        "Storage.prototype.setItem = () => { throw new DOMException('full') }",
        "Storage.prototype.getItem = () => { throw new DOMException('no') }",
    ],
    ids=["throws", "missing", "full", "unreadable"],
)
def test_without_storage_the_quiz_works_and_says_so(reader, write, fault):
    with reader() as page:
        page.add_init_script(fault)
        page.goto(write(Quiz(MEANS, LAST, STEPS)))
        answer_all(page)
        assert feedback(page, 0) == spoken(MEANS, 1)
        assert score(page) == "3 of 3 answered, 1 right on the first try."
        assert page.locator(".ln-kept").inner_text() == LOST
        page.get_by_role("button", name="Delete my answers").click()
        assert score(page) == "0 of 3 answered, 0 right on the first try."


def test_a_full_storage_is_reported_and_stored_answers_are_still_shown(page):
    page.evaluate(
        "() => { const set = Storage.prototype.setItem; Storage.prototype.setItem ="
        "function (name, text) { if (text.length > 60) throw new DOMException("
        "'full', 'QuotaExceededError'); set.call(this, name, text); } }"
    )
    page.get_by_role("radio").nth(1).check()
    assert check(page, 0) == spoken(MEANS, 1)
    assert page.locator(".ln-kept").inner_text() == KEPT
    answer_all(page)
    assert page.locator(".ln-kept").inner_text() == LOST
    assert score(page) == "3 of 3 answered, 2 right on the first try."
    page.get_by_role("button", name="Delete my answers").click()
    check(page, 2)
    assert page.locator(".ln-kept").inner_text() == KEPT


# Invalid contents of the storage, and of an entry [answer, right at first], such as those of
# another version or of other scripts.
WHOLES = ['{"a": 1}', "", "{", "null", "3", "true", '"text"', "{}", "[[[[]]]]", LONG]
VALUES = [None, 3, True, "0", [], {}, {"answer": "0"}, ["0"], [0, True], ["0", "yes"], ["0", None]]
VALUES += [[None, True], [["0"], True], [{"toString": 1}, False], [[["0", True]], True], ["", True]]
# Texts that are not answers to any question here.
TEXTS = ["-1", "3", "00", "0 ", " 0", "a", "__proto__", "constructor", "map", "length", "0.0"]
TEXTS += ["0 1", "0 1 2 2", "0 0 0", "0 1 3", "0,1,2", '0"], *', "1\n2", "\u0000", "1/0", LONG]


def quizzes(page):
    """For each quiz on the page: the state of its questions, their messages, and the score."""
    return page.locator(".ln-quiz").evaluate_all(
        "qs => qs.map(q => { const all = name => [...q.querySelectorAll(name)];"
        "return { held: [all('[type=radio]').findIndex(e => e.checked),"
        "q.querySelector('[type=text]').value, "
        "[...q.querySelector('.ln-sort').childNodes].map(e => e.dataset?.place ?? e.textContent)],"
        "said: all('.ln-said').map(e => e.textContent),"
        "score: q.querySelector('.ln-score')?.textContent } })"
    )


def open_with(page, write, texts):
    """A page with one quiz for each stored text."""
    write(*[Quiz(MEANS, LAST, STEPS)] * len(texts))
    page.evaluate(
        "all => { localStorage.clear(); all.forEach((text, i) =>"
        " localStorage.setItem(`ln-quiz ${location.pathname} ${i}`, text)); }",
        texts,
    )
    reload(page)
    return quizzes(page)


@pytest.mark.parametrize("place", range(3), ids=["choose", "number", "order"])
def test_only_invalid_stored_answers_are_dropped(page, write, place):
    (fresh,) = quizzes(page)
    answer_all(page)
    (answered,) = quizzes(page)
    (text,) = page.evaluate("Object.values(localStorage)")
    key, *_ = json.loads(text)[place]
    others = [entry for entry in json.loads(text) if entry[0] != key]
    numbers = ["-1", "3", "00", "0.0"] if place == 1 else []
    wrong = [*VALUES, *([text, True] for text in TEXTS if text not in numbers)]
    entries = [[key, value] for value in wrong]
    entries += [None, 3, "text", [], [key], {}, [[key], ["0", True]], ["__proto__", ["0", True]]]
    results = open_with(page, write, [*(json.dumps([e, *others]) for e in entries), *WHOLES])
    for entry, shown in zip([*entries, *WHOLES], results, strict=True):
        what, whole = str(entry)[:80], isinstance(entry, str) and entry != "text"
        for part in ("held", "said"):
            wanted = [*answered[part][:place], fresh[part][place], *answered[part][place + 1 :]]
            assert shown[part] == (fresh[part] if whole else wanted), what
        assert shown["score"].startswith(f"{0 if whole else 2} of 3 answered, "), what
    page.get_by_role("radio").nth(1).check()  # of the first of them
    check(page, 0)
    reload(page)
    assert feedback(page, 0) == spoken(MEANS, 1)
