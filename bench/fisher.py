"""``MLP.fisher_product`` compared with forward- and reverse-mode autodiff, and with curvlinops.

The network is 784-1000-1000-10 with layer norm, on 1,000 examples in float32. The floor is one
gradient of the mean loss of the same network and examples: not a competitor, but the usual unit for
the cost of such a product. curvlinops, if it is installed, multiplies by its GGN, which for softmax
and cross-entropy is the exact Fisher matrix. ``error`` is the error of a product relative to
autodiff in float64.
"""

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
NUM_EXAMPLES = 1000


def make_network() -> nn.Sequential:
    """Return the network in PyTorch, with initial parameters of seed 0."""
    torch.manual_seed(0)
    layers: list[nn.Module] = []
    for in_features, out_features in pairwise(SIZES[:-1]):
        linear = nn.Linear(in_features, out_features, bias=False)
        layers += [linear, nn.LayerNorm(out_features), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(*SIZES[-2:]))


def mlp_parameters(network: nn.Sequential) -> dict[str, nn.Parameter]:
    """Return the parameters by name in the order of :class:`MLP`: W, bias and gain per layer."""
    last = len(network) - 1
    names = []
    for k in range(0, last, 3):  # linear layer, layer norm, ReLU
        names += [f"{k}.weight", f"{k + 1}.bias", f"{k + 1}.weight"]
    parameters = dict(network.named_parameters())
    return {name: parameters[name] for name in [*names, f"{last}.weight", f"{last}.bias"]}


def to_mlp(network: nn.Sequential) -> MLP:
    """Return the same network in NumPy; it shares the memory of the parameters."""
    arrays = [p.detach().numpy() for p in mlp_parameters(network).values()]
    return MLP([Dense(*arrays[k : k + 3]) for k in range(0, len(arrays), 3)])


def unflatten(v: np.ndarray, network: nn.Sequential) -> list[Tensor]:
    """Return a vector of all parameters as tensors of their shapes, in the order of the MLP."""
    parameters = list(mlp_parameters(network).values())
    parts = torch.from_numpy(v).split([p.numel() for p in parameters])
    return [part.view_as(p) for part, p in zip(parts, parameters, strict=True)]


def flatten(tensors: list[Tensor]) -> np.ndarray:
    """Return the concatenation of tensors: the inverse of :func:`unflatten`."""
    return torch.cat([t.ravel() for t in tensors]).numpy()


def autodiff_product(network: nn.Sequential, X: Tensor, v: list[Tensor]) -> list[Tensor]:
    """Return the Fisher-vector product by forward- and reverse-mode differentiation."""
    parameters = mlp_parameters(network)

    def logits_of(parameters: dict[str, Tensor]) -> Tensor:
        return functional_call(network, parameters, (X,))

    tangents = dict(zip(parameters, v, strict=True))
    logits, d_logits = jvp(logits_of, (parameters,), (tangents,))
    p = logits.softmax(1)
    u = p * d_logits
    u = (u - p * u.sum(1, keepdim=True)) / len(X)
    (product,) = vjp(logits_of, parameters)[1](u)
    return [product[name].detach() for name in parameters]


def curvlinops_product(
    network: nn.Sequential, X: Tensor, y: Tensor, v: list[Tensor]
) -> Callable[[], list[Tensor]] | None:
    """Return a function that computes the product by curvlinops, or ``None`` without it."""
    try:
        from curvlinops import GGNLinearOperator
    except ImportError:
        return None
    parameters = list(mlp_parameters(network).values())
    operator = GGNLinearOperator(
        network, nn.CrossEntropyLoss(), parameters, [(X, y)], check_deterministic=False
    )
    return lambda: operator @ v


def compute_gradient(network: nn.Sequential, X: Tensor, y: Tensor) -> None:
    """Compute the gradient of the mean loss."""
    network.zero_grad(set_to_none=True)
    nn.functional.cross_entropy(network(X), y).backward()


def rows(device: str) -> list[dict[str, Any]]:
    """Return one row per competitor, only on the CPU, where the product in NumPy runs."""
    if device != "cpu":
        return []
    rng = np.random.default_rng(0)
    network, X = make_network(), rng.random((NUM_EXAMPLES, SIZES[0]), dtype=np.float32)
    X_torch, y = torch.from_numpy(X), torch.from_numpy(rng.integers(SIZES[-1], size=NUM_EXAMPLES))
    mlp = to_mlp(network)
    v = rng.standard_normal(mlp.size, dtype=np.float32)
    v_torch = unflatten(v, network)
    products = {
        "lnlib.fisher.MLP": lambda: mlp.fisher_product(X, v),
        "PyTorch, jvp and vjp": lambda: flatten(autodiff_product(network, X_torch, v_torch)),
    }
    if by_curvlinops := curvlinops_product(network, X_torch, y, v_torch):
        products["curvlinops"] = lambda: flatten(by_curvlinops())
    float64 = make_network().double()
    expected = flatten(
        autodiff_product(float64, X_torch.double(), unflatten(v.astype(float), float64))
    )
    errors = {
        name: float(np.linalg.norm(product() - expected) / np.linalg.norm(expected))
        for name, product in products.items()
    }
    ms = medians(products, 8.0, floors=[lambda: compute_gradient(network, X_torch, y)])
    ours, *competitors = products
    return [
        row(
            "Fisher product, 1.8 million parameters",
            f"{NUM_EXAMPLES} cases",
            ours,
            ms[ours],
            instead=(name, ms[name]),
            floor=("one gradient", ms["floor"]),
            error=errors[ours],
            instead_error=errors[name],
        )
        for name in competitors
    ]
