"""Figures and sentences about one example follow the formulas."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from lnbook.chapters.layer_norm_from_scratch import figures

EXACT = 1e-12
A = np.array([2.0, -1.0, 0.5, 3.0, 1.0, -4.0])
GAIN, BIAS = np.array([1.2, 0.3, -0.8, 1.0, 2.0, 0.5]), np.linspace(-1, 1, 6)


def y_of(figure):
    return [np.array(trace.y, dtype=float) for trace in figure.data]


@pytest.mark.parametrize("shift", [-6.0, 0.0, 2.5])
@pytest.mark.parametrize("scale", [0.25, 1.0, 2.0])
def test_the_last_step_is_layer_norm_for_any_shift_and_scale(shift, scale):
    before, after = figures.draw_steps(A, GAIN, BIAS, 3, shift, scale)
    np.testing.assert_allclose(y_of(before)[0], scale * A + shift, atol=EXACT)
    expected = F.layer_norm(*map(torch.tensor, (A,)), (6,), *map(torch.tensor, (GAIN, BIAS)), eps=0)
    np.testing.assert_allclose(y_of(after)[0], expected.numpy(), atol=EXACT)
    text = figures.describe_steps(A, GAIN, BIAS, 3, shift, scale)
    assert (
        f"unit 1, {scale * A[0] + shift:.2f}, becomes {expected[0]:.2f}".replace("-", "−") in text
    )
