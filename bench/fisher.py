"""Measure ``MLP.fisher_product`` beside one gradient and curvlinops: ``python -m bench.fisher``.

784-1000-1000-10 with layer norm, 1,000 cases, float32, two threads, candidates in turn within one
process, medians. The gradient is PyTorch's, of the mean loss of the same network and cases; it is
no competitor, but what a product is counted in. curvlinops, where it is installed, multiplies with
its GGN, which for softmax and cross entropy is the exact Fisher matrix. Each product is also
checked against PyTorch's in float64.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from itertools import pairwise
from statistics import median

import numpy as np
import torch
from threadpoolctl import threadpool_limits
from torch import Tensor, nn
from torch.func import functional_call, jvp, vjp

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


def medians(candidates: dict[str, Callable], seconds: float = 20.0) -> dict[str, float]:
    """Run the candidates in turn, at least 5 times; return the median of each in ms."""
    times: dict[str, list[float]] = {name: [] for name in candidates}
    turn = list(candidates)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times["lnlib"]) < 5:
        random.shuffle(turn)  # who comes after whom decides what is in the cache
        for name in turn:
            start = time.perf_counter()
            candidates[name]()
            times[name].append(1e3 * (time.perf_counter() - start))
    return {name: median(t) for name, t in times.items()}


def flat(product: list[Tensor]) -> np.ndarray:
    """Return what :func:`split` took apart as one vector of :class:`MLP`."""
    parts = []
    for k in range(0, len(product), 3):
        W, *rest = product[k : k + 3]
        parts += [W, *rest[::-1]]
    return torch.cat([part.ravel() for part in parts]).numpy()


def run() -> list[dict]:
    """Return two rows, times and errors, with a number for each candidate."""
    rng = np.random.default_rng(0)
    net, X = make(), rng.random((CASES, SIZES[0]), dtype=np.float32)
    y, t_X = torch.from_numpy(rng.integers(SIZES[-1], size=CASES)), torch.from_numpy(X)
    model = ours(net)
    v = rng.standard_normal(model.size, dtype=np.float32)
    t_v = split(net, v)
    products = {
        "lnlib": lambda: model.fisher_product(X, v),
        "autodiff": lambda: flat(autodiff(net, t_X, t_v)),
    }
    if other := theirs(net, t_X, y, t_v):
        products["curvlinops"] = lambda: flat(other())
    double = make().double()
    exact = flat(autodiff(double, t_X.double(), split(double, v.astype(float))))
    errors = {
        name: float(np.linalg.norm(product() - exact) / np.linalg.norm(exact))
        for name, product in products.items()
    }
    times = medians({"gradient": lambda: gradient(net, t_X, y), **products})
    return [{"what": "time, ms", **times}, {"what": "relative error", **errors}]


def main() -> list[dict]:
    threads, load = torch.get_num_threads(), os.getloadavg()[0]
    torch.set_num_threads(min(2, os.cpu_count() or 1))
    try:
        with threadpool_limits(2, "blas"):
            rows = run()
    finally:
        torch.set_num_threads(threads)
    names = [name for name in ("lnlib", "gradient", "autodiff", "curvlinops") if name in rows[0]]
    print(f"{'':16}" + "".join(f"{name:>12}" for name in names), end="")
    print("".join(f"{'/ ' + name:>13}" for name in names[1:]))
    for row in rows:
        numbers = [row.get(name) for name in names]
        cells = [f"{n:12.4g}" if n else f"{'':12}" for n in numbers]
        if row is rows[0]:
            cells += [f"{numbers[0] / n:13.2f}" for n in numbers[1:]]
        print(f"{row['what']:16}" + "".join(cells))
    print(f"Load of the machine: {load:.1f} before, {os.getloadavg()[0]:.1f} after.")
    return rows


if __name__ == "__main__":
    main()
