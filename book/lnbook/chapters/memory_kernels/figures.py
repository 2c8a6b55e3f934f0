"""Figures and tables on the bytes that norms save for the backward pass, and on kernels."""

from typing import Any

import plotly.graph_objects as go

from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.table import Table

NORMS = {"LayerNorm": "layer", "RMSNorm": "rms"}  # with the names of their colors
DTYPES = {"float32": 4, "bfloat16": 2}  # bytes per number
WIDTHS = 768, 4096, 8192
BLOCKS = 12, 32, 80
TOKENS = 2048, 8192, 32768
PER_BLOCK = 2  # norms per block, each followed by a linear layer
WAYS = "by hand", "one kernel", "save the output", "recompute<br>norm, linear", "recompute<br>block"
STATISTIC = 4  # bytes of a float32 number


def bytes_per_token(norm: str, dtype: str, width: int) -> dict[str, tuple[float, float]]:
    """Return the bytes per token that a norm and the linear layer after it save.

    In half precision, the norm written by hand computes in float32, as it should, and saves float32
    copies. A linear layer saves its input, which is the output of the norm.

    Args:
        norm: A key of :data:`NORMS`.
        dtype: The dtype of the activations, a key of :data:`DTYPES`.
        width: Number of features of a token.

    Returns:
        Maps each of :data:`WAYS` to the bytes of the norm and those of the linear layer.
    """
    array, wide = DTYPES[dtype] * width, DTYPES["float32"] * width
    statistics = STATISTIC * (2 if norm == "LayerNorm" else 1)  # mean and 1 / σ
    # The dividend, and the factor of the gain.
    by_hand = 2 * wide if norm == "LayerNorm" else wide + array
    return {
        WAYS[0]: (by_hand + STATISTIC, array),
        WAYS[1]: (array + statistics, array),
        WAYS[2]: (STATISTIC, array),
        WAYS[3]: (array, 0),
        WAYS[4]: (array / PER_BLOCK, 0),
    }


def total(
    norm: str, dtype: str, width: int, blocks: int, tokens: int
) -> dict[str, tuple[float, float]]:
    """Return :func:`bytes_per_token` for all norms of a transformer and all tokens in a batch."""
    count = PER_BLOCK * blocks * tokens
    return {
        way: (a * count, b * count) for way, (a, b) in bytes_per_token(norm, dtype, width).items()
    }


def size(count: float) -> str:
    """Format a number of bytes with three digits."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.{0 if count >= 100 or unit == 'B' else 1}f} {unit}"
        count /= 1024
    raise AssertionError


def draw(norm: str, dtype: str, width: int, blocks: int, tokens: int) -> go.Figure:
    """Draw a bar in two parts for each way to compute the norm."""
    bars = total(norm, dtype, width, blocks, tokens)
    most = max(map(sum, bars.values()))
    unit = 2**30 if most >= 2**31 else 2**20
    parts = ("the norm", COLORS[NORMS[norm]]), ("the linear layer after it", COLORS["gray"])
    figure = go.Figure()
    for k, (part, color) in enumerate(parts):
        values = [bar[k] for bar in bars.values()]
        figure.add_bar(
            x=[float(f"{v / unit:.4g}") for v in values],
            y=list(bars),
            orientation="h",
            name=f"kept by {part}",
            marker={"color": color, "pattern": {"shape": "/" if k else ""}},
            customdata=[size(v) for v in values],
            hovertemplate=f"%{{y}}, {part}: %{{customdata}}<extra></extra>",
        )
    figure.update_layout(
        title="Memory kept for the backward pass",
        barmode="stack",
        xaxis={"title": "GiB" if unit == 2**30 else "MiB", "range": [0, 1.05 * most / unit]},
        yaxis={"range": [len(bars) - 0.5, -0.5]},
        legend={"traceorder": "normal"},
        height=330,
    )
    return figure


def describe(norm: str, dtype: str, width: int, blocks: int, tokens: int) -> str:
    """Compare the memory that the norms need."""
    bars = total(norm, dtype, width, blocks, tokens)
    by_hand, kernel, output, pair, block = bars.values()
    return (
        f"{PER_BLOCK * blocks} × {norm} of {width:,} features, {tokens:,} tokens, {dtype}: the "
        f"norms keep {size(by_hand[0])} if written by hand, {size(kernel[0])} in one kernel each, "
        f"and {size(output[0])} if they save their output instead of their input. The linear "
        f"layers keep another {size(kernel[1])}. Recomputing the norm and the linear layer keeps "
        f"{size(sum(pair))} for both; recomputing the whole block keeps {size(sum(block))}."
    )


KEPT = Picture(
    draw,
    describe,
    alt="Five bars, one for each way to compute the norms of a transformer: written by hand, in "
    "one kernel, with the output saved, and with two kinds of recomputation. Each bar is the "
    "memory kept by the norms and by the linear layers after them until the backward pass.",
)


# Recorded measurements.


def processors(measured: dict[str, Any]) -> list[str]:
    """Return the processors of a bench table, ``book/runs/bench.json``."""
    return [d for d in dict.fromkeys(r["device"] for r in measured["rows"]) if "CPU" in d]


def times(measured: dict[str, Any], device: str) -> tuple[float, float, float]:
    """Return the times in ms: ``nn.LayerNorm``, ``nn.RMSNorm``, RMS norm in one pass."""
    rows = {
        (r["what"], r["path"]): r
        for r in measured["rows"]
        if r["device"] == device and r["shape"] == "4096×1024" and r["floor"]
    }
    layer = rows["LayerNorm forward + backward", "PyTorch, op by op"]
    rms = rows["RMSNorm forward + backward", "lnlib.nn.RMSNorm"]
    return layer["instead_ms"], rms["instead_ms"], rms["ms"]


def speed(measured: dict[str, Any]) -> Table:
    """Return a table of the times of layer norm and RMS norm on each processor."""
    rows = [
        [
            device.removeprefix("CPU: ").replace("(R)", "").removesuffix(" Processor"),
            *(f"{ms:.1f} ms" for ms in times(measured, device)),
        ]
        for device in processors(measured)
    ]
    return Table(
        ["processor", "nn.LayerNorm", "nn.RMSNorm", "lnlib.nn.RMSNorm"],
        rows,
        "Forward and backward pass of 4,096 rows of 1,024 features, float32, two threads.",
    )


def compiled_table(recorded: dict[str, Any]) -> Table:
    """Return a table of kernels, memory, rounding and time, with and without compilation."""
    rows = [
        [
            name,
            f"{run['operators']}",
            f"{run['kernels']}",
            f"{run['eager']:.2f}",
            f"{run['compiled']:.2f}",
            f"{run['differ']:.0%}",
            f"{run['time']:.2f}",
        ]
        for name, run in recorded["results"].items()
    ]
    columns = [
        "norm",
        "operators, eager",
        "kernels, compiled",
        "memory, eager",
        "memory, compiled",
        "outputs that differ",
        "time, compiled",
    ]
    return Table(
        columns,
        rows,
        f"Norms in eager mode and compiled, PyTorch {recorded['torch'].partition('+')[0]}: "
        "operators or kernels of the forward pass, memory kept as a multiple of the input's bytes, "
        "the share of outputs that are not bitwise equal, and the time of forward and backward "
        "pass as a multiple of the eager one (4,096 rows, one thread).",
    )
