"""Measure the distance between models: divergence, Fisher matrix, eq. 13, drawn labels, spectra."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache

import numpy as np
import plotly.graph_objects as go

from lnbook.show.colors import COLORS, fade
from lnbook.show.picture import Picture
from lnbook.show.plots import NORMS, cursor, label_ends
from lnlib.fisher import GLM

UNITS, INPUTS, CASES = 3, 4, 40

#: What a reader sees of the names in :mod:`lnlib.fisher`.
FAMILIES = {
    "Gaussian": "gaussian",
    "Bernoulli": "bernoulli",
    "Poisson": "poisson",
    "categorical": "categorical",
}
CHOICES = {label: norm for norm, (label, *_) in NORMS.items()}
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
ZERO = 1e-12  # relative: what float64 leaves of a number that is 0


@cache
def cases() -> np.ndarray:
    """Return the inputs of 40 cases, ``(40, 4)``."""
    return np.random.default_rng(1).normal(size=(CASES, INPUTS)) + 0.5


@cache
def glm(norm: str, family: str) -> GLM:
    """Return a model of three units with four inputs; the weights do not depend on the norm."""
    rng = np.random.default_rng(18)
    W, b = rng.normal(size=(UNITS, INPUTS)) / 2, 0.5 * rng.normal(size=UNITS)
    g = rng.uniform(0.5, 1.5, size=UNITS)
    return GLM(W, b, None if norm == "none" else g, norm=norm, family=family)


# Divergence along a line.

DIRECTIONS = {
    "random": "random",
    "all weights longer": "matrix",
    "one unit's longer": "unit",
}
STEPS = [0.05, 0.1, 0.2, 0.4, 0.8]
_LINE = np.linspace(-0.8, 0.8, 33).round(3)
_LENGTHS = 0.8 / 2 ** np.arange(0, 6.5, 0.5)[::-1]


@cache
def direction(norm: str, family: str, along: str) -> np.ndarray:
    """Return a step of length 1 in the parameters.

    Args:
        norm: Of the model.
        family: Of the model.
        along: A value of :data:`DIRECTIONS`.
    """
    model = glm(norm, family)
    delta = np.random.default_rng(44).normal(size=(UNITS, INPUTS + 2))
    if along != "random":
        delta[:] = 0
        rows = slice(0, 1) if along == "unit" else slice(None)
        delta[rows, :INPUTS] = model.W[rows]
    delta = delta[:, : model.size // UNITS].ravel()
    return delta / np.linalg.norm(delta)


@cache
def moved(norm: str, family: str, along: str, step: float) -> tuple[float, float]:
    """Return the two sides of eq. 8 for one step: the divergence, and the quadratic form."""
    model, delta = glm(norm, family), step * direction(norm, family, along)
    return model.kl(cases(), delta), model.quadratic(cases(), delta)


def remainder(norm: str, family: str, along: str, step: float) -> float:
    """Return how far the two sides of eq. 8 are apart; 0 where float64 cannot tell."""
    kl, quadratic = moved(norm, family, along, step)
    apart = abs(kl - quadratic)
    return apart if apart > 1e-9 * quadratic and quadratic > ZERO else 0.0


def flat(norm: str, family: str, along: str) -> bool:
    """Say whether the model does not move at all."""
    return abs(moved(norm, family, along, 0.4)[0]) < ZERO


def draw_line(norm: str, family: str, along: str, step: float) -> list[go.Figure]:
    """Draw both sides of eq. 8 along a line, and their sizes and difference over the step."""
    line, sizes = go.Figure(), go.Figure()
    pairs = np.array([moved(norm, family, along, float(t)) for t in _LINE])
    looks = (("divergence", "first", "solid"), ("quadratic form", "second", "dash"))
    for k, (label, color, dash) in enumerate(looks):
        line.add_scatter(
            x=_LINE,
            y=np.round(np.maximum(pairs[:, k], 0), 5),
            mode="lines",
            name=label,
            line={"color": COLORS[color], "dash": dash, "width": 2.5},
            hovertemplate=f"step %{{x:.2f}}: %{{y:.4f}}<extra>{label}</extra>",
        )
    line.add_scatter(
        x=[step] * 2,
        y=[max(v, 0) for v in moved(norm, family, along, step)],
        mode="markers",
        marker={"size": 10, "color": [COLORS[color] for _, color, _ in looks]},
        hoverinfo="skip",
        showlegend=False,
    )
    still = flat(norm, family, along)
    line.update_layout(
        title="Both sides of eq. 8, in nats",
        height=340,
        xaxis={"title": "step", "range": [-0.84, 0.84], "dtick": 0.4, "zeroline": False},
        yaxis={
            "range": [-0.05, 1] if still else [-0.04 * pairs.max(), 1.05 * pairs.max()],
            "zeroline": False,
        },
        shapes=[cursor(step)],
    )
    apart = [remainder(norm, family, along, float(t)) for t in _LENGTHS]
    ends = np.array([moved(norm, family, along, float(t)) for t in _LENGTHS])
    curves = (*zip(looks, ends.T, strict=True), (("their difference", "third", "dot"), apart))
    for (label, color, dash), values in curves:
        shown = np.array([float(f"{v:.3g}") if v > ZERO else np.nan for v in values])
        sizes.add_scatter(
            x=_LENGTHS.round(4),
            y=shown,
            mode="lines",
            name=label,
            line={"color": COLORS[color], "dash": dash, "width": 2.5},
            hovertemplate=f"step %{{x:.3f}}: %{{y:.2g}}<extra>{label}</extra>",
        )
    powers = np.arange(-8, 1, 2)
    sizes.update_layout(
        title="The same for shorter steps",
        height=340,
        xaxis={
            "type": "log",
            "title": "step",
            "range": [-2.03, 0.0],
            "tickvals": [0.01, 0.1, 1],
            "ticktext": ["0.01", "0.1", "1"],
            "zeroline": False,
        },
        yaxis={
            "type": "log",
            "range": [-8.5, 1.2],
            "tickvals": 10.0**powers,
            "ticktext": [power(p) for p in powers],
            "zeroline": False,
        },
        shapes=[cursor(step)],
    )
    if still:
        sizes.add_annotation(
            text="0 at every step", xref="paper", yref="paper", x=0.5, y=0.5, showarrow=False
        )
    return [label_ends(line), label_ends(sizes)]


def describe_line(norm: str, family: str, along: str, step: float) -> str:
    """Say both sides of eq. 8, and what half the step does to the difference."""
    kl, quadratic = moved(norm, family, along, step)
    if flat(norm, family, along):
        return (
            f"A step of {step:g} leaves every prediction as it is: the divergence is 0, and so is "
            "the quadratic form."
        )
    said = (
        f"A step of {step:g} moves the model by {kl:.3g} nats; the quadratic form says "
        f"{quadratic:.3g}"
    )
    apart, half = (remainder(norm, family, along, t) for t in (step, step / 2))
    if not apart:
        return f"{said}, and for this family without a norm the two are equal."
    return f"{said}. Half the step divides their difference by {apart / half:.1f}."


LINE = Picture(
    draw_line,
    describe_line,
    alt="Left, the divergence and the quadratic form along a line in parameter space. Right, both "
    "and their difference for steps from 0.0125 to 0.8, on logarithmic axes.",
)


# The matrix.

SHOWN = {"exact, eq. 9": "exact", "as printed, eq. 13": "paper", "exact − printed": "difference"}
_FLOOR = -5.5  # where a zero is drawn, as a power of ten


@cache
def matrix(norm: str, family: str, kind: str) -> np.ndarray:
    """Return a Fisher matrix of the model; ``difference`` is exact less paper."""
    if kind == "difference":
        return matrix(norm, family, "exact") - matrix(norm, family, "paper")
    return glm(norm, family).fisher(cases(), kind)


def zeros(norm: str, family: str, kind: str) -> int:
    """Return in how many independent directions a Fisher matrix has no curvature."""
    values = np.linalg.eigvalsh(matrix(norm, family, kind))
    return int((values < ZERO * values[-1]).sum())


def share(norm: str, family: str, *, own: bool = False) -> float:
    """Return how much of the exact matrix eq. 13 misses: a ratio of Frobenius norms.

    Args:
        norm: Of the model.
        family: Of the model.
        own: In the blocks of one unit with itself alone.
    """
    return missed(*(matrix(norm, family, kind) for kind in ("exact", "paper")), UNITS, own=own)


def missed(exact: np.ndarray, paper: np.ndarray, units: int, *, own: bool = False) -> float:
    """Return ``||exact - paper|| / ||exact||``, ``own``: of the blocks on the diagonal."""
    blocks = np.ones((units, units)) if not own else np.eye(units)
    mask = np.kron(blocks, np.ones((len(exact) // units,) * 2))
    return float(np.linalg.norm((exact - paper) * mask) / np.linalg.norm(exact * mask))


@cache
def spread(norm: str, family: str, *, draws: int = 100, own: bool = False) -> np.ndarray:
    """Return :func:`share` of other models of the same size, each with cases of its own.

    Args:
        norm: Of the models.
        family: Of the models.
        draws: How many; weights, biases, gains and cases are drawn as for :func:`glm`.
        own: In the blocks of one unit with itself alone.
    """
    found = []
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(CASES, INPUTS)) + 0.5
        W, b = rng.normal(size=(UNITS, INPUTS)) / 2, 0.5 * rng.normal(size=UNITS)
        g = None if norm == "none" else rng.uniform(0.5, 1.5, size=UNITS)
        model = GLM(W, b, g, norm=norm, family=family)
        found.append(missed(model.fisher(X), model.fisher(X, "paper"), UNITS, own=own))
    return np.array(found)


def draw_matrix(norm: str, family: str, kind: str) -> list[go.Figure]:
    """Draw a matrix with its blocks, and the eigenvalues of the exact and the printed one."""
    F = matrix(norm, family, kind)
    exact, n = matrix(norm, family, "exact"), len(F) // UNITS
    limit = float(f"{np.abs(exact).max() / 2:.2g}")
    names = [
        f"{name} of unit {unit}"
        for unit in range(1, UNITS + 1)
        for name in [*(f"weight {d}" for d in range(1, INPUTS + 1)), "bias", "gain"][:n]
    ]
    clean = np.where(np.abs(F) < ZERO * np.abs(exact).max(), 0, F)
    heat = go.Figure(
        go.Heatmap(
            z=[[float(f"{v:.2g}") for v in row] for row in clean],
            x=names,
            y=names,
            coloraxis="coloraxis",
            hovertemplate="%{y}, %{x}: %{z:.2g}<extra></extra>",
        )
    )
    middle = np.arange(UNITS) * n + (n - 1) / 2
    axis = {
        "tickvals": middle,
        "ticktext": [f"unit {i}" for i in range(1, UNITS + 1)],
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
    }
    edges = [
        {"type": "line", **{f"{a}0": at, f"{a}1": at, f"{b}0": -0.5, f"{b}1": len(F) - 0.5},
         "line": {"color": COLORS["gray"], "width": 1.5}}
        for a, b in ("xy", "yx")
        for at in np.arange(UNITS + 1) * n - 0.5
    ]  # fmt: skip
    heat.update_layout(
        title={"exact": "The exact matrix", "paper": "The matrix as printed"}.get(
            kind, "What eq. 13 misses"
        ),
        height=380,
        coloraxis={"cmin": -limit, "cmax": limit, "cmid": 0},
        xaxis={**axis, "side": "top", "range": [-0.6, len(F) - 0.4]},
        yaxis={**axis, "range": [len(F) - 0.4, -0.6], "tickangle": -90},
        shapes=edges,
    )
    spectrum = go.Figure()
    for which, label, color, symbol in (
        ("paper", "as printed", "second", "x"),
        ("exact", "exact", "first", "circle-open"),
    ):
        values = np.linalg.eigvalsh(matrix(norm, family, which))[::-1]
        left = values > ZERO * values[0]
        spectrum.add_scatter(
            x=np.arange(1, len(values) + 1),
            y=[float(f"{v:.3g}") if ok else 10**_FLOOR for v, ok in zip(values, left, strict=True)],
            text=[f"{v:.2g}" if ok else "0" for v, ok in zip(values, left, strict=True)],
            mode="markers",
            name=label,
            marker={
                "color": COLORS[color],
                "symbol": symbol,
                "size": 8 if which == "paper" else 11,
                "line": {"width": 2, "color": COLORS[color]},
            },
            hovertemplate=f"eigenvalue %{{x}}: %{{text}}<extra>{label}</extra>",
        )
    powers = np.arange(-4, 2, 2)
    spectrum.update_layout(
        title="Eigenvalues: curvature in each direction",
        height=380,
        xaxis={"title": "largest first", "range": [0.2, 18.8], "dtick": 3, "tick0": 3,
               "zeroline": False},
        yaxis={
            "type": "log",
            "range": [_FLOOR - 0.3, 1.3],
            "tickvals": [10**_FLOOR, *10.0**powers],
            "ticktext": ["0", *(power(p) for p in powers)],
            "zeroline": False,
        },
    )  # fmt: skip
    return [heat, spectrum]


def describe_matrix(norm: str, family: str, kind: str) -> str:
    """Say what eq. 13 misses, and how many directions are flat."""
    flat_ones = [zeros(norm, family, which) for which in ("exact", "paper")]
    size, gap = len(matrix(norm, family, "exact")), share(norm, family)
    said = f"The matrix is {size} × {size}"
    if gap < ZERO:
        directions = "direction" if flat_ones[0] == 1 else "directions"
        return (
            f"{said}; eq. 13 as printed gives the same, with {flat_ones[0]} {directions} of no "
            "curvature."
        )
    return (
        f"{said}; eq. 13 as printed misses {gap:.0%} of it. It has {flat_ones[0]} directions of "
        f"no curvature, the printed one {flat_ones[1]}."
    )


MATRIX = Picture(
    draw_matrix,
    describe_matrix,
    alt="Left, a heat map of the Fisher matrix of three units, in nine blocks. Right, the "
    "eigenvalues of the exact and of the printed matrix; those that are 0 lie on the lowest line.",
)


# Width.

WIDTHS = (3, 4, 6, 8, 12, 16, 24, 32, 48, 64)


def wide(units: int, family: str) -> tuple[GLM, np.ndarray]:
    """Return a layer-normalized model of so many units, and sixty cases."""
    rng = np.random.default_rng(units)
    X, W = rng.normal(size=(60, INPUTS)), rng.normal(size=(units, INPUTS)) / 2
    return GLM(W, np.zeros(units), norm="layer", family=family), X


@cache
def width_shares(family: str) -> np.ndarray:
    """Return what eq. 13 misses under layer norm, of all and of the diagonal, ``(2, widths)``."""
    found = []
    for H in WIDTHS:
        model, X = wide(H, family)
        pair = model.fisher(X), model.fisher(X, "paper")
        found.append([missed(*pair, H, own=own) for own in (False, True)])
    return np.array(found).T


def draw_widths(family: str) -> go.Figure:
    """Draw what eq. 13 misses over the number of units."""
    figure, found = go.Figure(), width_shares(family)
    looks = (
        ("whole matrix", "first", "solid", "circle"),
        ("blocks on the diagonal", "second", "dash", "square"),
    )
    for (label, color, dash, symbol), values in zip(looks, found, strict=True):
        figure.add_scatter(
            x=WIDTHS,
            y=values.round(4),
            mode="lines+markers",
            name=label,
            marker={"color": COLORS[color], "size": 8, "symbol": symbol},
            line={"color": COLORS[color], "dash": dash, "width": 2.5},
            hovertemplate=f"%{{x}} units: %{{y:.1%}}<extra>{label}</extra>",
        )
    figure.add_scatter(
        x=[WIDTHS[0], WIDTHS[-1]],
        y=[np.round(found[0][-1] * np.sqrt(WIDTHS[-1] / H), 4) for H in (WIDTHS[0], WIDTHS[-1])],
        mode="lines",
        name="∝ 1/√H",
        line={"color": COLORS["gray"], "width": 1.5, "dash": "dot"},
        hoverinfo="skip",
    )
    figure.update_layout(
        title="Share of the exact matrix that eq. 13 misses",
        height=340,
        xaxis={
            "type": "log",
            "title": "units H",
            "range": [np.log10(2.7), np.log10(72)],
            "tickvals": [4, 8, 16, 32, 64],
            "ticktext": ["4", "8", "16", "32", "64"],
            "zeroline": False,
        },
        yaxis={
            "type": "log",
            "range": [-2.1, 0.1],
            "tickvals": [0.01, 0.03, 0.1, 0.3, 1],
            "ticktext": ["1%", "3%", "10%", "30%", "100%"],
            "zeroline": False,
        },
    )
    return label_ends(figure)


def describe_widths(family: str) -> str:
    """Say both shares at both ends."""
    every, own = width_shares(family)
    return (
        f"From {WIDTHS[0]} to {WIDTHS[-1]} units, what eq. 13 misses falls from {every[0]:.0%} to "
        f"{every[-1]:.0%} of the matrix, and from {own[0]:.0%} to {own[-1]:.0%} of its blocks on "
        "the diagonal."
    )


WIDER = Picture(
    draw_widths,
    describe_widths,
    alt="On logarithmic axes, the share of the exact Fisher matrix that eq. 13 misses, for 3 to "
    "64 units: of the whole matrix, near a line of 1 over root H, and of its diagonal blocks, "
    "steeper.",
)


# Labels.

SAMPLES = [1, 3, 10, 30, 100, 300, 1000]
TRUTHS = {"this model": "itself", "another model": "other", "all 1": "ones"}


@cache
def labels(truth: str, draws: int = 1) -> np.ndarray:
    """Return labels of the data, ``(40 * draws, 3)``, from a value of :data:`TRUTHS`."""
    rng, model = np.random.default_rng(5), glm("layer", "bernoulli")
    if truth == "ones":
        return np.ones((CASES * draws, UNITS))
    if truth == "other":
        model = model.moved(2 * np.random.default_rng(6).normal(size=model.size))
    return rng.binomial(1, np.tile(model.mean(cases()), (draws, 1))).astype(float)


@cache
def empirical(truth: str, draws: int) -> np.ndarray:
    """Return the empirical matrix from so many labels of the data for each case."""
    X = np.tile(cases(), (draws, 1))
    return glm("layer", "bernoulli").fisher(X, "empirical", y=labels(truth, draws))


@cache
def sampled(draws: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the sampled matrix and its standard errors."""
    rng = np.random.default_rng(draws)
    return glm("layer", "bernoulli").sampled_fisher(cases(), samples=draws, rng=rng)


