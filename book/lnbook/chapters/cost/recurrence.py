"""Times of recurrent networks with and without layer norm, and of their loops."""

import plotly.graph_objects as go

from lnbook.chapters.cost.bench import Bench
from lnbook.chapters.cost.formatting import duration, ratio, short
from lnbook.chapters.cost.step_time import WAYS
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import add_line
from lnbook.figures.table import Table

CELLS = ("LSTM", "GRU", "RNN")
CALLED = "lnlib.nn, as called"
PATH_NAMES = {
    "loop over gx[t]": "indexed loop",
    "loop over gx.unbind(0)": "unbound loop",
    "lnlib.nn, plain": "unbound loop",
    "lnlib.nn, function": "manual gradient",
    "lnlib.nn, compiled": "compiled",
    "lnlib.nn, cuda": "CUDA",
    CALLED: "lnlib default",
}


def tasks(bench: Bench) -> dict[str, tuple[str, str]]:
    """Return the recurrences that were measured in several ways, as options of a choice.

    Returns:
        Maps a label to the cell and the shape.
    """
    shapes = {}
    for cell in CELLS:
        for r in bench.pick(f"LN-{cell} forward + backward"):
            T, _, H = r["shape"].split(",")[0].split("×")
            if r["path"] != CALLED:
                shapes[f"{cell}, {T} steps, H {H}"] = (cell, r["shape"])
    return shapes


def called(bench: Bench) -> Table:
    """Return the times of the modules, relative to PyTorch's modules without a norm."""
    passes = {"training": "forward + backward", "inference": "forward"}
    rows_by_key = {
        (r["shape"], name, cell, r["threads"]): r
        for name, which in passes.items()
        for cell in CELLS
        for r in bench.pick(f"LN-{cell} {which}", path=CALLED)
    }
    row_keys = list(dict.fromkeys((shape, name) for shape, name, *_ in rows_by_key))
    columns = list(dict.fromkeys((cell, count) for *_, cell, count in rows_by_key))
    rows = [
        [*row_key, *(ratio(rows_by_key[*row_key, *column]["ratio"]) for column in columns)]
        for row_key in sorted(
            row_keys, key=lambda row_key: [p[0] for p in row_keys].index(row_key[0])
        )
    ]
    names = [f"{cell}, {count} thread{'s' * (count > 1)}" for cell, count in columns]
    caption = "Time relative to the module of torch.nn without a norm, for steps × batch × units."
    return Table(["shape", "pass", *names], rows, caption, folded=True)


def same_loop(bench: Bench) -> Table:
    """Return a table of the times of each loop, or step, with and without norms.

    One compiled loop keeps the norm of the cell, as its row says.
    """
    rows = []
    for kind, which in ((k, w) for k in CELLS for w in ("forward", "forward + backward")):
        for r in bench.pick(f"norms of an {kind}, {which}"):
            path = PATH_NAMES.get(r["path"], r["path"])
            without = r["instead"].removeprefix("the same loop, ")
            rows.append([f"{kind} {r['shape']}, {path}", which, without, r["ms"], r["instead_ms"]])
    for size in (4, 128):
        shape = f"batch size {size}"
        for r in bench.pick("MNIST step, layer", shape=shape):
            if r["path"] not in WAYS:  # an implementation that lnlib no longer has
                continue
            none = bench.one("MNIST step, none", shape=shape, path=r["path"])
            rows.append(
                [f"MNIST step, {shape}, {r['path']}", "step", "no norm", r["ms"], none["ms"]]
            )
    return Table(
        ["loop or step", "pass", "compared with", "with norms", "without", "ratio"],
        [[*r[:3], duration(r[3]), duration(r[4]), ratio(r[3] / r[4])] for r in rows],
        f"The same code with and without layer norm, {bench.device}. The compiled LSTM is compared "
        "with one that keeps only the norm of the cell.",
        folded=True,
    )


def draw_recurrence(bench: Bench, task: tuple[str, str], which: str) -> go.Figure:
    """Draw the time of each implementation relative to PyTorch's cell without a norm.

    Args:
        bench: The measured times.
        task: The cell and the shape.
        which: ``forward`` or ``forward + backward``.
    """
    cell, shape = task
    rows = bench.pick(f"LN-{cell} {which}", shape=shape, threads=bench.threads)
    floor = rows[0]["floor_ms"] / rows[0]["instead_ms"]
    names = [
        f"{PATH_NAMES[r['path']].replace(' ', '<br>')}<br><b>{ratio(r['ratio'])}</b>" for r in rows
    ]
    figure = go.Figure()
    figure.add_bar(
        x=names,
        y=short([r["ratio"] for r in rows]),
        name="with layer norm",
        marker={"color": COLORS["layer"]},
        customdata=[duration(r["ms"]) for r in rows],
        hovertemplate="%{x}: %{y} times, %{customdata}<extra></extra>",
    )
    for value, name, color_of, dash in (
        (1.0, "torch.nn, no norm", "none", "dot"),
        (floor, "only the products", "ink", "dash"),
    ):
        add_line(
            figure, names, short([value] * len(names)), (name, COLORS[color_of], dash), "%{y} times"
        )
    passes = [r for w in ("forward", "forward + backward") for r in bench.pick(f"LN-{cell} {w}")]
    top = max(r["ratio"] for r in passes if r["shape"] == shape)
    figure.update_layout(
        title=f"Time relative to torch.nn.{cell} without a norm",
        height=380,
        xaxis={"tickangle": 0, "dtick": 1},  # show every name, also on a phone
        yaxis={"range": [0, 1.15 * max(top, 1)]},
    )
    return figure


def describe_recurrence(bench: Bench, task: tuple[str, str], which: str) -> str:
    """Describe how long each implementation takes."""
    cell, shape = task
    rows = bench.pick(f"LN-{cell} {which}", shape=shape, threads=bench.threads)
    descriptions = [
        f"{PATH_NAMES[r['path']]} {duration(r['ms'])} ({r['ratio']:.2f} times)" for r in rows
    ]
    return (
        f"LN-{cell}, {which}, {shape} (steps × batch × units): {'; '.join(descriptions)}. "
        f"torch.nn.{cell} without a norm: {duration(rows[0]['instead_ms'])}; only the matrix "
        f"products: {duration(rows[0]['floor_ms'])}."
    )


RECURRENCE = Picture(
    draw_recurrence,
    describe_recurrence,
    alt="Bars: the time of each implementation of a layer-normalized recurrent network relative to "
    "PyTorch's own without a norm. The indexed loop is by far the slowest on long sequences.",
)
