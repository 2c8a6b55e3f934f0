"""Properties of a network that need only matrix-vector products: trace, largest eigenvalues."""

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS, fade
from lnbook.figures.plots import NORMS, add_line, label_ends, log_axis


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
