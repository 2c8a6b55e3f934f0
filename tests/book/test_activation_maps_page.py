"""The activation maps in a browser: numbers of the records, controls, colors."""

import numpy as np
import pytest

from lnbook.figures import colors
from lnbook.widgets.replay.activation_maps import FILES, WEB, of_book, unpacked
from tests.book.conftest import Widget
from tests.cases.canvas_log import calls, drawn, logs
from tests.cases.readouts import check_says


@pytest.fixture(scope="module")
def recorded():
    return {name: unpacked(of_book(*FILES[name])) for name in ("mnist-0", "fashion_small-4")}


def number(v, statistic):
    text = f"{100 * v:.0f}%" if statistic == "on" else f"{v:.2f}"
    return text.replace("-", "−")


def choose(w, **values):
    for name, value in values.items():
        w.root.locator(f"[data-of='{name}'][value='{value}']").check(force=True)


def choose_other_images(w):
    """Fashion-MNIST, cropped by 4 pixels, whose file is loaded then."""
    choose(w, pictures="fashion_small", crop=4)
    w.part("says").filter(has_text="Fashion-MNIST, 4").wait_for()


@pytest.mark.every_browser
def test_controls_change_image_layer_statistic_channel_and_update(use, recorded):
    def holds(name, layer, statistic, point):
        for k, arm in enumerate(recorded[name][0]["arms"]):
            statistics = arm["layers"][layer - 1]["statistics"]
            plain = statistic.removeprefix("before_")
            one = statistics.get(statistic, statistics[plain])["border"][point]
            assert w.texts("border")[k] == f"border {number(one[0], plain)}"
            assert w.texts("rest")[k] == f"interior {number(one[1], plain)}"
            digits = (1, 100) if plain == "on" else (2, 1)
            difference, low, high = (
                f"{digits[1] * end:+.{digits[0]}f}" for end in (one[0] - one[1], *one[2:])
            )
            check_says(w.texts("apart")[k].replace("−", "-"), difference, low, high)

    with use("convnet", "activation-maps", reduced_motion="no-preference") as w:
        holds("mnist-0", 1, "on", 3)
        w.press("point", "Home")  # the border of the layer norm network is active from the start
        assert w.text("point-told") == "before the first update"
        holds("mnist-0", 1, "on", 0)
        choose_other_images(w)
        choose(w, statistic="mean", layer=2)
        w.press("point", "ArrowRight")
        holds("fashion_small-4", 3, "mean", 1)
        choose(w, before=1)
        holds("fashion_small-4", 3, "before_mean", 1)

        # Select a channel with the slider and with its small map.
        w.press("channel", *["ArrowRight"] * 10)
        assert w.text("channel-told") == "channel 10 of 32"
        small = w.root.locator(".ln-activation-maps-small").last
        side = small.bounding_box()["width"] / 8
        small.click(position={"x": 1.5 * side, "y": 1.5 * side})  # the tenth: back to all
        assert w.text("channel-told") == "mean of all 32"
        small.click(position={"x": 7.5 * side, "y": 0.5 * side})
        assert w.text("channel-told") == "channel 8 of 32"


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

    def holds(name, layer, channel, statistic, point=-1, before=False):
        maps = logs(page, ".ln-activation-maps-arm .ln-activation-maps-map")
        for log, layers in zip(maps, recorded[name][2], strict=True):
            (whole_map, *_), *_ = calls(log, "drawImage")
            pixels = np.array(whole_map)[:, None] >> [16, 8, 0] & 255
            expected = shades(layers[layer - 1], statistic, before, point, channel)
            np.testing.assert_allclose(pixels, expected, atol=4)

    with drawn(browser, WEB, files, card=CARD, ink="#000000") as page:
        w = Widget(page, "activation-maps")
        holds("mnist-0", 1, 0, "on")
        choose_other_images(w)
        choose(w, statistic="mean", layer=1)
        w.part("point").fill("1")
        w.part("channel").fill("5")
        holds("fashion_small-4", 2, 5, "mean", 1)
        choose(w, before=1, statistic="deviation")
        holds("fashion_small-4", 2, 5, "deviation", 1, True)
