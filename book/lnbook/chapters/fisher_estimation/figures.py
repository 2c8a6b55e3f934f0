"""Sampled and empirical Fisher matrices, spectra and traces of small networks."""

from collections.abc import Mapping
from functools import cache

import numpy as np
import plotly.graph_objects as go

from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS, fade
from lnbook.figures.plots import (
    NORMS,
    add_guide,
    add_line,
    add_points,
    cursor,
    label_ends,
    log_axis,
)
from lnlab.analysis import fisher_error
from lnlib.fisher import GLM

# Fisher matrices estimated from labels that are sampled from the model or given as data.

UNITS, INPUTS, CASES = 3, 4, 40
SAMPLES = [1, 3, 10, 30, 100, 300, 1000]
TRUTHS = {"from this model": "itself", "from another model": "other", "all 1": "ones"}


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
        f"With {draws:,} {label} per example, the error is {error(sampled(draws)[0]):.1%} for the "
        f"sampled matrix and {error(empirical(truth, draws)):.1%} for the empirical matrix."
    )


LABELS = Picture(
    draw_labels,
    describe_labels,
    alt="Left, the distance of the sampled and the empirical matrix from the exact one, over the "
    "number of labels for each example. Right, their entries against those of the exact matrix.",
)


# Properties of a network that need only matrix-vector products: trace, largest eigenvalues.


def running(estimates: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of the first n numbers, for each n, and its standard error (NaN for one)."""
    values, n = np.array(estimates), np.arange(1, len(estimates) + 1)
    mean = values.cumsum() / n
    spread = np.array([values[:k].std(ddof=1) if k > 1 else np.nan for k in n])
    return mean, spread / np.sqrt(n)


def draw_trace(matrices: Mapping[str, np.ndarray], estimates: list[float], norm: str) -> go.Figure:
    """Draw the estimate of a trace over the number of vectors, with two standard errors.

    Args:
        matrices: Maps a norm to the matrix itself.
        estimates: One estimate per vector.
        norm: The norm of the network.
    """
    exact = np.trace(matrices[norm])
    mean, errors = running(estimates)
    n = np.arange(1, len(estimates) + 1)
    figure = go.Figure()
    low, high = (mean[1:] + sign * 2 * errors[1:] for sign in (-1, 1))
    figure.add_scatter(
        x=[*n[1:], *n[:0:-1]],
        y=[float(f"{v:.4g}") for v in (*low, *high[::-1])],
        mode="lines",
        fill="toself",
        fillcolor=fade(COLORS["third"]),
        line={"width": 0},
        name="two standard errors",
        hoverinfo="skip",
    )
    add_line(
        figure,
        n,
        [float(f"{v:.4g}") for v in mean],
        ("estimate", COLORS["third"], "solid"),
        "%{x} vectors: %{y:.4g}<extra></extra>",
    )
    add_line(
        figure,
        [1, max(100, len(estimates))],
        [exact] * 2,
        ("exact", COLORS["first"], "dash"),
        f"{exact:.4g}<extra>exact</extra>",
        width=2,
    )
    figure.update_layout(
        title="Trace of the Fisher matrix",
        height=340,
        xaxis={"title": "random vectors", "range": [0, max(100, len(estimates)) + 1],
               "zeroline": False},
        yaxis={"range": [0.55 * exact, 1.45 * exact], "zeroline": False},
    )  # fmt: skip
    return label_ends(figure)


def describe_trace(matrices: Mapping[str, np.ndarray], estimates: list[float], norm: str) -> str:
    """Describe the estimate, its standard error and the exact trace."""
    exact = np.trace(matrices[norm])
    mean, errors = running(estimates)
    if len(estimates) < 2:
        return f"One vector gives {mean[-1]:.1f}; the trace is {exact:.1f}."
    return (
        f"{len(estimates)} vectors give {mean[-1]:.1f} with a standard error of {errors[-1]:.1f}; "
        f"the trace is {exact:.1f}."
    )


TRACE = Picture(
    draw_trace,
    describe_trace,
    alt="The estimate of the trace over the number of random vectors, with a band of two standard "
    "errors, and the exact trace as a line.",
)


def draw_spectra(spectra: Mapping[str, Mapping[int, np.ndarray]], step: int) -> go.Figure:
    """Draw the largest eigenvalues of each network at one step of training.

    Args:
        spectra: Maps norm and step to the eigenvalues in descending order.
        step: The step of training.
    """
    figure = go.Figure()
    for norm, result in spectra.items():
        add_line(
            figure,
            np.arange(1, len(result[step]) + 1),
            [float(f"{v:.3g}") for v in result[step]],
            (*NORMS[norm], "circle" if norm == "layer" else "x"),
            "eigenvalue %{x}: %{y:.2g}",
            width=1.5,
            size=9,
        )
    eigenvalues = np.concatenate([v for result in spectra.values() for v in result.values()])
    powers = np.arange(-3, 3)
    figure.update_layout(
        title=f"Largest eigenvalues after {step} steps",
        height=340,
        xaxis={"title": "eigenvalue, largest first", "tickvals": [1, 4, 8, 12], "zeroline": False},
        yaxis=log_axis(
            10.0**powers,
            [np.log10(eigenvalues.min()) - 0.15, np.log10(eigenvalues.max()) + 0.15],
            texts=["0.001", "0.01", "0.1", "1", "10", "100"],
        ),
    )
    return label_ends(figure)


def describe_spectra(spectra: Mapping[str, Mapping[int, np.ndarray]], step: int) -> str:
    """Describe the largest eigenvalue of each network."""
    text = " and ".join(
        f"{result[step][0]:.2g} "
        + ("without normalization" if norm == "none" else f"with {NORMS[norm][0]}")
        for norm, result in spectra.items()
    )
    return f"After {step} training steps, the largest eigenvalue is {text}."


SPECTRA = Picture(
    draw_spectra,
    describe_spectra,
    alt="The twelve largest eigenvalues of the Fisher matrix of two networks, with layer norm and "
    "without normalization, on a logarithmic axis.",
)