def error(F: np.ndarray) -> float:
    """Return how far a matrix is from the exact one, in Frobenius norms of that."""
    exact = matrix("layer", "bernoulli", "exact")
    return float(np.linalg.norm(F - exact) / np.linalg.norm(exact))


@cache
def standard_error(draws: int) -> float:
    """Return what :func:`error` of a sampled matrix is to be, from the errors of its numbers."""
    _, errors = sampled(SAMPLES[-1])
    exact = matrix("layer", "bernoulli", "exact")
    return float(np.linalg.norm(errors) / np.linalg.norm(exact) * np.sqrt(SAMPLES[-1] / draws))


def draw_labels(truth: str, draws: int) -> list[go.Figure]:
    """Draw the errors over the labels for each case, and every number of three matrices."""
    errors, numbers = go.Figure(), go.Figure()
    errors.add_scatter(
        x=SAMPLES,
        y=[float(f"{standard_error(n):.3g}") for n in SAMPLES],
        mode="lines",
        name="standard error",
        line={"color": COLORS["gray"], "width": 1.5, "dash": "dot"},
        hovertemplate="%{x} labels: %{y:.1%}<extra>standard error</extra>",
    )
    exact = matrix("layer", "bernoulli", "exact")
    above = np.triu_indices(len(exact))
    size = 1.1 * np.abs(exact).max()
    numbers.add_scatter(
        x=[-size, size],
        y=[-size, size],
        mode="lines",
        line={"color": COLORS["gray"], "width": 1.5},
        hoverinfo="skip",
        showlegend=False,
    )
    for label, color, symbol, found in (
        ("empirical", "fourth", "x", lambda n: empirical(truth, n)),
        ("sampled", "third", "circle", lambda n: sampled(n)[0]),
    ):
        errors.add_scatter(
            x=SAMPLES,
            y=[float(f"{error(found(n)):.3g}") for n in SAMPLES],
            mode="lines+markers",
            name=label,
            line={"color": COLORS[color], "width": 2.5},
            marker={"color": COLORS[color], "symbol": symbol, "size": 9},
            hovertemplate=f"%{{x}} labels: %{{y:.1%}}<extra>{label}</extra>",
        )
        numbers.add_scatter(
            x=exact[above].round(3),
            y=found(draws)[above].round(3),
            mode="markers",
            name=label,
            marker={"color": COLORS[color], "symbol": symbol, "size": 6, "opacity": 0.7},
            hovertemplate=f"exact %{{x:.3f}}, {label} %{{y:.3f}}<extra></extra>",
        )
    errors.update_layout(
        title="Distance from the exact matrix",
        height=340,
        xaxis={
            "type": "log",
            "title": "labels for each case",
            "range": [-0.15, 3.15],
            "tickvals": [1, 10, 100, 1000],
            "ticktext": ["1", "10", "100", "1000"],
            "zeroline": False,
        },
        yaxis={
            "type": "log",
            "range": [-2.2, 0.3],
            "tickvals": [0.01, 0.1, 1],
            "ticktext": ["1%", "10%", "100%"],
            "zeroline": False,
        },
        shapes=[cursor(draws)],
    )
    numbers.update_layout(
        title="Number by number",
        height=340,
        xaxis={"title": "exact", "range": [-size, size], "zeroline": False},
        yaxis={"title": "from labels", "range": [-size, size], "zeroline": False},
    )
    return [label_ends(errors), numbers]


