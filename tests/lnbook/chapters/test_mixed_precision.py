"""Which dtypes enter and leave PyTorch's norms, as the page on mixed precision has it."""

import pytest
import torch

from lnbook.chapters.mixed_precision import LAYERS, observe, recorded


def test_the_recording_has_every_combination_once():
    recording = recorded()
    assert set(recording["found"]) == set(observe("cpu"))
    assert len(recording["found"]) == len(LAYERS) * 3**3
    assert set(recording) == {"device", "torch", "date", "found"}


def test_a_layer_in_one_dtype_returns_it_and_a_refusal_is_an_error():
    for (name, weights, cast, given), output in observe("cpu").items():
        if weights == given and cast == "off":
            assert output == given, name
        assert output in ("float32", "float16", "bfloat16") or "dtype" in output, output


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_a_gpu_gives_what_was_recorded():
    observed, before = observe("cuda"), recorded()["found"]
    same = [
        key for key in observed if key[0] != "nn.RMSNorm"
    ]  # its dtype changed with PyTorch 2.12
    assert {key: observed[key] for key in same} == {key: before[key] for key in same}
