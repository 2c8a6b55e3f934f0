"""The Python part of the transformer widget: weights of the page and of the notebook."""

import base64

import numpy as np
import pytest

from lnbook.widgets import transformer
from lnbook.widgets.transformer import TransformerWidget
from lnlab import records as record


@pytest.fixture(scope="module")
def records():
    result = record.read_all("transformer", ablate=True)
    assert [one["seed"] for one in result] == [0, 1, 2]
    return result


def decoded(sent, name, dtype):
    return np.frombuffer(base64.b64decode(sent[name]), dtype)


@pytest.mark.parametrize("seed", [0, 1])
def test_page_weights_equal_the_recorded_weights(records, seed):
    sent = (
        transformer.weights()
        if seed == 0
        else TransformerWidget(record=records[1]).options["weights"]
    )
    arrays = {name: values[-1] for name, values in records[seed]["arrays"].items()}
    for name, dtype in (("matrices", "i1"), ("scales", "<f4"), ("vectors", "<f4")):
        np.testing.assert_array_equal(decoded(sent, name, dtype), arrays[name])
    assert sent["deviations"] == arrays["norm_deviations"].tolist()
    assert sent["characters"] == "".join(map(chr, arrays["characters"]))
    assert sent["settings"].items() <= records[seed]["settings"].items()


@pytest.mark.parametrize("letters", transformer.MEASURES)
def test_recorded_losses_belong_to_their_settings(records, letters):
    name = {
        "lllll": "val_nll", "rrrrr": "nll_rms", "fffff": "nll_frozen", "ooooo": "nll_removed",
        "ffffl": "nll_frozen_but_last", "ooool": "nll_but_last", "llllo": "nll_last",
    }[letters]  # fmt: skip
    expected = [one["curves"][name][-1] for one in records]
    assert transformer.recorded()[letters] == pytest.approx(expected, abs=1e-4)