def describe_labels(truth: str, draws: int) -> str:
    """Say both distances."""
    label = "label" if draws == 1 else "labels"
    return (
        f"With {draws} {label} for each case the sampled matrix is {error(sampled(draws)[0]):.1%} "
        f"from the exact one, the empirical matrix {error(empirical(truth, draws)):.1%}."
    )


LABELS = Picture(
    draw_labels,
    describe_labels,
    alt="Left, the distance of the sampled and the empirical matrix from the exact one, over the "
    "number of labels for each case. Right, their numbers against the exact ones.",
)


# Products alone.


def running(found: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of the first n numbers, for each n, and its standard error (NaN for one)."""
    values, n = np.array(found), np.arange(1, len(found) + 1)
    mean = values.cumsum() / n
    spread = np.array([values[:k].std(ddof=1) if k > 1 else np.nan for k in n])
    return mean, spread / np.sqrt(n)


def draw_trace(matrices: Mapping[str, np.ndarray], found: list[float], norm: str) -> go.Figure:
    """Draw the estimate of a trace as vectors come in, with two standard errors about it.

    Args:
        matrices: From norm to the matrix itself.
        found: Estimates, one a vector.
        norm: Of the network whose trace it is.
    """
    exact = np.trace(matrices[norm])
    mean, errors = running(found)
    n = np.arange(1, len(found) + 1)
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
    figure.add_scatter(
        x=n,
        y=[float(f"{v:.4g}") for v in mean],
        mode="lines",
        name="estimate",
        line={"color": COLORS["third"], "width": 2.5},
        hovertemplate="%{x} vectors: %{y:.4g}<extra></extra>",
    )
    figure.add_scatter(
        x=[1, max(100, len(found))],
        y=[exact] * 2,
        mode="lines",
        name="exact",
        line={"color": COLORS["first"], "dash": "dash", "width": 2},
        hovertemplate=f"{exact:.4g}<extra>exact</extra>",
    )
    figure.update_layout(
        title="Trace of the Fisher matrix",
        height=340,
        xaxis={"title": "random vectors", "range": [0, max(100, len(found)) + 1],
               "zeroline": False},
        yaxis={"range": [0.55 * exact, 1.45 * exact], "zeroline": False},
    )  # fmt: skip
    return label_ends(figure)


def describe_trace(matrices: Mapping[str, np.ndarray], found: list[float], norm: str) -> str:
    """Say the estimate, its standard error and the trace itself."""
    exact = np.trace(matrices[norm])
    mean, errors = running(found)
    if len(found) < 2:
        return f"One vector gives {mean[-1]:.1f}; the trace is {exact:.1f}."
    return (
        f"{len(found)} vectors give {mean[-1]:.1f} with a standard error of {errors[-1]:.1f}; the "
        f"trace is {exact:.1f}."
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
        spectra: From norm to step to the eigenvalues, the largest first.
        step: Of training.
    """
    figure = go.Figure()
    for norm, found in spectra.items():
        label, color, _ = NORMS[norm]
        figure.add_scatter(
            x=np.arange(1, len(found[step]) + 1),
            y=[float(f"{v:.3g}") for v in found[step]],
            mode="lines+markers",
            name=label,
            line={"color": color, "width": 1.5, "dash": NORMS[norm][2]},
            marker={"color": color, "size": 9, "symbol": "circle" if norm == "layer" else "x"},
            hovertemplate=f"eigenvalue %{{x}}: %{{y:.2g}}<extra>{label}</extra>",
        )
    every = np.concatenate([v for found in spectra.values() for v in found.values()])
    powers = np.arange(-3, 3)
    figure.update_layout(
        title=f"Largest eigenvalues after {step} steps",
        height=340,
        xaxis={"title": "largest first", "dtick": 1, "zeroline": False},
        yaxis={
            "type": "log",
            "range": [np.log10(every.min()) - 0.15, np.log10(every.max()) + 0.15],
            "tickvals": 10.0**powers,
            "ticktext": ["0.001", "0.01", "0.1", "1", "10", "100"],
            "zeroline": False,
        },
    )
    return label_ends(figure)


def describe_spectra(spectra: Mapping[str, Mapping[int, np.ndarray]], step: int) -> str:
    """Say the largest eigenvalue of each network."""
    said = " and ".join(
        f"{found[step][0]:.2g} with {NORMS[norm][0]}" for norm, found in spectra.items()
    )
    return f"After {step} steps of training the largest eigenvalue is {said}."


SPECTRA = Picture(
    draw_spectra,
    describe_spectra,
    alt="The twelve largest eigenvalues of the Fisher matrix of two networks, with layer norm and "
    "with no norm, on a logarithmic axis.",
)


def estimates(
    product: Callable[[np.ndarray], np.ndarray], size: int, count: int = 100, seed: int = 0
) -> Iterator[float]:
    """Yield ``z . F z`` for vectors ``z`` of random signs, which average to the trace.

    Args:
        product: Returns the matrix times a vector.
        size: Rows of the matrix.
        count: Vectors to draw.
        seed: Of the generator that draws them.
    """
    rng = np.random.default_rng(seed)
    for _ in range(count):
        z = rng.choice([-1.0, 1.0], size=size)
        yield float(z @ product(z))


# Helpers.


def power(exponent: int) -> str:
    """Write a power of ten."""
    return "1" if exponent == 0 else f"10{str(exponent).translate(SUPERSCRIPT)}"
