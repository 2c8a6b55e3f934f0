"""Explorers of all pages: they draw what Python computed, for all states of their controls."""

import json

import pytest

from lnbook.explorer import static_html
from tests.book.conftest import go_to
from tests.book.pages.conftest import (
    assert_drawn,
    cell_value,
    index,
    jump,
    move,
    rendered,
    stops,
    wait_drawn,
)


def draws_and_never_complains(v, payloads):
    for root, states in zip(v.explorers(), payloads, strict=True):
        assert root.get_attribute("data-ready") == "yes", root.inner_text()
        assert_drawn(root, states)
    assert v.outside == []
    assert v.complaints == []


def test_pages_draw_their_figures_without_network_and_errors(opened, chapter, payloads):
    draws_and_never_complains(opened, payloads(chapter))


@pytest.mark.one_in(2)
@pytest.mark.every_browser
def test_pages_from_a_server_also_draw_figures_that_are_not_scrolled_to(phone, chapter, payloads):
    draws_and_never_complains(phone, payloads(chapter))


def test_every_control_redraws_the_figure_for_its_state(opened, payloads, chapter):
    for root, states in zip(opened.explorers(), payloads(chapter), strict=True):
        tall = root.bounding_box()["height"]
        for control in root.query_selector_all("input, select"):
            start, before = rendered(root), int(control.input_value())
            changed = False
            # The initial position is the last one, by keys, so that the next control starts from
            # it.
            for value in [*(stop for stop in stops(control) if stop != before), before]:
                if value == before:
                    move(opened.page, root, control, value)
                else:
                    jump(control, value)
                    wait_drawn(opened.page, root)
                assert_drawn(root, states)
                changed = changed or rendered(root) != start
                assert root.bounding_box()["height"] == tall, "what is below would jump"
            label = root.evaluate("(r, c) => c.labels[0].textContent", control)
            assert changed, f"{label!r} changes neither figure nor sentence"


def assert_tabulated(page, root, states):
    """Compare the table behind the figure with the one computed in Python for this state."""
    page.wait_for_function("r => r.querySelector('.ln-numbers table tbody td')", arg=root)
    shown = json.loads(
        root.evaluate(
            "r => JSON.stringify([...r.querySelectorAll('.ln-numbers table')].map(t => ({"
            "caption: t.caption?.textContent ?? '',"
            "rows: [...t.rows].map(row => [...row.cells].map(c => c.textContent))})))"
        )
    )
    tables = static_html.data_tables(states[index(root)]["panels"])
    assert [t["caption"] for t in shown] == [t["caption"] for t in tables]
    for result, table in zip(shown, tables, strict=True):
        expected = [table["columns"], *table["rows"]]
        assert [list(map(cell_value, row)) for row in result["rows"]] == [
            list(map(cell_value, row)) for row in expected
        ]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["introduction", "layer_norm_from_scratch", "mnist"])
def test_the_address_stores_and_restores_every_changed_control(visit, built_book, name, payloads):
    moves = ".ln-explorer:has(.ln-controls :is(input, select))"
    with visit(built_book.as_uri(), name, reduced_motion="reduce") as v:
        named = [root.get_attribute("id") for root in v.page.query_selector_all(moves)[:2]]
        which = ", ".join(f"#{id_}" for id_ in named)
        roots, starts = v.explorers(which), {}
        for root in roots:
            for control in root.query_selector_all(".ln-controls :is(input, select)"):
                starts[control.get_attribute("id")] = control.input_value()
                last = stops(control)[-1]
                jump(control, 0 if int(control.input_value()) == last else last)
            wait_drawn(v.page, root)
        moved = sum(len(root.query_selector_all("input, select")) for root in roots)
        v.page.wait_for_function("n => (location.hash.match(/=/g) ?? []).length === n", arg=moved)
        index_by_id = {root.get_attribute("id"): index(root) for root in roots}
        address = v.page.evaluate("location.hash")
    address += "&nonsense=%F0&explorer-99&x=1"
    with visit(built_book.as_uri(), name, address, reduced_motion="reduce") as v:
        for root in v.explorers(which):
            wait_drawn(v.page, root)
            id_ = root.get_attribute("id")
            assert index(root) == index_by_id.pop(id_)
            states = payloads(name)[int(id_.split("-")[1]) - 1]
            assert_drawn(root, states)
            root.query_selector(".ln-numbers > summary").click()
            assert_tabulated(v.page, root, states)
        assert not index_by_id
        # An address with one control resets the others.
        id_, one = address[1:].split("&")[:2]
        go_to(v.page, f"#{id_}&{one}")
        (root,) = v.explorers(f"#{id_}")
        wait_drawn(v.page, root)
        for control in root.query_selector_all(".ln-controls :is(input, select)"):
            key = control.get_attribute("id")
            named = key == f"{id_}-{one.partition('=')[0]}"
            assert (control.input_value() != starts[key]) == named, key
        assert_drawn(root, payloads(name)[int(id_.split("-")[1]) - 1])
        assert not v.complaints


@pytest.mark.every_browser
def test_figures_are_as_wide_as_their_panel_after_the_contents_are_hidden_and_shown(
    visit, built_book
):
    options = {"viewport": {"width": 1300, "height": 900}, "reduced_motion": "reduce"}
    with visit(built_book.as_uri(), "outlier_features", **options) as v:
        v.explorers()
        for _ in range(2):
            before = v.page.locator(".ln-panel").first.evaluate("e => e.clientWidth")
            v.page.locator(".primary-toggle:visible").first.click()
            v.page.wait_for_function(
                """before => [...document.querySelectorAll(".ln-panel")].every((panel) => {
                  const drawn = panel.querySelector(".main-svg").getBoundingClientRect().width;
                  return panel.clientWidth !== before && Math.abs(drawn - panel.clientWidth) < 2;
                })""",
                arg=before,
            )


HANDLE = """(e) => { // the center of that of the second line
  const { x, y, width, height } = [...e.querySelectorAll(".ln-grip")][1].getBoundingClientRect();
  return [x + width / 2, y + height / 2];
}"""


@pytest.mark.every_browser
def test_dragging_the_line_moves_the_slider(visit, built_book):
    with visit(built_book.as_uri(), "effective_learning_rate") as v:
        (root,) = v.explorers("#explorer-4")  # a line in each of two panels, and one slider
        slider, mouse = root.query_selector("input[type=range]"), v.page.mouse
        slider.press("Home")
        wait_drawn(v.page, root)
        x, y = root.evaluate(HANDLE)
        width = root.query_selector_all(".ln-panel")[1].bounding_box()["width"]
        mouse.move(x, y)
        mouse.down()
        mouse.move(x + 0.3 * width, y + 5, steps=6)
        mouse.up()
        wait_drawn(v.page, root)
        last, at = int(slider.get_attribute("max")), slider.input_value()
        assert 0.15 * last < int(at) < 0.7 * last
        assert root.evaluate(HANDLE)[0] == pytest.approx(x + 0.3 * width, abs=0.6 * width / last)
        mouse.move(x, y)  # after it was released
        wait_drawn(v.page, root)
        assert slider.input_value() == at
        v.page.wait_for_function("location.hash.startsWith('#explorer-4&scale=')")
        assert not v.complaints
