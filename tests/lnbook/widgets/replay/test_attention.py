"""The Python part of the attention replay: data of a page and of a notebook."""

import numpy as np

from lnbook.widgets.replay import attention
from lnbook.widgets.replay.attention import attends, packed, questions, unpacked

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


def test_attention_to_the_right_name_is_summed_over_its_occurrences():
    run = made()
    saved = run["arrays"]["attention"].astype(float)
    expected = np.stack([saved[:, 0, 1] + saved[:, 0, 6], saved[:, 1, 4]], 1)
    np.testing.assert_allclose(attends(run), expected)


def test_packed_data_can_be_decoded_to_the_records():
    runs = six()
    header, chances, weights = unpacked(packed(runs))
    assert [header["arms"][k]["name"] for k in header["shown"]] == list(attention.SHOWN)
    assert header["updates"] == [0, 5, 10, 20]
    assert header["arms"][0]["errors"] == [0.8, 0.75, 0.6123, 0.5]
    assert header["questions"][0]["passage"] == questions(made())[0].passage
    for k, run in {5: runs[0], 4: runs[1], 2: runs[2], 3: runs[3], 0: runs[4]}.items():
        np.testing.assert_allclose(chances[k], run["arrays"]["chances"], atol=6e-5)
        # Square roots in 255 levels: the error is at most half a level.
        own = run["arrays"]["attention"].astype(float)
        np.testing.assert_allclose(np.sqrt(weights[k]), np.sqrt(own), atol=0.51 / 255)
