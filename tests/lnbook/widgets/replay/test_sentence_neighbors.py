"""The Python part of the sentence maps: data of a page and of a notebook."""

import numpy as np
import pytest

from lnbook.widgets.replay import sentence_neighbors
from lnbook.widgets.replay.sentence_neighbors import agreement, packed, sentences, unpacked
from lnlab.experiments.skip_thoughts.run import words as read

EPOCHS = [0, 0.5, 1, 2]
TEXTS = ['"Come in!" said Holmes.', "I am--here, sir.\"", "“She said”", "Who? Me?", '"Is that it?"',
         "He said that it was not so bad at all."]  # fmt: skip


def made(norm="layer", start="code", seed=0, texts=TEXTS, **settings):
    """A synthetic record."""
    rng = np.random.default_rng([seed, norm == "layer", start == "code"])
    count = len(texts)
    encoded = np.stack([np.frombuffer(t.encode().ljust(60, b"\0"), "u1") for t in texts])
    nearest = [[rng.permutation([j for j in range(count) if j != k])[:3] for k in range(count)]
               for _ in EPOCHS]  # fmt: skip
    return {
        "settings": {"norm": norm, "start": start, "updates_per_epoch": 100, "hidden": 7}
        | settings,
        "curves": {"epoch": EPOCHS, "val_nll": [7.6, 5.0, None, 4.25]},
        "arrays": {
            "map": (9 * rng.normal(size=(len(EPOCHS), count, 4))).astype("f2"),
            "explained": np.tile([0.5, 0.25, 0.1, 0.05], (len(EPOCHS), 1)).astype("f2"),
            "neighbors": np.array(nearest, "u2"),
            "texts": np.stack([encoded] * len(EPOCHS)),
        },
    }  # fmt: skip


def three():
    return [made(), made("none"), made("none", "scaled")]


def test_packed_data_can_be_decoded_to_the_records():
    header, places, nearest = unpacked(packed(three()))
    layer, plain, chosen = three()
    assert header["arms"][2]["losses"] == [7.6, 5.0, None, 4.25]
    assert header["texts"] == sentences(layer)
    assert [(one["name"], one["members"]) for one in header["categories"]] == [
        ("questions", [3, 4]), ("“I”", [1]), ("he, she", [2, 5]), ("8+ words", [5]),
    ]  # fmt: skip
    for k, run in enumerate((plain, chosen, layer)):
        np.testing.assert_array_equal(nearest[k], run["arrays"]["neighbors"])
        for point in range(len(EPOCHS)):  # rotated or reflected: distances are unchanged
            saved = run["arrays"]["map"][point, :, :2].astype(float)
            far, shown = (np.linalg.norm(x[:, None] - x, axis=-1)
                          for x in (saved, places[k, point].astype(float)))  # fmt: skip
            np.testing.assert_allclose(shown, far * shown.max() / far.max(), atol=2.5)


def test_neighbors_of_the_same_category_are_counted_next_to_their_chance_level():
    run = made()
    run["arrays"]["neighbors"][:] = 5
    run["arrays"]["neighbors"][0, 3] = [4, 0, 1]  # one of two questions has the other
    shares, chance = agreement(run, "questions")
    assert shares.tolist() == pytest.approx([1 / 6, 0, 0, 0])
    assert chance == pytest.approx(1 / 5)


def test_sentences_are_tidied_and_split_as_for_the_networks():
    tidied = sentences(made())
    assert tidied[:3] == ["‘Come in!’ said Holmes.", "I am – here, sir.", "“She said”"]
    for text in [*TEXTS, *tidied]:
        assert sentence_neighbors.words(text) == read(text)
