"""Adaptive layer norm and dynamic tanh in NumPy and as modules: against autograd in float64."""

import copy

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import lnlib
from lnlib.nn import AdaptiveLayerNorm, DynamicTanh, LayerNorm
from tests.cases.norms import assert_equals_autograd

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


@pytest.mark.parametrize(("shape", "given"), SHAPES, ids=str)
def test_adaptive_layer_norm_and_its_gradient_equal_autograd(shape, given):
    eps = 1e-2
    assert_equals_autograd(
        lambda *a: lnlib.adaptive_layer_norm(*a, eps=eps),
        lambda dy, *a: lnlib.adaptive_layer_norm_backward(dy, *a, eps=eps),
        lambda *t: adapted(*t, eps),
        *drawn(shape, given, (2 * H, C), (2 * H,)),
    )


@pytest.mark.parametrize("one", [(), (1,)], ids=str)
@pytest.mark.parametrize("shape", [(4, H), (2, 3, H), (H,)], ids=str)
def test_dynamic_tanh_and_its_gradient_equal_autograd(shape, one):
    x, alpha, gain, bias = drawn(shape, one, (H,), (H,))

    def backward(dy, x, alpha, gain, bias):
        return lnlib.dynamic_tanh_backward(dy, x, alpha, gain)

    assert_equals_autograd(lnlib.dynamic_tanh, backward, squashed, x, np.asarray(alpha), gain, bias)


@pytest.mark.parametrize(
    ("shape", "given"), [*SHAPES[:3], ((2, 7, H), (2, C)), ((2, 3, 4, H), (2, C))], ids=str
)
def test_the_module_equals_the_numpy_function(shape, given):
    module = AdaptiveLayerNorm(H, C, eps=1e-2, dtype=torch.float64)
    x, condition, weight, bias = drawn(shape, given, (2 * H, C), (2 * H,))
    with torch.no_grad():
        module.weight.copy_(torch.tensor(weight))
        module.bias.copy_(torch.tensor(bias))
    y = module(torch.tensor(x), torch.tensor(condition))
    ones = [1] * (x.ndim - condition.ndim)
    one_each = condition.reshape(*condition.shape[:-1], *ones, C)
    right = lnlib.adaptive_layer_norm(x, one_each, weight, bias, eps=1e-2)
    np.testing.assert_allclose(y.detach(), right, rtol=1e-12, atol=1e-12)


def test_the_module_starts_as_layer_norm_and_learns():
    module, x = AdaptiveLayerNorm(H, C), torch.randn(4, H)
    condition = torch.randn(4, C)
    plain = LayerNorm(H, elementwise_affine=False)(x)
    assert torch.equal(module(x, condition), plain)
    y, gate = AdaptiveLayerNorm(H, C, gate=True)(x, condition)  # adaLN-Zero
    assert torch.equal(y, plain)
    assert torch.equal(gate, torch.zeros(4, H))
    module(x, condition).square().sum().backward()
    assert module.weight.grad.abs().sum() > 0
    assert set(module.state_dict()) == {"weight", "bias"}


@pytest.mark.parametrize(
    ("shape", "given", "gate_shape"),
    [
        ((4, H), (4, C), (4, H)),
        ((2, 7, H), (2, C), (2, 1, H)),
        ((2, 7, 3, H), (2, C), (2, 1, 1, H)),
        ((2, 7, H), (1, 1, C), (1, 1, H)),
        ((2, 7, H), (2, 7, C), (2, 7, H)),
        ((H,), (C,), (H,)),
    ],
    ids=str,
)
def test_the_gate_has_the_shape_of_the_condition_and_is_its_third_part(shape, given, gate_shape):
    module = AdaptiveLayerNorm(H, C, eps=1e-2, dtype=torch.float64, gate=True)
    x, condition, weight, bias = map(torch.tensor, drawn(shape, given, (3 * H, C), (3 * H,)))
    module.load_state_dict({"weight": weight, "bias": bias})
    y, gate = module(x, condition)
    assert gate.shape == gate_shape
    right = condition.reshape(*gate_shape[:-1], C) @ weight[2 * H :].T + bias[2 * H :]
    torch.testing.assert_close(gate, right)
    plain = AdaptiveLayerNorm(H, C, eps=1e-2, dtype=torch.float64)
    plain.load_state_dict({"weight": weight[: 2 * H], "bias": bias[: 2 * H]})
    torch.testing.assert_close(y, plain(x, condition), rtol=1e-12, atol=1e-12)


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
    assert repr(module) == f"DynamicTanh(({H},), alpha=0.7)"


X, CONDITION, W = drawn((4, H), (4, C), (2 * H, C))
TX, TC = torch.tensor(X), torch.tensor(CONDITION)


GATED = AdaptiveLayerNorm(H, C, dtype=torch.float64, gate=True)


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: lnlib.adaptive_layer_norm(X, CONDITION, W[:H]), ValueError, "^ad.*weight must be"),
        (lambda: lnlib.adaptive_layer_norm(X, CONDITION[:3], W), ValueError, "or with 1 .* got"),
        (
            lambda: lnlib.adaptive_layer_norm(X[None], CONDITION, W),
            ValueError,
            r"condition\[:, None",
        ),
        (lambda: lnlib.dynamic_tanh(X, X[0]), ValueError, r"alpha must be one number.*got \(5,\)"),
        (lambda: GATED(X, TC), TypeError, "AdaptiveLayerNorm: input .*, got ndarray; try torch.te"),
        (lambda: GATED(TX, TC[:, :2]), RuntimeError, r"condition must be .*got \[4, 2\]"),
    ],
)
def test_errors_contain_the_value_and_the_fix(call, error, match):
    with pytest.raises(error, match=match):
        call()


def test_parameter_gradients_are_summed_in_float64():
    # In float32, 2**24 + 1 is 2**24: added up there, nothing is left of the ones.
    numbers = np.array([2.0**24] + [1.0] * 64 + [-(2.0**24)], np.float32)
    x = np.tile(np.array([1, -1], np.float32), (66, 1))  # normalized, it stays as it is
    weight, condition = np.zeros((4, 1), np.float32), np.ones((1, 1), np.float32)
    dy = np.stack([numbers, numbers], 1)
    *_, dweight, dbias = lnlib.adaptive_layer_norm_backward(dy, x, condition, weight, eps=0)
    np.testing.assert_array_equal(dbias, [64, -64, 64, 64])
    np.testing.assert_array_equal(dweight[:, 0], [64, -64, 64, 64])
    one = np.array(0, np.float32)  # tanh(0 x) is 0, and its slope 1
    _, dalpha, _, dbias = lnlib.dynamic_tanh_backward(dy, np.ones_like(x), one)
    np.testing.assert_array_equal(dbias, [64, 64])
    assert dalpha == 128
    big = np.array(50, np.float32)  # tanh is 1
    dgain = lnlib.dynamic_tanh_backward(dy, np.ones_like(x), big)[2]
    np.testing.assert_array_equal(dgain, [64, 64])
