"""The Python part of the handwriting replay: data of page and notebook, and typed texts."""

import re
from types import SimpleNamespace

import numpy as np

from lnbook.widgets.replay.handwriting import HandwritingReplay, packed, unpacked
from lnlab import records

EPOCHS = [0, 0.5, 1, 2]


def made(norm="layer", start="usual", seed=0, points=30, **settings):
    """A synthetic record."""
    rng = np.random.default_rng([seed, norm == "layer", start == "usual"])
    shape = len(EPOCHS), points
    window = np.sort(15 * rng.random(shape)).astype("f2")
    window[0, 3], window[1, 4] = np.nan, 40
    arrays = {
        "strokes": rng.integers(-300, 300, size=(*shape, 2)).astype("i2"),
        "lifts": rng.integers(2, size=shape).astype("u1"),
        "window": window,
    }
    return {
        "settings": {"norm": norm, "start": start, "updates_per_epoch": 100} | settings,
        "curves": {"epoch": EPOCHS, "val_new_nll": [3.5, 0.25, None, -0.5]},
        "arrays": arrays,
    }


def three():
    return [made(), made("none"), made("none", "chosen")]


def write(run, text, bias):
    """A line that depends on the record, the text and the bias; without a norm it is longer."""
    if "!" in text:
        raise ValueError("write: text must be of <letters>, got '!'")
    count = (4 + (run["settings"]["norm"] == "none")) * len(text)
    strokes = np.full((count, 2), run["arrays"]["strokes"][0, 0, 0] + 10 * bias)
    window = np.linspace(0, len(text) - 1, count)
    return SimpleNamespace(strokes=strokes, lifts=np.zeros(count, "u1"), window=window)


def test_packed_data_can_be_decoded_to_the_records():
    header, strokes, windows, lifts = unpacked(packed(three()))
    assert (header["text"], header["updates"]) == ("the pen moves on", [0, 50, 100, 200])
    assert header["arms"][0]["losses"] == [3.5, 0.25, None, -0.5]
    layer, plain, chosen = three()
    for k, run in enumerate((plain, chosen, layer)):
        np.testing.assert_array_equal(strokes[k], run["arrays"]["strokes"])
        np.testing.assert_array_equal(lifts[k], run["arrays"]["lifts"])
        expected = np.clip(np.nan_to_num(run["arrays"]["window"].astype(float)), 0, 15)
        np.testing.assert_allclose(windows[k], expected, atol=0.501 / 64)


def test_the_page_itself_contains_the_line_of_a_typed_text(monkeypatch):
    monkeypatch.setattr(records, "read_all", lambda experiment: three())
    shown = HandwritingReplay(text="abc", write=write)
    (inside,) = re.findall(r'<script type="text/plain">([^<]*)</script>', shown.to_html())
    assert inside == shown.packed
    assert unpacked(inside)[0]["text"] == "abc"


def test_the_field_shows_the_new_line_of_each_network_or_an_error_message(monkeypatch):
    monkeypatch.setattr(records, "read_all", lambda experiment: three())
    shown = HandwritingReplay(text="abc", write=write)
    row, texts, place = shown.widget().children
    text, bias, button = row.children
    text.value = "pen & ink!"
    button.click()
    assert "got &#x27;!&#x27;" in texts.value
    assert place.children[0].data["packed"] == shown.packed
    text.value, bias.value = "ink", 2
    button.click()
    header, strokes, _, lifts = unpacked(place.children[0].data["packed"])
    assert (texts.value, header["text"], header["points"]) == ("", "ink", 15)
    layer, plain, chosen = three()
    for k, run in enumerate((plain, chosen, layer)):
        assert np.all(strokes[k, 0, :12] == run["arrays"]["strokes"][0, 0, 0] + 20)
    # The network that ends first lifts the pen and rests.
    assert not strokes[2, 0, 12:].any()
    assert lifts[:, 0, 12:].tolist() == [[0] * 3, [0] * 3, [1] * 3]
