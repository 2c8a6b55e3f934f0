"""Figures compared with PyTorch computations from the formulas."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from lnbook.chapters.paper_vs_code import figures
from tests.cases.drawn import heights as lines


@pytest.mark.parametrize("size", figures.SIZES)
def test_the_std_of_points_and_curves_equals_that_of_pytorch(size):
    curves, units = (lines(figure) for figure in figures.draw_eps(size, 1e-4))
    at = round(10 * np.log10(size)) + 60  # index in the 61 points of the curves
    for (label, *_), factor in zip(
        figures.EPS_PLACEMENTS.values(), (1, *factors(size, 1e-4)), strict=True
    ):
        assert curves[label][at] == pytest.approx(factor, abs=6e-4)
        np.testing.assert_allclose(units[label], factor * figures._units(), atol=6e-4)


def factors(size, eps):
    """The std of PyTorch's output with eps inside the root; and the result of a division."""
    x = torch.tensor([[-size, size]], dtype=torch.float64)
    return float(F.layer_norm(x, (2,), eps=eps)[0, 1]), size / (size + eps)


def in_torch(form, bias, factor):
    """One step in PyTorch from the formulas, with the same numbers."""
    x, h, c, W_ih, W_hh, b = (torch.tensor(array) for array in figures._cell())
    b = bias * b

    def norm(a):
        return F.layer_norm(a, a.shape[-1:], eps=0)

    part = F.linear(factor * x, W_ih, b if form == "theano" else None)
    gates = norm(part) + norm(F.linear(h, W_hh)) + b
    i, f, g, o = gates.chunk(4, dim=1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return gates.numpy(), (o.sigmoid() * norm(c).tanh()).numpy()


@pytest.mark.parametrize("form", figures.STYLES)
@pytest.mark.parametrize(("bias", "factor"), [(0.0, 1.0), (0.5, 0.1), (1.0, 10.0)])
def test_gates_and_outputs_equal_those_of_pytorch(form, bias, factor):
    gates, out = in_torch(form, bias, factor)
    np.testing.assert_allclose(figures.summed(form, bias, factor), gates, atol=1e-10)
    np.testing.assert_allclose(figures.output(form, bias, factor), out, atol=1e-10)
