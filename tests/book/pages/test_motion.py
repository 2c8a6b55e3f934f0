"""Animation of explorers: transitions of figures, and sliders that play."""

import pytest

from tests.book.pages.conftest import assert_drawn, index, jump, move, stops, wait_drawn
from tools.browser import browser_name


def test_a_move_draws_each_changed_panel_once(visit, built_book):
    """Also without reduced motion: each intermediate frame would cost as much."""
    count = """root => [...root.querySelectorAll(".ln-panel")].forEach((panel) => {
      panel.lnDrawn = 0;
      panel.on("plotly_afterplot", () => panel.lnDrawn++);
    })"""
    drawn = "root => [...root.querySelectorAll('.ln-panel')].map(p => p.lnDrawn)"
    forget = "root => root.querySelectorAll('.ln-panel').forEach(p => p.lnDrawn = 0)"
    shown = "root => [...root.querySelectorAll('.ln-panel')].map(p => JSON.stringify(p.data))"
    options = {"reduced_motion": "no-preference", "color_scheme": "light"}
    with visit(built_book.as_uri(), "introduction", **options) as v:
        root = v.explorers()[0]
        root.evaluate(count)
        observed = set()
        for theme in ("dark", "light"):
            for control in root.query_selector_all("input, select"):
                root.evaluate(forget)
                before = root.evaluate(shown)
                here = int(control.input_value())
                jump(control, next(stop for stop in stops(control) if stop != here))
                wait_drawn(v.page, root)
                v.page.wait_for_timeout(300)  # a second drawing would come within it
                pairs = zip(before, root.evaluate(shown), strict=True)
                changed = [int(a != b) for a, b in pairs]
                assert root.evaluate(drawn) == changed
                observed |= set(changed)
            root.evaluate(forget)
            v.page.evaluate("t => { document.documentElement.dataset.theme = t }", theme)
            v.page.wait_for_function(f"r => ({drawn})(r).every(Boolean)", arg=root)
            for control in root.query_selector_all("input, select"):
                jump(control, 0)
                wait_drawn(v.page, root)
        assert observed == {0, 1}


def test_figures_do_not_shift_after_their_widest_numbers_were_shown(visit, built_book):
    """Numbers next to the plane have one to three digits."""
    place = """root => [...root.querySelectorAll(".ln-panel .nsewdrag")].map((e) =>
      ["x", "y", "width", "height"].map((name) => Number(e.getAttribute(name))))"""
    with visit(built_book.as_uri(), "effective_learning_rate", reduced_motion="reduce") as v:
        root = v.explorers()[0]
        rounds = []
        for _ in range(2):
            for control in root.query_selector_all("input, select"):
                for stop in [*stops(control), stops(control)[0]]:
                    jump(control, stop)
                    wait_drawn(v.page, root)
                    rounds.append(root.evaluate(place))
        second = rounds[len(rounds) // 2 :]
        if browser_name(v.page) == "chromium":  # with its fonts, the layout must make room
            assert rounds[0] != second[0]
        assert all(places == second[0] for places in second)


@pytest.mark.slow
@pytest.mark.not_in("firefox", reason="its driver cannot turn motion on in an open page")
def test_every_play_button_runs_to_the_end(opened, payloads, chapter):
    opened.page.emulate_media(reduced_motion="no-preference")
    for root, states in zip(opened.explorers(), payloads(chapter), strict=True):
        for button in root.query_selector_all(".ln-play"):
            slider = root.evaluate_handle("(r, b) => b.nextElementSibling", button).as_element()
            last = int(slider.get_attribute("max"))
            move(opened.page, root, slider, max(last - 2, 0))
            button.click()
            opened.page.wait_for_function(
                "([r, b, s]) => s.value === s.max && b.textContent === '▶'"
                " && r.querySelector('.ln-text').ariaLive === 'polite'",
                arg=[root, button, slider],
            )
            opened.page.wait_for_function(
                "([r, i]) => r.dataset.state == i", arg=[root, index(root)]
            )
            assert_drawn(root, states)
    opened.page.emulate_media(reduced_motion="reduce")


def test_with_reduced_motion_play_takes_one_step_per_press(visit, built_book, payloads, explored):
    with visit(built_book.as_uri(), explored, reduced_motion="reduce") as v:
        for root in v.explorers():
            for button in root.query_selector_all(".ln-play"):
                slider = root.evaluate_handle("(r, b) => b.nextElementSibling", button).as_element()
                assert button.get_attribute("aria-label").startswith("Next: ")
                move(v.page, root, slider, 0)
                button.click()
                v.page.wait_for_timeout(900)  # longer than two steps of a player
                assert int(slider.input_value()) == 1
        moving = v.page.evaluate(
            "() => [...document.querySelectorAll('body *')].filter(e => e.checkVisibility() &&"
            " parseFloat(getComputedStyle(e).transitionDuration) > 0).length"
        )
        assert moving == 0
