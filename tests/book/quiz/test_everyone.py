"""A quiz without JavaScript, in print, with the keyboard, and on a phone."""

import pytest

from lnbook.show import Quiz
from lnbook.widgets.quiz.texts import plain_text
from tests.book.conftest import DESK, PHONE
from tests.book.quiz.conftest import LAST, MEANS, STEPS, check


def test_without_javascript_questions_are_readable_and_answers_unfold(reader, write):
    with reader(java_script_enabled=False) as page:
        page.goto(write(Quiz(MEANS, LAST, STEPS, title="Three questions")))
        assert page.locator("p.ln-ask").filter(visible=True).count() == 3
        assert page.locator(".ln-items li").all_inner_texts() == [
            plain_text(STEPS.items[i]) for i in STEPS.start
        ]
        assert page.locator("form, button, input").count() == 0
        for summary in page.locator("summary").all():
            why = summary.locator("xpath=following-sibling::p").first
            assert not why.is_visible()
            summary.focus()
            page.keyboard.press("Enter")
            assert why.is_visible()


@pytest.mark.not_in("firefox", reason="its driver cannot show a page as on paper")
def test_printed_quizzes_have_questions_options_and_answers(reader, write):
    with reader() as page:
        page.goto(write(Quiz(MEANS, LAST, STEPS)))
        page.emulate_media(media="print")
        assert page.locator("p.ln-ask").filter(visible=True).count() == 3
        assert page.locator("summary").filter(visible=True).count() == 5
        assert page.locator(".ln-items li").filter(visible=True).count() == 3
        whys = page.locator("details p")
        assert whys.filter(visible=True).count() == whys.count() == 3 + 4 + 3
        assert page.locator(".ln-form, .ln-foot").filter(visible=True).count() == 0


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_violations(reader, write, violations, theme, script):
    with reader() as page:  # axe itself needs JavaScript
        page.goto(write(Quiz(MEANS, LAST, STEPS), theme=theme, script=script))
        assert violations(page) == []
        if script:
            page.get_by_role("radio").nth(2).check()
            check(page, 0)
            page.get_by_role("textbox").fill("1.155")
            check(page, 1)
        else:
            page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
        for size in (DESK, PHONE):
            page.set_viewport_size(size)
            assert violations(page) == []


FOCUS = """() => { const e = document.activeElement, style = getComputedStyle(e);
  return [e.ariaLabel || e.textContent || e.type, style.outlineStyle !== "none"
    && parseFloat(style.outlineWidth) >= 1]; }"""


def test_every_control_can_be_focused_with_a_visible_ring(page):
    page.locator("h1").click()
    stops = {}
    for _ in range(12):
        page.keyboard.press("Tab")
        name, seen = page.evaluate(FOCUS)
        stops[name] = seen
    moves = {f"Move {way}: {plain_text(item)}" for way in ("up", "down") for item in STEPS.items}
    assert stops.keys() - {"A page"} >= {"radio", "Check", "text", "Delete my answers", *moves}
    assert all(seen for name, seen in stops.items() if not name.strip().startswith("A page"))
