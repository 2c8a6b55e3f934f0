"""Adaptive layer norm and dynamic tanh in NumPy and as modules: against autograd in float64."""

import copy

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.autograd import gradcheck

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


def test_dynamic_tanh_is_no_normalization():
    (x,) = drawn((4, H))
    alpha = np.array(0.5)
    assert np.abs(lnlib.dynamic_tanh(x, alpha)).max() < 1
    assert np.abs(lnlib.dynamic_tanh(2 * x, alpha) - lnlib.dynamic_tanh(x, alpha)).max() > 0.1
    assert np.abs(lnlib.layer_norm(2 * x, eps=0) - lnlib.layer_norm(x, eps=0)).max() < 1e-12
    assert np.allclose(lnlib.dynamic_tanh(1e-3 * x, alpha), 5e-4 * x, rtol=1e-4)  # a line near 0


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


def test_gradients_of_the_modules_are_right():
    given = [torch.randn(*s, dtype=torch.float64, requires_grad=True) for s in ((4, H), (4, C))]
    adaptive = AdaptiveLayerNorm(H, C, dtype=torch.float64)
    torch.nn.init.normal_(adaptive.weight)
    assert gradcheck(adaptive, given)
    assert gradcheck(DynamicTanh(H, dtype=torch.float64), given[:1])


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
            lambda: lnlib.adaptive_layer_norm(X, CONDITION, W, W[0]),
            ValueError,
            r"bias must be of shape \(10,\), got \(3,\)",
        ),
        (
            lambda: lnlib.adaptive_layer_norm_backward(X[:2], X, CONDITION, W),
            ValueError,
            r"dy must be of shape \(4, 5\), got \(2, 5\)",
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
            lambda: lnlib.dynamic_tanh_backward(X, X, X[0]),
            ValueError,
            "dynamic_tanh_backward: alpha must be one number",
        ),
        (
            lambda: AdaptiveLayerNorm(0, 3),
            ValueError,
            "normalized_shape must be a number of features, 1 or more, got 0",
        ),
        (
            lambda: AdaptiveLayerNorm(5, 3, eps=-1.0),
            ValueError,
            "AdaptiveLayerNorm: eps must be finite and >= 0, got -1.0",
        ),
        (
            lambda: AdaptiveLayerNorm(5, 3)(X, TC),
            TypeError,
            r"AdaptiveLayerNorm: input must be a Tensor, got ndarray; try torch.tensor",
        ),
        (
            lambda: AdaptiveLayerNorm(5, 3)(TX, CONDITION),
            TypeError,
            r"AdaptiveLayerNorm: condition must be a Tensor, got ndarray; try torch.tensor",
        ),
        (
            lambda: DynamicTanh(5)(X),
            TypeError,
            r"DynamicTanh: input must be a Tensor, got ndarray; try torch.tensor",
        ),
        (
            lambda: AdaptiveLayerNorm(5, 0),
            ValueError,
            "condition_size must be a number of features, 1 or more, got 0",
        ),
        (
            lambda: AdaptiveLayerNorm(H, C, dtype=torch.float64)(TX, TC[:3]),
            RuntimeError,
            r"condition must be of shape \[4, 3\], one for each example.* got \[3, 3\]",
        ),
        (
            lambda: AdaptiveLayerNorm(H, C, dtype=torch.float64)(TX[:, :4], TC),
            RuntimeError,
            r"input must end in 5 features, got \[4, 4\]",
        ),
        (lambda: DynamicTanh(0), ValueError, "normalized_shape must be .* 1 or more, got 0"),
        (
            lambda: DynamicTanh(H, dtype=torch.float64)(TX[:, :4]),
            RuntimeError,
            r"DynamicTanh: input must end in 5 features, got \[4, 4\]",
        ),
    ],
)
def test_a_mistake_is_told_with_what_came_and_what_to_do(call, error, message):
    with pytest.raises(error, match=message):
        call()
