"""Input and output dtypes of PyTorch's norms, as on the page on mixed precision."""

import pytest
import torch

from lnbook.chapters.mixed_precision import LAYERS, observe, recorded


def test_the_recording_contains_every_combination_once():
    recording = recorded()
    assert set(recording["found"]) == set(observe("cpu"))
    assert len(recording["found"]) == len(LAYERS) * 3**3
    assert set(recording) == {"device", "torch", "date", "found"}


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_a_gpu_reproduces_the_recording():
    observed, before = observe("cuda"), recorded()["found"]
    same = [key for key in observed if key[0] != "nn.RMSNorm"]  # whose dtype changed in 2.12
    assert {key: observed[key] for key in same} == {key: before[key] for key in same}
