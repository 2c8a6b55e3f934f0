"""Animation of explorers: transitions of figures, and sliders that play."""

import pytest

from tests.book.pages.conftest import assert_drawn, index, move


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
