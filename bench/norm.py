"""Measure ``lnlib.layer_norm`` beside what a user would pick instead: ``python -m bench.norm``.

One thread, float32, candidates in turn within one process, medians. PyTorch's backward is given
the mean and the standard deviation of its forward pass; the others compute them again.
"""

import random
import time
from collections.abc import Callable
from statistics import median

import numpy as np
import torch
import torch.nn.functional as F

from lnlib import layer_norm, layer_norm_backward

SHAPES = [(4096, 1024), (64, 512, 768), (8, 16)]
EPS = 1e-5


def obvious(x, gain, bias):
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / np.sqrt(var + EPS) * gain + bias


def obvious_backward(dy, x, gain):
    std = np.sqrt(x.var(-1, keepdims=True) + EPS)
    x_hat = (x - x.mean(-1, keepdims=True)) / std
    dx_hat = gain * dy
    shift = dx_hat.mean(-1, keepdims=True)
    slope = (dx_hat * x_hat).mean(-1, keepdims=True)
    examples = tuple(range(x.ndim - 1))
    dx = (dx_hat - shift - slope * x_hat) / std
    return dx, (dy * x_hat).sum(examples), dy.sum(examples)


def medians(candidates: dict[str, Callable], seconds: float = 2.0) -> dict[str, float]:
    """Run the candidates in turn, at least 7 times; return the median of each in ms."""
    times = {name: [] for name in candidates}
    turn = list(candidates)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times["lnlib"]) < 7:
        for name in turn:
            start = time.perf_counter()
            candidates[name]()
            times[name].append(1e3 * (time.perf_counter() - start))
        random.shuffle(turn)  # who comes after whom decides what is in the cache
    return {name: median(t) for name, t in times.items()}


def speed(shape: tuple[int, ...]) -> list[dict]:
    rng = np.random.default_rng(0)
    dy, x = rng.standard_normal((2, *shape), dtype=np.float32)
    gain, bias = rng.standard_normal((2, shape[-1]), dtype=np.float32)
    out = np.zeros_like(x)
    t_dy, t_x, t_gain, t_bias = map(torch.from_numpy, (dy, x, gain, bias))
    _, mean, rstd = torch.native_layer_norm(t_x, shape[-1:], t_gain, t_bias, EPS)
    forward = {
        "lnlib": lambda: layer_norm(x, gain, bias),
        "obvious": lambda: obvious(x, gain, bias),
        "torch": lambda: F.layer_norm(t_x, shape[-1:], t_gain, t_bias, EPS),
        "copy": lambda: np.copyto(out, x),
    }
    backward = {
        "lnlib": lambda: layer_norm_backward(dy, x, gain),
        "obvious": lambda: obvious_backward(dy, x, gain),
        "torch": lambda: torch.ops.aten.native_layer_norm_backward(
            t_dy, t_x, shape[-1:], mean, rstd, t_gain, t_bias, [True, True, True]
        ),
        "copy": lambda: np.copyto(out, x),
    }
    return [
        {"what": "forward, ms", "shape": shape, **medians(forward)},
        {"what": "backward, ms", "shape": shape, **medians(backward)},
    ]


def error(shape: tuple[int, ...], seed: int) -> dict:
    """Return the largest error in ``y`` of float32 numbers with mean 1e4 and deviation 1."""
    rng = np.random.default_rng(seed)
    x = (1e4 + rng.standard_normal(shape)).astype(np.float32)
    exact = obvious(x.astype(float) - 1e4, 1.0, 0.0)  # an exact subtraction
    theirs = F.layer_norm(torch.from_numpy(x), shape[-1:], eps=EPS).numpy()
    outputs = {
        "lnlib": layer_norm(x),
        "obvious": obvious(x, np.float32(1), np.float32(0)),
        "torch": theirs,
    }
    errors = {name: float(np.abs(y - exact).max()) for name, y in outputs.items()}
    return {"what": f"error at mean 1e4, seed {seed}", "shape": shape, **errors}


def run() -> list[dict]:
    """Return a row for each table line: what, shape, and a number for each candidate."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.no_grad():
            rows = [row for shape in SHAPES for row in speed(shape)]
            return rows + [error(shape, seed) for shape in SHAPES[::2] for seed in range(3)]
    finally:
        torch.set_num_threads(threads)


def main() -> list[dict]:
    rows = run()
    candidates = ["lnlib", "obvious", "torch", "copy"]
    print(f"{'':26}{'':15}" + "".join(f"{name:>10}" for name in candidates), end="")
    print("".join(f"{'/ ' + name:>10}" for name in candidates[1:]))
    for row in rows:
        numbers = [row.get(name) for name in candidates]
        ratios = [n and numbers[0] / n for n in numbers[1:]]
        cells = [f"{n:10.4g}" if n else f"{'':10}" for n in numbers]
        cells += [f"{r:10.2g}" if r else f"{'':10}" for r in ratios]
        print(f"{row['what']:26}{'×'.join(map(str, row['shape'])):15}" + "".join(cells))
    return rows


if __name__ == "__main__":
    main()
