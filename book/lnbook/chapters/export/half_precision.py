"""A norm computed operation by operation in float16, compared with float32 statistics."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import plotly.graph_objects as go

from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS, fade
from lnbook.figures.plots import add_line

TOKENS, FEATURES = 16, 128
LARGEST = float(np.finfo(np.float16).max)
STDS = np.logspace(-5, 4, 55)
EPS = {"1e-5": 1e-5, "1e-6": 1e-6, "1e-8": 1e-8, "1e-12": 1e-12}
OUTLIERS = {"none": 1.0, "one, 50 times as large": 50.0}
SCALES = {
    "not rescaled": "none",
    "divided by 64": "64",
    "divided by the largest feature": "largest",
}
TOP, BAND = 1.1, (1.2, 1.36)  # the band of infinities and NaN is above TOP
CLOSE = 0.05


@dataclass(frozen=True)
class Sweep:
    """Root mean squares of the outputs, for each of :data:`STDS`.

    Args:
        half: With every operation rounded to float16; infinite or NaN if the output of a token is.
        single: With statistics computed in float32.
        exact: In float64, for the same float16 inputs.
    """

    half: np.ndarray
    single: np.ndarray
    exact: np.ndarray


def activations(std: float, outlier: float = 1.0) -> np.ndarray:
    """Return float16 tokens, shape ``(TOKENS, FEATURES)``.

    Args:
        std: Standard deviation of all features except the first.
        outlier: Factor of the first feature.
    """
    x = np.random.default_rng(0).normal(size=(TOKENS, FEATURES)) * std
    x[:, 0] *= outlier
    return np.clip(x, -LARGEST / 2, LARGEST / 2).astype(np.float16)


def layer_norm(x: np.ndarray, eps: float, dtype: type, scale: str = "none") -> np.ndarray:
    """Return layer norm over the last axis, with each operation rounded to ``dtype``.

    The operations are those of an ONNX graph without ``LayerNormalization``: ReduceMean, Sub, Pow,
    ReduceMean, Add, Sqrt, Div. A mean is summed in float32 or wider and then rounded, as NumPy and
    most kernels do.

    Args:
        x: An array of any floating-point type.
        eps: Also rounded to ``dtype``.
        dtype: A type such as ``np.float16``.
        scale: Divisor of the centered features before they are squared (eps is divided by its
            square): ``"none"``, ``"64"`` or ``"largest"``, the largest absolute value of the token.

    Returns:
        An array of ``dtype``.
    """
    with np.errstate(all="ignore"):
        x = x.astype(dtype)
        x = x - x.mean(-1, keepdims=True)
        added = dtype(eps)
        if scale == "64":
            x, added = x / dtype(64), dtype(eps / 64**2)
        elif scale == "largest":
            largest = np.abs(x).max(-1, keepdims=True)
            x, added = x / largest, added / largest / largest
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + added)


@cache
def sweep(eps: float, outlier: float, scale: str) -> Sweep:
    """Normalize activations of every std in :data:`STDS`; only float16 is rescaled."""
    half, single, exact = [], [], []
    for std in STDS:
        x = activations(std, outlier)
        y16 = layer_norm(x, eps, np.float16, scale).astype(float)
        y32, y64 = (layer_norm(x, eps, dtype).astype(float) for dtype in (np.float32, float))
        y32 = y32.astype(np.float16).astype(float)
        for values, y in ((half, y16), (single, y32), (exact, y64)):
            values.append(_rms(y))
    return Sweep(*map(np.array, (half, single, exact)))


def _rms(y: np.ndarray) -> float:
    return float(np.sqrt(np.square(y).mean()))


def working(result: Sweep) -> tuple[float, float]:
    """Return the smallest and the largest std between which the float16 error is within 5%."""
    right = np.abs(result.half / result.exact - 1) < CLOSE
    (edges,) = np.nonzero(right)
    assert right[edges[0] : edges[-1] + 1].all()
    return float(STDS[edges[0]]), float(STDS[edges[-1]])


def draw(eps: float, outlier: float, scale: str) -> go.Figure:
    """Draw the root mean square of the outputs over the std of the activations."""
    result, figure = sweep(eps, outlier, scale), go.Figure()
    low, high = working(result)
    bands = [(STDS[0], STDS[-1], BAND[0] - 0.06, BAND[1] + 0.06)]
    if high < STDS[-1]:
        bands.append((high, STDS[-1], 0, TOP))
        figure.add_annotation(
            x=float(np.log10(STDS[-1])), y=0.5, xanchor="right", showarrow=False,
            text="x² = ∞",
        )  # fmt: skip
    if low > STDS[0]:
        bands.append((STDS[0], low, 0, TOP))
        figure.add_annotation(
            x=float(np.log10(low * STDS[0]) / 2), y=0.75, showarrow=False,
            text="eps is 0" if np.isfinite(result.half).all() else "squares<br>and eps<br>are 0",
        )  # fmt: skip
    for left, right, bottom, top in bands:
        figure.add_scatter(
            x=_short([left, right, right, left]),
            y=[bottom, bottom, top, top],
            mode="lines", fill="toself", fillcolor=fade(COLORS["gray"], 0.14),
            line={"width": 0}, hoverinfo="skip", showlegend=False,
        )  # fmt: skip
    add_line(
        figure,
        _short(STDS),
        _short(result.single),
        ("float32 inside", COLORS["layer"], "solid"),
        "std %{x:.2g}: %{y:.3f}",
        width=6,
        opacity=0.5,
    )
    finite = np.isfinite(result.half)
    heights = _short(np.where(finite, result.half, sum(BAND) / 2))
    add_line(
        figure,
        _short(STDS),
        heights,
        ("float16 everywhere", COLORS["ink"], "dot"),
        "std %{x:.2g}: %{customdata}",
        width=2,
        customdata=[
            f"{v:.3f}" if ok else "∞ or NaN" for v, ok in zip(result.half, finite, strict=True)
        ],
        meta={"values": [h if ok else "∞ or NaN" for h, ok in zip(heights, finite, strict=True)]},
        size=5,
    )
    figure.update_layout(
        title="Outputs of a norm in float16",
        height=400,
        xaxis={"title": "std of the activations", "type": "log", "dtick": 2,
               "range": [-5.1, 4.1], "exponentformat": "power"},
        yaxis={"title": "root mean square of the output", "range": [-0.06, BAND[1] + 0.08],
               "tickvals": [0, 0.25, 0.5, 0.75, 1, sum(BAND) / 2],
               "ticktext": ["0", "0.25", "0.5", "0.75", "1", "∞, NaN"], "zeroline": False},
    )  # fmt: skip
    return figure


def _short(values: np.ndarray) -> list[float]:
    return [float(f"{v:.3g}") for v in values]


def describe(eps: float, outlier: float, scale: str) -> str:
    """Describe where float16 fails, and the effect of float32 statistics there."""
    result = sweep(eps, outlier, scale)
    low, high = working(result)
    below, above = low > STDS[0], high < STDS[-1]
    single = f"With float32 inside, the output is correct everywhere{_small(eps)}."
    if not below and not above:
        return f"Float16 gives the correct output at every standard deviation shown. {single}"
    span = f"from {_round(low)} to {_round(high)}" if below and above else None
    span = span or (f"up to {_round(high)}" if above else f"of at least {_round(low)}")
    wrong = [_below(result)] if below else []
    wrong += ["above that, it is zero for some or all tokens"] if above else []
    outside = ", and ".join(wrong)
    return (
        f"With every operation in float16, the output is correct for standard deviations {span}. "
        f"{outside[0].upper()}{outside[1:]}. {single}"
    )


def _round(std: float) -> str:
    return f"{float(f'{std:.2g}'):,.6g}"


def _below(result: Sweep) -> str:
    finite = np.isfinite(result.half).all()
    return f"below that, it is {'too large' if finite else 'infinite or NaN'}"


def _small(eps: float) -> str:
    if eps <= STDS[0] ** 2:
        return ""
    return f"; below a standard deviation of {np.sqrt(eps):.1g}, it is small because of eps"


FLOAT16 = Picture(
    draw,
    describe,
    alt="Root mean square of a norm's output over the standard deviation of its input, from 1e-5 "
    "to 1e4. With float32 inside it rises to 1 and stays there. With every operation in float16 it "
    "drops to 0 where squares are above 65,504, and with a small eps it is infinite or NaN for "
    "small inputs.",
)
