"""What a normalization costs: what is drawn is what the formulas and the measured rows say."""

import json

import pytest

from lnbook.chapters.cost import figures, step_time
from lnlab import records


@pytest.fixture(scope="module")
def bench():
    return figures.Bench(json.loads((records.folder() / "bench.json").read_text("utf-8")))


def row(what, **of):
    base = {"shape": "2×3", "path": "ours", "instead": "theirs", "ms": 2.0, "instead_ms": 4.0}
    base |= {"floor": "copy", "floor_ms": 1.0, "ratio": 0.5, "device": "CPU: one", "threads": 1}
    return {"what": what} | base | of


def table(*rows):
    return {"format": 1, "rows": list(rows), "provenance": {r["device"]: {} for r in rows}}


def test_the_machine_is_the_measured_one(bench):
    machine = figures.machines(bench)["this CPU, float32"]
    copy = bench.one("machine", path="copy", shape="4096×1024")
    product = bench.one("machine", path="matrix product")
    assert machine.bandwidth == pytest.approx(2 * 4 * 4096 * 1024 / copy["ms"] * 1e3)
    assert machine.products == pytest.approx(2 * 4096 * 1024**2 / product["ms"] * 1e3)


def test_the_table_takes_a_processor_and_can_be_asked_for_another_device():
    stored = table(row("a", device="GPU: G"), row("a"), row("b"))
    assert figures.Bench(stored).device == "CPU: one"
    assert len(figures.Bench(stored, "GPU: G").rows) == 1
    assert figures.Bench(stored).one("b")["ms"] == 2


def test_the_stored_steps_are_those_of_the_batch_size_on_the_first_device():
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


def test_the_measured_network_is_read_from_a_short_and_a_long_message():
    what = "all-reduce over 2 processes"
    stored = table(row(what, ms=0.1, sent_bytes=8), row(what, ms=1.1, sent_bytes=1_000_008))
    delay, speed = figures.networks(figures.Bench(stored))["gloo, measured"]
    assert delay == pytest.approx(1e-4)
    assert speed == pytest.approx(1e9)


def test_steps_are_bars_beside_the_floor():
    results = [{"plain": 9.0, "floor": 9.0}, {"plain": 3.0, "compiled": 1.0, "floor": 0.5}]
    figure = step_time.draw_steps(results, batch_size=4)
    (bars,) = figure.data
    assert list(bars.y) == ["floor: one pass", "compiled", "plain loop"]
    assert list(bars.x) == [0.5, 1.0, 3.0]
    text = step_time.describe_steps(results)
    assert "plain loop 3 ms (6.0 times the floor), compiled 1 ms (2.0 times the floor)" in text
    assert "Press Start" in step_time.describe_steps([])
