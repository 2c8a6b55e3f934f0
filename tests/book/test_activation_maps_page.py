"""The activation maps in a browser: numbers of the records, controls, colors."""

import numpy as np
import pytest

from lnbook.figures import colors
from lnbook.widgets.replay.activation_maps import FILES, WEB, of_book, unpacked
from tests.cases.canvas_log import calls, drawn, logs
from tests.cases.readouts import check_says

READY = "document.querySelector('.ln-activation-maps')?.dataset.ready === 'yes'"


@pytest.fixture(scope="module")
def recorded():
    return {name: unpacked(of_book(*FILES[name])) for name in ("mnist-0", "fashion_small-4")}


def number(v, statistic):
    text = f"{100 * v:.0f}%" if statistic == "on" else f"{v:.2f}"
    return text.replace("-", "−")


@pytest.mark.every_browser
def test_controls_change_image_layer_statistic_channel_and_update(visit, built_book, recorded):
    with visit(built_book.as_uri(), "convnet") as v:
        page = v.page
        page.wait_for_function(READY)
        whole = page.locator(".ln-activation-maps")

        def part(name):
            return whole.locator(f"[data-part='{name}']").all_inner_texts()

        def choose(name, value):
            whole.locator(f"[data-of='{name}'][value='{value}']").check(force=True)

        def holds(name, layer, statistic, point):
            for k, arm in enumerate(recorded[name][0]["arms"]):
                statistics = arm["layers"][layer - 1]["statistics"]
                plain = statistic.removeprefix("before_")
                one = statistics.get(statistic, statistics[plain])["border"][point]
                assert part("border")[k] == f"border {number(one[0], plain)}"
                assert part("rest")[k] == f"interior {number(one[1], plain)}"
                digits = (1, 100) if plain == "on" else (2, 1)
                difference, low, high = (
                    f"{digits[1] * end:+.{digits[0]}f}" for end in (one[0] - one[1], *one[2:])
                )
                check_says(part("apart")[k].replace("−", "-"), difference, low, high)

        holds("mnist-0", 1, "on", 3)

        # By keyboard: back to the beginning, where the border of the layer norm network is active.
        whole.locator("[data-part='point']").focus()
        page.keyboard.press("Home")
        assert part("point-told") == ["before the first update"]
        holds("mnist-0", 1, "on", 0)

        # Another kind of image: its file is loaded, and the numbers are those of its record.
        choose("pictures", "fashion_small")
        choose("cut", 4)
        page.wait_for_function(
            "document.querySelector('[data-part=says]').textContent.startsWith('Fashion-MNIST, 4')"
        )
        choose("statistic", "mean")
        choose("layer", 2)
        whole.locator("[data-part='point']").focus()
        page.keyboard.press("ArrowRight")
        holds("fashion_small-4", 3, "mean", 1)
        choose("before", 1)
        holds("fashion_small-4", 3, "before_mean", 1)

        # Select a channel with the slider and with its small map; the numbers are only those of its
        # map.
        whole.locator("[data-part='channel']").focus()
        for _ in range(10):
            page.keyboard.press("ArrowRight")
        assert part("channel-told") == ["channel 10 of 32"]
        small = page.locator(".ln-activation-maps-small").last
        side = small.bounding_box()["width"] / 8
        small.click(position={"x": 1.5 * side, "y": 1.5 * side})  # the tenth: back to all
        assert part("channel-told") == ["mean of all 32"]
        small.click(position={"x": 7.5 * side, "y": 0.5 * side})
        assert part("channel-told") == ["channel 8 of 32"]
        assert not v.complaints
        assert not v.outside


CARD = "#ffffff"


def rgb(color):
    return np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)])


def shades(layer, statistic, before, point, channel):
    """The color of each position of a map, by its difference from the mean of the interior.

    Full color stands for half of all images, or two standard deviations of the interior or of the
    map.
    """

    def of(name):
        every = layer.get(f"before_{name}" if before else name, layer[name])[point]
        return every[channel - 1] if channel else every.mean(0)

    shown, spread = of(statistic), of("deviation")[1:-1, 1:-1].mean()
    rest = shown[1:-1, 1:-1].mean()
    full = {"on": 0.5, "mean": 2 * spread, "deviation": rest}[statistic]
    far = (shown.reshape(-1, 1) - rest) / full
    ends = np.where(far > 0, rgb(colors.COLORS["positive"]), rgb(colors.COLORS["negative"]))
    return rgb(CARD) + np.minimum(1, abs(far)) * (ends - rgb(CARD))


def test_maps_have_the_colors_of_the_selected_numbers(browser, recorded):
    files = {f"{name}.js": of_book(*FILES[name]) for name in recorded}
    with drawn(browser, WEB, files, card=CARD, ink="#000000") as page:
        whole = page.locator(".ln-activation-maps")

        def part(name):
            return whole.locator(f"[data-part='{name}']")

        def choose(**values):
            for name, value in values.items():
                whole.locator(f"[data-of='{name}'][value='{value}']").check(force=True)

        def holds(name, layer, channel, statistic, point=-1, before=False):
            maps = logs(page, ".ln-activation-maps-arm .ln-activation-maps-map")
            for log, layers in zip(maps, recorded[name][2], strict=True):
                (whole_map, *_), *_ = calls(log, "drawImage")
                pixels = np.array(whole_map)[:, None] >> [16, 8, 0] & 255
                expected = shades(layers[layer - 1], statistic, before, point, channel)
                np.testing.assert_allclose(pixels, expected, atol=4)

        holds("mnist-0", 1, 0, "on")
        choose(pictures="fashion_small", cut=4)
        page.wait_for_function(
            "document.querySelector('[data-part=says]').textContent.startsWith('Fashion-MNIST, 4')"
        )
        choose(statistic="mean", layer=1)
        part("point").fill("1")
        part("channel").fill("5")
        holds("fashion_small-4", 2, 5, "mean", 1)
        choose(before=1, statistic="deviation")
        holds("fashion_small-4", 2, 5, "deviation", 1, True)
