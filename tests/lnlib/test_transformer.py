"""The attention and the block of a transformer compared with PyTorch in float64; causality."""

import itertools

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from lnlib import transformer
from lnlib.transformer import (
    NORMS,
    PLACEMENTS,
    attention,
    attention_backward,
    block,
    block_backward,
)  # fmt: skip

SIZES = {"D": 6, "K": 3, "V": 4, "F": 9}
ATTENTION = [{"qk_norm": norm} for norm in NORMS]
BLOCKS = [
    {"placement": placement, "norm": norm, "qk_norm": qk_norm}
    for placement, norm, qk_norm in itertools.product(PLACEMENTS, NORMS, NORMS)
]


def case_id(case):
    return "-".join(case.values())


def draw(shapes, seed=0):
    rng = np.random.default_rng(seed)
    return {n: rng.normal(size=[SIZES[c] for c in letters]) for n, letters in shapes.items()}


def tokens(*shape, seed=1):
    return np.random.default_rng(seed).normal(size=(*shape, SIZES["D"]))


def torch_norm(kind, z, p, place, eps):
    """Return PyTorch's norm of ``z`` with the gain and bias of ``place``."""
    gain, bias = p.get(f"gain_{place}"), p.get(f"bias_{place}")
    if kind == "layer":
        return F.layer_norm(z, z.shape[-1:], gain, bias, eps)
    return F.rms_norm(z, z.shape[-1:], gain, eps) if kind == "rms" else z


def torch_attention(z, p, qk_norm, eps):
    q, k, v = (z @ p[name].T for name in ("W_q", "W_k", "W_v"))
    q, k = torch_norm(qk_norm, q, p, "q", eps), torch_norm(qk_norm, k, p, "k", eps)
    return F.scaled_dot_product_attention(q, k, v, is_causal=True) @ p["W_o"].T


def torch_block(x, p, placement, norm, qk_norm, eps):
    """Return the output of the block, written in PyTorch."""

    def feed(z):
        return F.linear(F.relu(F.linear(z, p["W_1"], p["b_1"])), p["W_2"], p["b_2"])

    for at, f in (("a", lambda z: torch_attention(z, p, qk_norm, eps)), ("f", feed)):
        if placement == "post":
            x = torch_norm(norm, x + f(x), p, at, eps)
        elif placement == "pre":
            x = x + f(torch_norm(norm, x, p, at, eps))
        elif placement == "none":
            x = x + f(x)
        else:
            x = x + torch_norm(norm, f(torch_norm(norm, x, p, at, eps)), p, f"{at}_out", eps)
    return x


def assert_equals_torch(ours, backward, theirs, x, p):
    """Compare the outputs and all gradients with those of PyTorch."""
    dy = tokens(*x.shape[:-1], seed=2)
    tx = torch.tensor(x, requires_grad=True)
    tp = {n: torch.tensor(a, requires_grad=True) for n, a in p.items()}
    y = theirs(tx, tp)
    y.backward(torch.tensor(dy))
    np.testing.assert_allclose(ours(x, p), y.detach(), rtol=0, atol=1e-12)
    dx, dp = backward(dy, x, p)
    np.testing.assert_allclose(dx, tx.grad, rtol=1e-10, atol=1e-12)
    assert list(dp) == list(p)
    for name, d in dp.items():
        np.testing.assert_allclose(d, tp[name].grad, rtol=1e-10, atol=1e-11, err_msg=name)


@pytest.mark.parametrize("case", ATTENTION, ids=case_id)
@pytest.mark.parametrize("shape", [(5,), (2, 3, 4), (1,)], ids=str)
def test_attention_and_its_gradient_equal_pytorchs(case, shape):
    eps = 1e-3
    assert_equals_torch(
        lambda x, p: attention(x, p, **case, eps=eps),
        lambda dy, x, p: attention_backward(dy, x, p, **case, eps=eps),
        lambda x, p: torch_attention(x, p, **case, eps=eps),
        tokens(*shape),
        draw(transformer._attention_shapes(**case)),
    )


