"""The switchboard's Python half: the weights that a page and a notebook are handed."""

import base64
import html
import json
import re

import numpy as np
import pytest

from lnbook.widgets import transformer
from lnbook.widgets.transformer import WEB, TransformerWidget
from lnlab import records as record


@pytest.fixture(scope="module")
def records():
    result = record.read_all("transformer", ablate=True)
    assert [one["seed"] for one in result] == [0, 1, 2]
    return result


def test_the_page_gets_one_element_with_its_options():
    shown = TransformerWidget("a <b>\n“c”", norms="lrfol").to_html()
    options = json.loads(html.unescape(re.search(r'data-options="([^"]*)"', shown)[1]))
    assert options == {"settings": {"text": "a <b>\n“c”", "norms": "lrfol"}}
    assert shown.count("<div") == shown.count("</div>") == 1
    assert "JavaScript" in shown


def test_the_widget_runs_the_same_files_as_the_page_on_the_same_weights():
    (widget,) = TransformerWidget("Now").widget().children
    assert WEB.source() in widget._esm
    assert widget.data["settings"]["text"] == "Now"
    (sent,) = re.fullmatch(r"lnTransformerWeights\((.*)\);\n", WEB.data["weights.js"]()).groups()
    assert widget.data["weights"] == json.loads(sent)


def decoded(sent, name, dtype):
    return np.frombuffer(base64.b64decode(sent[name]), dtype)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_weights_arrive_as_the_record_has_them(records, seed):
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
def test_a_recorded_cost_is_that_of_the_setting_of_its_letters(records, letters):
    """Each setting's letters, by what the record says of its measure."""
    result = transformer.recorded()[letters]
    name = {
        "lllll": "val_nll", "rrrrr": "nll_rms", "fffff": "nll_frozen", "ooooo": "nll_removed",
        "ffffl": "nll_frozen_but_last", "ooool": "nll_but_last", "llllo": "nll_last",
    }[letters]  # fmt: skip
    expected = [one["curves"][name][-1] for one in records]
    assert result == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("norms", ["llll", "lllll ", "LLLLL", "onnnn"])
def test_letters_that_are_no_norms_are_refused(norms):
    with pytest.raises(
        ValueError, match="TransformerWidget: norms must be five letters of l, r, f, and"
    ):
        TransformerWidget(norms=norms)


def test_a_record_without_weights_or_of_another_depth_is_refused(records):
    arrays = records[0]["arrays"]
    with pytest.raises(ValueError, match="record must be of a run with ablate, this one kept no"):
        TransformerWidget(record=records[0] | {"arrays": {}})
    deeper = {"norm_deviations": np.ones((1, 7), "f4")}
    with pytest.raises(ValueError, match="must be of a model with 5 norms, got 7; train one of"):
        TransformerWidget(record=records[0] | {"arrays": arrays | deeper})
