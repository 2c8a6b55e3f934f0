"""One step of an LSTM: its parameters, summed inputs and outputs."""

from collections.abc import Mapping

import numpy as np

from lnlib.norms import layer_norm

Params = Mapping[str, np.ndarray]
State = tuple[np.ndarray, np.ndarray]


def parameters(
    gates: int, places: Mapping[str, int], inputs: int, H: int, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Draw the parameters of a cell: initial weights, but gains and biases as after training.

    Args:
        gates: Number of blocks of ``H`` rows in each weight matrix.
        places: Maps the position of a norm to the number of gates it spans.
        inputs: Number of features per step.
        H: Number of units.
        rng: The random generator.
    """
    p = {
        "W_ih": rng.normal(size=(gates * H, inputs)) / np.sqrt(inputs),
        "W_hh": rng.normal(size=(gates * H, H)) / np.sqrt(H),
    }
    for place, n in places.items():
        p[f"gain_{place}"], p[f"bias_{place}"] = rng.normal([[1], [0]], 0.2, size=(2, n * H))
    return p


def summed_inputs(x: np.ndarray, h: np.ndarray, params: Params, form: str) -> np.ndarray:
    """Return the summed inputs of the four gates for one example, eqs. 17 and 20.

    Args:
        x: Shape ``(I,)``.
        h: Shape ``(H,)``.
        params: As for :func:`lnlib.cells.lstm_step` with ``form="paper"``. ``plain`` and
            ``per_gate`` do not use the gains and biases of the norms.
        form: ``plain``, ``paper`` or ``per_gate``.

    Returns:
        Shape ``(4, H)``, gates i, f, g, o.
    """
    from_x, from_h = params["W_ih"] @ x, params["W_hh"] @ h
    b = params.get("b", np.zeros(len(from_x)))
    if form == "paper":
        parts = [
            layer_norm(a, params.get(f"gain_{place}"), params.get(f"bias_{place}"))
            for place, a in (("i", from_x), ("h", from_h))
        ]
        return (sum(parts) + b).reshape(4, -1)
    gates = (from_x + from_h + b).reshape(4, -1)
    return layer_norm(gates) if form == "per_gate" else gates


def squash(gates: np.ndarray) -> np.ndarray:
    """Apply the logistic function to i, f and o, tanh to g; shape ``(4, ...)``."""
    opened = (1 + np.tanh(gates / 2)) / 2
    opened[2] = np.tanh(gates[2])
    return opened


def finish(gates: np.ndarray, c: np.ndarray) -> State:
    """Return ``(h, c)`` from summed inputs ``(B, 4H)`` and the previous cell, eqs. 21 and 22."""
    i, f, g, o = squash(np.stack(np.split(gates, 4, axis=1)))
    c = f * c + i * g
    return o * np.tanh(layer_norm(c)), c
