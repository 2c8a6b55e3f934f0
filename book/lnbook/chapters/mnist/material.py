"""Conditions on the two losses that an exercise of ``mnist`` asks to be measured."""

import math


def equal(batches: float, averages: float) -> bool:
    """Whether the loss is the same with the statistics of the batch and the running averages."""
    return math.isclose(batches, averages, rel_tol=1e-6)


def untrained(batches: float, averages: float) -> bool:
    """Whether both losses are those of guessing."""
    return min(batches, averages) > 2


def exchanged(batches: float, averages: float) -> bool:
    """Whether the loss with running averages is larger, against what was asked for first."""
    return batches < averages
