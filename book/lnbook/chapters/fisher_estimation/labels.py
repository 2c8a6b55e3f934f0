"""Fisher matrices estimated from labels that are sampled from the model or given as data."""

from functools import cache

import numpy as np
import plotly.graph_objects as go

from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import add_guide, add_line, add_points, cursor, label_ends, log_axis
from lnlab.analysis import fisher_error
from lnlib.fisher import GLM

UNITS, INPUTS, CASES = 3, 4, 40
SAMPLES = [1, 3, 10, 30, 100, 300, 1000]
TRUTHS = {"this model": "itself", "another model": "other", "all 1": "ones"}


@cache
def cases() -> np.ndarray:
    """Return the inputs of 40 examples, ``(40, 4)``."""
    return fisher_error.random_inputs(np.random.default_rng(1), CASES, INPUTS)


@cache
def model() -> GLM:
    """Return the model whose Fisher information is estimated: three Bernoulli units, layer norm."""
    rng = np.random.default_rng(18)
    return fisher_error.random_glm(rng, "layer", "bernoulli", units=UNITS, inputs=INPUTS)


@cache
def exact() -> np.ndarray:
    """Return the exact Fisher matrix of the model."""
    return model().fisher(cases())


@cache
def labels(truth: str, draws: int = 1) -> np.ndarray:
    """Return labels of the data, ``(40 * draws, 3)``, for a value of :data:`TRUTHS`."""
    rng, source = np.random.default_rng(5), model()
    if truth == "ones":
        return np.ones((CASES * draws, UNITS))
    if truth == "other":
        source = source.moved(2 * np.random.default_rng(6).normal(size=source.size))
    return rng.binomial(1, np.tile(source.mean(cases()), (draws, 1))).astype(float)


@cache
def empirical(truth: str, draws: int) -> np.ndarray:
    """Return the empirical matrix, with ``draws`` labels of the data per example."""
    X = np.tile(cases(), (draws, 1))
    return model().fisher(X, "empirical", y=labels(truth, draws))


@cache
def sampled(draws: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the sampled matrix and its standard errors."""
    rng = np.random.default_rng(draws)
    return model().sampled_fisher(cases(), samples=draws, rng=rng)


def error(F: np.ndarray) -> float:
    """Return the distance of a matrix from the exact one, relative to its Frobenius norm."""
    return fisher_error.relative_error(F, exact())


@cache
def standard_error(draws: int) -> float:
    """Return the expected :func:`error` of a sampled matrix, from its standard errors."""
    _, errors = sampled(SAMPLES[-1])
    return float(np.linalg.norm(errors) / np.linalg.norm(exact()) * np.sqrt(SAMPLES[-1] / draws))


def draw_labels(truth: str, draws: int) -> list[go.Figure]:
    """Draw the errors over the labels per example, and the entries of three matrices."""
    errors, numbers = go.Figure(), go.Figure()
    add_line(
        errors,
        SAMPLES,
        [float(f"{standard_error(n):.3g}") for n in SAMPLES],
        ("standard error", COLORS["gray"], "dot"),
        "%{x} labels: %{y:.1%}",
        width=1.5,
    )
    F = exact()
    above = np.triu_indices(len(F))
    size = 1.1 * np.abs(F).max()
    add_guide(numbers, [-size, size], [-size, size])
    for label, color, symbol, result in (
        ("empirical", "fourth", "x", lambda n: empirical(truth, n)),
        ("sampled", "third", "circle", lambda n: sampled(n)[0]),
    ):
        add_line(
            errors,
            SAMPLES,
            [float(f"{error(result(n)):.3g}") for n in SAMPLES],
            (label, COLORS[color], "solid", symbol),
            "%{x} labels: %{y:.1%}",
            size=9,
        )
        add_points(
            numbers,
            F[above].round(3),
            result(draws)[above].round(3),
            (label, COLORS[color], symbol),
            f"exact %{{x:.3f}}, {label} %{{y:.3f}}<extra></extra>",
            size=6,
            opacity=0.7,
        )
    errors.update_layout(
        title="Distance from the exact matrix",
        height=340,
        xaxis=log_axis([1, 10, 100, 1000], [-0.15, 3.15], title="labels for each example"),
        yaxis=log_axis([0.01, 0.1, 1], [-2.2, 0.3], texts=["1%", "10%", "100%"]),
        shapes=[cursor(draws)],
    )
    numbers.update_layout(
        title="Entries of the matrices",
        height=340,
        xaxis={"title": "entry of the exact matrix", "range": [-size, size], "zeroline": False},
        yaxis={"title": "estimated entry", "range": [-size, size], "zeroline": False},
    )
    return [label_ends(errors), numbers]


def describe_labels(truth: str, draws: int) -> str:
    """Describe both distances."""
    label = "label" if draws == 1 else "labels"
    return (
        f"With {draws} {label} per example, the error is {error(sampled(draws)[0]):.1%} for the "
        f"sampled matrix and {error(empirical(truth, draws)):.1%} for the empirical matrix."
    )


LABELS = Picture(
    draw_labels,
    describe_labels,
    alt="Left, the distance of the sampled and the empirical matrix from the exact one, over the "
    "number of labels for each example. Right, their entries against those of the exact matrix.",
)
