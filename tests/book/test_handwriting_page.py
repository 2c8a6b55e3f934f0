"""The handwriting replay in a browser: its texts against the records, its controls, its colors."""

import numpy as np
import pytest

from lnbook.figures import colors
from lnbook.widgets.replay.handwriting import WEB, HandwritingReplay, unpacked
from tests.cases.canvas_log import calls, drawn, logs
from tests.cases.readouts import check_says, labels


@pytest.fixture(scope="module")
def written():
    """The header, the strokes, the windows, the lifts."""
    return unpacked(HandwritingReplay().packed)


def part(page, name):
    return page.locator(".ln-handwriting").first.locator(f"[data-part='{name}']")


def ready(page):
    page.wait_for_function("document.querySelector('.ln-handwriting')?.dataset.ready === 'yes'")


@pytest.mark.every_browser
def test_controls_change_pen_and_update_and_play(visit, built_book, written):
    header, _, windows, _ = written
    N, last, text = header["points"], len(header["updates"]) - 1, header["text"]

    def shows(point, pen):
        """Compare every readout and label with the records."""
        after = f"{header['updates'][point]:,}"
        assert part(page, "pen-told").inner_text() == f"point {pen} of {N}"
        assert part(page, "point-told").inner_text() == f"{after} updates"
        texts, heard = [after, pen, N], (labels(page, f"#handwriting-1 .ln-handwriting-{of}")
                                        for of in ("text", "ink"))  # fmt: skip
        for k, (arm, of_text, of_ink) in enumerate(zip(header["arms"], *heard, strict=True)):
            place = []
            if pen:
                u = int(windows[k, point, pen - 1] + 0.5)
                place = ["a space" if text[u] == " " else f"“{text[u]}”", u + 1, len(text)]
            loss = f"{arm['losses'][point]:.2f}".replace("-", "−")
            assert part(page, "loss").nth(k).inner_text() == f"{loss} nats per point"
            texts += [arm["name"].lower(), loss, *place]
            check_says(of_text, arm["name"], *place)
            check_says(of_ink, arm["name"], pen, N)
        check_says(part(page, "says").inner_text(), *texts)

    with visit(built_book.as_uri(), "handwriting", reduced_motion="reduce") as v:
        page = v.page
        ready(page)
        assert page.locator("#handwriting-1 .ln-handwriting-arm").count() == len(header["arms"])
        shows(last, N)

        # By keyboard: an earlier update, the first points of the pen.
        part(page, "point").focus()
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowLeft")
        part(page, "pen").focus()
        page.keyboard.press("Home")
        shows(last - 2, 0)
        for _ in range(9):
            page.keyboard.press("ArrowRight")
        shows(last - 2, 9)

        # Play continues from the current point and stops at the end; with reduced motion in few
        # steps.
        part(page, "pen").fill(str(N - 40))
        page.get_by_role("button", name="Write").first.click()
        assert page.get_by_role("button", name="Stop").get_attribute("aria-pressed") == "true"
        page.wait_for_function(
            "document.querySelector('[data-play=pen]').getAttribute('aria-pressed') === 'false'"
        )
        assert part(page, "pen").input_value() == str(N)
        page.wait_for_function(
            "document.querySelector('.ln-handwriting [role=status]').textContent"
            f".includes('{N} of {N}')"
        )
        assert not v.complaints
        assert not v.outside


def test_text_and_ink_match_network_update_and_point(browser, written):
    """The character under the window is bold; ink is colored for 25 points, if the pen is down."""
    header, strokes, windows, lifts = written
    N, text, ink = header["points"], header["text"], colors.COLORS["ink"]
    with drawn(browser, WEB, HandwritingReplay().packed) as page:
        for point, pen in ((len(header["updates"]) - 2, N - 150), (1, N)):
            part(page, "point").fill(str(point))
            part(page, "pen").fill(str(pen))
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
