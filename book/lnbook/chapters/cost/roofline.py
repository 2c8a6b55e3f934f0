"""Arithmetic and memory traffic: counted operations, measured times, and the roofline model."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from lnbook.chapters.cost.bench import Bench
from lnbook.chapters.cost.formatting import digits, duration, ratio, short
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import (
    NORMS,
    RMS,
    add_guide,
    add_line,
    add_points,
    cursor,
    decades,
    label_ends,
    log_axis,
)
from lnbook.figures.table import Table
from lnlab.analysis import costs
from lnlab.analysis.costs import PASSES, Machine, norm_work, product_work, share

#: The norms of this chapter: label, color, dash.
STYLES = {"layer": NORMS["layer"], "batch": NORMS["batch"], "rms": RMS}
WIDTHS = [64, 256, 1024, 4096]
CASES = [1, 32, 1024, 32_768]
_FINE = 2 ** np.arange(5, 14.1, 1)


def counts(N: int, H: int) -> Table:
    """Return a table of the operations per element, and the number of arrays, of each norm."""
    rows = [
        [STYLES[norm][0]]
        + [
            cell
            for which in PASSES
            for cell in (
                f"{costs.count(norm, which, N, H) / (N * H):.2f}",
                str(costs.arrays(norm, which)),
            )
        ]
        for norm in STYLES
    ]
    names = [f"{which}: {what}" for which in PASSES for what in ("operations", "arrays")]
    caption = f"{N} examples, {H} features. Operations per element; arrays read or written."
    return Table(["norm", *names], rows, caption)


def norms(bench: Bench, shape: str) -> Table:
    """Return a table of the times of each norm, relative to the floor and to alternatives.

    Args:
        bench: The measured times.
        shape: The name of the shape in the rows.
    """
    rows = []
    for kind in ("LayerNorm", "BatchNorm", "RMSNorm"):
        for which in ("forward", "forward + backward"):
            matching = bench.pick(f"{kind} {which}", shape=shape)
            plain = next(r for r in matching if r["path"] == "PyTorch, op by op")
            typed = next(
                (r for r in matching if r["path"].startswith("lnlib.") and _numpy(r)), None
            )
            rows.append(
                [
                    f"{kind}, {which}",
                    duration(plain["instead_ms"]),
                    ratio(plain["instead_ms"] / plain["floor_ms"]),
                    ratio(plain["ratio"]),
                    ratio(typed and typed["ratio"]),
                ]
            )
    names = [
        "norm",
        "torch.nn",
        "ratio to floor",
        "op by op, ratio to torch.nn",
        "lnlib.norms, ratio to plain NumPy",
    ]
    return Table(names, rows, f"{shape}, float32, {bench.device}.")


def _numpy(row: dict[str, Any]) -> bool:
    return row["instead"] == "NumPy, as typed"


def draw_roofline(
    machines: dict[str, Machine], machine: str, which: str, N: int, H: int
) -> list[go.Figure]:
    """Draw the roofline of a machine with norms and a matrix product, and the norms' share.

    Args:
        machines: Machines from :func:`machines`.
        machine: A key of ``machines``.
        which: ``forward`` or ``backward``.
        N: Number of examples.
        H: Number of features.
    """
    m = machines[machine].at_size(N, H)
    roof, shares = go.Figure(), go.Figure()
    intensities = np.array([0.25, m.products / m.bandwidth, 3000.0])
    reachable = short(100 * np.minimum(1, intensities * m.bandwidth / m.products))
    add_guide(roof, short(intensities), reachable, "the roof", width=2.5, showlegend=False)
    points = {norm: norm_work(norm, which, N, H, m.size) for norm in STYLES}
    points["product"] = product_work(which, N, H, m.size)
    marks = {"layer": "circle", "batch": "square", "rms": "diamond", "product": "star"}
    for name, work in points.items():
        label, color = STYLES[name][:2] if name in STYLES else ("product", COLORS["ink"])
        reached = work[0] / m.seconds(work, product=name == "product")
        add_points(
            roof,
            short([work[0] / work[1]]),
            short([100 * reached / m.products]),
            (label, color, marks[name]),
            "%{x} operations per byte, %{y}%",
            size=12,
        )
    roof.update_layout(
        title="Speed, % of the machine's maximum",
        height=360,
        xaxis=decades(-0.7, 3.6, title="arithmetic intensity, operations per byte"),
        yaxis=decades(-1.7, 2.2),
    )
    for norm, style in STYLES.items():
        add_line(
            shares,
            _FINE,
            short([100 * share(m, norm, which, N, int(h)) for h in _FINE]),
            style,
            "H = %{x}: %{y}%",
            width=6 if norm == "layer" else 2.5,
            opacity=0.6 if norm == "layer" else 1,  # RMS norm is drawn over it
        )
    shares.update_layout(
        title="Time of the norm, % of the product's",
        height=360,
        xaxis=log_axis([64, 512, 4096], title="features H", texts=["64", "512", "4,096"]),
        yaxis=decades(-2, 4.3),
        shapes=[cursor(H)],
    )
    return [roof, label_ends(shares)]


def describe_roofline(
    machines: dict[str, Machine], machine: str, which: str, N: int, H: int
) -> str:
    """Describe the intensity of layer norm, what the machine can do there, and the share."""
    m = machines[machine].at_size(N, H)
    work = norm_work("layer", which, N, H, m.size)
    product = product_work(which, N, H, m.size)
    intensity = product[0] / product[1]
    bound = "arithmetic" if intensity > m.products / m.bandwidth else "memory bandwidth"
    done = digits(intensity) if intensity >= 10 else f"{intensity:.2f}"
    percent = 100 * share(m, "layer", which, N, H)
    least = f"{duration(1e3 * m.seconds(work))}, {digits(percent)}%"
    where = machine if machine.startswith("this") else f"the {machine}"
    return (
        f"On {where}, {N:,} × {H:,}, {which}: layer norm performs "
        f"{work[0] / work[1]:.2f} operations per byte; in the time that it takes to move "
        f"one byte, the machine could perform {m.other / m.bandwidth:.0f} operations. The product "
        f"performs {done} operations per byte and is limited by {bound}. Layer norm "
        f"takes at least {least} of the product's time."
    )


ROOFLINE = Picture(
    draw_roofline,
    describe_roofline,
    alt="Left, on logarithmic axes, the maximum speed of a machine over operations per byte: a "
    "slope, then a flat top. The three norms are low on the slope, the matrix product is further "
    "right. Right, the time of each norm in percent of the product's, which falls with the width "
    "except where the arrays no longer fit in a cache.",
)
