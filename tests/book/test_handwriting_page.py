"""The handwriting replay in a browser: its texts against the records, its controls, its colors."""

import numpy as np
import pytest

from lnbook.figures import colors
from lnbook.widgets.replay.handwriting import WEB, HandwritingReplay, unpacked
from tests.book.conftest import Widget
from tests.cases.canvas_log import calls, drawn, logs
from tests.cases.readouts import check_says, labels


@pytest.fixture(scope="module")
def written():
    """The header, the strokes, the windows, the lifts."""
    return unpacked(HandwritingReplay().packed)


@pytest.mark.every_browser
def test_controls_change_pen_and_update_and_play(use, written):
    header, _, windows, _ = written
    N, last, text = header["points"], len(header["updates"]) - 1, header["text"]

    def shows(point, pen):
        """Compare every readout and label with the records."""
        after = f"{header['updates'][point]:,}"
        assert w.text("pen-told") == f"point {pen} of {N}"
        assert w.text("point-told") == f"{after} updates"
        texts, heard = [after, pen, N], (labels(w.page, f"#handwriting-1 .ln-handwriting-{of}")
                                        for of in ("text", "ink"))  # fmt: skip
        for k, (arm, of_text, of_ink) in enumerate(zip(header["arms"], *heard, strict=True)):
            place = []
            if pen:
                u = int(windows[k, point, pen - 1] + 0.5)
                place = ["a space" if text[u] == " " else f"“{text[u]}”", u + 1, len(text)]
            loss = f"{arm['losses'][point]:.2f}".replace("-", "−")
            assert w.texts("loss")[k] == f"loss {loss} nats per point"
            texts += [arm["name"].lower(), loss, *place]
            check_says(of_text, arm["name"], *place)
            check_says(of_ink, arm["name"], pen, N)
        check_says(w.text("says"), *texts)

    with use("handwriting", "handwriting") as w:
        shows(last, N)
        w.press("point", "ArrowLeft", "ArrowLeft")
        w.press("pen", "Home")
        shows(last - 2, 0)
        w.press("pen", *["ArrowRight"] * 9)
        shows(last - 2, 9)
        w.part("pen").fill(str(N - 40))
        w.play("Write", "pen")
        w.announces(f"{N} of {N}")


def test_text_and_ink_match_network_update_and_point(browser, written):
    """The character under the window is bold; ink is colored for 25 points, if the pen is down."""
    header, strokes, windows, lifts = written
    N, text, ink = header["points"], header["text"], colors.COLORS["ink"]
    with drawn(browser, WEB, HandwritingReplay().packed) as page:
        w = Widget(page, "handwriting")
        for point, pen in ((len(header["updates"]) - 2, N - 150), (1, N)):
            w.part("point").fill(str(point))
            w.part("pen").fill(str(pen))
            of_text, of_ink = (logs(page, f".ln-handwriting-{name}") for name in ("text", "ink"))
            sizes = page.locator(".ln-handwriting-ink").evaluate_all(
                "all => all.map((e) => [e.clientWidth, e.clientHeight])"
            )
            for k, arm in enumerate(header["arms"]):
                tone = colors.COLORS[arm["color"]]
                place, wide = windows[k, point, pen - 1], sizes[k][0]
                letters = calls(of_text[k], "fillText")
                assert [letter for letter, *_ in letters] == [*text.replace(" ", "␣")]
                bold = [
                    u for u, (*_, font) in enumerate(letters) if "700" in font or "bold" in font
                ]
                assert bold == [int(place + 0.5)]

                x, y = np.cumsum(strokes[k, point], 0).T
                (left, right), (low, top) = ((min(0, *v), max(0, *v)) for v in (x, y))
                high = sizes[k][1]
                scale = min((wide - 24) / max(1, right - left), (high - 24) / max(1, top - low))
                expected = np.stack([12 + scale * (x - left), scale * (top - y)], -1)
                expected[:, 1] += (high - scale * (top - low)) / 2
                down = np.flatnonzero(lifts[k, point, : pen - 1] == 0) + 1
                wet = pen - 25 if pen < N else N
                for color, points in ((ink, down[down < wet]), (tone, down[down >= wet])):
                    lines = calls(of_ink[k], "lineTo", color)
                    np.testing.assert_allclose(
                        np.reshape(lines, (-1, 2)), expected[points], atol=0.01
                    )
