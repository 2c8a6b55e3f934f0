from itertools import pairwise

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from lnlib.fisher import MLP, Dense, largest_eigenvalues, trace


def make(normalized=True, sizes=(7, 6, 5, 3), seed=0, dtype=float):
    rng = np.random.default_rng(seed)
    layers = []
    for D, H in pairwise(sizes):
        gain = rng.uniform(0.5, 1.5, size=H) if normalized and sizes[-1] != H else None
        layers.append(Dense(rng.normal(size=(H, D)) / np.sqrt(D), 0.1 * rng.normal(size=H), gain))
    return MLP(
        [Dense(*(None if a is None else a.astype(dtype) for a in vars(d).values())) for d in layers]
    )


def torch_logits(model, theta, x):
    """The network written again, for automatic differentiation."""
    start = 0
    for layer in model.layers:
        parts = []
        for a in layer.arrays:
            parts.append(theta[start : start + a.size].view(a.shape))
            start += a.size
        W, bias, *gain = parts
        x = F.linear(x, W)
        x = F.layer_norm(x, (len(W),), gain[0], bias, model.eps) if gain else x + bias
        if layer is not model.layers[-1]:
            x = x.relu()
    return x


def matrix(model, X):
    """Eq. 9 from the Jacobian of automatic differentiation."""
    theta = torch.from_numpy(np.concatenate([a.ravel() for d in model.layers for a in d.arrays]))
    J = torch.autograd.functional.jacobian(
        lambda theta: torch_logits(model, theta, torch.from_numpy(X)), theta
    )
    p = torch_logits(model, theta, torch.from_numpy(X)).softmax(1)
    cov = torch.diag_embed(p) - p[:, :, None] * p[:, None, :]
    return torch.einsum("nip,nij,njq->pq", J, cov, J).numpy() / len(X)


@pytest.mark.parametrize("eps", [None, 0.3])
@pytest.mark.parametrize("normalized", [True, False], ids=["layer norm", "plain"])
def test_products_equal_those_with_the_autodiff_matrix(normalized, eps):
    model, rng = make(normalized), np.random.default_rng(1)
    model = model if eps is None else MLP(model.layers, eps=eps)
    assert eps is None or model.eps == eps
    X, v = rng.normal(size=(20, 7)), rng.normal(size=model.size)
    np.testing.assert_allclose(
        model.fisher_product(X, v), matrix(model, X) @ v, rtol=1e-10, atol=1e-13
    )


def test_trace_and_eigenvalues_use_their_settings():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(30, 30))
    A = A @ A.T
    calls = []

    def product(v):
        calls.append(v.copy())
        return A @ v

    result = trace(product, 30, 7, rng=np.random.default_rng(5))
    signs = np.random.default_rng(5).choice([-1.0, 1.0], size=(7, 30))
    values = np.einsum("ki,ij,kj->k", signs, A, signs)
    assert result == pytest.approx((values.mean(), values.std(ddof=1) / np.sqrt(7)), rel=1e-12)
    assert len(calls) == 7
    calls.clear()
    fine = largest_eigenvalues(product, 30, 3, rng=np.random.default_rng(5), tolerance=1e-12)
    np.testing.assert_allclose(fine, np.linalg.eigvalsh(A)[::-1][:3], rtol=1e-10)
    start = np.random.default_rng(5).normal(size=30)
    np.testing.assert_allclose(calls[0], start * (calls[0][0] / start[0]), rtol=1e-10)
    many = len(calls)
    calls.clear()
    largest_eigenvalues(product, 30, 3, rng=np.random.default_rng(5), tolerance=0.3)
    assert len(calls) < many


@pytest.mark.parametrize("cases", [501, 1000, 1234])  # the last chunk: one case, full, a part
def test_examples_are_averaged_over_chunks(cases):
    model, rng = make(), np.random.default_rng(1)
    X, v = rng.normal(size=(cases, 7)), rng.normal(size=model.size)
    ends = (0, 300, 600, cases) if cases > 600 else (0, 300, cases)
    parts = [model.fisher_product(X[a:b], v) * (b - a) for a, b in pairwise(ends)]
    np.testing.assert_allclose(model.fisher_product(X, v), sum(parts) / cases, rtol=1e-10)


def test_float32_stays_float32_and_close():
    rng = np.random.default_rng(1)
    X, exact = rng.normal(size=(20, 7)), make()
    v = rng.normal(size=exact.size)
    product = make(dtype=np.float32).fisher_product(X, v)
    assert product.dtype == np.float32
    np.testing.assert_allclose(product, exact.fisher_product(X, v), rtol=1e-3, atol=1e-5)


ones = np.ones
MISTAKES = {
    "gain of logits": (lambda: MLP([Dense(ones((3, 4)), ones(3), ones(3))]), "without gain"),
    "widths": (
        lambda: MLP([Dense(ones((3, 4)), ones(3)), Dense(ones((2, 4)), ones(2))]),
        r"W of layer 1 must be of shape \(H, 3\), got \(2, 4\)",
    ),
    "bias": (lambda: MLP([Dense(ones((3, 4)), ones(4))]), r"bias and gain of layer 0 .*\(3,\)"),
    "v": (lambda: make().fisher_product(ones((5, 7)), ones(3)), r"v must be of shape \(\d+,\)"),
    "X": (lambda: make().logits(ones((5, 6))), r"of shape \(N, 7\) .*got .*\(5, 6\)"),
    "mask": (lambda: make().logits(np.ma.ones((5, 7))), "without a mask, got MaskedArray"),
    "count": (lambda: largest_eigenvalues(lambda v: v, 4, 4), "count must be from 1 to 3, got 4"),
    "samples": (lambda: trace(lambda v: v, 4, 1), "samples must be a whole number >= 2, got 1"),
    "half a sample": (lambda: trace(lambda v: v, 4, 2.5), "number >= 2, got 2.5"),
}


@pytest.mark.parametrize(("wrong", "match"), MISTAKES.values(), ids=MISTAKES)
def test_invalid_values_are_named_in_the_error(wrong, match):
    with pytest.raises(ValueError, match=match):
        wrong()
