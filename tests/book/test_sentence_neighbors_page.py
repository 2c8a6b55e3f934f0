"""The sentence maps in a browser: data of the records, controls, colors."""

import numpy as np
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
def test_sentences_can_be_selected_in_four_ways(use, recorded):
    header, places, nearest = recorded
    texts, last = header["texts"], len(header["updates"]) - 1

    def shows(sentence, point, mark=0):
        """Compare every list, readout and label with the records."""
        lists = nearest[:, point, sentence].tolist()
        names = [arm["name"].lower() for arm in header["arms"]]
        category = header["categories"][mark]
        shares = [percent(arm["agreement"][mark][point]) for arm in header["arms"]]
        for k, of in enumerate(lists):
            expected = [texts[j] for j in of]
            assert panels.nth(k).locator("li").all_inner_texts() == expected
        assert w.part("sentence").input_value() == str(sentence)
        firsts = [word for name, of in zip(names, lists, strict=True)
                  for word in (texts[of[0]], name)]  # fmt: skip
        both = len({*lists[0]} & {*lists[-1]})
        check_says(
            w.text("says"),
            f"{header['updates'][point]:,}", texts[sentence],
            *firsts,
            both, nearest.shape[-1], names[0], names[-1],
            category["description"], *shares, percent(category["chance"]),
        )  # fmt: skip

    with use("skip_thoughts", "sentence-neighbors") as w:
        panels = w.root.locator(".ln-sentence-neighbors-arm")
        first = next(k for k, text in enumerate(texts) if text.startswith("Come in"))
        shows(first, last)
        w.press("point", "Home")
        shows(first, 0)
        w.press("point", "ArrowRight")

        # From the list of all sentences, by key; they are in alphabetical order.
        w.press("sentence", "ArrowDown")
        below = int(w.part("sentence").input_value())
        assert texts[below] > texts[first]
        shows(below, 1)

        # A neighbor, and then a point of the map that no other point covers and whose rings are on
        # the map.
        panels.nth(1).locator("li button").nth(2).click()
        shows(int(nearest[1, 1, below, 2]), 1)
        canvas, now = panels.first.locator("canvas"), places[0, 1].astype(float)
        far = abs(now[:, None] - now).max(-1) + 1e9 * np.eye(len(now))
        alone = int(np.argmax(np.where(abs(now).max(1) < INSIDE, far.min(1), -1)))
        wide = canvas.evaluate("e => e.clientWidth")  # without its border
        x, y = at(now[alone], wide)
        canvas.click(position={"x": x, "y": y})
        shows(alone, 1)

        # The fraction of similar neighbors of each network.
        w.root.locator(".ln-sentence-neighbors-marks input").nth(2).check(force=True)
        shows(alone, 1, mark=2)
        w.press("point", "End", "ArrowLeft")
        w.play("Train", "point")
        shows(alone, last, mark=2)
        w.announces("After 3,000")
