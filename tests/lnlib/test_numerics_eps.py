"""What eps leaves of small numbers, beside PyTorch and a loop."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from lnlib.numerics import deviation_after

SIZES = np.array([1e-6, 1e-4, 1e-3, 1.0, 20.0])


def drawn(size):
    x = np.random.default_rng(1).normal(size=50)
    return size * (x - x.mean()) / x.std() + 3 * size


@pytest.mark.parametrize("eps", [1e-8, 1e-5, 1e-3])
def test_inside_the_root_it_is_the_deviation_of_what_pytorch_puts_out(eps):
    out = [
        F.layer_norm(torch.tensor(drawn(size)), (50,), eps=eps).std(correction=0) for size in SIZES
    ]
    np.testing.assert_allclose(deviation_after(SIZES, eps=eps), out, rtol=1e-6)


@pytest.mark.parametrize("eps", [1e-8, 1e-5, 1e-3])
def test_outside_the_root_it_is_that_of_a_loop(eps):
    out = []
    for size in SIZES:
        x = drawn(size).tolist()
        mean = sum(x) / len(x)
        std = (sum((v - mean) ** 2 for v in x) / len(x)) ** 0.5
        out.append(np.std([(v - mean) / (std + eps) for v in x]))
    np.testing.assert_allclose(deviation_after(SIZES, eps=eps, place="outside"), out, rtol=1e-9)


def test_without_eps_every_size_becomes_one():
    np.testing.assert_allclose(deviation_after(SIZES, eps=0), 1, rtol=1e-12)


def test_another_place_is_refused():
    with pytest.raises(ValueError, match="place must be inside or outside, got 'lua'"):
        deviation_after(1.0, place="lua")
