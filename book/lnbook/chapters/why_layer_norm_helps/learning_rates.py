"""A small network trained at many learning rates, with and without layer norm."""

import math

import numpy as np
import plotly.graph_objects as go

from lnbook.chapters.why_layer_norm_helps.depth import STYLES, axis
from lnbook.chapters.why_layer_norm_helps.networks import Network, he_weights
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import add_guide, band, label_ends, log_axis

RATES = tuple(float(f"{10**k:.2g}") for k in np.arange(-3, 2.5, 0.5))
DEPTHS, SEEDS = (2, 6), 3
WIDTH, CLASSES, UPDATES, BATCH = 64, 10, 200, 32
HIGHEST = 10.0  # nats: larger values and NaN are drawn at this value


class Sweep:
    """Results of training with SGD at every rate, from the same weights and with the same batches.

    Args:
        x: Training images, shape ``(cases, 64)``.
        y: Their labels.

    Attributes:
        loss: Maps norm and depth to the final training loss, ``(rates, seeds)``; infinite if it is
            NaN.
        first_norm: The same for the norm of the first weight matrix after training.
        initial_norm: The same at initialization.
    """

    def __init__(self, x: np.ndarray, y: np.ndarray):
        self.loss: dict[tuple[str, int], np.ndarray] = {}
        self.first_norm: dict[tuple[str, int], np.ndarray] = {}
        self.initial_norm: dict[tuple[str, int], np.ndarray] = {}
        for depth in DEPTHS:
            for norm in STYLES:
                self._train(norm, depth, np.asarray(x, np.float64), np.asarray(y))

    def _train(self, norm: str, depth: int, x: np.ndarray, y: np.ndarray) -> None:
        """Train all rates and seeds at once, each as a copy of the network."""
        copies, sizes = len(RATES) * SEEDS, [x.shape[1]] + [WIDTH] * depth + [CLASSES]
        rngs = [np.random.default_rng(seed) for seed in range(SEEDS)]
        drawn = [he_weights(sizes, 1.0, rng) for rng in rngs]
        stacked = [np.stack(layer * len(RATES)) for layer in map(list, zip(*drawn, strict=True))]
        network = Network([W.astype(np.float64) for W in stacked], norm)
        rates = np.repeat(RATES, SEEDS).astype(np.float64)[:, None, None]
        self.initial_norm[norm, depth] = _norms(network.weights[0])
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            for _ in range(UPDATES):
                batch = np.stack([rng.integers(len(x), size=BATCH) for rng in rngs] * len(RATES))
                gradients = network.gradients(x[batch], y[batch])
                for W, dW in zip(network.weights, gradients, strict=True):
                    W -= rates * dW
            copied = (np.broadcast_to(a, (copies, *a.shape)) for a in (x, y))
            loss = network.loss(*copied).astype(float).reshape(len(RATES), SEEDS)
            self.first_norm[norm, depth] = _norms(network.weights[0])
        self.loss[norm, depth] = np.where(np.isnan(loss), np.inf, loss)

    def best(self, norm: str, depth: int) -> tuple[float, float]:
        """Return the rate with the lowest median loss, and that loss."""
        medians = np.median(self.loss[norm, depth], axis=1)
        return RATES[medians.argmin()], float(medians.min())

    def effective(self, norm: str, depth: int) -> np.ndarray:
        """Return the rate over the squared norm of the first matrix at the end."""
        return np.array(RATES)[:, None] / self.first_norm[norm, depth] ** 2


def _norms(W: np.ndarray) -> np.ndarray:
    return np.linalg.norm(W.astype(float), axis=(1, 2)).reshape(len(RATES), SEEDS)


def draw(sweep: Sweep, depth: int) -> list[go.Figure]:
    """Draw the final loss and the final effective learning rate over the learning rate."""
    losses, effective = go.Figure(), go.Figure()
    for norm, style in STYLES.items():
        shown = np.minimum(sweep.loss[norm, depth], HIGHEST)
        values = [v.round(4) for v in (shown.min(1), np.median(shown, 1), shown.max(1))]
        band(losses, RATES, values, style, "rate %{x}: %{y:.2g} nats", "lines+markers")
    chance = [math.log(CLASSES)] * 2
    add_guide(losses, [RATES[0], RATES[-1]], chance, "chance", dash="dot", showlegend=False)
    by_seed = sweep.effective("layer", depth)
    values = [_rounded(v) for v in (by_seed.min(1), np.median(by_seed, 1), by_seed.max(1))]
    band(effective, RATES, values, STYLES["layer"], "rate %{x}: %{y:.2g}", "lines+markers")
    start = np.array(RATES) / np.median(sweep.initial_norm["layer", depth]) ** 2
    unchanged = ("if W did not grow", COLORS["gray"], "dot")
    band(effective, RATES, [_rounded(start)] * 3, unchanged, "rate %{x}: %{y:.2g}")
    rate = axis(-3, 2, 2, title="learning rate η")
    losses.update_layout(
        title=f"Training loss after {UPDATES} updates, nats",
        height=360,
        xaxis=rate,
        yaxis=log_axis([0.1, 0.3, 1, 2.3, HIGHEST], [-1.4, 1.1],
                       texts=["0.1", "0.3", "1", "chance", "≥ 10"]),
    )  # fmt: skip
    effective.update_layout(
        title="Effective learning rate η/‖W‖² at the end",
        height=360,
        xaxis=rate,
        yaxis=axis(-5, 0),
    )
    return [label_ends(losses), label_ends(effective)]


def _rounded(values: np.ndarray) -> np.ndarray:
    return np.array([float(f"{v:.3g}") for v in values])


def describe(sweep: Sweep, depth: int) -> str:
    """Describe where the median loss is lowest; at higher rates, it depends on rounding."""
    sentences = []
    for norm, name in (("none", "without normalization"), ("layer", "with layer norm")):
        rate, loss = sweep.best(norm, depth)
        sentences.append(f"{loss:.1g} nats {name} (learning rate {rate:g})")
    return (
        f"{depth} hidden layers, {UPDATES} updates, median of {SEEDS} seeds: the lowest training "
        f"loss is {sentences[0]} and {sentences[1]}."
    )


LEARNING_RATES = Picture(
    draw,
    describe,
    alt="Two panels over the learning rate, both axes logarithmic. Left, the training loss at the "
    "end of short runs, with a valley that is wider with layer norm than without normalization; "
    "bands go from the lowest to the highest of three seeds. Right, with layer norm, the learning "
    "rate divided by the squared norm of the first weight matrix at the end: it follows the dotted "
    "line of weights that do not grow, then bends below it.",
)
