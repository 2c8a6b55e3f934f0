"""Scale of activations and gradients in a deep ReLU network, by scale of the initialization."""

import functools
from typing import Any

import numpy as np
import plotly.graph_objects as go

from lnbook.chapters.why_layer_norm_helps.networks import Network, he_weights
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.plots import NORMS, add_line, label_ends, log_axis, power_of_ten

DEPTH, WIDTH, EXAMPLES, CLASSES = 20, 256, 64, 10
#: Factors of He initialization.
SCALES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.4, 1.6, 1.8, 2.0)
STYLES = {"none": ("without normalization", *NORMS["none"][1:]), "layer": NORMS["layer"]}


@functools.cache
def scales(norm: str, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the std of each layer's activations and the norm of each weight gradient.

    Inputs are Gaussian and labels random, the same at every scale; the loss is the mean
    cross-entropy of a linear output layer.

    Args:
        norm: ``"layer"`` or ``"none"``.
        scale: Factor of He initialization.

    Returns:
        Two arrays of shape ``(DEPTH,)``.
    """
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1, EXAMPLES, WIDTH))
    y = rng.integers(CLASSES, size=(1, EXAMPLES))
    weights = he_weights([WIDTH] * (DEPTH + 1) + [CLASSES], scale, rng)
    network = Network([W[None] for W in weights], norm)
    activations = network.forward(x)[1][1:]
    gradients = network.gradients(x, y)[:-1]
    stds = np.array([h.std() for h in activations])
    return stds, np.array([np.linalg.norm(dW) for dW in gradients])


def axis(low: int, high: int, step: int = 1, **options: Any) -> dict[str, Any]:
    """Return a logarithmic axis with ticks at powers of ten; ``options`` as in ``log_axis``."""
    powers = range(low, high + 1, step)
    return log_axis([10.0**k for k in powers], texts=[*map(power_of_ten, powers)], **options)


def draw(scale: float) -> list[go.Figure]:
    """Draw both over the layers, with a line per network."""
    titles = "Std of the activations", "Norm of the weight gradient"
    panels = []
    for k, title in enumerate(titles):
        figure = go.Figure()
        for norm, style in STYLES.items():
            add_line(
                figure,
                list(range(1, DEPTH + 1)),
                [float(f"{v:.3g}") for v in scales(norm, scale)[k]],
                style,
                "layer %{x}: %{y:.2g}",
                size=6,
            )
        figure.update_layout(
            title=title,
            height=340,
            xaxis={"title": "layer", "range": [0.2, DEPTH + 0.6], "tickvals": [1, 5, 10, 15, 20],
                   "zeroline": False},
            yaxis=axis(-6, 6, 3, ends=[-8, 8]),
        )  # fmt: skip
        panels.append(label_ends(figure))
    return panels


def describe(scale: float) -> str:
    """Describe the scale after the last layer, and the gradient of the first layer."""
    ends = {norm: (stds[-1], norms[0]) for norm in STYLES for stds, norms in [scales(norm, scale)]}
    (plain_std, plain_norm), (std, norm) = ends["none"], ends["layer"]
    return (
        f"At {scale:g} × He initialization, the std of the activations after {DEPTH} layers is "
        f"{plain_std:.2g} without normalization and {std:.2g} with layer norm. The norm of the "
        f"gradient of the first weight matrix is {plain_norm:.2g} and {norm:.2g}, respectively."
    )


SCALE_BY_DEPTH = Picture(
    draw,
    describe,
    alt="Two panels over the 20 layers of a network, both with a logarithmic axis: the standard "
    "deviation of the activations, and the norm of the gradient of each weight matrix. Without "
    "normalization the first changes by about the same factor at every layer, and the second has "
    "about the same value in all layers, which is very small or very large if this factor is not "
    "close to 1. With layer norm both lines are nearly flat.",
)
