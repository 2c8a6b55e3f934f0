"""Arguments that have been renamed are still taken by their former names."""

import numpy as np
import pytest
import torch

from lnlib import numerics, transformer
from lnlib.nn.transformer import Transformer

X = np.arange(12.0).reshape(3, 4)
PARAMS = {
    **{name: np.eye(4) for name in ("W_q", "W_k", "W_v", "W_o")},
    **{name: np.ones((4, 4)) for name in ("W_1", "W_2")},
}


def weights(**arguments):
    torch.manual_seed(0)
    return list(Transformer(5, depth=1, width=4, heads=1, **arguments).state_dict())


@pytest.mark.parametrize(
    ("function", "name", "value"),
    [
        (lambda **given: transformer.block(X, PARAMS, **given), "placement", "post"),
        (lambda **given: transformer.block_backward(X, X, PARAMS, **given)[0], "placement", "post"),
        (weights, "placement", "sandwich"),
        (lambda **given: numerics.variant(X, eps=0.1, **given), "eps_placement", "outside"),
        (
            lambda **given: numerics.deviation_after(1.0, eps=0.1, **given),
            "eps_placement",
            "outside",
        ),
    ],
    ids=["block", "block_backward", "Transformer", "variant", "deviation_after"],
)
def test_former_argument_names_are_accepted(function, name, value):
    np.testing.assert_array_equal(function(place=value), function(**{name: value}))
    assert not np.array_equal(function(place=value), function())
