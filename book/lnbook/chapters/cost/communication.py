"""Communication between devices: what batch norm sends, and how long it waits."""

import plotly.graph_objects as go

from lnbook.chapters.cost.bench import Bench
from lnbook.chapters.cost.formatting import duration, short
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import add_line, cursor, decades, label_ends, log_axis
from lnbook.figures.table import Table
from lnlab.analysis.costs import exchange_time, messages

DEVICES = [2, 8, 64, 1000]
EXCHANGE_WIDTHS = [100, 1000, 10_000]
SIZES = {"MB": 1e6, "KB": 1e3, "bytes": 1}
WAYS = {
    "ring": ("in a ring", COLORS["batch"], "dash"),
    "doubling": ("with doubling", COLORS["kept"], "solid"),
}


def exchanges(bench: Bench) -> Table:
    """Return a table of the time and the data that two processes need for both norms."""
    rows = []
    for r in bench.pick("BatchNorm over 2 processes"):
        layer = bench.one("LayerNorm over 2 processes", shape=r["shape"])
        rows.append(
            [
                f"{int(r['shape'].split('×')[-1]):,}",
                f"{r['sent_bytes']:,}",
                duration(r["ms"]),
                duration(r["instead_ms"]),
                duration(r["floor_ms"]),
                f"{layer['sent_bytes']:,}",
                duration(layer["ms"]),
            ]
        )
    names = ["features", "bytes sent", "batch norm", "without the exchange", "only the exchange"]
    return Table(
        [*names, "layer norm: bytes", "layer norm"],
        rows,
        "Two processes with 64 examples each, one thread each, forward and backward.",
    )


def draw_devices(networks: dict[str, tuple[float, float]], network: str, H: int, devices: int):
    """Draw the time and the bytes of one batch norm's communication over the number of devices.

    Args:
        networks: Networks from :func:`networks`.
        network: A key of ``networks``.
        H: Number of features.
        devices: Number of devices at the cursor.

    Returns:
        Two figures.
    """
    processes = [2, 4, 8, 16, 64, 256, 1000]
    times, sizes = go.Figure(), go.Figure()
    for way, (label, color, dash) in WAYS.items():
        add_line(
            times,
            processes,
            short([1e3 * exchange_time(P, H, networks[network], way) for P in processes]),
            (f"batch norm, {label}", color, dash),
            f"%{{x}} devices: %{{y}} ms<extra>{label}</extra>",
        )
    add_line(
        sizes,
        processes,
        short([(P - 1) * messages(H)[0] / 1e6 for P in processes]),
        ("batch norm", COLORS["batch"], "dash"),
        "%{x} devices: %{y} MB",
    )
    axis = log_axis(DEVICES, [0.2, 3.1], title="devices", texts=[f"{d:,}" for d in DEVICES])
    times.update_layout(
        title="Waiting time per batch norm and step, ms",
        height=340,
        xaxis=axis,
        yaxis=decades(-2.3, 4),
        shapes=[cursor(devices)],
    )
    sizes.update_layout(
        title="Received per device, forward pass, MB",
        height=340,
        xaxis=axis,
        yaxis=decades(-3.3, 2.5),
        shapes=[cursor(devices)],
    )
    return [label_ends(times), label_ends(sizes)]


def describe_devices(
    networks: dict[str, tuple[float, float]], network: str, H: int, devices: int
) -> str:
    """Describe the time and the bytes, and what layer norm needs."""
    ring, doubling = (duration(1e3 * exchange_time(devices, H, networks[network], w)) for w in WAYS)
    received = (devices - 1) * messages(H)[0]
    unit, count = next((u, n) for u, n in SIZES.items() if received >= n)
    size = f"{received / count:.3g} {unit}"
    return (
        f"{devices:,} devices, {H:,} features, {network}: each batch norm waits {ring} per step "
        f"in a ring, {doubling} with doubling, and each device receives {size} in the forward "
        "pass. Layer norm sends no statistics."
    )


ON_DEVICES = Picture(
    draw_devices,
    describe_devices,
    alt="On logarithmic axes over the number of devices: left, the waiting time of one batch norm "
    "in one step, in a ring and with doubling; right, the bytes that each device receives.",
)
