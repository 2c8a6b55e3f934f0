"""The exercises of the chapter ``cost``."""

import math

import numpy as np

from lnbook.exercises import Function, Value


def _merge(counts, means, variances):
    total = counts.sum()
    mean = (counts[:, None] * means).sum(0) / total
    spread = variances + (means - mean) ** 2
    return mean, (counts[:, None] * spread).sum(0) / total


def _merge_cases(rng):
    yield np.array([1.0, 3.0]), np.array([[0.0], [4.0]]), np.array([[0.0], [2.0]])
    for parts, H in ((2, 3), (5, 4)):
        yield (
            rng.integers(1, 9, size=parts).astype(float),
            rng.normal(size=(parts, H)),
            rng.uniform(0.5, 2, size=(parts, H)),
        )


def _equal_counts(counts, means, variances):
    return _merge(np.ones_like(counts), means, variances)


def _no_spread(counts, means, variances):
    weights = counts[:, None] / counts.sum()
    return (weights * means).sum(0), (weights * variances).sum(0)


def _of_the_means(counts, means, variances):
    mean = _merge(counts, means, variances)[0]
    return mean, (counts[:, None] * (means - mean) ** 2).sum(0) / counts.sum()


def _least_time(flops, bytes_moved, flops_per_second, bytes_per_second):
    return max(flops / flops_per_second, bytes_moved / bytes_per_second)


def _least_cases(rng):
    yield 100.0, 10.0, 10.0, 5.0
    yield 10.0, 100.0, 10.0, 5.0
    for _ in range(3):
        yield tuple(rng.uniform(1, 1e3, size=4))


def _ring(devices, size, delay, speed):
    return (devices - 1) * (delay + size / speed)


def _ring_cases(rng):
    yield 2, 8.0, 1.0, 4.0
    yield 1000, 8004.0, 5e-6, 50e9
    yield 64, *rng.uniform(1, 9, size=3)


EXERCISES = {
    "operations-of-rms-norm": Value(
        64 * (4 * 1000 + 3),
        on_success="There are four operations per element, and three per example: eps, root, and "
        "reciprocal.",
        misconceptions={
            64 * (7 * 1000 + 3): "that is layer norm; RMS norm does not subtract a mean and has "
            "no bias.",
            64 * 4 * 1000: "add `eps`, root, and reciprocal for each example.",
            64 * (5 * 1000 + 3): "RMS norm has no bias.",
            4 * 1000 + 3: "that is for one example; there are 64.",
        },
        hint="square, mean, factor, gain: which of them is done for each number?",
    ),
    "least-time": Function(
        _least_time,
        cases=_least_cases,
        misconceptions={
            "both run at the same time: the longer time counts, not the sum.": (
                lambda flops, bytes_moved, flops_per_second, bytes_per_second: (
                    flops / flops_per_second + bytes_moved / bytes_per_second
                )
            ),
            "the machine waits for the *slower* of the two.": (
                lambda flops, bytes_moved, flops_per_second, bytes_per_second: min(
                    flops / flops_per_second, bytes_moved / bytes_per_second
                )
            ),
            "this counts only the arithmetic.": (
                lambda flops, bytes_moved, flops_per_second, bytes_per_second: (
                    flops / flops_per_second
                )
            ),
            "this counts only the bytes.": (
                lambda flops, bytes_moved, flops_per_second, bytes_per_second: (
                    bytes_moved / bytes_per_second
                )
            ),
        },
        on_success="This is the roofline: norms are on its slope, wide products under its flat "
        "top.",
    ),
    "width-of-a-tenth": Value(
        800,
        on_success="At larger widths the percentage is even smaller; with tensor cores this width "
        "is far larger.",
        misconceptions={
            80: "at this width the norm takes as long as the product.",
            200: "a float32 number has 4 bytes, and there are two arrays.",
            400: "the norm reads x and writes y: two arrays.",
            1600: "the product needs 2 H operations per output, H products and H sums.",
            8: "the norm takes a *tenth* of the time of the product, not ten times as long.",
        },
        hint="set 8 N H / (bytes per second) to a tenth of 2 N H² / (operations per second).",
    ),
    "merge-the-halves": Function(
        _merge,
        cases=_merge_cases,
        returns=("mean", "variance"),
        misconceptions={
            "the parts have different sizes: weight each by its count.": _equal_counts,
            "the means of the parts differ, and this contributes to the total variance.": (
                _no_spread
            ),
            "this is only the variance of the means; add that within the parts.": _of_the_means,
        },
        on_success="Three numbers per part and feature suffice, for any number of examples.",
    ),
    "around-the-ring": Function(
        _ring,
        cases=_ring_cases,
        misconceptions={
            "a device already has its own message: there is one round fewer than devices.": (
                lambda devices, size, delay, speed: devices * (delay + size / speed)
            ),
            "every round has a delay, not only the first.": (
                lambda devices, size, delay, speed: delay + (devices - 1) * size / speed
            ),
            "this is doubling, where each round passes on all messages received so far; in a "
            "ring a device receives one per round.": lambda devices, size, delay, speed: (
                math.ceil(math.log2(devices)) * delay + (devices - 1) * size / speed
            ),
            "every round also transfers the bytes.": (
                lambda devices, size, delay, speed: (devices - 1) * delay
            ),
        },
        on_success="With 1,000 devices and messages this short, nearly all of the time is delay.",
    ),
}
