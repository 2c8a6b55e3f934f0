"""Figures and tables on the cost of normalization, compared with a second computation."""

import json
import math

import numpy as np
import pytest

from lnbook.chapters.cost import communication, figures, recurrence, roofline
from lnbook.chapters.cost.bench import Bench
from lnlab import records
from lnlab.analysis.costs import Machine, norm_work
from tests.cases.drawn import lines
from tests.cases.oracle import parsed

#: Products are faster than other operations; 3 TB/s; two bytes per number.
MACHINE = Machine(900e12, 60e12, 3e12, size=2)
LABELS = {"layer": "layer norm", "batch": "batch norm", "rms": "RMS norm"}


def seconds(text):
    """Parse a time with its unit."""
    number, unit = text.split()
    return float(number.replace(",", "")) * {"s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}[unit]


def product(which, N, H):
    """Operations and bytes of the product of (N, H) and (H, H); twice as many backward."""
    twice = {"forward": 1, "backward": 2}[which]
    return twice * 2 * N * H * H, twice * 2 * (N * H + H * H + N * H)


def least(work, rate):
    """The maximum of compute time and memory time."""
    return max(work[0] / rate, work[1] / 3e12)


def of_norm(norm, which, N, H):
    return least(norm_work(norm, which, N, H, 2), 60e12)


@pytest.mark.parametrize(("N", "H"), [(32_768, 1024), (32, 64)])
@pytest.mark.parametrize("which", ["forward", "backward"])
def test_points_are_on_the_roofline_and_in_the_sentence(which, N, H):
    roof, shares = roofline.draw_roofline({"m": MACHINE}, "m", which, N, H)
    top, *_ = lines(roof)["the roof"]
    for x, y in zip(top.x, top.y, strict=True):
        assert y == pytest.approx(100 * min(1, x * 3e12 / 900e12), rel=1e-3)
    work = {name: norm_work(name, which, N, H, 2) for name in LABELS}
    times = {name: of_norm(name, which, N, H) for name in LABELS}
    work["product"] = product(which, N, H)
    times["product"] = least(work["product"], 900e12)
    for name, label in (LABELS | {"product": "product"}).items():
        dot, *_ = lines(roof)[label]
        assert dot.x[0] == pytest.approx(work[name][0] / work[name][1], rel=1e-3)
        assert dot.y[0] == pytest.approx(100 * work[name][0] / times[name] / 900e12, rel=1e-3)
    for name, label in LABELS.items():
        line, *_ = lines(shares)[label]
        wanted = [100 * of_norm(name, which, N, int(h)) / least(product(which, N, int(h)), 900e12)
                  for h in line.x]  # fmt: skip
        np.testing.assert_allclose(line.y, wanted, rtol=1e-3)
    text = roofline.describe_roofline({"m": MACHINE}, "m", which, N, H)
    last = text.partition("takes at least ")[2].removesuffix(" of the product's time.")
    time, percent = last.split(", ")
    assert seconds(time) == pytest.approx(times["layer"], rel=0.06)
    assert parsed(percent)[0] == pytest.approx(100 * times["layer"] / times["product"], rel=0.06)


def waiting(P, H, delay, speed, way):
    """Simulate the messages: 2 H + 1 numbers per device forward, sums of 2 H numbers backward."""
    forward, backward = 4 * (2 * H + 1), 8 * H
    if way == "ring":
        return (P - 1) * (delay + forward / speed) + 2 * (P - 1) * (delay + backward / P / speed)
    rounds = math.ceil(math.log2(P))
    return rounds * delay + (P - 1) * forward / speed + rounds * (delay + backward / speed)


@pytest.mark.parametrize(("H", "P"), [(100, 2), (10_000, 1000)])
def test_latency_and_bytes_are_drawn_and_stated_with_units(H, P):
    network = {"n": (2e-5, 1e9)}
    times, sizes = communication.draw_devices(network, "n", H, P)
    text = communication.describe_devices(network, "n", H, P).partition("waits ")[2]
    ring, _, rest = text.partition(" per step in a ring, ")
    reported = {"ring": ring, "doubling": rest.partition(" with doubling")[0]}
    for way, label in (("ring", "in a ring"), ("doubling", "with doubling")):
        line, *_ = lines(times)[f"batch norm, {label}"]
        wanted = [1000 * waiting(p, H, 2e-5, 1e9, way) for p in line.x]
        np.testing.assert_allclose(line.y, wanted, rtol=1e-3)
        assert seconds(reported[way]) == pytest.approx(waiting(P, H, 2e-5, 1e9, way), rel=0.06)
    line, *_ = lines(sizes)["batch norm"]
    np.testing.assert_allclose(line.y, [(p - 1) * 4 * (2 * H + 1) / 1e6 for p in line.x], rtol=1e-3)


def row(what, path="ours", ms=2.0, theirs=4.0, floor=1.0, **more):
    return {"what": what, "shape": "9×2×5", "path": path, "ms": ms, "instead_ms": theirs,
            "instead": "theirs", "floor_ms": floor, "floor": "f", "ratio": ms / theirs,
            "device": "CPU: toy", "threads": 1} | more  # fmt: skip


@pytest.mark.parametrize("which", ["forward", "forward + backward"])
def test_bars_are_ratios_of_times(which):
    times = {"loop over gx[t]": 10.0, "lnlib.nn, plain": 6.0, "lnlib.nn, compiled": 2.0}
    rows = [row(f"LN-GRU {which}", path, ms, 8.0, 1.0) for path, ms in times.items()]
    rows.append(row(f"LN-GRU {which}", "lnlib.nn, plain", 99.0, 1.0, 1.0, threads=2))
    made = {"CPU: toy": {"threads": 1, "date": "2026"}}
    bench = Bench({"format": 1, "rows": rows, "provenance": made})
    bars, one, floor = recurrence.draw_recurrence(bench, ("GRU", "9×2×5"), which).data
    np.testing.assert_allclose(bars.y, [10 / 8, 6 / 8, 2 / 8], rtol=1e-3)
    assert set(one.y) == {1.0}
    np.testing.assert_allclose(floor.y, 1 / 8, rtol=1e-3)


def test_the_machine_has_the_measured_rates():
    bench = Bench(json.loads((records.folder() / "bench.json").read_text("utf-8")))
    machine = figures.machines(bench)["this CPU, float32"]
    copy = bench.one("machine", path="copy", shape="4096×1024")
    product = bench.one("machine", path="matrix product")
    assert machine.bandwidth == pytest.approx(2 * 4 * 4096 * 1024 / copy["ms"] * 1e3)
    assert machine.products == pytest.approx(2 * 4096 * 1024**2 / product["ms"] * 1e3)


def test_latency_and_bandwidth_come_from_a_short_and_a_long_message():
    what = "all-reduce over 2 processes"
    rows = [row(what, ms=0.1, sent_bytes=8), row(what, ms=1.1, sent_bytes=1_000_008)]
    bench = Bench({"format": 1, "rows": rows, "provenance": {"CPU: toy": {}}})
    assert figures.networks(bench)["gloo, measured"] == pytest.approx((1e-4, 1e9))
