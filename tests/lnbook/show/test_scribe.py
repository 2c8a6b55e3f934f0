"""The scribe's Python half: what a page and a notebook are handed to draw, and what one types."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from lnbook.show.scribe import WEB, Scribe, packed, unpacked

EPOCHS = [0, 0.5, 1, 2]


def made(norm="layer", start="usual", seed=0, points=30, **settings):
    """A record that need not have been."""
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
        "settings": {"norm": norm, "start": start, "updates_an_epoch": 100} | settings,
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


def test_what_is_packed_comes_back_as_the_records_have_it():
    told, strokes, windows, lifts = unpacked(packed(three()))
    assert [arm["name"] for arm in told["arms"]] == [
        "No norm", "No norm, chosen start", "Layer norm",
    ]  # fmt: skip
    assert (told["text"], told["points"], told["updates"]) == (
        "the pen moves on", 30, [0, 50, 100, 200],
    )  # fmt: skip
    assert told["arms"][0]["losses"] == [3.5, 0.25, None, -0.5]
    layer, plain, chosen = three()
    for k, run in enumerate((plain, chosen, layer)):
        np.testing.assert_array_equal(strokes[k], run["arrays"]["strokes"])
        np.testing.assert_array_equal(lifts[k], run["arrays"]["lifts"])
        expected = np.clip(np.nan_to_num(run["arrays"]["window"].astype(float)), 0, 15)
        np.testing.assert_allclose(windows[k], expected, atol=0.501 / 64)
        assert (windows[k][0, 3], windows[k][1, 4]) == (0, 15)


def test_the_page_gets_one_element_and_a_reader_s_own_runs_lie_in_it():
    shown = Scribe(three())
    (inside,) = re.findall(r'<script type="text/plain">([^<]*)</script>', shown.to_html())
    assert inside == packed(three())
    assert shown.to_html().count("<div") == shown.to_html().count("</div>") == 1
    ids = {re.search(r'id="([^"]*)"', shown.to_html())[1] for _ in range(2)}
    assert len(ids) == 2


def test_a_book_gets_html_and_a_notebook_a_widget_of_the_same_files(monkeypatch):
    shown = Scribe(three())
    monkeypatch.setenv("LNLIB_STATIC", "1")
    assert shown._repr_mimebundle_()["text/html"].startswith('<div class="ln-scribe"')
    monkeypatch.delenv("LNLIB_STATIC")
    bundle = shown._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert bundle["text/plain"] == (
        "Scribe: 'the pen moves on' in 30 points, at 4 of 200 updates, by 3 networks"
    )
    (widget,) = shown.widget().children
    assert WEB.source() in widget._esm
    assert widget.data["written"] == packed(three())


def test_a_text_is_written_by_each_network_as_it_was_in_the_end():
    shown = Scribe(three(), text="abc", write=write)
    told, strokes, windows, lifts = unpacked(shown.written)
    assert (told["text"], told["points"], told["updates"]) == ("abc", 15, [200])
    assert [arm["losses"] for arm in told["arms"]] == [[-0.5]] * 3
    layer, plain, chosen = three()
    for k, run in enumerate((plain, chosen, layer)):
        assert np.all(strokes[k, 0, :12] == run["arrays"]["strokes"][0, 0, 0] + 10)
    # Who is ready first lifts the pen and rests.
    assert not strokes[2, 0, 12:].any()
    assert lifts[:, 0, 12:].tolist() == [[0] * 3, [0] * 3, [1] * 3]
    assert windows[:, 0, -1].tolist() == [2, 2, 2]
    assert shown.written in shown.to_html()
    assert repr(shown) == "Scribe: 'abc', by 3 networks after 200 updates"


def test_the_field_shows_the_new_line_and_says_what_is_wrong_with_a_text():
    shown = Scribe(three(), text="abc", write=write)
    row, said, place = shown.widget().children
    text, bias, button = row.children
    assert (text.value, place.children[0].data["written"]) == ("abc", shown.written)
    text.value = "pen & ink!"
    button.click()
    assert "text must be of &lt;letters&gt;, got &#x27;!&#x27;" in said.value
    assert place.children[0].data["written"] == shown.written
    text.value, bias.value = "ink", 2
    button.click()
    assert said.value == ""
    told, strokes, *_ = unpacked(place.children[0].data["written"])
    assert told["text"] == "ink"
    assert strokes[2, 0, 0, 0] == three()[0]["arrays"]["strokes"][0, 0, 0] + 20
    assert not button.disabled


@pytest.mark.parametrize(
    ("records", "said"),
    [
        ([], "one at least, got none; record them with"),
        ([made(), made(seed=1)], r"one of each norm and start, got two of \('layer', 'usual'\)"),
        ([made() | {"arrays": {}}], "must be of runs with keep, this one kept no strokes"),
        ([made(), made("none", points=31)], "must have one number of updates and one shape"),
        ([made(), made("none", updates_an_epoch=9)], "must have one number of updates and one"),
    ],
    ids=["none", "two", "kept nothing", "points", "updates"],
)
def test_records_that_do_not_go_together_are_refused(records, said):
    with pytest.raises(ValueError, match=f"Scribe: records must.*{said}|Scribe: records {said}"):
        Scribe(records)


def test_the_book_s_file_has_the_book_s_records_in_less_than_300_kilobytes():
    content = WEB.data["written.js"]()
    assert content == f'lnWritten("{Scribe().written}");\n'
    assert len(content) < 300_000
