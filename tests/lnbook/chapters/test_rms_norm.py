"""LayerNorm and RMSNorm of the same features with different means, compared with PyTorch."""

import re

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from lnbook.chapters.rms_norm import mean


@pytest.mark.parametrize("shift", mean.MEANS)
def test_bars_point_and_sentence_agree_with_pytorch(shift):
    layer, rms, angle = mean.outputs(shift)
    x = torch.from_numpy(mean.FEATURES + shift)
    np.testing.assert_allclose(layer, F.layer_norm(x, (8,), eps=0), atol=1e-12)
    np.testing.assert_allclose(rms, F.rms_norm(x, (8,), eps=0), atol=1e-12)
    assert angle == pytest.approx(np.degrees(np.arctan(shift)), abs=1e-5)
    x, y, angles = mean.draw(shift)
    assert np.mean(x.data[0].y) == pytest.approx(shift, abs=1e-3)
    assert list(x.data[1].y) == [shift, shift]
    for bars, values in zip(y.data, (layer, rms), strict=True):
        assert list(bars.y) == pytest.approx(list(values), abs=6e-4)
        low, high = y.layout.yaxis.range
        assert low < values.min() < values.max() < high
    assert max(x.data[0].y) < x.layout.yaxis.range[1]
    assert (angles.data[1].x[0], angles.data[1].y[0]) == (shift, pytest.approx(angle, abs=0.006))
    text = mean.describe(shift)
    assert f"{angle:.0f}°" in text
    ends = [f"{v:.2f}".replace("-", "−") for v in (layer.min(), layer.max())]
    assert all(end in re.findall(r"−?\d\.\d\d", text) for end in ends)
    if shift:
        assert f"deviation of {rms.std():.2f}" in text
