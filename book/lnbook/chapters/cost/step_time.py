"""The time of a training step for each implementation, next to a lower bound."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from lnbook.chapters.cost.bench import Bench
from lnbook.chapters.cost.formatting import duration
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import NORMS
from lnbook.figures.table import Table

#: Labels of the implementations. The floor only moves the same number of bytes.
WAYS = {
    "plain": "plain loop",
    "compiled": "compiled",
    "floor": "floor: one pass",
}


def draw_steps(results: Sequence[dict[str, float]], **settings: Any) -> go.Figure:
    """Draw the milliseconds per step of each implementation as bars, with the floor last.

    Args:
        results: Results of :func:`lnlab.experiments.mnist.live.time_steps`, at least one.
        **settings: The arguments of that function; they do not affect the figure.
    """
    ms = results[-1]
    names = [name for name in WAYS if name in ms][::-1]  # plotly draws from bottom to top
    figure = go.Figure()
    figure.add_bar(
        y=[WAYS[name] for name in names],
        x=[ms[name] for name in names],
        orientation="h",
        name="ms per step",
        marker={"color": [COLORS["gray" if name == "floor" else "layer"] for name in names]},
        text=[f"{ms[name]:.2g}" for name in names],
        textposition="outside",
        hovertemplate="%{y}: %{x:.3g} ms<extra></extra>",
    )
    figure.update_layout(
        title="Time per training step",
        height=60 + 46 * len(names),
        xaxis={"range": [0, 1.2 * max(ms.values())], "title": "ms"},
    )
    return figure


def describe_steps(results: Sequence[dict[str, float]], **settings: Any) -> str:
    """Describe the time of each implementation, and its ratio to the floor."""
    if not results:
        return "Press Start to time a step on this machine."
    ms = results[-1]
    descriptions = [
        f"{WAYS[name]} {ms[name]:.2g} ms ({ms[name] / ms['floor']:.1f} times the floor)"
        for name in WAYS
        if name in ms and name != "floor"
    ]
    return f"Medians: {', '.join(descriptions)}; the floor is {ms['floor']:.2g} ms."


STEP_TIME = Picture(
    draw_steps,
    describe_steps,
    alt="Bars: milliseconds per step for each implementation, and the floor.",
)


def stored_steps(bench: dict[str, Any], batch_size: int) -> list[dict[str, float]]:
    """Return the times of a step from the stored benchmark, in the format of ``time_steps``.

    Args:
        bench: The content of ``book/runs/bench.json``.
        batch_size: Number of examples per step, 4 or 128.
    """
    shape = f"batch size {batch_size}"
    rows = [r for r in bench["rows"] if (r["what"], r["shape"]) == ("MNIST step, layer", shape)]
    rows = [r for r in rows if r["device"] == rows[0]["device"] and r["path"] in WAYS]
    return [{row["path"]: row["ms"] for row in rows} | {"floor": rows[0]["floor_ms"]}]


def steps(bench: Bench, batch_size: int) -> Table:
    """Return a table of the time of a training step of section 6.6, by norm and implementation."""
    norms = {n: f"MNIST step, {n}" for n in ("none", "layer", "batch")}
    norms["layer norm, after 2,000 updates"] = "MNIST step 2,000, layer"
    shape = f"batch size {batch_size}"
    rows_by_norm = {n: {r["path"]: r for r in bench.pick(w, shape=shape)} for n, w in norms.items()}
    paths = [path for path in WAYS if path in rows_by_norm["layer"]]
    rows = [
        [p, *(duration(f[p]["ms"]) if p in f else "–" for f in rows_by_norm.values())]
        for p in paths
    ]
    rows.append(["floor", *(duration(f["plain"]["floor_ms"]) for f in rows_by_norm.values())])
    late = rows_by_norm["layer norm, after 2,000 updates"]["plain"]["instead_ms"]
    rows.append(["plain, denormals as 0", *["–"] * 3, duration(late)])
    labels = [NORMS[n][0] if n in NORMS else n for n in norms]
    return Table(["step", *labels], rows, f"One training step, {shape}.")
