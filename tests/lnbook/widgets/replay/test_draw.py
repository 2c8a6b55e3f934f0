"""The Python part of the DRAW replay: data of a page and of a notebook."""

import re

import numpy as np

from lnbook.widgets.replay.draw import DrawReplay, packed, unpacked

EPOCHS = [0, 0.5, 1, 2, 3]


def made(norm="layer", start="usual", seed=0, images=6, glimpses=3, **settings):
    """A synthetic record."""
    rng = np.random.default_rng([seed, norm == "layer", start == "usual"])
    shape = len(EPOCHS), images, glimpses
    arrays = {k: rng.integers(16, size=(*shape, 28, 28)).astype("u1")
              for k in ("canvas", "dream_canvas")}  # fmt: skip
    for name in ("read_window", "write_window", "dream_window"):
        arrays[name] = (20 * rng.normal(size=(*shape, 5))).astype("f2")
        arrays[name][-1, 0, 0, 0] = 9_000  # far outside the image
    return {
        "settings": {"norm": norm, "start": start, "glimpses": glimpses, "updates_per_epoch": 100,
                     "read_size": 4, "write_size": 3} | settings,
        "data": {"cases": {"test": 10_000}},
        "curves": {"epoch": EPOCHS, "test_bound": [543.5, 200.0, 150.0, None, 120.25]},
        "arrays": arrays,
    }  # fmt: skip


def three():
    return [made(), made("none"), made("none", "chosen")]


def test_packed_data_can_be_decoded_to_the_records():
    header, shades, windows = unpacked(packed(three()))
    layer, plain, chosen = three()
    assert header["updates"] == [0, 50, 100, 200, 300]
    assert header["arms"][2]["bounds"] == [543.5, 200.0, 150.0, None, 120.25]
    for k, run in enumerate((plain, chosen, layer)):
        arrays = run["arrays"]
        np.testing.assert_array_equal(shades[k, :, 0], arrays["canvas"])
        np.testing.assert_array_equal(shades[k, :, 1], arrays["dream_canvas"])
        for kind, name in enumerate(("read_window", "write_window", "dream_window")):
            expected = np.clip(arrays[name][..., :4].astype(float), -512, 511.99)
            np.testing.assert_allclose(windows[k, :, kind], expected, atol=0.51 / 64)


def test_page_and_notebook_get_the_same_data():
    shown = DrawReplay()
    web = shown.WEB
    first, second = (re.search(r'id="([^"]*)"', shown.to_html())[1] for _ in range(2))
    assert first != second
    (widget,) = shown.widget().children
    assert f"return {web.js_name}(root, async () => data.packed);" in widget._esm
    assert widget.data == {"packed": shown.packed}
    script = web.data_script("packed.js")
    assert script == f'lnLoaded["{web.name}/packed.js"]("{shown.packed}");\n'
    assert "text/plain" not in shown.to_html()  # the page loads this script
