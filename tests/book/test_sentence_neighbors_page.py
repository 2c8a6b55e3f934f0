"""The sentence maps in a browser: data of the records, controls, colors."""

import pytest

from lnbook.widgets.replay.sentence_neighbors import HIGH, packed, unpacked
from lnlab import records
from tests.cases.readouts import check_says, percent

ROOM = 1.12  # margin around the positions, as in sentence_neighbors.js
INSIDE = 60  # recorded positions go up to 100; these are far from the edge of the map


@pytest.fixture(scope="module")
def recorded():
    """The header, the positions, the neighbors."""
    runs = [run for run in records.read_all("skip_thoughts") if "map" in run["arrays"]]
    return unpacked(packed(runs))


def at(place, wide):
    """The pixel at which a recorded position is drawn on a map of width ``wide``."""
    x, y = place / (200 * ROOM)
    return (0.5 + x) * wide, (HIGH / 2 - y) * wide


@pytest.mark.every_browser
def test_sentences_can_be_selected_in_four_ways(visit, built_book, recorded):
    header, places, nearest = recorded
    texts, last = header["texts"], len(header["updates"]) - 1

    with visit(built_book.as_uri(), "skip_thoughts", reduced_motion="reduce") as v:
        page = v.page
        page.wait_for_function(
            "document.querySelector('.ln-sentence-neighbors')?.dataset.ready === 'yes'"
        )
        whole = page.locator(".ln-sentence-neighbors")
        panels = whole.locator(".ln-sentence-neighbors-arm")
        choice = whole.locator("[data-part='sentence']")

        def shows(sentence, point, mark=0):
            """Compare every list, readout and label with the records."""
            lists = nearest[:, point, sentence].tolist()
            names = [arm["name"].lower() for arm in header["arms"]]
            category = header["categories"][mark]
            chance = percent(category["chance"])
            shares = [percent(arm["agreement"][mark][point]) for arm in header["arms"]]
            for k in range(len(header["arms"])):
                expected = [texts[j] for j in nearest[k, point, sentence]]
                assert panels.nth(k).locator("li").all_inner_texts() == expected
            assert choice.input_value() == str(sentence)
            firsts = [word for name, of in zip(names, lists, strict=True)
                      for word in (texts[of[0]], name)]  # fmt: skip
            both = len({*lists[0]} & {*lists[-1]})
            check_says(
                whole.locator("[data-part='says']").inner_text(),
                f"{header['updates'][point]:,}", texts[sentence],
                *firsts,
                both, nearest.shape[-1], names[0], names[-1],
                category["description"], *shares, chance,
            )  # fmt: skip

        first = next(k for k, text in enumerate(texts) if text.startswith("Come in"))
        shows(first, last)

        # By keyboard: the beginning of training, and the next point.
        whole.locator("[data-part='point']").focus()
        page.keyboard.press("Home")
        shows(first, 0)
        page.keyboard.press("ArrowRight")

        # From the list of all sentences, by key; they are in alphabetical order.
        choice.focus()
        page.keyboard.press("ArrowDown")
        below = int(choice.input_value())
        assert texts[below] > texts[first]
        shows(below, 1)

        # A neighbor, and then a point of the map that no other point covers and whose rings are on
        # the map.
        panels.nth(1).locator("li button").nth(2).click()
        neighbor = int(nearest[1, 1, below, 2])
        shows(neighbor, 1)
        canvas = panels.first.locator("canvas")
        wide = canvas.evaluate("e => e.clientWidth")  # without its border
        apart = [min(abs(p - q).max() for j, q in enumerate(places[0, 1].astype(int)) if j != k)
                 for k, p in enumerate(places[0, 1].astype(int))]  # fmt: skip
        inside = [abs(p).max() < INSIDE for p in places[0, 1].astype(int)]
        alone = max(range(len(apart)), key=lambda k: (inside[k], apart[k]))
        x, y = at(places[0, 1, alone].astype(float), wide)
        canvas.click(position={"x": x, "y": y})
        shows(alone, 1)

        # The fraction of similar neighbors of each network.
        whole.locator(".ln-sentence-neighbors-marks input").nth(2).check(force=True)
        shows(alone, 1, mark=2)

        # Play continues from the current point and stops at the end.
        whole.locator("[data-part='point']").focus()
        page.keyboard.press("End")
        page.keyboard.press("ArrowLeft")
        page.get_by_role("button", name="Train").click()
        assert page.get_by_role("button", name="Stop").get_attribute("aria-pressed") == "true"
        page.wait_for_function(
            "document.querySelector('.ln-sentence-neighbors [data-part=play]').ariaPressed"
            " === 'false'"
        )
        shows(alone, last, mark=2)
        page.wait_for_function(
            "document.querySelector('.ln-sentence-neighbors [role=status]')"
            ".textContent.includes('After 3,000')"
        )
        assert not v.complaints
        assert not v.outside