@pytest.mark.parametrize("case", BLOCKS, ids=case_id)
def test_a_block_and_its_gradient_equal_pytorchs(case):
    eps = 1e-3
    assert_equals_torch(
        lambda x, p: block(x, p, **case, eps=eps),
        lambda dy, x, p: block_backward(dy, x, p, **case, eps=eps),
        lambda x, p: torch_block(x, p, **case, eps=eps),
        tokens(2, 4),
        draw(transformer._block_shapes(**case)),
    )


@pytest.mark.parametrize("qk_norm", NORMS)
def test_attention_weights_are_the_softmax_of_the_scores(qk_norm):
    x, p, eps = tokens(5), draw(transformer._attention_shapes(qk_norm)), 0.7
    tx, tp = torch.tensor(x), {n: torch.tensor(a) for n, a in p.items()}
    q, k = (torch_norm(qk_norm, tx @ tp[f"W_{at}"].T, tp, at, eps) for at in "qk")
    later = torch.ones(5, 5, dtype=bool).triu(1)
    expected = (q @ k.T / SIZES["K"] ** 0.5).masked_fill(later, -torch.inf).softmax(-1)
    ours = transformer.attention_weights(x, p, qk_norm=qk_norm, eps=eps)
    np.testing.assert_allclose(ours, expected, rtol=1e-12, atol=1e-14)


def test_missing_gains_are_1_and_missing_biases_are_0():
    case = {"placement": "sandwich", "norm": "layer", "qk_norm": "layer"}
    whole = draw(transformer._block_shapes(**case))
    bare = {n: a for n, a in whole.items() if n[0] == "W"}
    full = {n: a if n[0] == "W" else a * 0 + (n[0] == "g") for n, a in whole.items()}
    x, dy = tokens(4), tokens(4, seed=3)
    assert np.array_equal(block(x, bare, **case), block(x, full, **case))
    dx, dp = block_backward(dy, x, bare, **case)
    assert np.array_equal(dx, block_backward(dy, x, full, **case)[0])
    assert dp.keys() == bare.keys()


def test_arguments_are_not_overwritten_and_float32_is_preserved():
    case = {"placement": "sandwich", "norm": "rms", "qk_norm": "layer"}
    p = {n: a.astype(np.float32) for n, a in draw(transformer._block_shapes(**case)).items()}
    x, dy = (tokens(2, 4, seed=s).astype(np.float32) for s in (1, 2))
    for a in (x, dy, *p.values()):
        a.flags.writeable = False
    dx, dp = block_backward(dy, x, p, **case)
    assert {a.dtype for a in (block(x, p, **case), dx, *dp.values())} == {np.dtype(np.float32)}


P = draw(transformer._attention_shapes("none"))
X = tokens(4)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: attention(X, P, qk_norm="batch"), ValueError, "qk_norm must be one of none, l"),
        (lambda: block(X, P, placement="before"), ValueError, "placement must be one of none, pre"),
        (lambda: block(X, P, norm="group"), ValueError, "norm must be one of none, layer, rms"),
        (lambda: attention(X, [P]), TypeError, "params must be a dict of arrays, got list"),
        (lambda: attention(X, P | {"W_qq": X}), ValueError, "got 'W_qq'; did you mean 'W_q'"),
        (lambda: attention(X, P | {"gain_q": X[0]}), ValueError, "params .*are W_q.* got 'gain_q"),
        (lambda: attention(X, {"W_q": P["W_q"]}), ValueError, "params must contain W_k, got W_q"),
        (lambda: attention(X[0], P), ValueError, r"x must be of shape \(..., T, D\).*got \(6,\)"),
        (lambda: attention(X[:, :5], P), ValueError, r"W_q must be of shape \(3, 5\), got \(3, 6"),
        (lambda: attention_backward(X[:3], X, P), ValueError, r"dy .* \(4, 6\), got \(3, 6\)"),
        (lambda: attention(X, P | {"W_q": X.astype(int)}), TypeError, "W_q .*got int64; try"),
    ],
)
def test_errors_contain_the_value_and_the_fix(call, error, message):
    with pytest.raises(error, match=message):
        call()
