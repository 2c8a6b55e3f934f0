"""Cost of normalization: operations, memory traffic, roofline time, and communication.

One pass of a norm over N examples of H features, ``forward`` or ``backward``. Layer norm is eqs. 15
and 16 of Ba, Kiros & Hinton (2016), with gain and bias; batch norm is the same over the examples;
RMS norm has neither mean nor bias.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import add, mul, sub, truediv
from typing import Any

import numpy as np

PASSES = ("forward", "backward")
NORMS = ("layer", "batch", "rms")


def _check(norm: str, direction: str) -> None:
    for name, value, known in (("norm", norm, NORMS), ("direction", direction, PASSES)):
        if value not in known:
            raise ValueError(f"costs: {name} must be one of {', '.join(known)}, got {value!r}")


# Arithmetic: the formulas as they are computed, written once for any type of number.


def forward(norm: str, x: np.ndarray, gain: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Normalize ``x (N, H)`` with the fewest operations known to us, with eps = 1.

    Args:
        norm: ``layer``, ``batch`` or ``rms``, which has no bias.
        x: Summed inputs.
        gain: Shape ``(H,)``.
        bias: Shape ``(H,)``.
    """
    axis = 0 if norm == "batch" else 1
    centered = x if norm == "rms" else x - x.mean(axis, keepdims=True)
    rstd = 1 / np.sqrt((centered * centered).mean(axis, keepdims=True) + 1)
    y = centered * rstd * gain
    return y if norm == "rms" else y + bias


