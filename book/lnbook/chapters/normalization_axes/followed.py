"""The table of the chapter, and the number in it that the figures follow."""

import numpy as np
import plotly.graph_objects as go

import lnlib
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import NORMS, add_line

#: Four examples (rows) of six features (columns): the table of the chapter.
TABLE = np.array(
    [
        [2.47, -2.92, 1.04, 4.77, 11.41, 7.69],
        [10.40, 10.66, 18.18, 21.06, 17.98, 19.56],
        [24.70, 20.35, 27.00, 24.64, 32.17, 33.55],
        [32.67, 31.92, 34.40, 42.46, 42.22, 41.09],
    ]
)

# More examples of the same kind: an offset per example, a slope over the features, noise.
LEVELS = (0.0, 42.0)
SLOPE = np.linspace(-5.0, 5.0, 6)
NOISE = 3.0

#: Mean and variance of each feature over the distribution of :func:`examples`.
POPULATION = (
    np.mean(LEVELS) + SLOPE,
    np.full(6, (LEVELS[1] - LEVELS[0]) ** 2 / 12 + NOISE**2),
)

FEATURE = 4  # index of the followed feature of example 1
FOLLOWED = float(TABLE[0, FEATURE])
BATCH, LAYER = NORMS["batch"][1], NORMS["layer"][1]  # their colors


def examples(n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw ``n`` more examples like those of :data:`TABLE`, shape ``(n, 6)``."""
    level = rng.uniform(*LEVELS, size=(n, 1))
    return level + SLOPE + NOISE * rng.normal(size=(n, 6))


def layer_norm_of_followed() -> float:
    """Return the output of layer norm for the followed number."""
    return float(lnlib.layer_norm(TABLE[:1])[0, FEATURE])


def whole_population() -> float:
    """Return the output of eq. 2 for the number, with mean and variance of the distribution."""
    mean, var = POPULATION
    statistics = {"mean": mean, "var": var}
    return float(lnlib.batch_norm(TABLE[:1], **statistics)[0, FEATURE])


def layer_line(figure: go.Figure, x: np.ndarray, layer: float) -> None:
    """Add a horizontal line at the output of layer norm."""
    add_line(figure, x[[0, -1]], [layer, layer], ("layer norm", LAYER, "solid"), "%{y:.2f}")


def all_data_line(figure: go.Figure, x: np.ndarray, value: float) -> None:
    """Add a horizontal line at the output with the statistics of all data."""
    add_line(
        figure, x[[0, -1]], [value, value], ("all data", COLORS["gray"], "dot"), "%{y:.2f}", width=2
    )


def number(value: float, digits: int = 2) -> str:
    """Format a number with a minus sign (−)."""
    # Rounding first turns -0.00 into 0.00.
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")
