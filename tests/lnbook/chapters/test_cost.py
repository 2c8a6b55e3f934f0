"""Figures and tables on the cost of normalization, compared with a second computation."""

import itertools
import json
import math

import numpy as np
import pytest

from lnbook.chapters.cost import communication, figures, formatting, recurrence, roofline, step_time
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
    assert 900 / 3 in list(top.x)  # the ridge of the roofline
    work = {name: norm_work(name, which, N, H, 2) for name in LABELS}
    reached = {LABELS[name]: work[name][0] / of_norm(name, which, N, H) for name in LABELS}
    work["product"] = product(which, N, H)
    reached["product"] = work["product"][0] / least(work["product"], 900e12)
    for name, label in (LABELS | {"product": "product"}).items():
        dot, *_ = lines(roof)[label]
        assert dot.x[0] == pytest.approx(work[name][0] / work[name][1], rel=1e-3)
        assert dot.y[0] == pytest.approx(100 * reached[label] / 900e12, rel=1e-3)
    for name, label in LABELS.items():
        line, *_ = lines(shares)[label]
        wanted = [100 * of_norm(name, which, N, int(h)) / least(product(which, N, int(h)), 900e12)
                  for h in line.x]  # fmt: skip
        np.testing.assert_allclose(line.y, wanted, rtol=1e-3)
    text = roofline.describe_roofline({"m": MACHINE}, "m", which, N, H)
    norm, other = work["layer"], work["product"]
    intensity = other[0] / other[1]
    assert f"layer norm needs {norm[0] / norm[1]:.2f} operations" in text
    assert "the machine could perform 20." in text  # 60 Tflop/s by 3 TB/s
    waits = "arithmetic" if intensity > 300 else "memory bandwidth"
    assert f"product needs {formatting.digits(intensity)} and is limited by {waits}" in text
    last = text.partition("takes at least ")[2].removesuffix(" of the product's time.")
    time, percent = last.split(", ")
    assert seconds(time) == pytest.approx(of_norm("layer", which, N, H), rel=0.06)
    share = 100 * of_norm("layer", which, N, H) / least(other, 900e12)
    assert parsed(percent)[0] == pytest.approx(share, rel=0.06)


def waiting(P, H, delay, speed, way):
    """Simulate the messages: 2 H + 1 numbers per device forward, sums of 2 H numbers backward."""
    forward, backward = 4 * (2 * H + 1), 8 * H
    if way == "ring":
        return (P - 1) * (delay + forward / speed) + 2 * (P - 1) * (delay + backward / P / speed)
    rounds = math.ceil(math.log2(P))
    return rounds * delay + (P - 1) * forward / speed + rounds * (delay + backward / speed)


@pytest.mark.parametrize(("H", "P"), [(100, 2), (1000, 64), (10_000, 1000)])
def test_latency_and_bytes_are_drawn_and_stated_with_units(H, P):
    network = {"n": (2e-5, 1e9)}
    times, sizes = communication.draw_devices(network, "n", H, P)
    texts = communication.describe_devices(network, "n", H, P)
    for way, label in (
        ("ring", "batch norm, in a ring"),
        ("doubling", "batch norm, with doubling"),
    ):
        line, *_ = lines(times)[label]
        wanted = [1000 * waiting(p, H, 2e-5, 1e9, way) for p in line.x]
        np.testing.assert_allclose(line.y, wanted, rtol=1e-3)
        reported = texts.partition("waits ")[2].split(" per step in a ring, ")
        text = reported[0] if way == "ring" else reported[1].partition(" with doubling")[0]
        assert seconds(text) == pytest.approx(waiting(P, H, 2e-5, 1e9, way), rel=0.06)
    line, *_ = lines(sizes)["batch norm"]
    received = [(p - 1) * 4 * (2 * H + 1) for p in line.x]
    np.testing.assert_allclose(line.y, [b / 1e6 for b in received], rtol=1e-3)
    size, unit = texts.partition("receives ")[2].split()[:2]
    reported = float(size) * {"MB": 1e6, "KB": 1e3}[unit]
    assert reported == pytest.approx((P - 1) * 4 * (2 * H + 1), rel=0.006)


def row(what, path="ours", ms=2.0, theirs=4.0, floor=1.0, **more):
    return {"what": what, "shape": "9×2×5", "path": path, "ms": ms, "instead_ms": theirs,
            "instead": "theirs", "floor_ms": floor, "floor": "f", "ratio": ms / theirs,
            "device": "CPU: toy", "threads": 1} | more  # fmt: skip


