"""The Fisher matrix in blocks: the exact one and that of eq. 13."""

from functools import cache

import numpy as np
import plotly.graph_objects as go

from lnbook.chapters.fisher_information.models import INPUTS, UNITS, ZERO, cases, glm
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import log_axis, power_of_ten
from lnlab.analysis import fisher_error

MATRICES = {"exact, eq. 9": "exact", "as printed, eq. 13": "paper", "exact − printed": "difference"}
_ZERO_EXPONENT = -5.5  # a zero is drawn at 10 to this power


@cache
def matrix(norm: str, family: str, kind: str) -> np.ndarray:
    """Return a Fisher matrix of the model.

    Args:
        norm: The norm of the model.
        family: The distribution of the labels.
        kind: ``exact`` (eq. 9), ``paper`` (eq. 13 as printed), or ``difference`` (exact - paper).
    """
    if kind == "difference":
        return matrix(norm, family, "exact") - matrix(norm, family, "paper")
    return glm(norm, family).fisher(cases(), kind)


def num_zero_eigenvalues(norm: str, family: str, kind: str) -> int:
    """Return the number of eigenvalues of a Fisher matrix that are 0 up to rounding."""
    values = np.linalg.eigvalsh(matrix(norm, family, kind))
    return int((values < ZERO * values[-1]).sum())


def relative_error(norm: str, family: str) -> float:
    """Return the error of eq. 13 relative to the exact matrix, a ratio of Frobenius norms.

    Args:
        norm: The norm of the model.
        family: The distribution of the labels.
    """
    exact, printed = (matrix(norm, family, kind) for kind in ("exact", "paper"))
    return fisher_error.relative_error(printed, exact)


def draw_matrix(norm: str, family: str, kind: str) -> list[go.Figure]:
    """Draw a matrix in blocks, and the eigenvalues of the exact matrix and of that of eq. 13."""
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
        {"type": "line", **{f"{a}0": edge, f"{a}1": edge, f"{b}0": -0.5, f"{b}1": len(F) - 0.5},
         "line": {"color": COLORS["gray"], "width": 1.5}}
        for a, b in ("xy", "yx")
        for edge in np.arange(UNITS + 1) * n - 0.5
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
        nonzero = values > ZERO * values[0]
        spectrum.add_scatter(
            x=np.arange(1, len(values) + 1),
            y=[
                float(f"{v:.3g}") if ok else 10**_ZERO_EXPONENT
                for v, ok in zip(values, nonzero, strict=True)
            ],
            text=[f"{v:.2g}" if ok else "0" for v, ok in zip(values, nonzero, strict=True)],
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
        xaxis={"title": "eigenvalue, largest first", "range": [0.2, 18.8], "dtick": 3, "tick0": 3,
               "zeroline": False},
        yaxis=log_axis([10**_ZERO_EXPONENT, *10.0**powers], [_ZERO_EXPONENT - 0.3, 1.3],
                       texts=["0", *(power_of_ten(p) for p in powers)]),
    )  # fmt: skip
    return [heat, spectrum]


def describe_matrix(norm: str, family: str, kind: str) -> str:
    """Return a sentence on the error of eq. 13 and the number of flat directions."""
    num_flat = [num_zero_eigenvalues(norm, family, which) for which in ("exact", "paper")]
    size, gap = len(matrix(norm, family, "exact")), relative_error(norm, family)
    text = f"The matrix is {size} × {size}"
    if gap < ZERO:
        directions = "direction" if num_flat[0] == 1 else "directions"
        return (
            f"{text}; eq. 13 as printed gives the same matrix, with {num_flat[0]} "
            f"{directions} of zero curvature."
        )
    return (
        f"{text}; the relative error of eq. 13 as printed is {gap:.0%}. The exact matrix has "
        f"{num_flat[0]} directions of zero curvature, the printed one {num_flat[1]}."
    )


MATRIX = Picture(
    draw_matrix,
    describe_matrix,
    alt="Left, a heat map of the Fisher matrix of three units, in nine blocks. Right, the "
    "eigenvalues of the exact and of the printed matrix; those that are 0 lie on the lowest line.",
)
