"""Gates and gradients of an LN-LSTM before the first update, by initial gain and bias."""

import functools

import numpy as np

from lnbook.chapters.lstm_gru.lstm import Params, State, squash, summed_inputs
from lnlib import cells


class InitialStatistics:
    """Gates, output and gradients of an LN-LSTM at initialization.

    Args:
        xs: Inputs, one per step, shape ``(T, I)``.
        params: ``W_ih`` and ``W_hh``.
        v: Gradient of the loss with respect to the last output, shape ``(H,)``.
    """

    def __init__(self, xs: np.ndarray, params: Params, v: np.ndarray):
        self.xs, self.v = xs[:, None], v[None]
        self.weights = {name: params[name] for name in ("W_ih", "W_hh")}
        self.H = len(v)

    @functools.cache  # noqa: B019  (one object a chapter)
    def at(self, gain: float, bias: float) -> dict[str, np.ndarray]:
        """Return ``gates`` (4, H) and output ``h`` (H,) of the last step, and every gradient.

        Args:
            gain: Gain of all three norms.
            bias: Bias of all three norms.
        """
        sizes = {"i": 4 * self.H, "h": 4 * self.H, "c": self.H}
        params = dict(self.weights)
        for place, n in sizes.items():
            params |= {
                f"gain_{place}": np.full(n, float(gain)),
                f"bias_{place}": np.full(n, float(bias)),
            }
        state, before = (np.zeros((1, self.H)), np.zeros((1, self.H))), []
        for x in self.xs:
            before.append(state)
            state = cells.lstm_step(x, state, params)
        gates = summed_inputs(self.xs[-1, 0], before[-1][0][0], params, "paper")
        results = {"gates": squash(gates), "h": state[0][0]}
        return results | self._gradients(params, before)

    def _gradients(self, params: Params, before: list[State]) -> dict[str, np.ndarray]:
        d, total = (self.v, np.zeros_like(self.v)), dict.fromkeys(params, 0.0)
        for x, state in zip(self.xs[::-1], before[::-1], strict=True):
            _, d, dparams = cells.lstm_step_backward(d, x, state, params)
            total = {name: total[name] + dparams[name] for name in params}
        return total
