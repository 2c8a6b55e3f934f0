"""The table of measured times, with the machine and the network that it describes."""

from collections.abc import Sequence
from typing import Any

from lnbook.chapters.cost.formatting import duration, ratio
from lnbook.figures.table import Table, day
from lnlab.analysis.costs import Machine


class Bench:
    """The table of benchmark results that the book shows, with queries.

    Args:
        stored: The content of ``book/runs/bench.json``.
        device: The device whose rows are used. ``None``: the first processor.
    """

    def __init__(self, stored: dict[str, Any], device: str | None = None):
        devices = [r["device"] for r in stored["rows"]]
        self.device = device or next(d for d in devices if d.startswith("CPU"))
        self.rows = [r for r in stored["rows"] if r["device"] == self.device]
        self.made = stored["provenance"][self.device]
        self.threads = self.made.get("threads") or max(r["threads"] for r in self.rows)

    @property
    def measured(self) -> str:
        """The date of the measurements."""
        return day(self.made["date"])

    def pick(self, what: str, **fields: Any) -> list[dict[str, Any]]:
        """Return the rows with this ``what`` whose other fields have the given values."""
        rows = [r for r in self.rows if r["what"] == what]
        return [r for r in rows if all(r[k] == v for k, v in fields.items())]

    def one(self, what: str, **fields: Any) -> dict[str, Any]:
        """Return the matching row; the first one, if there are several."""
        return self.pick(what, **fields)[0]

    def table(self, whats: Sequence[str], caption: str, **fields: Any) -> Table:
        """Return rows as a table: the time, relative to the baseline, and relative to the floor."""
        rows = [r for what in whats for r in self.pick(what, **fields)]
        text = [
            [
                f"{r['what']}, {r['shape']}",
                r["path"],
                duration(r["ms"]),
                r["instead"] or "–",
                ratio(r["ratio"]),
                ratio(r["floor_ms"] and r["ms"] / r["floor_ms"]),
            ]
            for r in rows
        ]
        return Table(
            ["operation", "implementation", "time", "compared with", "ratio", "ratio to floor"],
            text,
            caption,
        )


def machines(bench: Bench) -> dict[str, Machine]:
    """Return this processor and a GPU.

    The numbers of the processor are measured: a large matrix product, and the fastest way to copy
    an array. Copying is faster for arrays that fit into a cache, so each measured size has its own
    number. The numbers of the H100 (SXM) are NVIDIA's: 67 Tflop/s in float32, 989 in bfloat16 on
    the tensor cores, which only compute products, and 3.35 TB/s.
    """
    product = bench.one("machine", path="matrix product")
    rate = product["flops"] / product["ms"] * 1e3
    rows = sorted(bench.pick("machine", path="copy"), key=lambda r: r["bytes"])
    copies = tuple((r["bytes"], r["bytes"] / r["ms"] * 1e3) for r in rows)
    return {
        "this CPU, float32": Machine(rate, rate, copies[-1][1], copies=copies),
        "H100, float32": Machine(67e12, 67e12, 3.35e12),
        "H100, bfloat16": Machine(989e12, 67e12, 3.35e12, size=2),
    }


def networks(bench: Bench) -> dict[str, tuple[float, float]]:
    """Return networks, each with its latency in seconds and its bandwidth in bytes per second.

    The first one is measured, between two processes of one machine; the others are assumed, with
    typical values of a cluster and of an office.
    """
    short, long = bench.pick("all-reduce over 2 processes")
    sent = long["sent_bytes"] - short["sent_bytes"]
    here = short["ms"] / 1e3, sent / ((long["ms"] - short["ms"]) / 1e3)
    return {
        "gloo, measured": here,
        "5 µs, 50 GB/s": (5e-6, 50e9),
        "50 µs, 1 GB/s": (50e-6, 1e9),
    }
