"""Table 1 whole, and one cell number by number."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from lnlib.invariance import (
    NORMS,
    ROUNDING,
    TABLE_1,
    TRANSFORMS,
    Layer,
    change,
    changes,
    measure,
    network,
)

EXACT = 1e-12
rng = np.random.default_rng(11)
X, LAYER = rng.normal(size=(5, 3)) + 0.5, network([3, 8], rng)[0]


def by_torch(norm, a, layer, eps=0.0):
    a, W, gain, bias = map(torch.tensor, (a, layer.W, layer.gain, layer.bias))
    normed = {
        "layer": lambda: F.layer_norm(a, a.shape[1:], eps=eps),
        "batch": lambda: (a - a.mean(0)) / (a.var(0, unbiased=False) + eps).sqrt(),
        "weight": lambda: a / W.norm(dim=1),
        "rms": lambda: a / (a.square().mean(1, keepdim=True) + eps).sqrt(),
        "none": lambda: a,
    }[norm]()
    return (gain * normed + bias).numpy()


@pytest.mark.parametrize("norm", ["layer", "batch", "weight", "rms", "none"])
@pytest.mark.parametrize("eps", [0.0, 0.5])
def test_outputs_before_and_after_are_those_of_torch(norm, eps):
    W = LAYER.W.copy()
    W[0] *= 1.7
    result = change(norm, "weight_vector_rescaling", X, LAYER, strength=1.7, eps=eps)
    np.testing.assert_allclose(result.summed, X @ LAYER.W.T, atol=EXACT)
    np.testing.assert_allclose(result.new_summed, X @ W.T, atol=EXACT)
    np.testing.assert_allclose(result.output, by_torch(norm, X @ LAYER.W.T, LAYER, eps), atol=EXACT)
    new = Layer(W, LAYER.gain, LAYER.bias)
    np.testing.assert_allclose(result.new_output, by_torch(norm, X @ W.T, new, eps), atol=EXACT)


@pytest.mark.parametrize("transformation", TRANSFORMS)
def test_the_largest_change_of_an_output_is_what_is_measured(transformation):
    result = change("rms", transformation, X, LAYER, strength=1.7)
    largest = measure("rms", transformation, X=X, layers=(LAYER,), strength=1.7)
    assert np.abs(result.new_output - result.output).max() == pytest.approx(largest, abs=EXACT)


def test_units_in_another_order_stand_beside_themselves():
    result = change("layer", "unit_permutation", X, LAYER)
    np.testing.assert_allclose(result.new_summed, result.summed, atol=EXACT)
    assert not np.array_equal(result.summed, X @ LAYER.W.T)


def test_a_bias_before_the_norm_is_in_the_summed_inputs():
    result = change("layer", "input_bias", X, LAYER, strength=2.0)
    shift = result.new_summed - result.summed
    np.testing.assert_allclose(shift, np.tile(shift[0], (5, 1)), atol=EXACT)
    assert np.abs(shift).min() > 1e-3


@pytest.mark.parametrize("units", [[12], [12, 8]])
@pytest.mark.parametrize("strength", [0.5, 3.0])
def test_all_eighteen_cells_are_as_the_paper_says(units, strength):
    result = changes(X, units, strength=strength)
    assert result.shape == (10, 7)
    for norm, text in TABLE_1.items():
        for name, invariant in text.items():
            assert (result[TRANSFORMS.index(name), NORMS.index(norm)] < ROUNDING) == invariant


def test_eps_ends_invariances_under_scales_alone():
    broken = (changes(X, [12], eps=1e-2) >= ROUNDING)[:6, :3] & (changes(X, [12]) < ROUNDING)[
        :6, :3
    ]
    assert {(TRANSFORMS[i], NORMS[j]) for i, j in np.argwhere(broken)} == {
        (name, norm)
        for norm in ("batch", "layer")
        for name, invariant in TABLE_1[norm].items()
        if invariant and name.endswith("rescaling")
    }