PATHS = {"loop over gx[t]": "indexed loop", "lnlib.nn, plain": "unbound loop",
         "lnlib.nn, compiled": "compiled"}  # fmt: skip


@pytest.fixture
def bench():
    rows, number = [], itertools.count(3)
    for which in ("forward", "forward + backward"):
        instead, floor = next(number) + 0.5, next(number) / 10
        for path in PATHS:
            rows.append(row(f"LN-GRU {which}", path, float(next(number)), instead, floor))
        rows.append(row(f"LN-GRU {which}", "lnlib.nn, plain", 99.0, 1.0, 1.0, threads=2))
        rows.append(row(f"norms of an RNN, {which}", "lnlib.nn, compiled", next(number) + 0.25,
                        next(number) + 0.0, None, instead="the same loop, no norm"))  # fmt: skip
    for name, ms in (("none", 2.0), ("layer", 3.0)):
        for size in (4, 128):
            rows.append(row(f"MNIST step, {name}", "plain", ms * size, 1.0, 0.5,
                            shape=f"batch size {size}"))  # fmt: skip
    for width in (100, 1000):
        rows.append(row("BatchNorm over 2 processes", "p", width / 10, width / 20, width / 40,
                        shape=f"2 × 64×{width}", sent_bytes=width * 16 + 4))  # fmt: skip
        rows.append(row("LayerNorm over 2 processes", "p", width / 50, width / 10, None,
                        shape=f"2 × 64×{width}", sent_bytes=0))  # fmt: skip
    made = {"CPU: toy": {"threads": 1, "date": "2026"}}
    return Bench({"format": 1, "rows": rows, "provenance": made})


@pytest.mark.parametrize("which", ["forward", "forward + backward"])
def test_bars_are_ratios_of_times(bench, which):
    figure = recurrence.draw_recurrence(bench, ("GRU", "9×2×5"), which)
    text = recurrence.describe_recurrence(bench, ("GRU", "9×2×5"), which)
    rows = [r for r in bench.rows if r["what"] == f"LN-GRU {which}" and r["threads"] == 1]
    bars, one, floor = figure.data
    np.testing.assert_allclose(bars.y, [r["ms"] / r["instead_ms"] for r in rows], rtol=1e-3)
    assert set(one.y) == {1.0}
    np.testing.assert_allclose(floor.y, rows[0]["floor_ms"] / rows[0]["instead_ms"], rtol=1e-3)
    for r, name, reported in zip(
        rows, bars.x, text.partition("9×2×5: ")[2].split("; "), strict=False
    ):
        ratio = r["ms"] / r["instead_ms"]
        assert float(name.partition("<b>")[2].removesuffix("</b>")) == pytest.approx(
            ratio, abs=6e-3
        )
        label, rest = PATHS[r["path"]], reported.partition(" ms (")
        assert rest[0].startswith(label)
        assert float(rest[0].removeprefix(label)) == pytest.approx(r["ms"], rel=0.06)
        assert float(rest[2].split()[0]) == pytest.approx(ratio, abs=0.0051)
    last = text.partition("without a norm: ")[2].removesuffix(".")
    theirs, products = last.split("; the bare products: ")
    assert seconds(theirs) * 1000 == pytest.approx(rows[0]["instead_ms"], rel=0.06)
    assert seconds(products) * 1000 == pytest.approx(rows[0]["floor_ms"], rel=0.06)


def test_loops_are_compared_with_the_same_loops_without_norms(bench):
    result = recurrence.same_loop(bench).rows
    wanted = [(r["ms"], r["instead_ms"]) for r in bench.rows if r["what"].startswith("norms of")]
    wanted += [(3.0 * size, 2.0 * size) for size in (4, 128)]
    assert len(result) == len(wanted)
    for (*_, with_norm, without, times), (ours, theirs) in zip(result, wanted, strict=True):
        assert seconds(with_norm) * 1000 == pytest.approx(ours, rel=0.06)
        assert seconds(without) * 1000 == pytest.approx(theirs, rel=0.06)
        assert float(times) == pytest.approx(ours / theirs, abs=0.0051)


def test_the_table_of_two_processes_has_their_times_and_bytes(bench):
    for (width, sent, *times, none, layer), H in zip(
        communication.exchanges(bench).rows, (100, 1000), strict=True
    ):
        assert parsed(width) + parsed(sent) + parsed(none) == [H, 16 * H + 4, 0]
        wanted = [H / 10, H / 20, H / 40, H / 50]
        results = [1000 * seconds(text) for text in (*times, layer)]
        np.testing.assert_allclose(results, wanted, rtol=0.06)


