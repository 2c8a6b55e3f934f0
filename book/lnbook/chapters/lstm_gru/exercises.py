"""The exercises of the chapter ``lstm_gru``: versions of a cell, a sign, a count, a gain."""

from __future__ import annotations

import numpy as np

from lnbook.exercises import Function, Text, Value
from lnlib import cells
from lnlib.norms import layer_norm

# Each gate alone.


def _per_gate(a, *, together=False, batch=False, interleaved=False, all_rows=False):
    if together:
        return layer_norm(a)
    if all_rows:
        return (a - a.mean()) / np.sqrt(a.var() + 1e-5)
    if interleaved:
        return layer_norm(a.reshape(len(a), -1, 4).swapaxes(1, 2)).swapaxes(1, 2).reshape(a.shape)
    gates = a.reshape(len(a), 4, -1)
    if batch:
        return ((gates - gates.mean(0)) / np.sqrt(gates.var(0) + 1e-5)).reshape(a.shape)
    return layer_norm(gates).reshape(a.shape)


def _summed_cases(rng):
    for batch, H in [(1, 2), (3, 5), (4, 8)]:
        loud = np.repeat([1.0, 4.0, 0.5, 2.0], H)  # gates of different spread
        yield (loud * rng.normal(size=(batch, 4 * H)) + rng.normal(size=4 * H),)


# Which version.


def unknown() -> tuple[np.ndarray, tuple, dict[str, np.ndarray], np.ndarray]:
    """Return what a colleague ran, and what came out.

    Returns:
        Inputs ``(3, 1, 4)``, the state ``(h, c)`` before them, the parameters, and the outputs h
        of the three steps, ``(3, 1, 6)``.
    """
    rng = np.random.default_rng(7)
    params = {"W_ih": rng.normal(size=(24, 4)), "W_hh": rng.normal(size=(24, 6))}
    xs, state = rng.normal(size=(3, 1, 4)), tuple(rng.normal(size=(2, 1, 6)))
    after, outputs = state, []
    for x in xs:
        after = cells.lstm_step(x, after, params, form="carried")
        outputs.append(after[0])
    return xs, state, params, np.stack(outputs)


# The sign of a gate.


def _turned(gain, bias, *, of_gain=-1, of_bias=-1, first=False, both=False):
    H = len(gain) // 2
    rows = slice(None) if both else slice(None, H) if first else slice(H, None)
    gain, bias = gain.copy(), bias.copy()
    gain[rows] *= of_gain
    bias[rows] *= of_bias
    return gain, bias


def _affine_cases(rng):
    for H in (1, 2, 5):
        yield rng.normal(1, 0.5, size=2 * H), rng.normal(size=2 * H)


# How many numbers.


def _count(inputs, units, *, b=True, norms=(4, 4, 1), each=2):
    H = units
    return 4 * H * (inputs + H) + b * 4 * H + each * sum(norms) * H


def _sizes(rng):
    drawn = rng.integers(2, 200, size=2).tolist()
    return [(8, 16), (1, 3), (28, 100), tuple(drawn)]


def _logistic(a):
    return 1 / (1 + np.exp(-a))


EXERCISES = {
    "each-gate-alone": Function(
        _per_gate,
        cases=_summed_cases,
        wrong={
            "this is one norm over all four gates, as in eq. 20; here each gate has its own.": (
                lambda a: _per_gate(a, together=True)
            ),
            "its statistics run over the examples; that is batch norm.": (
                lambda a: _per_gate(a, batch=True)
            ),
            "it mixes the examples; each row of `a` is an example of its own.": (
                lambda a: _per_gate(a, all_rows=True)
            ),
            "a gate is H columns side by side, not every fourth one: reshape to (B, 4, H).": (
                lambda a: _per_gate(a, interleaved=True)
            ),
        },
        right="Every gate now has spread 1, whatever its weights say.",
    ),
    "which-version": Text(
        "carried",
        wrong={
            "paper": "its first output agrees and its second does not; one step is no test.",
            "per_gate": "its first output differs already.",
            "draw": "its first output differs already.",
            "plain": "its first output differs already.",
        },
        otherwise='answer with a form of `cells.lstm_step`, such as "paper".',
        right="At step 1 it cannot be told from the paper's; from step 2 on it can.",
    ),
    "turn-the-gate": Function(
        _turned,
        cases=_affine_cases,
        returns=("gain", "bias"),
        wrong={
            "as they are, 1 − u stands where u should.": (
                lambda gain, bias: _turned(gain, bias, of_gain=1, of_bias=1)
            ),
            "the reset gate means the same in both; only the update gate is turned.": (
                lambda gain, bias: _turned(gain, bias, both=True)
            ),
            "these are the rows of the reset gate; r comes first.": (
                lambda gain, bias: _turned(gain, bias, first=True)
            ),
            "the bias has to turn as well: it is part of what the logistic function gets.": (
                lambda gain, bias: _turned(gain, bias, of_bias=1)
            ),
            "the gain has to turn as well; the bias alone only shifts the gate.": (
                lambda gain, bias: _turned(gain, bias, of_gain=1)
            ),
        },
        right="σ(−a) = 1 − σ(a), and the sign goes where the norm is done.",
    ),
    "count-the-numbers": Function(
        _count,
        cases=_sizes,
        wrong={
            "this is nn.LSTM, with two biases and no norm.": (
                lambda inputs, units: 4 * units * (inputs + units) + 8 * units
            ),
            "the bias b of eq. 20 is missing, 4H numbers.": (
                lambda inputs, units: _count(inputs, units, b=False)
            ),
            "the norm of the cell is missing, a gain and a bias for each unit.": (
                lambda inputs, units: _count(inputs, units, norms=(4, 4))
            ),
            "every norm has a gain and a bias for each number that it normalizes; one of the two "
            "is missing.": lambda inputs, units: _count(inputs, units, each=1),
            "W_x x and W_h h each have a norm of their own, over 4H numbers.": (
                lambda inputs, units: _count(inputs, units, norms=(4, 1))
            ),
            "these norms span H numbers; those of the gates span 4H.": (
                lambda inputs, units: _count(inputs, units, norms=(1, 1, 1))
            ),
        },
        right="4H(I + H) weights, and 22H numbers for b and the three norms.",
    ),
    "gain-of-zero": Value(
        _logistic(2) * np.tanh(1),
        wrong={
            _logistic(1) * np.tanh(1): "the output gate gets two biases: one from each norm in "
            "eq. 20.",
            _logistic(2) * np.tanh(2): "the norm of the cell has one bias, so tanh gets 1.",
            _logistic(2): "eq. 22 multiplies the output gate by tanh(1).",
            0: "that is what gain 0 and bias 0 give.",
            0.5: "a gate of 1/2 is what bias 0 gives; here the biases are 1.",
        },
        right="Every unit, every step, every input: 0.671.",
        otherwise="with gain 0 a norm puts out its bias. Put 1 for each norm of eqs. 20 and 22.",
    ),
}
