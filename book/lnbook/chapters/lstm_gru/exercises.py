"""The exercises of the chapter ``lstm_gru``."""

import numpy as np

from lnbook.exercises import Function, Text, Value
from lnlib import cells
from lnlib.norms import layer_norm

# One norm per gate.


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
        scale = np.repeat([1.0, 4.0, 0.5, 2.0], H)  # gates with different standard deviations
        yield (scale * rng.normal(size=(batch, 4 * H)) + rng.normal(size=4 * H),)


# Which version.


def unknown() -> tuple[np.ndarray, tuple, dict[str, np.ndarray], np.ndarray]:
    """Return the inputs and the outputs of an unknown LN-LSTM.

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


def _logistic(a):
    return 1 / (1 + np.exp(-a))


EXERCISES = {
    "each-gate-alone": Function(
        _per_gate,
        cases=_summed_cases,
        misconceptions={
            "this is one norm over all four gates, as in eq. 20; here each gate has its own "
            "norm.": (lambda a: _per_gate(a, together=True)),
            "these statistics are computed over the examples; that is batch norm.": (
                lambda a: _per_gate(a, batch=True)
            ),
            "this mixes the examples; each row of `a` is one example.": (
                lambda a: _per_gate(a, all_rows=True)
            ),
            "a gate is H adjacent columns, not every fourth column: reshape to (B, 4, H).": (
                lambda a: _per_gate(a, interleaved=True)
            ),
        },
        on_success="The summed inputs of every gate now have standard deviation 1, whatever the "
        "scale of its weights.",
    ),
    "which-version": Text(
        "carried",
        misconceptions={
            "paper": "its first output agrees, but the second does not. One step is not "
            "enough for a test.",
            "per_gate": "its first output already differs.",
            "draw": "its first output already differs.",
            "plain": "its first output already differs.",
        },
        hint='answer with a form of `cells.lstm_step`, such as "paper".',
        on_success="At step 1 it agrees with the paper's form; from step 2 on it differs.",
    ),
    "turn-the-gate": Function(
        _turned,
        cases=_affine_cases,
        returns=("gain", "bias"),
        misconceptions={
            "with the parameters unchanged, the weight of the old state is 1 − u, not u.": (
                lambda gain, bias: _turned(gain, bias, of_gain=1, of_bias=1)
            ),
            "the reset gate has the same meaning in both; only the update gate changes sign.": (
                lambda gain, bias: _turned(gain, bias, both=True)
            ),
            "these are the rows of the reset gate; r comes first.": (
                lambda gain, bias: _turned(gain, bias, first=True)
            ),
            "the bias must change sign as well: it is part of the input of the logistic "
            "function.": (lambda gain, bias: _turned(gain, bias, of_bias=1)),
            "the gain must change sign as well; the bias alone only shifts the gate.": (
                lambda gain, bias: _turned(gain, bias, of_gain=1)
            ),
        },
        on_success="σ(−a) = 1 − σ(a), and the sign is applied after the normalization.",
    ),
    "gain-of-zero": Value(
        _logistic(2) * np.tanh(1),
        misconceptions={
            _logistic(1) * np.tanh(1): "the output gate receives two biases, one from each "
            "norm in eq. 20.",
            _logistic(2) * np.tanh(2): "the norm of the cell state has one bias, so tanh is "
            "applied to 1.",
            _logistic(2): "eq. 22 multiplies the output gate by tanh(1).",
            0: "that is the output with gain 0 and bias 0.",
            0.5: "a gate is 1/2 when the biases are 0; here they are 1.",
        },
        on_success="Every unit outputs 0.671 at every step, for every input.",
        hint="with gain 0 a norm returns its bias. Replace each norm of eqs. 20 and 22 by 1.",
    ),
}
