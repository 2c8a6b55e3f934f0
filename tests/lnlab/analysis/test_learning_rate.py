"""The effective learning rate: steps compared with autograd and Pythagoras' theorem."""

import numpy as np
import pytest
import torch

from lnlab.analysis.learning_rate import spiral

EXACT = 1e-12


@pytest.mark.parametrize(("length", "rate"), [(0.5, 1.0), (1.0, 0.3), (2.0, 0.1)])
def test_steps_equal_those_of_a_scale_invariant_loss(length, rate):
    w = torch.tensor([length, 0.0], dtype=torch.float64, requires_grad=True)
    tips, _, turns = spiral(length, rate, 40)
    assert tips.shape == (41, 2)
    for tip, turn in zip(tips[1:], turns, strict=True):
        before = torch.atan2(w[1], w[0])
        (gradient,) = torch.autograd.grad(-before, w)
        w = (w - rate * gradient).detach().requires_grad_()
        np.testing.assert_allclose(tip, w.detach(), atol=EXACT)
        turned = (torch.atan2(w[1], w[0]) - before) % (2 * np.pi)
        assert turn == pytest.approx(np.degrees(turned.item()))
