"""Handles of lines that follow a slider: dragging them with the pointer."""

import pytest

PAGE = "effective_learning_rate"  # explorer 4 has a line in each of two panels, and one slider


@pytest.fixture
def first(visit, built_book):
    """The fourth explorer of the page, after drawing."""
    with visit(built_book.as_uri(), PAGE) as v:
        root = v.page.locator("#explorer-4")
        root.scroll_into_view_if_needed()
        v.page.wait_for_function("document.querySelector('#explorer-4').dataset.ready === 'yes'")
        yield root
        assert not v.complaints


LINE = """(e) => { // where the line itself is drawn
  const line = [...e.querySelectorAll(".scatterlayer .js-line")].at(-1).getBoundingClientRect();
  return line.x + line.width / 2;
}"""


def middle(grip):
    box = grip.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def drawn(root):
    """Wait until the state of the slider is drawn."""
    root.page.wait_for_function(
        """() => { const root = document.querySelector("#explorer-4");
        const sizes = JSON.parse(root.dataset.sizes);
        const fields = [...root.querySelectorAll(".ln-controls :is(input, select)")];
        const at = fields.reduce((n, e, k) => n * sizes[k] + Number(e.value), 0);
        return Number(root.dataset.state) === at; }"""
    )


@pytest.mark.every_browser
def test_dragging_the_line_moves_the_slider(first):
    slider, page = first.locator("input[type=range]"), first.page
    slider.press("Home")
    drawn(first)
    grip = first.locator(".ln-grip").nth(1)
    x, y = middle(grip)
    width = first.locator(".ln-panel").nth(1).bounding_box()["width"]
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 0.3 * width, y + 5, steps=6)
    page.mouse.up()
    drawn(first)
    last = int(slider.get_attribute("max"))
    assert 0.15 * last < int(slider.input_value()) < 0.7 * last
    assert middle(grip)[0] == pytest.approx(x + 0.3 * width, abs=0.6 * width / last)
    at = slider.input_value()
    page.mouse.move(x, y)  # release
    drawn(first)
    assert slider.input_value() == at
    page.wait_for_function("location.hash.startsWith('#explorer-4&scale=')")
