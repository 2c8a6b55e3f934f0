"""LayerNorm and RMSNorm of the same features with different means, compared with PyTorch."""

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
    _, y, angles = mean.draw(shift)
    for bars, values in zip(y.data, (layer, rms), strict=True):
        assert list(bars.y) == pytest.approx(list(values), abs=6e-4)
    assert (angles.data[1].x[0], angles.data[1].y[0]) == (shift, pytest.approx(angle, abs=0.006))
    assert f"{angle:.0f}°" in mean.describe(shift)