@pytest.mark.parametrize(
    ("ms", "reported"),
    [(12_345.0, "12 s"), (1.0, "1 ms"), (999.0, "999 ms"), (0.0042, "4.2 µs"), (4.6e-7, "0.46 ns")],
)
def test_times_are_formatted_with_a_suitable_unit(ms, reported):
    assert formatting.duration(ms) == reported


def test_times_are_relative_to_the_floor_and_to_the_module():
    rows, ratios = [], {}
    numbers = itertools.count(2)
    for kind in ("LayerNorm", "BatchNorm", "RMSNorm"):
        for which in ("forward", "forward + backward"):
            plain, module, floor, ours, typed = (float(next(numbers) ** 1.5) for _ in range(5))
            rows.append(row(f"{kind} {which}", "PyTorch, op by op", plain, module, floor))
            rows.append(row(f"{kind} {which}", "lnlib.norms", ours, typed, floor,
                            instead="NumPy, as typed"))  # fmt: skip
            ratios[f"{kind}, {which}"] = module, module / floor, plain / module, ours / typed
    bench = Bench({"format": 1, "rows": rows, "provenance": {"CPU: toy": {"threads": 1}}})
    result = roofline.norms(bench, "9×2×5").rows
    assert [name for name, *_ in result] == list(ratios)
    for name, time, *reported in result:
        assert seconds(time) * 1000 == pytest.approx(ratios[name][0], rel=0.06)
        np.testing.assert_allclose([float(v) for v in reported], ratios[name][1:], atol=0.0051)


def table(*rows):
    return {"format": 1, "rows": list(rows), "provenance": {r["device"]: {} for r in rows}}


def test_the_machine_has_the_measured_rates():
    bench = Bench(json.loads((records.folder() / "bench.json").read_text("utf-8")))
    machine = figures.machines(bench)["this CPU, float32"]
    copy = bench.one("machine", path="copy", shape="4096×1024")
    product = bench.one("machine", path="matrix product")
    assert machine.bandwidth == pytest.approx(2 * 4 * 4096 * 1024 / copy["ms"] * 1e3)
    assert machine.products == pytest.approx(2 * 4096 * 1024**2 / product["ms"] * 1e3)


def test_the_table_uses_the_processor_unless_a_device_is_given():
    stored = table(row("a", device="GPU: G"), row("a"), row("b"))
    assert Bench(stored).device == "CPU: toy"
    assert len(Bench(stored, "GPU: G").rows) == 1
    assert Bench(stored).one("b")["ms"] == 2


def test_stored_steps_have_the_batch_size_and_the_first_device():
    size = {"shape": "batch size 4", "floor_ms": 0.5}
    rows = [
        row("MNIST step, layer", **size, path="plain", ms=2.0),
        row("MNIST step, layer", **size, path="compiled", ms=1.0),
        row("MNIST step, layer", **size, path="graph", ms=0.1, device="GPU: G"),
        row("MNIST step, layer", **size | {"shape": "batch size 128"}, path="plain", ms=9.0),
        row("MNIST step 2,000, layer", **size, path="plain", ms=4.0),
        row("LayerNorm", **size, path="plain", ms=1.0),
    ]
    stored = step_time.stored_steps(table(*rows), 4)
    assert stored == [{"plain": 2.0, "compiled": 1.0, "floor": 0.5}]


def test_latency_and_bandwidth_come_from_a_short_and_a_long_message():
    what = "all-reduce over 2 processes"
    stored = table(row(what, ms=0.1, sent_bytes=8), row(what, ms=1.1, sent_bytes=1_000_008))
    delay, speed = figures.networks(Bench(stored))["gloo, measured"]
    assert delay == pytest.approx(1e-4)
    assert speed == pytest.approx(1e9)


def test_steps_are_drawn_as_bars_with_the_floor():
    results = [{"plain": 9.0, "floor": 9.0}, {"plain": 3.0, "compiled": 1.0, "floor": 0.5}]
    figure = step_time.draw_steps(results, batch_size=4)
    (bars,) = figure.data
    assert list(bars.y) == ["floor: one pass", "compiled", "plain loop"]
    assert list(bars.x) == [0.5, 1.0, 3.0]
    text = step_time.describe_steps(results)
    assert "plain loop 3 ms (6.0 times the floor), compiled 1 ms (2.0 times the floor)" in text
    assert "Press Start" in step_time.describe_steps([])
