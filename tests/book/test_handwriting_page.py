"""The handwriting replay in a browser: its texts against the records, its controls, its colors."""

import numpy as np
import pytest

from lnbook.figures import colors
from lnbook.widgets.replay.handwriting import WEB, HandwritingReplay, unpacked
from tests.cases.canvas_log import calls, drawn, logs
from tests.cases.readouts import check_says, labels

INK = """(k) => {
    const canvas = document.querySelectorAll('.ln-handwriting-ink')[k];
    const copy = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    Object.assign(copy.canvas, { width: canvas.width, height: canvas.height });
    copy.drawImage(canvas, 0, 0);
    const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
    const dye = {};
    for (let at = 0; at < data.length; at += 4) {
        if (data[at + 3] < 255) continue;
        const color = [...data.slice(at, at + 3)].map((v) => v.toString(16).padStart(2, '0'));
        dye['#' + color.join('')] = (dye['#' + color.join('')] ?? 0) + 1;
    }
    return dye;
}"""
THIRDS = """() => { // of the line's width: whether there is ink in the middle of each
    const canvas = document.querySelector('.ln-handwriting-ink'), { width, height } = canvas;
    const pen = canvas.getContext('2d');
    return [1 / 6, 1 / 2, 5 / 6].map((share) =>
        pen.getImageData(Math.round(share * width), 0, 1, height).data.some((v) => v > 0));
}"""
DRAW_S = """() => {
    const pen = document.querySelector("[data-part='pen']"), times = [];
    for (let t = 0; t < 40; t++) {
        const begin = performance.now();
        pen.value = 10 * t;
        pen.dispatchEvent(new Event('input'));
        times.push(performance.now() - begin);
    }
    return times.sort((a, b) => a - b)[20];
}"""


@pytest.fixture(scope="module")
def written():
    """What is told, the strokes, the windows, the lifts."""
    return unpacked(HandwritingReplay().packed)


def part(page, name):
    return page.locator(".ln-handwriting").first.locator(f"[data-part='{name}']")


def ready(page):
    page.wait_for_function("document.querySelector('.ln-handwriting')?.dataset.ready === 'yes'")


