"""The DRAW replay in a browser: numbers of the records, controls, colors."""

from base64 import b64decode

import numpy as np
import pytest

from lnbook.widgets.replay import base
from lnbook.widgets.replay.draw import WEB, packed, unpacked
from lnlab import records
from tests.book.conftest import Widget
from tests.cases.canvas_log import calls, drawn, logs
from tests.cases.readouts import check_says


@pytest.fixture(scope="module")
def content():
    """The data of the page of the book."""
    return packed([run for run in records.read_all("draw") if "canvas" in run["arrays"]])


@pytest.fixture(scope="module")
def painted(content):
    """The header, the shades, the windows, and the bits of the digits."""
    header, shades, windows = unpacked(content)
    bits = [np.unpackbits(np.frombuffer(b64decode(text), "u1")) for text in header["bits"]]
    return header, shades, windows, np.array(bits)


@pytest.mark.every_browser
def test_controls_change_update_glimpse_digit_and_mode_and_play(use, painted):
    header, shades, windows, bits = painted
    T, last = header["glimpses"], len(header["updates"]) - 1
    arms = range(len(header["arms"]))

    def facts(point, image, glimpse, dreams):
        """For each network, the number of wrong pixels, or the width of the window of a sample."""
        if not glimpse:
            return ["–"] * len(arms)
        if dreams:
            strides = windows[:, point, 2, image, glimpse - 1, 2]
            return [str(int((header["sizes"][1] - 1) * stride + 0.5)) for stride in strides]
        drawn = shades[:, point, 0, image, glimpse - 1].reshape(len(arms), -1) > 7.5
        return [str(n) for n in (drawn != bits[image]).sum(1)]

    def shows(point, image, glimpse, dreams=False):
        """Compare every readout with the records."""
        after, result = f"{header['updates'][point]:,}", facts(point, image, glimpse, dreams)
        bounds = [f"{arm['bounds'][point]:.1f}" for arm in header["arms"]]
        names = [arm["name"].lower() for arm in header["arms"]]
        digit = str(header["digits"][image])
        assert w.texts("count") == result
        assert w.texts("bound") == [f"{bound} nats" for bound in bounds]
        assert w.text("glimpse-told") == f"{glimpse} of {T}"
        assert w.text("point-told") == f"{after} updates"
        numbers = [[] if fact == "–" else [fact] for fact in result]
        each = [word for name, of in zip(names, numbers, strict=True) for word in (name, *of)]
        last = [word for pair in zip(bounds, names, strict=True) for word in pair]
        check_says(
            w.text("says"), after, glimpse, T, image + 1 if dreams else digit, *each, *last
        )  # fmt: skip

    with use("draw", "draw") as w:
        w.press("point", "End")
        shows(last, 4, T)
        w.press("glimpse", *["ArrowLeft"] * 3)
        w.root.locator(".ln-draw-image input").nth(4).focus()
        for _ in range(2):
            w.page.keyboard.press("ArrowRight")
        assert w.page.get_by_label("a 0", exact=True).is_checked()
        shows(last, 0, T - 3)

        # The strip below a canvas also selects a glimpse.
        strip = w.root.locator(".ln-draw-strip").nth(1)
        wide = strip.bounding_box()["width"] / T
        for glimpse in (1, T, T - 3):
            strip.click(position={"x": (glimpse - 0.5) * wide, "y": 5})
            shows(last, 0, glimpse)

        # Samples: there is no digit, and the windows are described.
        w.root.locator(".ln-draw-mode input").nth(1).check(force=True)
        shows(last, 0, T - 3, dreams=True)
        w.root.locator(".ln-draw-mode input").nth(0).check(force=True)

        w.press("glimpse", "Home")  # before the first glimpse, no pixels are counted
        shows(last, 0, 0)
        w.press("glimpse", *["ArrowRight"] * (T - 1))
        w.play("Draw", "glimpse")
        shows(last, 0, T)
        w.announces("8 of 8")


READS, PAINTS = "#0000fe", "#00fe00"


def test_canvases_and_windows_match_network_digit_and_glimpse(browser, painted, content):
    """Compare every shade, and the filters of windows, of which more can write than read."""
    header, shades, windows, bits = painted
    header = header | {"sizes": [3, 8]}
    T, arms, last = header["glimpses"], range(len(header["arms"])), len(header["updates"]) - 1

    def pictures(log):
        gray = np.array([pixels for pixels, *_ in calls(log, "drawImage")]) & 255
        return (255 - gray) / (0.92 * 17)

    def filters(log, color, size, window):
        """Whether its filters are at the recorded positions, on a canvas of 28 + 5 pixels."""
        (side,) = {place[2] for _, *place in calls(log, "drawImage")}
        x, y, stride, _ = window
        steps = (np.arange(size) - (size - 1) / 2) * stride + 0.5 + 2.5
        expected = np.stack(np.meshgrid(x + steps, y + steps), -1).reshape(-1, 2) * side / 28
        centers = np.array([call[:2] for call in calls(log, "arc", color)])
        np.testing.assert_allclose(centers, expected, atol=1e-3)

    def holds(page, point, image, glimpse):
        kinds = [logs(page, f".ln-draw-{name}") for name in ("canvas", "read", "strip")]
        for arm, large, read, strip in zip(arms, *kinds, strict=True):
            own = shades[arm, point, 0, image].reshape(T, -1)
            np.testing.assert_allclose(pictures(large)[0], own[glimpse - 1], atol=0.1)
            filters(large, PAINTS, header["sizes"][1], windows[arm, point, 1, image, glimpse - 1])
            np.testing.assert_allclose(pictures(read)[0], 15 * bits[image], atol=0.1)
            filters(read, READS, header["sizes"][0], windows[arm, point, 0, image, glimpse - 1])
            np.testing.assert_allclose(pictures(strip), own, atol=0.1)
            # Only future glimpses are pale.
            alphas = [alpha for kind, alpha, *_ in strip if kind == "drawImage"]
            assert alphas[:glimpse] == [1] * glimpse
            assert all(0 < alpha < 1 for alpha in alphas[glimpse:])

    look = {"card": "#ffffff", "ink": "#000000", "first": READS, "second": PAINTS}
    data = base.pack(header, *base.unpack(content)[1])
    with drawn(browser, WEB, data, **look) as page:
        w = Widget(page, "draw")
        w.part("point").fill(str(last))
        w.part("glimpse").fill("3")
        page.locator(".ln-draw-image input").nth(1).check(force=True)
        holds(page, last, 1, 3)
