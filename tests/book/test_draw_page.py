"""The painter in a browser: what it counts beside the records', its controls, its colors."""

import base64

import numpy as np
import pytest

from lnbook.figures import colors
from lnbook.widgets.replay.draw import packed, unpacked
from lnlab import records

PIXEL = """() => {
    const copy = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    copy.drawImage(document.querySelector('.ln-draw-canvas'), 0, 0);
    return [...copy.getImageData(120, 120, 1, 1).data].slice(0, 3);
}"""


@pytest.fixture(scope="module")
def painted():
    """What is told, the shades, the windows, and the bits of the digits."""
    runs = [run for run in records.read_all("draw") if "canvas" in run["arrays"]]
    told, shades, windows = unpacked(packed(runs))
    bits = [np.unpackbits(np.frombuffer(base64.b64decode(text), "u1")) for text in told["bits"]]
    return told, shades, windows, np.array(bits)


def part(page, name):
    return page.locator(f".ln-draw [data-part='{name}']")


@pytest.mark.every_browser
def test_a_reader_moves_training_glimpse_digit_and_mode_and_lets_it_play(
    visit, built_book, painted
):
    told, shades, windows, bits = painted
    T, last = told["glimpses"], len(told["updates"]) - 1
    arms = range(len(told["arms"]))

    def wrong(point, image, glimpse):
        drawn = shades[:, point, 0, image, glimpse - 1].reshape(len(arms), -1) > 7.5
        return [str(n) for n in (drawn != bits[image]).sum(1)]

    with visit(built_book.as_uri(), "draw", reduced_motion="reduce") as v:
        page = v.page
        page.wait_for_function("document.querySelector('.ln-draw')?.dataset.ready === 'yes'")
        assert page.locator(".ln-draw-arm").count() == len(arms)
        box = page.locator(".ln-draw-canvas").first.bounding_box()
        assert box["y"] + box["height"] <= 900  # with all controls above it

        # By keyboard: the end of training, three glimpses back, the first digit.
        part(page, "point").focus()
        page.keyboard.press("End")
        assert part(page, "count").all_inner_texts() == wrong(last, 4, T)
        assert (
            f"After {told['updates'][-1]:,} updates and 8 of 8 gl"
            in part(page, "says").inner_text()
        )
        part(page, "glimpse").focus()
        for _ in range(3):
            page.keyboard.press("ArrowLeft")
        page.locator(".ln-draw-image input").nth(4).focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        assert page.get_by_label("a 0", exact=True).is_checked()
        assert part(page, "count").all_inner_texts() == wrong(last, 0, T - 3)
        part(page, "point").focus()
        page.keyboard.press("ArrowLeft")
        assert part(page, "count").all_inner_texts() == wrong(last - 1, 0, T - 3)
        bounds = [f"{arm['bounds'][last - 1]:.1f} nats" for arm in told["arms"]]
        assert part(page, "bound").all_inner_texts() == bounds

        # The strip below a canvas is a short way to a glimpse.
        strip = page.locator(".ln-draw-strip").nth(1)
        wide = strip.bounding_box()["width"] / T
        for glimpse in (1, T, T - 3):
            strip.click(position={"x": (glimpse - 0.5) * wide, "y": 5})
            assert part(page, "glimpse-told").inner_text() == f"{glimpse} of {T}"
            assert part(page, "count").all_inner_texts() == wrong(last - 1, 0, glimpse)

        # Dreams: no digit is seen, windows are told.
        page.locator(".ln-draw-mode input").nth(1).check(force=True)
        wide = [f"{4 * windows[k, last - 1, 2, 0, T - 4, 2]:.0f}" for k in arms]
        assert part(page, "count").all_inner_texts() == wide
        assert "dream 1" in part(page, "says").inner_text()
        assert not page.locator(".ln-draw-read").first.is_visible()
        page.locator(".ln-draw-mode input").nth(0).check(force=True)

        # Before the first glimpse all is between paper and ink, in either theme.
        part(page, "glimpse").focus()
        page.keyboard.press("Home")
        for theme, k in (("light", 0), ("dark", 1)):
            page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
            ink = (colors.COLORS, colors.DARK)[k]["ink"]
            half = colors.mix(ink, colors.CARD[k], 0.46)
            page.wait_for_function(
                f"([r, g, b]) => ({PIXEL})().every((c, k) => Math.abs(c - [r, g, b][k]) <= 1)",
                arg=[int(half[k : k + 2], 16) for k in (1, 3, 5)],
            )

        # Play goes on from where one is, and stops at the end.
        for _ in range(T - 1):
            page.keyboard.press("ArrowRight")
        page.get_by_role("button", name="Paint").click()
        assert page.get_by_role("button", name="Stop").get_attribute("aria-pressed") == "true"
        page.wait_for_function(
            "document.querySelector('[data-play=glimpse]').getAttribute('aria-pressed') === 'false'"
        )
        assert part(page, "count").all_inner_texts() == wrong(last - 1, 0, T)
        page.wait_for_function(
            "document.querySelector('.ln-draw [role=status]').textContent.includes('8 of 8')"
        )
        assert not v.complaints
        assert not v.outside


ALPHAS = """
  const pen = CanvasRenderingContext2D.prototype, { clearRect, drawImage } = pen;
  pen.clearRect = function (...rest) {
    this.canvas.alphas = [];
    clearRect.apply(this, rest);
  };
  pen.drawImage = function (...rest) {
    this.canvas.alphas?.push(this.globalAlpha);
    drawImage.apply(this, rest);
  };
"""


def test_in_the_strip_the_glimpses_to_come_are_pale_and_no_others(visit, built_book):
    def log(page):
        page.add_init_script(ALPHAS)

    options = {"reduced_motion": "reduce", "before": log}
    with visit(built_book.as_uri(), "draw", **options) as v:
        v.page.wait_for_function("document.querySelector('.ln-draw')?.dataset.ready === 'yes'")
        slider = part(v.page, "glimpse")
        last = int(slider.get_attribute("max"))
        for glimpse in (0, 1, last - 2, last):
            slider.fill(str(glimpse))
            strips = v.page.locator(".ln-draw-strip").evaluate_all("all => all.map(s => s.alphas)")
            for alphas in strips:
                assert alphas[:glimpse] == [1] * glimpse
                assert all(0 < alpha < 1 for alpha in alphas[glimpse:])
                assert len(alphas) == last


def test_a_missing_file_is_told(visit, http):
    def refuse(page):
        page.route("**/packed.js", lambda route: route.abort())

    with visit(http, "draw", before=refuse) as v:
        v.page.wait_for_function(
            "document.querySelector('.ln-draw')?.innerText.includes('cannot be read: the file')"
        )
