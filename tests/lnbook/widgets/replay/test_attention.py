"""The Python part of the attention replay: data of a page and of a notebook."""

import numpy as np
import pytest

from lnbook.widgets.replay import attention
from lnbook.widgets.replay.attention import (
    WEB,
    AttentionReplay,
    attends,
    packed,
    questions,
    unpacked,
)
from lnlab import records

EPOCHS = [0, 0.5, 1, 2]
ASKED = [
    "then @e3 said to @e0 , @e3 am i .\n@blank spoke to @e0 .\n@e3\n1samuel 17:32",
    'and @e1 went to @e2 .\n" to @blank he went " .\n@e2\nsongofsolomon 3:7',
]
LONGEST = 12


def made(norm="layer", start="usual", gain=None, seed=0, texts=ASKED, questions=320):
    """A synthetic record, with batches of 32."""
    gain = {"none": 1.0, "layer": 1.0}.get(norm, 0.1) if gain is None else gain
    rng = np.random.default_rng([seed, len(norm), start == "usual", int(10 * gain)])
    attention = np.zeros((len(EPOCHS), len(texts), LONGEST))
    for k, text in enumerate(texts):
        words = len(text.split("\n")[0].split())
        attention[:, k, :words] = rng.dirichlet(np.ones(words), len(EPOCHS))
    encoded = np.stack([np.frombuffer(text.encode().ljust(90, b"\0"), "u1") for text in texts])
    return {
        "settings": {"norm": norm, "start": start, "gain": gain, "batch_size": 32},
        "seed": seed,
        "data": {"cases": {"train_questions": questions}},
        "curves": {"epoch": EPOCHS, "val_error": [0.8, 0.75, 0.61234, 0.5]},
        "arrays": {
            "attention": attention.astype("f2"),
            "chances": rng.dirichlet(np.ones(12), (len(EPOCHS), len(texts))).astype("f2"),
            "text": np.stack([encoded] * len(EPOCHS)),
        },
    }


def six():
    return [made(), made(gain=0.1), made("batch"), made("batch_everywhere"), made("none"),
            made("none", "chosen")]  # fmt: skip


@pytest.fixture(scope="module")
def book():
    runs = records.read_all("attentive_reader", epochs=10)
    runs = [run for run in runs if "attention" in run["arrays"]]
    assert runs
    return runs


def test_questions_are_read_with_formatted_references():
    first, second = questions(made())
    assert (first.passage[1], first.query[0], first.answer) == ("@e3", "@blank", "@e3")
    assert (first.right, first.verse) == (3, "1 Samuel 17:32")
    assert (second.right, second.verse) == (2, "Song of Solomon 3:7")
    assert attention._verse("genesis 31:13") == "Genesis 31:13"


def test_attention_to_the_right_name_is_summed_over_its_occurrences():
    run = made()
    saved = run["arrays"]["attention"].astype(float)
    expected = np.stack([saved[:, 0, 1] + saved[:, 0, 6], saved[:, 1, 4]], 1)
    np.testing.assert_allclose(attends(run), expected)


def test_packed_data_can_be_decoded_to_the_records():
    header, chances, weights = unpacked(packed(six()))
    assert [arm["name"] for arm in header["arms"]] == [
        "No norm", "No norm (tuned initialization)", "Batch norm in the LSTM",
        "Batch norm everywhere",
        "Layer norm, gain 0.1", "Layer norm",
    ]  # fmt: skip
    assert [header["arms"][k]["name"] for k in header["shown"]] == list(attention.SHOWN)
    assert header["updates"] == [0, 5, 10, 20]
    assert header["arms"][0]["errors"] == [0.8, 0.75, 0.6123, 0.5]
    assert [one["verse"] for one in header["questions"]] == [
        "1 Samuel 17:32",
        "Song of Solomon 3:7",
    ]
    assert header["questions"][0]["passage"] == questions(made())[0].passage
    for k, run in {5: six()[0], 4: six()[1], 2: six()[2], 3: six()[3], 0: six()[4]}.items():
        np.testing.assert_allclose(chances[k], run["arrays"]["chances"], atol=6e-5)
        # Square roots in 255 levels: the error is at most half a level.
        own = run["arrays"]["attention"].astype(float)
        np.testing.assert_allclose(np.sqrt(weights[k]), np.sqrt(own), atol=0.51 / 255)


def test_the_first_question_has_the_largest_increase_of_attention():
    runs = six()
    for run in runs:
        saved = run["arrays"]["attention"]
        saved[:] = 0
        saved[:, :, 0] = 1
        saved[-1, 1, [0, 4]] = 0.4, 0.6  # the second question, its name
        saved[-1, 0, [0, 1]] = 0.5, 0.5
    runs[1]["arrays"]["attention"][-1, 0, [0, 1]] = 0, 1  # gain 0.1, which is not shown first
    assert unpacked(packed(runs))[0]["first"] == 1
    for k in (0, 2, 4):
        runs[k]["arrays"]["attention"][-1, 0, [0, 1]] = 0.3, 0.7
    assert unpacked(packed(runs))[0]["first"] == 0


def test_page_and_notebook_get_the_same_data(handed):
    handed(AttentionReplay(), AttentionReplay(six()), (
        "AttentionReplay: 2 questions, at 4 of 20 updates, by 6 networks"
    ))  # fmt: skip


def test_the_file_of_the_book_has_the_first_seed_and_less_than_100_kb(book):
    assert AttentionReplay().packed == packed([run for run in book if run["seed"] == 0])
    assert len(WEB.data["packed.js"]()) < 100_000
