"""Adaptive layer norm and dynamic tanh in NumPy and as modules: against autograd in float64."""

import copy

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import lnlib
from lnlib.nn import AdaptiveLayerNorm, DynamicTanh

H, C = 5, 3
# Shape of x, and of the condition.
SHAPES = [((4, H), (4, C)), ((2, 7, H), (2, 1, C)), ((2, 7, H), (1, 1, C)), ((H,), (C,))]
SHAPES.append(((2, 7, H), (2, 7, C)))


def drawn(*shapes, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(1, 2, size=shape) for shape in shapes]


def adapted(x, condition, weight, bias, eps):
    scale, shift = F.linear(condition, weight, bias).chunk(2, -1)
    return (1 + scale) * F.layer_norm(x, x.shape[-1:], None, None, eps) + shift


def squashed(x, alpha, gain, bias):
    return gain * torch.tanh(alpha * x) + bias


def held(ours, backward, theirs, *arrays):
    tensors = [torch.tensor(a, requires_grad=True) for a in arrays]
    y = theirs(*tensors)
    (dy,) = drawn(y.shape, seed=1)
    y.backward(torch.tensor(dy))
    np.testing.assert_allclose(ours(*arrays), y.detach(), rtol=1e-12, atol=1e-12)
    for d, t in zip(backward(dy, *arrays), tensors, strict=True):
        assert d.shape == t.shape
        np.testing.assert_allclose(d, t.grad, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize(("shape", "given"), SHAPES, ids=str)
def test_adaptive_layer_norm_and_its_gradient_are_autograds(shape, given):
    eps = 1e-2
    held(
        lambda *a: lnlib.adaptive_layer_norm(*a, eps=eps),
        lambda dy, *a: lnlib.adaptive_layer_norm_backward(dy, *a, eps=eps),
        lambda *t: adapted(*t, eps),
        *drawn(shape, given, (2 * H, C), (2 * H,)),
    )


@pytest.mark.parametrize("one", [(), (1,)], ids=str)
@pytest.mark.parametrize("shape", [(4, H), (2, 3, H), (H,)], ids=str)
def test_dynamic_tanh_and_its_gradient_are_autograds(shape, one):
    x, alpha, gain, bias = drawn(shape, one, (H,), (H,))

    def backward(dy, x, alpha, gain, bias):
        return lnlib.dynamic_tanh_backward(dy, x, alpha, gain)

    held(lnlib.dynamic_tanh, backward, squashed, x, np.asarray(alpha), gain, bias)


def test_without_a_condition_it_is_layer_norm_without_gain_and_bias():
    x, condition, weight = drawn((4, H), (4, C), (2 * H, C))
    y = lnlib.adaptive_layer_norm(x, condition, 0 * weight)
    assert np.array_equal(y, lnlib.layer_norm(x))
    assert np.array_equal(lnlib.adaptive_layer_norm(x, 0 * condition, weight), y)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_dtypes_are_kept_and_float16_is_computed_in_float32(dtype):
    arrays = [a.astype(dtype) for a in drawn((4, H), (4, C), (2 * H, C), (2 * H,))]
    wide = [a.astype(float) for a in arrays]
    pairs = [(lnlib.adaptive_layer_norm(*arrays), lnlib.adaptive_layer_norm(*wide))]
    x, alpha = arrays[0], np.array(0.7, dtype)
    pairs.append((lnlib.dynamic_tanh(x, alpha), lnlib.dynamic_tanh(wide[0], alpha.astype(float))))
    for ours, right in pairs:
        assert ours.dtype == dtype
        np.testing.assert_allclose(ours, right, rtol=0, atol=8 * np.finfo(dtype).eps * 8)


@pytest.mark.parametrize(("shape", "given"), [*SHAPES[:3], ((2, 7, H), (2, C))], ids=str)
def test_the_module_is_the_numpy_function(shape, given):
    module = AdaptiveLayerNorm(H, C, eps=1e-2, dtype=torch.float64)
    x, condition, weight, bias = drawn(shape, given, (2 * H, C), (2 * H,))
    with torch.no_grad():
        module.weight.copy_(torch.tensor(weight))
        module.bias.copy_(torch.tensor(bias))
    y = module(torch.tensor(x), torch.tensor(condition))
    one_each = condition[:, None] if condition.ndim < x.ndim else condition
    right = lnlib.adaptive_layer_norm(x, one_each, weight, bias, eps=1e-2)
    np.testing.assert_allclose(y.detach(), right, rtol=1e-12, atol=1e-12)


def test_the_module_starts_as_layer_norm_and_learns():
    module, x = AdaptiveLayerNorm(H, C), torch.randn(4, H)
    condition = torch.randn(4, C)
    assert torch.equal(module(x, condition), F.layer_norm(x, (H,)))
    module(x, condition).square().sum().backward()
    assert module.weight.grad.abs().sum() > 0
    assert set(module.state_dict()) == {"weight", "bias"}
    assert "condition_size=3" in repr(module)


def test_dynamic_tanh_as_a_module():
    module = DynamicTanh(H, alpha=0.7, dtype=torch.float64)
    x, gain, bias = drawn((2, 3, H), (H,), (H,))
    with torch.no_grad():
        module.weight.copy_(torch.tensor(gain))
        module.bias.copy_(torch.tensor(bias))
    right = lnlib.dynamic_tanh(x, np.array(0.7), gain, bias)
    np.testing.assert_allclose(module(torch.tensor(x)).detach(), right, rtol=1e-12, atol=1e-12)
    assert list(module.state_dict()) == ["alpha", "weight", "bias"]
    assert copy.deepcopy(module).alpha == 0.7
    assert "alpha=0.7" in repr(module)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_modules_keep_16_bits(dtype):
    x, condition = torch.randn(4, H, dtype=dtype), torch.randn(4, C, dtype=dtype)
    assert AdaptiveLayerNorm(H, C, dtype=dtype)(x, condition).dtype == dtype
    assert DynamicTanh(H, dtype=dtype)(x).dtype == dtype


X, CONDITION, W = drawn((4, H), (4, C), (2 * H, C))
TX, TC = torch.tensor(X), torch.tensor(CONDITION)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: lnlib.adaptive_layer_norm(X, CONDITION, W[:H]),
            ValueError,
            r"weight must be of shape \(2 H, C\) = \(10, C\), got \(5, 3\)",
        ),
        (
            lambda: lnlib.adaptive_layer_norm(X, CONDITION[:3], W),
            ValueError,
            r"condition must be of shape \(4, 3\), or with 1 .* got \(3, 3\)",
        ),
        (
            lambda: lnlib.adaptive_layer_norm(X[None], CONDITION, W),
            ValueError,
            r"condition must be of shape \(1, 4, 3\).*condition\[:, None\]",
        ),
        (
            lambda: lnlib.dynamic_tanh(X, 0.5),
            TypeError,
            "alpha must be a NumPy array .* got float",
        ),
        (
            lambda: lnlib.dynamic_tanh(X, X[0]),
            ValueError,
            r"alpha must be one number, of shape \(\) or \(1,\), got \(5,\)",
        ),
        (
            lambda: AdaptiveLayerNorm(5, 3)(X, TC),
            TypeError,
            r"AdaptiveLayerNorm: input must be a Tensor, got ndarray; try torch.tensor",
        ),
        (
            lambda: AdaptiveLayerNorm(H, C, dtype=torch.float64)(TX, TC[:3]),
            RuntimeError,
            r"condition must be of shape \[4, 3\], one for each example.* got \[3, 3\]",
        ),
    ],
)
def test_a_mistake_is_told_with_what_came_and_what_to_do(call, error, message):
    with pytest.raises(error, match=message):
        call()
