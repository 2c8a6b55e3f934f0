"""A quiz without JavaScript, on paper, by keyboard, on a phone."""

import re

import pytest

from lnbook.show import Quiz, choose
from lnbook.widgets.quiz.texts import plain_text
from tests.book.quiz.conftest import LAST, MEANS, STEPS, check


def test_without_javascript_it_reads_as_text_and_answers_open(reader, write):
    with reader(java_script_enabled=False) as page:
        page.goto(write(Quiz(MEANS, LAST, STEPS, title="Three questions")))
        assert page.locator(".ln-title").inner_text() == "Three questions"
        assert page.locator("p.ln-ask").filter(visible=True).count() == 3
        shown = page.locator("summary").all_inner_texts()
        assert shown == [plain_text(option) for option, _ in MEANS.options] + ["Answer"] * 2
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
        text = page.locator(".ln-quiz").inner_text()
        for question in (MEANS, LAST, STEPS):
            for why in re.findall(r"(?<=: )[^:]+$", "\n".join(question.answered()), re.M):
                assert plain_text(why) in text


@pytest.mark.not_in("firefox", reason="its driver cannot show a page as on paper")
@pytest.mark.parametrize("script", [True, False], ids=["with script", "without"])
def test_paper_has_questions_options_and_answers(reader, write, script):
    with reader(java_script_enabled=script) as page:
        page.goto(write(Quiz(MEANS, LAST, STEPS)))
        page.emulate_media(media="print")
        assert page.locator("p.ln-ask").filter(visible=True).count() == 3
        assert page.locator("summary").filter(visible=True).count() == 5
        assert page.locator(".ln-items li").filter(visible=True).count() == 3
        whys = page.locator("details p")
        assert whys.filter(visible=True).count() == whys.count() == 3 + 4 + 3
        assert page.locator(".ln-form, .ln-foot").filter(visible=True).count() == 0


@pytest.mark.parametrize("state", ["fresh", "answered", "plain"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(reader, write, violations, theme, state):
    with reader(color_scheme=theme, viewport={"width": 1300, "height": 900}) as page:
        quizzes = Quiz(MEANS, LAST, STEPS, title="Three"), Quiz(LAST)
        page.goto(write(*quizzes, plain=state == "plain"))  # axe itself needs JavaScript
        assert page.evaluate("document.documentElement.dataset.theme") == theme
        if state == "answered":
            page.get_by_role("radio").nth(2).check()
            check(page, 0)
            page.get_by_role("textbox").first.fill("1.155")
            check(page, 1)
            page.get_by_role("button", name="Delete my answers").last.click()
        if state == "plain":
            page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
        assert violations(page) == []
        page.set_viewport_size({"width": 390, "height": 900})
        assert violations(page) == []


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without"])
def test_a_phone_scrolls_down_only_and_fingers_find_every_target(reader, write, script):
    phone = {"width": 390, "height": 844}
    long = choose("Which? " + "m" * 80, {"n" * 80: "o" * 80, "b": "."}, right="b")
    with reader(viewport=phone, java_script_enabled=script) as page:
        page.goto(write(Quiz(MEANS, LAST, STEPS, long)))
        for i in (0, 3) if script else ():
            page.locator(".ln-form").nth(i).get_by_role("radio").first.check()
            check(page, i)
        targets = page.locator(".ln-option, button, .ln-number input, summary").filter(visible=True)
        boxes = [target.bounding_box() for target in targets.all()]
        assert len(boxes) >= 7
        assert min(min(box["width"], box["height"]) for box in boxes) >= 40
        assert max(box["x"] + box["width"] for box in boxes) <= phone["width"]
        assert page.evaluate("(r => r.scrollWidth - r.clientWidth)(document.documentElement)") == 0


def test_the_focus_is_seen_and_nothing_moves_by_itself(reader, write):
    with reader(reduced_motion="reduce") as page:
        page.goto(write(Quiz(MEANS, LAST, STEPS)))
        page.locator("h1").click()
        stops = set()
        for _ in range(13):  # more than there are
            page.keyboard.press("Tab")
            name, width, style = page.evaluate(
                "() => { const e = document.activeElement, s = getComputedStyle(e);"
                "return [e.ariaLabel || e.textContent || e.type, s.outlineWidth, s.outlineStyle] }"
            )
            if "A page" in name:
                break
            stops.add(name)
            assert style != "none", name
            assert float(width.removesuffix("px")) >= 1, name
        assert stops == {
            "radio",
            "Check",
            "text",
            "Delete my answers",
            *(f"Move {way}: {plain_text(item)}" for way in ("up", "down") for item in STEPS.items),
        }
        moving = page.locator(".ln-quiz *").evaluate_all(
            "es => es.filter(e => { const s = getComputedStyle(e);"
            "return s.transitionDuration !== '0s' || s.animationName !== 'none' }).length"
        )
        assert moving == 0