def backward(
    norm: str,
    dy: np.ndarray,
    x: np.ndarray,
    mean: np.ndarray,
    rstd: np.ndarray,
    gain: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return ``(dx, dgain, dbias)`` from the saved statistics; RMS norm has no ``dbias``.

    Args:
        norm: As for :func:`forward`.
        dy: The gradient with respect to ``y``, ``(N, H)``.
        x: Summed inputs, ``(N, H)``.
        mean: Mean of each row ``(N, 1)``, or of each column ``(1, H)`` for batch norm; not used for
            RMS norm.
        rstd: 1 / std, of the same shape.
        gain: Shape ``(H,)``.
    """
    if norm == "rms":
        x_hat, d = x * rstd, dy * gain
        dx = (d - x_hat * (d * x_hat).mean(1, keepdims=True)) * rstd
        return dx, (dy * x_hat).sum(0), None
    x_hat = (x - mean) * rstd
    dgain, dbias = (dy * x_hat).sum(0), dy.sum(0)
    if norm == "batch":  # its two means are gradients of the parameters, so no more sums are needed
        dx = (dy - dbias / len(x) - x_hat * (dgain / len(x))) * (gain * rstd)
        return dx, dgain, dbias
    d = dy * gain
    shift, slope = d.mean(1, keepdims=True), (d * x_hat).mean(1, keepdims=True)
    return (d - shift - x_hat * slope) * rstd, dgain, dbias


def _counting(operation: Callable[..., float]) -> Callable[..., OperationCounter]:
    def count_one(*numbers: Any) -> OperationCounter:
        OperationCounter.operations += 1
        return OperationCounter(operation(*map(float, numbers)))

    return count_one


class OperationCounter:
    """A number that counts the operations in which it is used; each kind counts as one."""

    operations = 0

    def __init__(self, value: float):
        self.value = value

    def __float__(self) -> float:
        return float(self.value)

    __add__, __sub__, __mul__, __truediv__ = map(_counting, (add, sub, mul, truediv))
    __rtruediv__ = _counting(lambda own, other: other / own)
    sqrt = _counting(math.sqrt)  # NumPy calls this method


def count(norm: str, direction: str, N: int, H: int) -> int:
    """Return the number of operations of a pass, measured with :class:`OperationCounter`.

    Args:
        norm: ``layer``, ``batch`` or ``rms``.
        direction: ``forward`` or ``backward``.
        N: Number of examples.
        H: Number of features.
    """
    _check(norm, direction)
    rng = np.random.default_rng(0)

    def draw(*shape: int) -> np.ndarray:
        return np.vectorize(OperationCounter, otypes=[object])(1 + rng.random(shape))

    OperationCounter.operations = 0
    if direction == "forward":
        forward(norm, draw(N, H), draw(H), draw(H))
    else:
        statistics = (1, H) if norm == "batch" else (N, 1)
        backward(norm, draw(N, H), draw(N, H), draw(*statistics), draw(*statistics), draw(H))
    return OperationCounter.operations


def flops(norm: str, direction: str, N: int, H: int) -> int:
    """Return the number of operations of a pass by formula; equal to :func:`count`.

    Example:
        >>> flops("layer", "forward", 64, 100) / (64 * 100)  # for each number
        7.03
    """
    _check(norm, direction)
    if direction == "forward":
        return {"layer": N * (7 * H + 3), "rms": N * (4 * H + 3), "batch": H * (7 * N + 3)}[norm]
    return {"layer": 13 * N * H - 2 * H, "rms": 9 * N * H - H, "batch": 9 * N * H + H}[norm]


# Memory traffic.


def arrays(norm: str, direction: str) -> int:
    """Return how many times a pass reads or writes an array of N × H numbers.

    A row fits into fast memory until its output is computed. For batch norm, whose statistics are
    over the batch, the inputs are read twice: for the statistics and for the output.
    """
    _check(norm, direction)
    once = 2 if direction == "forward" else 3  # x, y; dy, x, dx
    return once + (once - 1) * (norm == "batch")


def bytes_moved(norm: str, direction: str, N: int, H: int, size: int = 4) -> int:
    """Return the bytes of one pass, including statistics and parameters, each moved once.

    Args:
        norm: ``layer``, ``batch`` or ``rms``.
        direction: ``forward`` or ``backward``.
        N: Number of examples.
        H: Number of features.
        size: Bytes per number: 4 for float32, 2 for bfloat16.
    """
    numbers = arrays(norm, direction) * N * H
    statistics = {"layer": 2 * N, "batch": 2 * H, "rms": N}[norm]
    parameters = (1 if norm == "rms" else 2) * H  # gain and bias, or their gradients
    gain = H if direction == "backward" else 0
    return size * (numbers + statistics + parameters + gain)


def num_saved(norm: str, N: int, H: int) -> int:
    """Return how many numbers a forward pass saves for the backward pass: input and statistics.

    Gain and bias are not included; at inference nothing is saved.

    Args:
        norm: ``layer``, ``batch`` or ``rms``.
        N: Number of examples.
        H: Number of features.

    Example:
        >>> num_saved("layer", 64, 1024)
        65664
    """
    _check(norm, "backward")
    return N * H + {"layer": 2 * N, "batch": 2 * H, "rms": N}[norm]


# The roofline: Williams, Waterman & Patterson (2009), doi:10.1145/1498765.1498785.


@dataclass(frozen=True)
class Machine:
    """Peak rates of a machine, per second.

    Args:
        products: Operations per second in matrix products.
        other: Other operations per second.
        bandwidth: Memory bandwidth, in bytes per second.
        size: Size of a number in bytes.
        copies: Measured bandwidths, as (bytes moved, bytes per second), fewest bytes first; small
            arrays are faster, because they fit into a cache.
    """

    products: float
    other: float
    bandwidth: float
    size: int = 4
    copies: tuple[tuple[int, float], ...] = ()

    def at_size(self, N: int, H: int) -> Machine:
        """Return the machine with its bandwidth for arrays of N × H numbers; caches are faster."""
        # Between two measured sizes, the bandwidth of the smaller one, so that times are lower
        # bounds.
        below = sum(moved <= 2 * self.size * N * H for moved, _ in self.copies)
        speeds = [speed for _, speed in self.copies[max(0, below - 1) :]]
        return replace(self, bandwidth=max(speeds)) if speeds else self

    def seconds(self, work: tuple[float, float], *, product: bool = False) -> float:
        """Return the minimum time for operations and bytes: the slower of the two determines it.

        ::

            t >= max(operations / rate, bytes / bandwidth)

        Below an intensity of ``rate / bandwidth`` operations per byte, the pass is memory-bound.

        Args:
            work: Operations and bytes, whose ratio is the arithmetic intensity.
            product: Whether the operations are those of a matrix product.
        """
        return max(work[0] / (self.products if product else self.other), work[1] / self.bandwidth)


def norm_work(norm: str, direction: str, N: int, H: int, size: int = 4) -> tuple[float, float]:
    """Return operations and bytes of one pass of a norm; arguments as for :func:`bytes_moved`."""
    return flops(norm, direction, N, H), bytes_moved(norm, direction, N, H, size)


def product_work(direction: str, N: int, H: int, size: int = 4) -> tuple[float, float]:
    """Return operations and bytes of the product with ``W (H, H)`` that precedes the norm.

    The backward pass has two products: one for the gradient of the inputs, one for that of W.
    """
    twice = 1 if direction == "forward" else 2
    return twice * 2.0 * N * H * H, twice * size * (2.0 * N * H + H * H)


def share(machine: Machine, norm: str, direction: str, N: int, H: int) -> float:
    """Return the minimum time of a norm relative to that of the product that precedes it."""
    machine = machine.at_size(N, H)
    product = machine.seconds(product_work(direction, N, H, machine.size), product=True)
    return machine.seconds(norm_work(norm, direction, N, H, machine.size)) / product


# Communication between devices.


def messages(H: int) -> tuple[int, int]:
    """Return the bytes that a device sends forward (mean, 1/std, count) and backward (two sums).

    Float32, for one batch norm of H features, as PyTorch's ``SyncBatchNorm`` sends them.
    """
    return 4 * (2 * H + 1), 4 * 2 * H


def exchange_time(devices: int, H: int, network: tuple[float, float], way: str) -> float:
    """Return the theoretical time in seconds that batch norm communicates in one training step.

    A gather in the forward pass and a sum in the backward pass: Thakur, Rabenseifner & Gropp
    (2005), doi:10.1177/1094342005051521.

    Args:
        devices: Number of devices, P.
        H: Number of features.
        network: Latency in seconds, and bandwidth in bytes per second.
        way: ``ring``, or ``doubling``: the distance between communicating devices doubles in each
            round.
    """
    if way not in ("ring", "doubling"):
        raise ValueError(f"costs: way must be ring or doubling, got {way!r}")
    delay, speed = network
    forward_bytes, backward_bytes = messages(H)
    others, rounds = devices - 1, math.ceil(math.log2(devices))
    if way == "ring":
        gather = others * (delay + forward_bytes / speed)
        reduce = 2 * others * (delay + backward_bytes / devices / speed)
    else:
        gather = rounds * delay + others * forward_bytes / speed
        reduce = rounds * (delay + backward_bytes / speed)
    return gather + reduce
