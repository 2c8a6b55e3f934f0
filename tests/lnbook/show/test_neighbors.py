"""The maps of sentences, their Python half: what a page and a notebook are handed to draw."""

import re

import numpy as np
import pytest

from lnbook.show import neighbors
from lnbook.show.neighbors import _WORDS, WEB, Neighbors, alike, packed, sentences, unpacked
from lnlib.experiments.skip_thoughts.run import words
from lnlib.runs import record

EPOCHS = [0, 0.5, 1, 2]
TEXTS = ['"Come in!" said Holmes.', "I am--here, sir.\"", "“She said”", "Who? Me?", '"Is that it?"',
         "He said that it was not so bad at all."]  # fmt: skip


def made(norm="layer", start="code", seed=0, texts=TEXTS, **settings):
    """A record that need not have been."""
    rng = np.random.default_rng([seed, norm == "layer", start == "code"])
    count = len(texts)
    told = np.stack([np.frombuffer(t.encode().ljust(60, b"\0"), "u1") for t in texts])
    nearest = [[rng.permutation([j for j in range(count) if j != k])[:3] for k in range(count)]
               for _ in EPOCHS]  # fmt: skip
    return {
        "settings": {"norm": norm, "start": start, "updates_an_epoch": 100, "hidden": 7} | settings,
        "curves": {"epoch": EPOCHS, "val_nll": [7.6, 5.0, None, 4.25]},
        "arrays": {
            "map": (9 * rng.normal(size=(len(EPOCHS), count, 4))).astype("f2"),
            "explained": np.tile([0.5, 0.25, 0.1, 0.05], (len(EPOCHS), 1)).astype("f2"),
            "neighbors": np.array(nearest, "u2"),
            "texts": np.stack([told] * len(EPOCHS)),
        },
    }  # fmt: skip


def three():
    return [made(), made("none"), made("none", "scaled")]


@pytest.fixture(scope="module")
def book():
    found = [run for run in record.read_all("skip_thoughts") if "map" in run["arrays"]]
    assert found
    return found


def test_a_sentence_loses_the_marks_around_it_and_keeps_those_within_as_a_pair():
    assert sentences(made()) == [
        "‘Come in!’ said Holmes.", "I am – here, sir.", "“She said”", "Who? Me?", "Is that it?",
        "He said that it was not so bad at all.",
    ]  # fmt: skip
    assert neighbors._tidy('Then he said, "Go.') == "Then he said, ‘Go.’"
    assert neighbors._tidy("He said:--") == "He said: –"


def test_what_is_packed_comes_back_as_the_records_have_it():
    told, places, nearest = unpacked(packed(three()))
    layer, plain, chosen = three()
    assert [arm["name"] for arm in told["arms"]] == [
        "No norm", "No norm, chosen start", "Layer norm",
    ]  # fmt: skip
    assert told["updates"] == [0, 50, 100, 200]
    assert told["arms"][2]["losses"] == [7.6, 5.0, None, 4.25]
    assert told["arms"][0]["explained"] == [0.75] * 4
    assert told["texts"] == sentences(layer)
    assert [(one["name"], one["of"]) for one in told["alike"]] == [
        ("questions", [3, 4]), ("“I”", [1]), ("he, she", [2, 5]), ("8+ words", [5]),
    ]  # fmt: skip
    assert [one["luck"] for one in told["alike"]] == [0.2, 0, 0.2, 0]
    for k, run in enumerate((plain, chosen, layer)):
        np.testing.assert_array_equal(nearest[k], run["arrays"]["neighbors"])
        assert told["arms"][k]["alike"][0] == alike(run, "questions")[0].round(4).tolist()
        for point in range(len(EPOCHS)):  # turned or mirrored: no distance has changed
            kept = run["arrays"]["map"][point, :, :2].astype(float)
            far, shown = (np.linalg.norm(x[:, None] - x, axis=-1)
                          for x in (kept, places[k, point].astype(float)))  # fmt: skip
            np.testing.assert_allclose(shown, far * shown.max() / far.max(), atol=2.5)


