"""Compute the numbers of a norm table's state with :mod:`lnlib.norms`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lnbook.widgets.norm_table.state import TEST_TIME, State, typed
from lnlib import norms

TINY = 1e-145  # squares of smaller differences lose digits in float64


@dataclass(frozen=True)
class Result:
    """The numbers of a state.

    Args:
        x: The input, NaN where the text is not a number; shape ``(B, F)``, as for all but the next
            two.
        gain: Shape ``(F,)``.
        bias: Shape ``(F,)``.
        mean: What is subtracted from each cell.
        std: What each cell is divided by.
        y: The output, NaN where ``note`` gives a reason.
        note: ``""``, ``"?"``, ``"0/0"``, ``"too big"`` or ``"too small"``.
    """

    x: np.ndarray
    gain: np.ndarray
    bias: np.ndarray
    mean: np.ndarray
    std: np.ndarray
    y: np.ndarray
    note: np.ndarray


def compute(state: State, running: tuple[np.ndarray, np.ndarray] | None) -> Result:
    """Compute the numbers of a state.

    Args:
        state: The reader's input.
        running: Running mean and variance from training, for batch norm at inference.

    Returns:
        The numbers.
    """
    x = np.array([[typed(text) for text in row] for row in state.x])
    gain, bias = (np.array([typed(text) for text in row]) for row in (state.gain, state.bias))
    with np.errstate(all="ignore"):  # ``note`` reports what goes wrong
        mean, std, y = _normalize(state, x, gain, bias, running)
    note = _notes(state, x, gain, bias, mean, std, y)
    return Result(x, gain, bias, mean, std, np.where(note == "", y, np.nan), note)


def _normalize(state, x, gain, bias, running):
    name, eps, sets = state.norm, state.eps, state.sets()
    mean, std = np.zeros(x.shape), np.ones(x.shape)
    if name == TEST_TIME:
        known = [r[: x.shape[1]] for r in running]
        missing = x.shape[1] - len(known[0])
        m, v = (np.append(r, np.full(missing, f)) for r, f in zip(known, (0, 1), strict=True))
        y = norms.batch_norm(x, gain, bias, eps=eps, mean=m, var=v)
        return mean + m, std * np.sqrt(v + eps), y
    if name == "RMS norm":
        std = std * np.sqrt(np.square(x).mean(1, keepdims=True) + eps)
        return mean, std, norms.rms_norm(x, gain, eps=eps)
    if name == "none":
        return mean, std, gain * x + bias
    for k in range(sets.max() + 1):
        m, v = norms.batch_statistics(x[sets == k][:, None])
        mean[sets == k], std[sets == k] = m, np.sqrt(v + eps)
    if name == "group norm":
        return mean, std, norms.group_norm(x, state.groups, gain, bias, eps=eps)
    if name == "instance norm":
        return mean, std, norms.instance_norm(x[..., None], gain, bias, eps=eps)[..., 0]
    function = norms.layer_norm if name == "layer norm" else norms.batch_norm
    return mean, std, function(x, gain, bias, eps=eps)


def _notes(state, x, gain, bias, mean, std, y):
    """Return the ``note`` of each cell: why it has no output, or ``""``."""
    name, sets = state.norm, state.sets()
    unknown = np.isin(sets, sets[np.isnan(x)]) | np.isnan(gain)
    if name != "RMS norm":
        unknown = unknown | np.isnan(bias)
    note = np.full(x.shape, "", dtype="<U9")
    if name not in (TEST_TIME, "none"):
        equal = np.zeros(x.shape, bool)
        for k in range(sets.max() + 1):
            equal[sets == k] = all_equal(name, x[sets == k])
        note[std < TINY] = "too small"
        note[equal & (std == 0)] = "0/0"
    big = (note == "") & ~(np.isfinite(y) & np.isfinite(mean) & np.isfinite(std))
    note[big] = "too big"
    note[unknown] = "?"
    return note


def all_equal(name: str, numbers: np.ndarray) -> bool:
    """Return whether ``x - mean`` is 0 throughout a normalization set."""
    first = 0.0 if name == "RMS norm" else numbers[0]
    return bool((numbers == first).all())
