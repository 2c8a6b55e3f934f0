"""The quiz of every chapter."""

import re

import pytest

from lnbook.widgets.quiz.texts import NOT_YET, RIGHT


@pytest.mark.slow
def test_every_question_of_a_chapter_answers_to_the_keyboard(opened):
    forms = opened.page.query_selector_all(".ln-quiz[data-ready] .ln-form")
    assert len(forms) == opened.page.locator(".ln-question").count()
    if not forms:
        pytest.skip("no quiz on this page")
    for form in forms:
        question = form.evaluate_handle("f => f.parentElement").as_element()
        for right, verdict in ((False, NOT_YET), (True, RIGHT)):
            answer_by_keys(opened.page, question, form, right)
            status = form.query_selector(".ln-said")
            why = [e.text_content() for e in question.query_selector_all("span[data-right]")]
            assert status.inner_text().startswith(verdict + " ")
            assert (status.text_content() == f"{verdict} {why[0]}") == right
            assert status.get_attribute("role") == "status"
    for line in opened.page.locator(".ln-score").all_inner_texts():
        assert re.fullmatch(r"(\d+) of \1 answered, 0 right on the first try\.", line)
    assert opened.outside == []
    assert opened.complaints == []
    for forget in opened.page.get_by_role("button", name="Delete my answers").all():
        forget.click()  # as the next test would have it


def answer_by_keys(page, question, form, right):
    """Give a right or a wrong answer with keys alone, beginning at the form's first control."""
    keys, kind = page.keyboard, question.get_attribute("data-kind")
    form.query_selector("input, button").focus()
    if kind == "choose":
        truth = question.eval_on_selector_all(
            "details", "es => es.map(e => !!e.querySelector('[data-right]'))"
        )
        radios = form.query_selector_all("input")
        (checked or radios[0]).focus() if (checked := form.query_selector(":checked")) else None
        keys.press("Space")
        while not radios[truth.index(right)].is_checked():
            keys.press("ArrowDown")
    elif kind == "number":
        answer, within = (float(question.get_attribute(f"data-{n}")) for n in ("answer", "within"))
        keys.press("ControlOrMeta+a")
        keys.type(repr(answer if right else 3 * abs(answer) + 2 * within + 7))
    elif right:  # at the start the order is wrong
        rows = "es => es.map(e => Number(e.dataset.place))"
        count = len(question.eval_on_selector_all(".ln-sort > li", rows))
        for place in range(count):
            while (now := question.eval_on_selector_all(".ln-sort > li", rows))[place] != place:
                form.query_selector_all(".ln-sort > li")[now.index(place)].query_selector(
                    ".ln-move"
                ).focus()
                keys.press("Enter")
    while page.evaluate("document.activeElement.className") != "ln-check":
        keys.press("Tab")
    keys.press("Enter")