@pytest.mark.every_browser
def test_a_reader_moves_pen_and_training_and_lets_them_play(visit, built_book, written):
    header, _, windows, _ = written
    N, last, text = header["points"], len(header["updates"]) - 1, header["text"]

    def shows(point, pen):
        """Hold every readout and label to the records."""
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
        assert not page.evaluate(INK, 0)
        for _ in range(9):
            page.keyboard.press("ArrowRight")
        shows(last - 2, 9)
        assert page.evaluate(DRAW_S) < 50

        # Wet ink has the network's color, in either theme; a whole line has none of it.
        for theme, k in (("light", colors.COLORS), ("dark", colors.DARK)):
            page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
            for pen, wet in ((N // 2, True), (N, False)):
                part(page, "pen").fill(str(pen))
                ink = page.evaluate(INK, len(header["arms"]) - 1)
                shows(last - 2, pen)
                assert (k["layer"] in ink) == wet
                assert k["ink"] in ink

        # Play goes on from where one is, and stops at the end; without motion in a few steps.
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


def test_the_pen_writes_a_line_in_seconds_where_motion_is_welcome(visit, built_book, written):
    with visit(built_book.as_uri(), "handwriting", reduced_motion="no-preference") as v:
        ready(v.page)
        part(v.page, "pen").fill(str(written[0]["points"] - 100))
        v.page.get_by_role("button", name="Write").first.click()
        v.page.wait_for_function(
            "document.querySelector('[data-play=pen]').getAttribute('aria-pressed') === 'false'"
        )
        assert part(v.page, "pen").input_value() == str(written[0]["points"])


def test_a_missing_file_is_told(visit, http):
    def refuse(page):
        page.route("**/packed.js", lambda route: route.abort())

    with visit(http, "handwriting", before=refuse) as v:
        v.page.wait_for_function(
            "document.querySelector('.ln-handwriting')?.innerText"
            ".includes('cannot be read: the file')"
        )


@pytest.fixture
def toy(browser, tmp_path):
    """``toy(strokes, lifts, window)``: a page with what one network has written so."""
    opened = []

    def open_page(strokes, lifts, window):
        arrays = {"strokes": strokes, "lifts": lifts.astype("u1"), "window": window}
        run = {
            "settings": {"norm": "layer", "start": "usual", "updates_an_epoch": 9},
            "curves": {"epoch": [0], "val_new_nll": [1.0]},
            "arrays": {name: values[None] for name, values in arrays.items()},
        }
        (tmp_path / "page.html").write_text(
            f"<!doctype html><meta charset=utf-8><style>{WEB.whole_style()}</style>"
            f"{HandwritingReplay([run]).to_html()}<script>{WEB.book()}</script>",
            "utf-8",
        )
        opened.append(browser.new_page())
        opened[0].goto((tmp_path / "page.html").as_uri())
        ready(opened[0])
        return opened[0]

    yield open_page
    for page in opened:
        page.close()


DOTS = """() => { // with what the pen's place is filled, each time that it is drawn
    const pen = CanvasRenderingContext2D.prototype, { fill } = pen;
    window.dots = [];
    pen.fill = function (...rest) {
        if (this.canvas.className === 'ln-handwriting-ink') dots.push(this.fillStyle);
        fill.apply(this, rest);
    };
}"""


@pytest.mark.parametrize("lifted", [0, 1, 2])
def test_the_pen_draws_nothing_on_its_way_from_where_it_was_lifted(toy, lifted):
    strokes = np.array([[0, 0], [900, 0], [900, 0], [900, 0]], "i2")  # three steps to the right
    page = toy(strokes, np.arange(4) == lifted, np.zeros(4))
    assert page.evaluate(THIRDS) == [k != lifted for k in range(3)]
    page.evaluate(DOTS)
    for t in range(3):  # where it is in the air, it is a ring
        part(page, "pen").fill(str(t + 1))
        filled = colors.CARD[0] if t == lifted else colors.COLORS["layer"]
        assert page.evaluate("dots.at(-1)") == filled.lower()


BARS = """(full) => { // pixels of each character's bar, of which so many are full
    const canvas = document.querySelector('.ln-handwriting-text'), ratio = devicePixelRatio;
    const pen = canvas.getContext('2d'), cell = Math.min(62, canvas.clientWidth / 16);
    return Array.from({ length: 16 }, (_, u) => {
        const x = Math.round((u + 0.5) * cell * ratio), y = Math.round(39 * ratio);
        const { data } = pen.getImageData(x, y, 1, Math.round(full * ratio));
        return data.filter((v, k) => k % 4 === 3 && v > 90).length / ratio;
    });
}"""


def test_a_bar_is_as_high_as_the_window_has_stayed_at_its_character_so_far(toy):
    window = np.repeat([0, 3, 15, 3], [50, 25, 10, 15])  # 50 points fill a bar of 16 pixels
    page = toy(np.zeros((100, 2), "i2"), np.ones(100), window)
    for pen in (100, 75, 50, 20):
        part(page, "pen").fill(str(pen))
        stayed = np.bincount(window[:pen], minlength=16)
        assert page.evaluate(BARS, 16) == pytest.approx(np.minimum(1, stayed / 50) * 16, abs=1.1)


def test_text_window_bars_and_ink_are_of_their_network_update_and_point(browser, written):
    """The character under the window is bold; ink is wet for 25 points, in the network's color."""
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
                cell = min(62, wide / len(text))
                ((x, _, width, *_),) = calls(of_text[k], "roundRect")
                assert x + width / 2 == pytest.approx((place + 0.5) * cell, abs=0.01)
                letters = calls(of_text[k], "fillText")
                assert [letter for letter, *_ in letters] == [*text.replace(" ", "␣")]
                middles = [x for _, x, *_ in letters]
                np.testing.assert_allclose(middles, (np.arange(len(text)) + 0.5) * cell)
                bold = [
                    u for u, (*_, font) in enumerate(letters) if "700" in font or "bold" in font
                ]
                assert bold == [int(place + 0.5)]
                assert len(calls(of_text[k], "fillRect", tone)) == len(text)

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
