"""The gradient of each part of a conditioned network over its first updates."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import plotly.graph_objects as go

from lnbook.chapters.conditional_normalization.network import Network, Params, initial
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS, fade
from lnbook.figures.plots import add_line, log_axis

BATCH, TEST_EXAMPLES, CLASSES, FEATURES, CONDITION = 64, 512, 8, 16, 16
RATE, UPDATES, SHOWN = 0.01, 100, 10
ZEROS = {
    "zero (adaLN-Zero)": "modulation",
    "PyTorch's default": "none",
    "zero in two layers": "both",
}
GATES = {"with a gate": True, "without a gate": False}
OFFSETS = {"1 + scale": 1, "scale": 0}
PARTS = {  # label, color, dash, marker
    "gate": ("gate", COLORS["first"], "solid", "circle"),
    "scale": ("scale", COLORS["second"], "dash", "square"),
    "shift": ("shift", COLORS["third"], "dot", "diamond"),
    "shared": ("shared layer", COLORS["fourth"], "longdash", "triangle-up"),
    "mlp": ("MLPs", COLORS["ink"], "dashdot", "triangle-down"),
}
LOW, HIGH = -5.0, 0.6  # powers of ten; the band of exact zeros is below LOW


@dataclass(frozen=True)
class Training:
    """Measurements of a training run.

    Args:
        norms: Norm of each part's gradient before each of the first updates, by part, shape
            ``(SHOWN + 1,)``.
        loss: The mean squared error on test examples after :data:`UPDATES` updates, divided by that
            of the identity.
        loss_with_other_condition: The same if each example gets the condition of another class.
        identity: Whether the network is the identity before the first update.
    """

    norms: dict[str, np.ndarray]
    loss: float
    loss_with_other_condition: float
    identity: bool


def data(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return inputs, conditions, targets, and the conditions of other classes.

    The target is the input plus a function of the input that depends on the class.

    Args:
        count: Number of examples N.

    Returns:
        Inputs and targets of shape ``(N, FEATURES)``, conditions of shape ``(N, CONDITION)``.
    """
    rng = np.random.default_rng(0)
    conditions = rng.normal(size=(CLASSES, CONDITION))
    slopes, shifts = rng.normal(size=(2, CLASSES, FEATURES))
    x, classes = rng.normal(size=(count, FEATURES)), np.arange(count) % CLASSES
    target = x + np.tanh(x * slopes[classes] + shifts[classes])
    return x, conditions[classes], target, conditions[(classes + 1) % CLASSES]


@cache
def train(zero: str, gate: bool, offset: float) -> Training:
    """Train with Adam and record the gradients of the first updates.

    Args:
        zero: See :func:`initial`.
        gate: See :class:`Network`.
        offset: See :class:`Network`.
    """
    network = Network(gate, offset)
    params = initial(network, FEATURES, CONDITION, zero, np.random.default_rng(1))
    # Each update has new examples; the last ones are test examples.
    x, condition, target, other_condition = data(BATCH * UPDATES + TEST_EXAMPLES)
    test, identity = slice(-TEST_EXAMPLES, None), network.forward(params, x, condition)[0] == x
    m, v = ({name: np.zeros_like(p) for name, p in params.items()} for _ in range(2))
    norms = []
    for update in range(1, UPDATES + 1):
        batch = slice(BATCH * (update - 1), BATCH * update)
        gradients = network.gradients(params, x[batch], condition[batch], target[batch])
        norms.append(part_norms(network, gradients))
        for name, g in gradients.items():
            m[name] = 0.9 * m[name] + 0.1 * g
            v[name] = 0.999 * v[name] + 0.001 * g**2
            m_hat, v_hat = m[name] / (1 - 0.9**update), v[name] / (1 - 0.999**update)
            params[name] = params[name] - RATE * m_hat / (np.sqrt(v_hat) + 1e-8)
    identity_loss = np.square(x - target)[test].mean()
    losses = (
        network.loss(params, x[test], c[test], target[test]) / identity_loss
        for c in (condition, other_condition)
    )
    by_part = {name: np.array([n[name] for n in norms[: SHOWN + 1]]) for name in norms[0]}
    return Training(by_part, *map(float, losses), bool(identity.all()))


