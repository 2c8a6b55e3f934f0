"""``MLP.fisher_product`` beside PyTorch's forward and backward differentiation, and curvlinops.

784-1000-1000-10 with layer norm, 1,000 cases, float32. The floor is one gradient of the mean loss
of the same network and cases: no competitor, but what a product is counted in. curvlinops, where
it is installed, multiplies with its GGN, which for softmax and cross entropy is the exact Fisher
matrix. Each product is also checked against PyTorch's in float64: ``error`` is the relative one.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, jvp, vjp

from bench.table import medians, row
from lnlib.fisher import MLP, Dense

SIZES = (784, 1000, 1000, 10)
CASES = 1000


def make() -> nn.Sequential:
    """Return the network in PyTorch; its parameters stand in the order of :class:`MLP`."""
    torch.manual_seed(0)
    layers: list[nn.Module] = []
    for D, H in pairwise(SIZES[:-1]):
        layers += [nn.Linear(D, H, bias=False), nn.LayerNorm(H), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(*SIZES[-2:]))


def ours(net: nn.Sequential) -> MLP:
    arrays = [p.detach().numpy() for p in net.parameters()]
    hidden = [Dense(W, bias, gain) for W, gain, bias in zip(*[iter(arrays[:-2])] * 3, strict=True)]
    return MLP([*hidden, Dense(*arrays[-2:])])


def split(net: nn.Sequential, v: np.ndarray) -> list[Tensor]:
    """Return a vector of all parameters of :class:`MLP` in the shapes and the order of PyTorch."""
    parts, start = [], 0
    for layer in ours(net).layers:
        own = []
        for a in layer.arrays:
            own.append(torch.from_numpy(v[start : start + a.size].reshape(a.shape)))
            start += a.size
        parts += [own[0], *own[:0:-1]]  # W, gain, bias
    return parts


def autodiff(net: nn.Sequential, X: Tensor, v: list[Tensor]) -> list[Tensor]:
    """Return the product by forward and backward differentiation."""
    names = [name for name, _ in net.named_parameters()]
    theta = dict(zip(names, net.parameters(), strict=True))

    def logits(theta):
        return functional_call(net, theta, (X,))

    s, ds = jvp(logits, (theta,), (dict(zip(names, v, strict=True)),))
    p = s.softmax(1)
    u = p * ds
    u = (u - p * u.sum(1, keepdim=True)) / len(X)
    (product,) = vjp(logits, theta)[1](u)
    return [product[name].detach() for name in names]


def gradient(net: nn.Sequential, X: Tensor, y: Tensor) -> None:
    net.zero_grad(set_to_none=True)
    nn.functional.cross_entropy(net(X), y).backward()


def theirs(net: nn.Sequential, X: Tensor, y: Tensor, v: list[Tensor]) -> Callable | None:
    """Return the product of curvlinops; ``None`` where it is not installed."""
    try:
        from curvlinops import GGNLinearOperator
    except ImportError:
        return None
    operator = GGNLinearOperator(
        net, nn.CrossEntropyLoss(), list(net.parameters()), [(X, y)], check_deterministic=False
    )
    return lambda: operator @ v


def flat(product: list[Tensor]) -> np.ndarray:
    """Return what :func:`split` took apart as one vector of :class:`MLP`."""
    parts = []
    for k in range(0, len(product), 3):
        W, *rest = product[k : k + 3]
        parts += [W, *rest[::-1]]
    return torch.cat([part.ravel() for part in parts]).numpy()


def rows(device: str) -> list[dict[str, Any]]:
    """Return a row beside each competitor; NumPy's product is the processor's."""
    if device != "cpu":
        return []
    rng = np.random.default_rng(0)
    net, X = make(), rng.random((CASES, SIZES[0]), dtype=np.float32)
    y, t_X = torch.from_numpy(rng.integers(SIZES[-1], size=CASES)), torch.from_numpy(X)
    model = ours(net)
    v = rng.standard_normal(model.size, dtype=np.float32)
    t_v = split(net, v)
    products = {
        "lnlib.fisher.MLP": lambda: model.fisher_product(X, v),
        "PyTorch, jvp and vjp": lambda: flat(autodiff(net, t_X, t_v)),
    }
    if curvlinops_product := theirs(net, t_X, y, t_v):
        products["curvlinops"] = lambda: flat(curvlinops_product())
    double = make().double()
    exact = flat(autodiff(double, t_X.double(), split(double, v.astype(float))))
    error = {
        name: float(np.linalg.norm(product() - exact) / np.linalg.norm(exact))
        for name, product in products.items()
    }
    ms = medians(products, 8.0, floors=[lambda: gradient(net, t_X, y)])
    own, *others = products
    return [
        row(
            "Fisher product, 1.8 million parameters",
            f"{CASES} cases",
            own,
            ms[own],
            instead=(name, ms[name]),
            floor=("one gradient", ms["floor"]),
            error=error[own],
            instead_error=error[name],
        )
        for name in others
    ]
