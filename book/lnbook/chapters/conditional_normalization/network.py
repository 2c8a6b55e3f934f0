"""A small residual network with adaptive layer norm, in NumPy, with its gradients.

Each block computes ``x + gate * mlp((1 + scale) * layer_norm(x) + shift)``. Scale, shift, and gate
come from a linear layer in each block, whose input comes from one layer shared by all blocks::

    hidden = silu(embed condition + embed_bias)
    scale, shift, gate = the parts of  modulation hidden + modulation_bias
"""

from dataclasses import dataclass

import numpy as np

from lnlib.norms import layer_norm, layer_norm_backward

Params = dict[str, np.ndarray]


@dataclass(frozen=True)
class Network:
    """The architecture of the network.

    Args:
        gate: Whether each block has a gate; otherwise its output is added unchanged.
        offset: Added to the scale: 1 for ``1 + scale``, 0 for ``scale``.
        depth: Number of blocks.
    """

    gate: bool = True
    offset: float = 1
    depth: int = 4

    def forward(self, params: Params, x: np.ndarray, condition: np.ndarray) -> tuple:
        """Return the output, shape ``(N, H)``, and the intermediate results for :meth:`gradients`.

        Args:
            params: Parameters from :func:`initial`.
            x: Shape ``(N, H)``.
            condition: One per example, shape ``(N, C)``.
        """
        summed = condition @ params["embed"].T + params["embed_bias"]
        hidden, saved = silu(summed), []
        for k in range(self.depth):
            rows = hidden @ params[f"modulation{k}"].T + params[f"modulation_bias{k}"]
            scale, shift, *gate = np.split(rows, 3 if self.gate else 2, axis=1)
            x_hat = layer_norm(x)
            y = (self.offset + scale) * x_hat + shift
            a = y @ params[f"w{k}"].T + params[f"w_bias{k}"]
            f = silu(a) @ params[f"v{k}"].T + params[f"v_bias{k}"]
            saved.append((x, x_hat, scale, y, a, f, *gate))
            x = x + (gate[0] * f if self.gate else f)
        return x, (summed, hidden, saved)

    def gradients(
        self, params: Params, x: np.ndarray, condition: np.ndarray, target: np.ndarray
    ) -> Params:
        """Return the gradient of the mean squared error with respect to each parameter."""
        output, (summed, hidden, saved) = self.forward(params, x, condition)
        d, dhidden, results = 2 * (output - target) / target.size, np.zeros_like(hidden), {}
        for k in reversed(range(self.depth)):
            before, x_hat, scale, y, a, f, *gate = saved[k]
            df = d * gate[0] if self.gate else d
            da = (df @ params[f"v{k}"]) * silu_slope(a)
            dy = da @ params[f"w{k}"]
            parts = [dy * x_hat, dy, *([d * f] if self.gate else [])]
            drows = np.concatenate(parts, axis=1)
            results |= {f"v{k}": df.T @ silu(a), f"v_bias{k}": df.sum(0)}
            results |= {f"w{k}": da.T @ y, f"w_bias{k}": da.sum(0)}
            results |= {f"modulation{k}": drows.T @ hidden, f"modulation_bias{k}": drows.sum(0)}
            dhidden += drows @ params[f"modulation{k}"]
            d = d + layer_norm_backward((self.offset + scale) * dy, before)[0]
        dsummed = dhidden * silu_slope(summed)
        return results | {"embed": dsummed.T @ condition, "embed_bias": dsummed.sum(0)}

    def loss(
        self, params: Params, x: np.ndarray, condition: np.ndarray, target: np.ndarray
    ) -> float:
        """Return the mean squared error."""
        return float(np.square(self.forward(params, x, condition)[0] - target).mean())


def initial(
    network: Network, features: int, condition_size: int, zero: str, rng: np.random.Generator
) -> Params:
    """Return the initial parameters.

    Args:
        network: The architecture.
        features: Number of features of an example, H. The MLP of a block has 2 H hidden units.
        condition_size: Number of features of a condition, C. The shared layer has H units.
        zero: What is initialized to 0: ``"none"`` (each modulation layer is initialized like
            ``nn.Linear``), ``"modulation"`` (adaLN-Zero) or ``"both"`` (also the shared layer).
        rng: Generator of the weights, which do not depend on the architecture and on ``zero``.

    Returns:
        Weights of shape (outputs, inputs) and biases. MLPs and the shared layer have Xavier uniform
        initialization and zero biases, as in DiT.
    """

    def xavier(outputs: int, inputs: int) -> np.ndarray:
        bound = np.sqrt(6 / (inputs + outputs))
        return rng.uniform(-bound, bound, size=(outputs, inputs))

    H, rows, bound = features, (3 if network.gate else 2) * features, features**-0.5
    params = {"embed": xavier(H, condition_size), "embed_bias": np.zeros(H)}
    for k in range(network.depth):
        params |= {f"w{k}": xavier(2 * H, H), f"w_bias{k}": np.zeros(2 * H)}
        params |= {f"v{k}": xavier(H, 2 * H), f"v_bias{k}": np.zeros(H)}
        drawn = rng.uniform(-bound, bound, size=(3 * H, H + 1))[:rows]
        drawn *= zero == "none"
        params |= {f"modulation{k}": drawn[:, :H], f"modulation_bias{k}": drawn[:, H]}
    if zero == "both":
        params["embed"] *= 0
    return params


def silu(a: np.ndarray) -> np.ndarray:
    """Return ``a * sigmoid(a)``; it is 0 at 0."""
    return a / (1 + np.exp(-a))


def silu_slope(a: np.ndarray) -> np.ndarray:
    """Return the derivative of :func:`silu`; it is 1/2 at 0."""
    s = 1 / (1 + np.exp(-a))
    return s * (1 + a * (1 - s))