def test_each_map_is_turned_onto_the_next_and_the_last_onto_layer_norm_s():
    rng = np.random.default_rng(0)
    still = np.pad(rng.normal(size=(30, 2)) * [5, 2], ((0, 0), (0, 2)))
    angle = 0.7
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    runs = [made(norm, texts=[f"{k} is it?" for k in range(30)]) for norm in ("none", "layer")]
    for k, run in enumerate(runs):
        maps = [still.copy() for _ in EPOCHS]
        for point, one in enumerate(maps):
            one[:, :2] = one[:, :2] @ np.linalg.matrix_power(turn, point + 3 * k) * [1, -1]
        run["arrays"]["map"] = np.stack(maps)
    _, places, _ = unpacked(packed(runs))
    for map_of in places.reshape(-1, 30, 2):
        np.testing.assert_allclose(map_of, places[1, -1], atol=1)
    assert 99 <= np.abs(places / [1, neighbors.HIGH]).max() <= neighbors.FRAME + 1


def test_the_nearest_that_are_alike_are_counted_beside_luck():
    run = made()
    run["arrays"]["neighbors"][:] = 5
    run["arrays"]["neighbors"][0, 3] = [4, 0, 1]  # of two questions one has the other
    shares, luck = alike(run, "questions")
    assert shares.tolist() == pytest.approx([1 / 6, 0, 0, 0])
    assert luck == pytest.approx(1 / 5)


def test_the_page_gets_one_element_and_a_reader_s_own_runs_lie_in_it(book):
    ours, own = Neighbors().to_html(), Neighbors(three()).to_html()
    assert ours.count("<div") == ours.count("</div>") == 1
    assert "<script" not in ours
    (inside,) = re.findall(r'<script type="text/plain">([^<]*)</script>', own)
    assert inside == packed(three())
    ids = {re.search(r'id="([^"]*)"', html)[1] for html in (ours, own)}
    assert len(ids) == 2


def test_a_book_gets_html_and_a_notebook_a_widget_of_the_same_files(monkeypatch):
    shown = Neighbors(three())
    monkeypatch.setenv("LNLIB_STATIC", "1")
    assert shown._repr_mimebundle_()["text/html"].startswith('<div class="ln-neighbors"')
    monkeypatch.delenv("LNLIB_STATIC")
    bundle = shown._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert bundle["text/plain"] == (
        "Neighbors: 6 sentences and the 3 nearest to each, at 4 of 200 updates, by 3 networks"
    )
    (widget,) = shown.widget().children
    assert WEB.source() in widget._esm
    assert widget.data["packed"] == packed(three())


def test_the_book_s_file_has_the_book_s_records_in_less_than_300_kilobytes(book):
    content = WEB.data["packed.js"]()
    assert content == f'lnNear("{packed(book)}");\n'
    assert len(content) < 300_000


def test_no_sentence_of_the_book_is_its_own_neighbor(book):
    _, _, nearest = unpacked(packed(book))
    own = np.arange(nearest.shape[2])[:, None]
    assert not (nearest == own).any()
    assert nearest.max() < len(own)


@pytest.mark.parametrize(
    ("records", "said"),
    [
        ([], "one at least, got none; record them with"),
        ([made(), made(seed=1)], r"one of each norm and start, got two of \('layer', 'code'\)"),
        ([made() | {"arrays": {}}], "must be of runs with keep, this one kept no map; record it"),
        ([made(), made("none", texts=TEXTS[:5])], "must have one number of updates and one shape"),
        ([made(), made("none", updates_an_epoch=99)], "must have one number of updates and one sh"),
    ],
    ids=["none", "two", "kept nothing", "sentences", "updates"],
)
def test_records_that_do_not_go_together_are_refused(records, said):
    with pytest.raises(ValueError, match=f"Neighbors: records must.*{said}|records {said}"):
        Neighbors(records)


def test_words_are_those_that_the_networks_read():
    for text in ("'Don't!' said Mr. Hyde.", "Is it 8 o'clock? No!", "She's, he's -- “I”."):
        assert _WORDS.findall(text.lower()) == words(text)
