"""What a normalization costs: arithmetic, bytes, measured times, and words between devices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from lnbook.show.colors import COLORS
from lnbook.show.picture import Picture
from lnbook.show.plots import NORMS, RMS, cursor, label_ends
from lnbook.show.table import Table

PASSES = ("forward", "backward")
#: The norms of this chapter: label, color, dash.
LOOKS = {"layer": NORMS["layer"], "batch": NORMS["batch"], "rms": RMS}

# Arithmetic: the formulas, written once as they are computed, for any kind of number.


def forward(norm: str, x: np.ndarray, gain: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Normalize ``x (N, H)`` by the fewest operations that we know, with eps = 1.

    Args:
        norm: ``layer``, ``batch`` or ``rms``, which has no bias.
        x: Summed inputs.
        gain: Shape ``(H,)``.
        bias: Shape ``(H,)``.
    """
    axis = 0 if norm == "batch" else 1
    centered = x if norm == "rms" else x - x.mean(axis, keepdims=True)
    rstd = 1 / np.sqrt((centered * centered).mean(axis, keepdims=True) + 1)
    y = centered * rstd * gain
    return y if norm == "rms" else y + bias


def backward(
    norm: str,
    dy: np.ndarray,
    x: np.ndarray,
    mean: np.ndarray,
    rstd: np.ndarray,
    gain: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return ``(dx, dgain, dbias)`` from what the forward pass kept; RMS norm has no ``dbias``.

    Args:
        norm: As for :func:`forward`.
        dy: The gradient in ``y``, ``(N, H)``.
        x: Summed inputs, ``(N, H)``.
        mean: Of each row ``(N, 1)``, of each column ``(1, H)`` for batch norm; not read for RMS.
        rstd: Likewise.
        gain: Shape ``(H,)``.
    """
    if norm == "rms":
        x_hat = x * rstd
        d = dy * gain
        return (
            (d - x_hat * (d * x_hat).mean(1, keepdims=True)) * rstd,
            (dy * x_hat).sum(0),
            None,
        )
    x_hat = (x - mean) * rstd
    dgain, dbias = (dy * x_hat).sum(0), dy.sum(0)
    if norm == "batch":  # its two means are the parameters' gradients: no sums of their own
        dx = (dy - dbias / len(x) - x_hat * (dgain / len(x))) * (gain * rstd)
        return dx, dgain, dbias
    d = dy * gain
    shift, slope = d.mean(1, keepdims=True), (d * x_hat).mean(1, keepdims=True)
    return (d - shift - x_hat * slope) * rstd, dgain, dbias


class Counted:
    """A number that counts the operations made with it and its kind, each as one."""

    made = 0

    def __init__(self, value: float):
        self.value = float(value)

    def _do(self, value: float) -> Counted:
        Counted.made += 1
        return Counted(value)

    def __add__(self, other: Any) -> Counted:
        return self._do(self.value + float(other))

    def __sub__(self, other: Any) -> Counted:
        return self._do(self.value - float(other))

    def __mul__(self, other: Any) -> Counted:
        return self._do(self.value * float(other))

    def __truediv__(self, other: Any) -> Counted:
        return self._do(self.value / float(other))

    def __rtruediv__(self, other: Any) -> Counted:
        return self._do(float(other) / self.value)

    def __float__(self) -> float:
        return self.value

    def sqrt(self) -> Counted:
        """Return the root; NumPy asks for it by this name."""
        return self._do(math.sqrt(self.value))


def count(norm: str, which: str, N: int, H: int) -> int:
    """Run a pass on numbers that count, and return how many operations it made.

    Args:
        norm: ``layer``, ``batch`` or ``rms``.
        which: ``forward`` or ``backward``.
        N: Cases.
        H: Features.
    """
    rng = np.random.default_rng(0)

    def draw(*shape: int) -> np.ndarray:
        return np.vectorize(Counted, otypes=[object])(1 + rng.random(shape))

    Counted.made = 0
    if which == "forward":
        forward(norm, draw(N, H), draw(H), draw(H))
    else:
        kept = (1, H) if norm == "batch" else (N, 1)
        backward(norm, draw(N, H), draw(N, H), draw(*kept), draw(*kept), draw(H))
    return Counted.made


def counts(N: int, H: int) -> Table:
    """Return operations and arrays of each norm, for each number, as a table."""
    rows = [
        [LOOKS[norm][0]]
        + [
            cell
            for which in PASSES
            for cell in (f"{count(norm, which, N, H) / (N * H):.2f}", str(arrays(norm, which)))
        ]
        for norm in LOOKS
    ]
    names = [f"{which}: {what}" for which in PASSES for what in ("operations", "arrays")]
    caption = f"{N} cases, {H} features. Operations for each number; arrays read or written."
    return Table(["norm", *names], rows, caption)


def flops(norm: str, which: str, N: int, H: int) -> int:
    """Return what :func:`count` counts, by formula, for any size."""
    if which == "forward":
        return {"layer": N * (7 * H + 3), "rms": N * (4 * H + 3), "batch": H * (7 * N + 3)}[norm]
    return {"layer": 13 * N * H - 2 * H, "rms": 9 * N * H - H, "batch": 9 * N * H + H}[norm]


def arrays(norm: str, which: str) -> int:
    """Return how many times an array of N × H numbers is read or written.

    A row is short and is kept at hand until it is done. The batch, in the direction of batch norm's
    statistics, is not: what they need is read once for them and once for the output.
    """
    once = 2 if which == "forward" else 3  # x, y; dy, x, dx
    return once + (once - 1) * (norm == "batch")


def bytes_moved(norm: str, which: str, N: int, H: int, size: int = 4) -> int:
    """Return the bytes of one pass, its statistics and parameters too, once in each direction.

    Args:
        norm: ``layer``, ``batch`` or ``rms``.
        which: ``forward`` or ``backward``.
        N: Cases.
        H: Features.
        size: Bytes of a number: 4 for float32, 2 for bfloat16.
    """
    statistics = {"layer": 2 * N, "batch": 2 * H, "rms": N}[norm]
    parameters = (1 if norm == "rms" else 2) * H  # gain, bias; backward their gradients
    gain = H if which == "backward" else 0
    return size * (arrays(norm, which) * N * H + statistics + parameters + gain)


# The measured table.


class Bench:
    """The bench table that the book shows, ready to be asked.

    Args:
        kept: As read from ``book/runs/bench.json``.
        device: Whose rows; ``None`` takes the first processor's.

    Raises:
        ValueError: If it is of another format, or has no rows of the device.
    """

    def __init__(self, kept: dict[str, Any], device: str | None = None):
        if kept.get("format") != 1:
            raise ValueError(f"Bench: expected format 1, got {kept.get('format')!r}; update lnlib")
        self.devices = list(dict.fromkeys(r["device"] for r in kept["rows"]))
        first = next((d for d in self.devices if d.startswith("CPU")), None)
        self.device = device or first
        self.rows = [r for r in kept["rows"] if r["device"] == self.device]
        if not self.rows:
            raise ValueError(f"Bench: no rows of {self.device!r}; there are {self.devices}")
        self.made = kept["provenance"][self.device]
        self.threads = self.made.get("threads") or max(r["threads"] for r in self.rows)

    def pick(self, what: str, **of: Any) -> list[dict[str, Any]]:
        """Return the rows of a ``what`` whose other fields have the given values."""
        found = [r for r in self.rows if r["what"] == what]
        return [r for r in found if all(r[k] == v for k, v in of.items())]

    def one(self, what: str, **of: Any) -> dict[str, Any]:
        """Return the one row; of several, as of a path beside two others, the first.

        Raises:
            ValueError: If there is none.
        """
        found = self.pick(what, **of)
        if not found:
            raise ValueError(f"Bench: no row of {what!r} with {of}; measure again: make bench")
        return found[0]

    def table(self, whats: Sequence[str], caption: str, **of: Any) -> Table:
        """Return rows as a table: the time, over what stands in its place, over the floor."""
        rows = [r for what in whats for r in self.pick(what, **of)]
        text = [
            [
                f"{r['what']}, {r['shape']}",
                r["path"],
                _time(r["ms"]),
                r["instead"] or "–",
                _times(r["ratio"]),
                _times(r["floor_ms"] and r["ms"] / r["floor_ms"]),
            ]
            for r in rows
        ]
        return Table(["what", "path", "time", "beside", "over it", "over the floor"], text, caption)


def exchanges(bench: Bench) -> Table:
    """Return what two processes take, and send, for batch norm and for layer norm."""
    rows = []
    for r in bench.pick("BatchNorm over 2 processes"):
        layer = bench.one("LayerNorm over 2 processes", shape=r["shape"])
        rows.append(
            [
                f"{int(r['shape'].split('×')[-1]):,}",
                f"{r['sent_bytes']:,}",
                _time(r["ms"]),
                _time(r["instead_ms"]),
                _time(r["floor_ms"]),
                f"{layer['sent_bytes']:,}",
                _time(layer["ms"]),
            ]
        )
    names = ["features", "bytes sent", "batch norm", "its halves alone", "the exchange alone"]
    return Table(
        [*names, "layer norm: bytes", "layer norm"],
        rows,
        "Two processes with 64 cases each, one thread each, forward and backward.",
    )


def steps(bench: Bench, batch_size: int) -> Table:
    """Return the time of a training step of section 6.6, for each norm and way to compute it."""
    norms = {n: f"MNIST step, {n}" for n in ("none", "layer", "batch")}
    norms["layer norm, after 2,000"] = "MNIST step 2,000, layer"
    shape = f"batch size {batch_size}"
    found = {n: {r["path"]: r for r in bench.pick(w, shape=shape)} for n, w in norms.items()}
    paths = list(found["layer"])
    rows = [[p, *(_time(f[p]["ms"]) if p in f else "–" for f in found.values())] for p in paths]
    rows.append(["floor", *(_time(f["plain"]["floor_ms"]) for f in found.values())])
    late = found["layer norm, after 2,000"]["plain"]["instead_ms"]
    rows.append(["plain, denormals as 0", *["–"] * 3, _time(late)])
    labels = [NORMS[n][0] if n in NORMS else n for n in norms]
    return Table(["step", *labels], rows, f"One training step, {shape}.")


def same_loop(bench: Bench) -> Table:
    """Return what norms cost: each loop, or step, beside itself without them.

    One compiled loop keeps the cell's norm: its row says so.
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
            none = bench.one("MNIST step, none", shape=shape, path=r["path"])
            rows.append(
                [f"MNIST step, {shape}, {r['path']}", "step", "no norm", r["ms"], none["ms"]]
            )
    return Table(
        ["the same loop", "pass", "beside", "with norms", "without", "times"],
        [[*r[:3], _time(r[3]), _time(r[4]), _times(r[3] / r[4])] for r in rows],
        f"Layer norm beside the same code without it, {bench.device}.",
    )


def norms(bench: Bench, shape: str) -> Table:
    """Return what each norm takes in PyTorch and NumPy, over its floor and over other ways.

    Args:
        bench: The table.
        shape: As the rows call it.
    """
    rows = []
    for kind in ("LayerNorm", "BatchNorm", "RMSNorm"):
        for which in ("forward", "forward + backward"):
            found = bench.pick(f"{kind} {which}", shape=shape)
            plain = next(r for r in found if r["path"] == "PyTorch, op by op")
            typed = next((r for r in found if r["path"].startswith("lnlib.") and _numpy(r)), None)
            rows.append(
                [
                    f"{kind}, {which}",
                    _time(plain["instead_ms"]),
                    _times(plain["instead_ms"] / plain["floor_ms"]),
                    _times(plain["ratio"]),
                    _times(typed and typed["ratio"]),
                ]
            )
    names = [
        "norm",
        "torch.nn",
        "over the floor",
        "op by op over it",
        "lnlib.norm over NumPy as typed",
    ]
    return Table(names, rows, f"{shape}, float32, {bench.device}.")


def _numpy(row: dict[str, Any]) -> bool:
    return row["instead"] == "NumPy, as typed"


def _times(ratio: float | None) -> str:
    return "–" if ratio is None else f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"


def _time(ms: float) -> str:
    """Write a time in two or three digits, with its unit."""
    sizes = {"s": 1e3, "ms": 1.0, "µs": 1e-3, "ns": 1e-6}
    unit, size = next(((u, s) for u, s in sizes.items() if ms >= s), ("ns", 1e-6))
    return f"{_number(ms / size)} {unit}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


# The roofline.

WIDTHS = [64, 256, 1024, 4096]
CASES = [1, 32, 1024, 32_768]
_FINE = 2 ** np.arange(5, 14.1, 1)


def machines(bench: Bench) -> dict[str, dict[str, Any]]:
    """Return machines: operations a second in products and elsewhere, bytes a second and a number.

    The processor's are measured: a large product, and the fastest way to move two arrays, which is
    faster where a cache holds them, so that each measured size has a number of its own. Those of
    the H100 (SXM) are NVIDIA's: 67 Tflop/s in float32, 989 in bfloat16 on the tensor cores, which
    can do products alone, and 3.35 TB/s.
    """
    product = bench.one("machine", path="matrix product")
    rate = product["flops"] / product["ms"] * 1e3
    copies = sorted(bench.pick("machine", path="copy"), key=lambda r: r["bytes"])
    speeds = [r["bytes"] / r["ms"] * 1e3 for r in copies]
    here = {"product": rate, "other": rate, "bytes": speeds[-1], "size": 4}
    here["copies"] = [(r["bytes"], speed) for r, speed in zip(copies, speeds, strict=True)]
    h100 = {"product": 67e12, "other": 67e12, "bytes": 3.35e12, "size": 4}
    return {
        "this CPU, float32": here,
        "H100, float32": h100,
        "H100, bfloat16": h100 | {"product": 989e12, "size": 2},
    }


def at_size(machine: dict[str, Any], N: int, H: int) -> dict[str, Any]:
    """Return the machine as arrays of N × H numbers find it: faster, if a cache holds them."""
    if "copies" not in machine:
        return machine
    # Between two measured sizes as fast as the smaller: a least time has to be one.
    below = sum(size <= 2 * machine["size"] * N * H for size, _ in machine["copies"])
    return machine | {"bytes": max(speed for _, speed in machine["copies"][max(0, below - 1) :])}


def linear(which: str, N: int, H: int, size: int) -> tuple[float, float]:
    """Return flops and bytes of the product with ``W (H, H)`` that feeds the norm.

    Backward there are two: with W for the inputs, with the inputs for W.
    """
    twice = 1 if which == "forward" else 2
    return twice * 2.0 * N * H * H, twice * size * (2.0 * N * H + H * H)


def seconds(machine: dict[str, Any], work: tuple[float, float], kind: str = "other") -> float:
    """Return the least time of flops and bytes: the slower of the two decides."""
    return max(work[0] / machine[kind], work[1] / machine["bytes"])


def share(machine: dict[str, Any], norm: str, which: str, N: int, H: int) -> float:
    """Return the least time of a norm over that of the product that feeds it."""
    machine = at_size(machine, N, H)
    work = flops(norm, which, N, H), bytes_moved(norm, which, N, H, int(machine["size"]))
    product = linear(which, N, H, int(machine["size"]))
    return seconds(machine, work) / seconds(machine, product, "product")


def draw_roofline(
    every: dict[str, dict[str, Any]], machine: str, which: str, N: int, H: int
) -> list[go.Figure]:
    """Draw what a machine can do at each intensity, with norms and product; and the norms' share.

    Args:
        every: As :func:`machines` returns them.
        machine: One of its keys.
        which: ``forward`` or ``backward``.
        N: Cases.
        H: Features.
    """
    m = at_size(every[machine], N, H)
    roof, shares = go.Figure(), go.Figure()
    at = np.array([0.25, m["product"] / m["bytes"], 3000.0])
    roof.add_scatter(
        x=_short(at),
        y=_short(100 * np.minimum(1, at * m["bytes"] / m["product"])),
        mode="lines",
        name="the roof",
        showlegend=False,
        line={"color": COLORS["gray"], "width": 2.5},
        hoverinfo="skip",
    )
    points = {
        norm: (flops(norm, which, N, H), bytes_moved(norm, which, N, H, int(m["size"])))
        for norm in LOOKS
    } | {"product": linear(which, N, H, int(m["size"]))}
    marks = {"layer": "circle", "batch": "square", "rms": "diamond", "product": "star"}
    for name, work in points.items():
        label, color = LOOKS[name][:2] if name in LOOKS else ("product", COLORS["ink"])
        reached = work[0] / seconds(m, work, "other" if name in LOOKS else "product")
        roof.add_scatter(
            x=_short([work[0] / work[1]]),
            y=_short([100 * reached / m["product"]]),
            mode="markers",
            name=label,
            marker={"color": color, "size": 12, "symbol": marks[name]},
            hovertemplate=f"%{{x}} operations a byte, %{{y}} %<extra>{label}</extra>",
        )
    roof.update_layout(
        title="Speed, in % of the machine's best",
        height=360,
        xaxis={"title": "operations for each byte moved"} | _decades(-0.7, 3.6),
        yaxis=_decades(-1.7, 2.2),
    )
    for norm, (label, color, dash) in LOOKS.items():
        shares.add_scatter(
            x=_FINE,
            y=_short([100 * share(m, norm, which, N, int(h)) for h in _FINE]),
            mode="lines",
            name=label,
            line={"color": color, "dash": dash, "width": 6 if norm == "layer" else 2.5},
            opacity=0.6 if norm == "layer" else 1,  # RMS norm lies on it
            hovertemplate=f"H = %{{x}}: %{{y}} %<extra>{label}</extra>",
        )
    shares.update_layout(
        title="Time of the norm, in % of the product's",
        height=360,
        xaxis={
            "title": "features H",
            "type": "log",
            "tickvals": WIDTHS,
            "ticktext": [f"{w:,}" for w in WIDTHS],
        },
        yaxis=_decades(-2, 4.3),
        shapes=[cursor(H)],
    )
    return [roof, label_ends(shares)]


def describe_roofline(
    every: dict[str, dict[str, Any]], machine: str, which: str, N: int, H: int
) -> str:
    """Say at which intensity layer norm stands, what the machine could do, and the share."""
    m = at_size(every[machine], N, H)
    work = flops("layer", which, N, H), bytes_moved("layer", which, N, H, int(m["size"]))
    product = linear(which, N, H, int(m["size"]))
    intense = product[0] / product[1]
    bound = "arithmetic" if intense > m["product"] / m["bytes"] else "bytes"
    percent = 100 * share(m, "layer", which, N, H)
    least = f"{_time(1e3 * seconds(m, work))}, {_number(percent)} %"
    return (
        f"On {machine}, {N:,} × {H:,}, {which}: layer norm does {work[0] / work[1]:.2f} "
        f"operations for each byte, the machine could do {m['other'] / m['bytes']:.0f}; the "
        f"product does {_number(intense)} and waits for {bound}. Layer norm takes at least "
        f"{least} of the product's time."
    )


ROOFLINE = Picture(
    draw_roofline,
    describe_roofline,
    alt="Left, on logarithmic axes, the speed that a machine allows over operations per byte: a "
    "slope, then a flat top; the three norms stand low on the slope, the matrix product further "
    "right. Right, the time of each norm in percent of the product's, falling with the width, "
    "save where the arrays outgrow a cache.",
)


# Recurrences.

CELLS = ("LSTM", "GRU", "RNN")
CALLED = "lnlib.nn, as called"
PATH_NAMES = {
    "loop over gx[t]": "indexed loop",
    "loop over gx.unbind(0)": "unbound loop",
    "lnlib.nn, plain": "unbound loop",
    "lnlib.nn, function": "by hand",
    "lnlib.nn, compiled": "compiled",
    "lnlib.nn, cuda": "CUDA",
    CALLED: "as called",
}


def tasks(bench: Bench) -> dict[str, tuple[str, str]]:
    """Return the recurrences that were measured in several ways, for a choice.

    Returns:
        From a label to cell and shape.
    """
    found = {}
    for cell in CELLS:
        for r in bench.pick(f"LN-{cell} forward + backward"):
            T, _, H = r["shape"].split(",")[0].split("×")
            if r["path"] != CALLED:
                found[f"{cell}, {T} steps, H {H}"] = (cell, r["shape"])
    return found


def called(bench: Bench) -> Table:
    """Return the times of the modules as they are called, over those of PyTorch's without norm."""
    passes = {"training": "forward + backward", "inference": "forward"}
    every = {
        (r["shape"], name, cell, r["threads"]): r
        for name, which in passes.items()
        for cell in CELLS
        for r in bench.pick(f"LN-{cell} {which}", path=CALLED)
    }
    places = list(dict.fromkeys((shape, name) for shape, name, *_ in every))
    columns = list(dict.fromkeys((cell, count) for *_, cell, count in every))
    rows = [
        [*place, *(_times(every[*place, *column]["ratio"]) for column in columns)]
        for place in sorted(places, key=lambda place: [p[0] for p in places].index(place[0]))
    ]
    names = [f"{cell}, {count} thread{'s' * (count > 1)}" for cell, count in columns]
    caption = "T × B × H. Time over that of torch.nn's without a norm."
    return Table(["shape", "pass", *names], rows, caption)


def draw_recurrence(bench: Bench, task: tuple[str, str], which: str) -> go.Figure:
    """Draw each path's time over that of PyTorch's cell without a norm.

    Args:
        bench: The table.
        task: Cell and shape.
        which: ``forward`` or ``forward + backward``.
    """
    cell, shape = task
    rows = bench.pick(f"LN-{cell} {which}", shape=shape, threads=bench.threads)
    floor = rows[0]["floor_ms"] / rows[0]["instead_ms"]
    names = [
        f"{PATH_NAMES[r['path']].replace(' ', '<br>')}<br><b>{_times(r['ratio'])}</b>" for r in rows
    ]
    figure = go.Figure()
    figure.add_bar(
        x=names,
        y=_short([r["ratio"] for r in rows]),
        name="with layer norm",
        marker={"color": COLORS["layer"]},
        customdata=[_time(r["ms"]) for r in rows],
        hovertemplate="%{x}: %{y} times, %{customdata}<extra></extra>",
    )
    for value, name, thing, dash in (
        (1.0, "torch.nn, no norm", "none", "dot"),
        (floor, "the products alone", "ink", "dash"),
    ):
        figure.add_scatter(
            x=names,
            y=_short([value] * len(names)),
            mode="lines",
            name=name,
            line={"color": COLORS[thing], "dash": dash, "width": 2.5},
            hovertemplate=f"%{{y}} times<extra>{name}</extra>",
        )
    both = [r for w in ("forward", "forward + backward") for r in bench.pick(f"LN-{cell} {w}")]
    top = max(r["ratio"] for r in both if r["shape"] == shape)
    figure.update_layout(
        title=f"Time over that of torch.nn.{cell} without a norm",
        height=380,
        yaxis={"range": [0, 1.15 * max(top, 1)]},
    )
    return figure


def describe_recurrence(bench: Bench, task: tuple[str, str], which: str) -> str:
    """Say how long each path takes."""
    cell, shape = task
    rows = bench.pick(f"LN-{cell} {which}", shape=shape, threads=bench.threads)
    said = [f"{PATH_NAMES[r['path']]} {_time(r['ms'])} ({r['ratio']:.2f} times)" for r in rows]
    return (
        f"LN-{cell}, {which}, {shape}: {'; '.join(said)}. torch.nn.{cell} without a norm: "
        f"{_time(rows[0]['instead_ms'])}; the bare products: {_time(rows[0]['floor_ms'])}."
    )


RECURRENCE = Picture(
    draw_recurrence,
    describe_recurrence,
    alt="Bars: the time of each implementation of a layer-normalized recurrence over that of "
    "PyTorch's own without a norm. The indexed loop is by far the highest on long sequences.",
)


# Words between devices.

DEVICES = [2, 8, 64, 1000]
EXCHANGE_WIDTHS = [100, 1000, 10_000]


def networks(bench: Bench) -> dict[str, tuple[float, float]]:
    """Return networks: seconds before a message arrives, and bytes a second after that.

    The first is measured, between two processes of one machine; the others are assumed, of the
    order of a cluster's and of an office's.
    """
    short, long = bench.pick("all-reduce over 2 processes")
    sent = long["sent_bytes"] - short["sent_bytes"]
    here = short["ms"] / 1e3, sent / ((long["ms"] - short["ms"]) / 1e3)
    return {
        "gloo, measured": here,
        "5 µs, 50 GB/s": (5e-6, 50e9),
        "50 µs, 1 GB/s": (50e-6, 1e9),
    }


def messages(H: int) -> tuple[int, int]:
    """Return the bytes a device gives forward (mean, 1/std, count) and backward (two sums)."""
    return 4 * (2 * H + 1), 4 * 2 * H


def exchange_time(devices: int, H: int, network: tuple[float, float], way: str) -> float:
    """Return the seconds of one batch norm's exchanges in one training step, on paper.

    Args:
        devices: P.
        H: Features.
        network: Latency in seconds, bytes a second.
        way: ``ring``, or ``doubling``: each talks to one twice as far away in every round.
    """
    delay, speed = network
    forward_bytes, backward_bytes = messages(H)
    others, rounds = devices - 1, math.ceil(math.log2(devices))
    if way == "ring":
        gather = others * (delay + forward_bytes / speed)
        reduce = 2 * others * (delay + backward_bytes / devices / speed)
    else:
        gather = rounds * delay + others * forward_bytes / speed
        reduce = rounds * (delay + backward_bytes / speed)
    return gather + reduce


WAYS = {
    "ring": ("in a ring", COLORS["batch"], "dash"),
    "doubling": ("doubling", COLORS["kept"], "solid"),
}


def draw_devices(networks: dict[str, tuple[float, float]], network: str, H: int, devices: int):
    """Draw the time and the bytes of one batch norm's exchanges over the number of devices.

    Args:
        networks: As :func:`networks` returns them.
        network: One of its keys.
        H: Features.
        devices: Where the cursor stands.

    Returns:
        Two figures.
    """
    at = [2, 4, 8, 16, 64, 256, 1000]
    times, sizes = go.Figure(), go.Figure()
    for way, (label, color, dash) in WAYS.items():
        times.add_scatter(
            x=at,
            y=_short([1e3 * exchange_time(P, H, networks[network], way) for P in at]),
            mode="lines",
            name=f"batch norm, {label}",
            line={"color": color, "dash": dash, "width": 2.5},
            hovertemplate=f"%{{x}} devices: %{{y}} ms<extra>{label}</extra>",
        )
    sizes.add_scatter(
        x=at,
        y=_short([(P - 1) * messages(H)[0] / 1e6 for P in at]),
        mode="lines",
        name="batch norm",
        line={"color": COLORS["batch"], "dash": "dash", "width": 2.5},
        hovertemplate="%{x} devices: %{y} MB<extra>batch norm</extra>",
    )
    axis = {
        "title": "devices",
        "type": "log",
        "range": [0.2, 3.1],
        "tickvals": DEVICES,
        "ticktext": [f"{d:,}" for d in DEVICES],
    }
    times.update_layout(
        title="Waiting of one batch norm in one step, ms",
        height=340,
        xaxis=axis,
        yaxis=_decades(-2.3, 4),
        shapes=[cursor(devices)],
    )
    sizes.update_layout(
        title="What each device receives forward, MB",
        height=340,
        xaxis=axis,
        yaxis=_decades(-3.3, 2.5),
        shapes=[cursor(devices)],
    )
    return [label_ends(times), label_ends(sizes)]


def describe_devices(
    networks: dict[str, tuple[float, float]], network: str, H: int, devices: int
) -> str:
    """Say how long, how much, and what layer norm needs."""
    ring, doubling = (_time(1e3 * exchange_time(devices, H, networks[network], w)) for w in WAYS)
    received = (devices - 1) * messages(H)[0]
    size = f"{received / 1e6:.3g} MB" if received >= 1e6 else f"{received / 1e3:.3g} KB"
    return (
        f"{devices:,} devices, {H:,} features, {network}: each batch norm waits {ring} a step in a "
        f"ring, {doubling} by doubling, and each device receives {size} forward. Layer norm sends "
        "nothing."
    )


ON_DEVICES = Picture(
    draw_devices,
    describe_devices,
    alt="On logarithmic axes over the number of devices: left, how long one batch norm waits in a "
    "step, in a ring and by doubling; right, the bytes that each device receives.",
)


# Axes.


def _short(values: Any) -> list[float]:
    return [float(f"{v:.4g}") for v in values]


def _decades(low: float, high: float) -> dict:
    powers = range(math.ceil(low), math.floor(high) + 1)
    return {
        "type": "log",
        "range": [low, high],
        "tickvals": [10.0**p for p in powers],
        "ticktext": [f"{10**p:,}" if p >= 0 else f"{10.0**p:.{-p}f}" for p in powers],
        "zeroline": False,
    }