def part_norms(network: Network, gradients: Params) -> dict[str, float]:
    """Return the norm of the gradient of each part's weights (not biases) over all blocks."""
    blocks = range(network.depth)
    names = ("scale", "shift", "gate")[: 3 if network.gate else 2]
    rows = [np.split(gradients[f"modulation{k}"], len(names)) for k in blocks]
    parts = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    parts["shared"] = [gradients["embed"]]
    parts["mlp"] = [gradients[f"{name}{k}"] for k in blocks for name in "wv"]
    return {
        name: float(np.sqrt(sum(np.square(a).sum() for a in arrays)))
        for name, arrays in parts.items()
    }


def draw(zero: str, gate: bool, offset: float) -> go.Figure:
    """Draw the norm of each part's gradient over the first updates."""
    training, figure = train(zero, gate, offset), go.Figure()
    figure.add_scatter(
        x=[-0.5, SHOWN + 0.5, SHOWN + 0.5, -0.5],
        y=[10 ** (LOW - 1)] * 2 + [10 ** (LOW - 0.1)] * 2,
        mode="lines", fill="toself", fillcolor=fade(COLORS["gray"], 0.15),
        line={"width": 0}, hoverinfo="skip", showlegend=False,
    )  # fmt: skip
    for i, (name, style) in enumerate(PARTS.items()):
        if name not in training.norms:
            continue
        norms = training.norms[name]
        heights = np.where(norms > 0, norms, 10 ** (LOW - 0.22 - 0.15 * i))
        add_line(
            figure,
            list(range(SHOWN + 1)),
            [float(f"{v:.3g}") for v in heights],
            style,
            "update %{x}: %{customdata}",
            size=7,
            customdata=["exactly 0" if v == 0 else f"{v:.1e}" for v in norms],
            meta={"values": [float(f"{v:.3g}") for v in norms]},
        )
    powers = range(round(LOW) + 1, 1)
    figure.update_layout(
        title="Norm of the gradient of the weights of each part",
        height=400,
        xaxis={"title": "updates made", "range": [-0.5, SHOWN + 0.5], "dtick": 2,
               "zeroline": False},
        yaxis=log_axis([10 ** (LOW - 0.5), *(10.0**k for k in powers)], [LOW - 1, HIGH],
                       texts=["exactly 0", *(f"{10.0**k:g}" for k in powers)]),
    )  # fmt: skip
    return figure


def describe(zero: str, gate: bool, offset: float) -> str:
    """Return sentences on which parts learn first, and on whether the condition is used."""
    training = train(zero, gate, offset)
    learning = [
        [f"the {PARTS[name][0]}" for name, norms in training.norms.items() if norms[k] > 0]
        for k in (0, 1)
    ]
    start = "The network starts as the identity. " if training.identity else ""
    if not any(learning) and training.loss == 1:
        return f"{start}All gradients are 0 and stay 0: the network never learns."
    before, after = (_weights(names, len(training.norms)) for names in learning)
    first = f"At first, {before} a nonzero gradient{'' if learning[0] else ' (only biases do)'}" + (
        ". " if before == after else f"; after one update, {after} one. "
    )
    end = f"After {UPDATES} updates, the loss is {training.loss:.0%} of that of the identity"
    if np.isclose(training.loss, training.loss_with_other_condition, rtol=1e-9):
        return (
            f"{start}{first}{end}, whichever condition is given: the network never learns to use "
            "the condition."
        )
    return (
        f"{start}{first}{end}. It rises to {training.loss_with_other_condition:.0%} if each "
        "example is given the condition of another class, so the network uses the condition."
    )


def _weights(names: list[str], count: int) -> str:
    if len(names) in (0, count):
        return "all weights have" if names else "no weight has"
    *most, last = names
    listed = f"{', '.join(most)}{',' * (len(most) > 1)} and {last}" if most else last
    return f"only the weights of {listed} have"


GRADIENTS = Picture(
    draw,
    describe,
    alt="Lines over the first updates, on a logarithmic axis with a band for exact zeros: the norm "
    "of the gradient of the rows of gate, scale, and shift, of the shared layer, and of the "
    "MLPs. With adaLN-Zero, all lines but that of the gate begin in the band and leave it after "
    "one update.",
)
