"""What a normalization costs: what is drawn is what the formulas and the measured rows say."""

import itertools
import json

import pytest

from lnbook.chapters.cost import figures, roofline, steps
from lnbook.chapters.cost.written import duration
from lnlab import records
from lnlab.analysis import costs


@pytest.fixture(scope="module")
def stored():
    return json.loads((records.folder() / "bench.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def bench(stored):
    return figures.Bench(stored)


def row(what, **of):
    base = {"shape": "2×3", "path": "ours", "instead": "theirs", "ms": 2.0, "instead_ms": 4.0}
    base |= {"floor": "copy", "floor_ms": 1.0, "ratio": 0.5, "device": "CPU: one", "threads": 1}
    return {"what": what} | base | of


def table(*rows):
    return {"format": 1, "rows": list(rows), "provenance": {r["device"]: {} for r in rows}}


# The roofline.


def test_the_machine_is_the_measured_one(bench):
    machine = figures.machines(bench)["this CPU, float32"]
    copy = bench.one("machine", path="copy", shape="4096×1024")
    product = bench.one("machine", path="matrix product")
    assert machine.bandwidth == pytest.approx(2 * 4 * 4096 * 1024 / copy["ms"] * 1e3)
    assert machine.products == pytest.approx(2 * 4096 * 1024**2 / product["ms"] * 1e3)


@pytest.mark.parametrize("turn", [1, -1])
def test_the_sentence_knows_the_cache_in_whatever_order_it_was_measured(turn):
    large, small = (8 * 4096 * 1024, 1.0), (8 * 128 * 1000, 0.01)
    rows = [row("machine", path="copy", bytes=b, ms=ms) for b, ms in (large, small)[::turn]]
    product = row("machine", path="matrix product", flops=1e9)
    machines = figures.machines(figures.Bench(table(product, *rows)))
    assert machines["this CPU, float32"].bandwidth == pytest.approx(large[0] * 1e3)
    moved = costs.bytes_moved("layer", "forward", 32, 1024)
    expected = moved / (small[0] / small[1])  # ms
    text = roofline.describe_roofline(machines, "this CPU, float32", "forward", 32, 1024)
    assert f"takes at least {duration(expected)}" in text


# Rows.


def test_the_table_takes_a_processor_and_can_be_asked_for_another_device():
    stored = table(row("a", device="GPU: G"), row("a"), row("b"))
    assert figures.Bench(stored).device == "CPU: one"
    assert len(figures.Bench(stored, "GPU: G").rows) == 1
    assert figures.Bench(stored).one("b")["ms"] == 2
    with pytest.raises(ValueError, match="no row of 'c'"):
        figures.Bench(stored).one("c")
    with pytest.raises(ValueError, match="no rows of 'TPU'"):
        figures.Bench(stored, "TPU")
    with pytest.raises(ValueError, match="expected format 1, got 2"):
        figures.Bench(stored | {"format": 2})


def test_a_table_writes_times_and_ratios():
    stored = table(row("a"), row("a", ms=0.0321, instead=None, ratio=None, floor_ms=None))
    text = repr(figures.Bench(stored).table(["a"], "Rows."))
    assert text.splitlines()[2].split() == [
        "a,",
        "2×3",
        "ours",
        "2",
        "ms",
        "theirs",
        "0.50",
        "2.00",
    ]
    assert text.splitlines()[3].split() == ["a,", "2×3", "ours", "32", "µs", "–", "–", "–"]


def test_the_table_of_counts_is_what_was_counted():
    layer = repr(figures.counts(4, 10)).splitlines()[2].split()
    assert layer == ["layer", "norm", "7.30", "2", "12.50", "3"]


def test_the_tables_of_the_chapter_hold_the_rows_times():
    whats = ["MNIST step, none", "MNIST step, layer", "MNIST step, batch"]
    rows = [row(w, path=p, shape="batch size 4") for w in whats for p in ("plain", "compiled")]
    late = row("MNIST step 2,000, layer", path="plain", shape="batch size 4", ms=9.0)
    text = repr(figures.steps(figures.Bench(table(*rows, late)), 4)).splitlines()
    assert text[2].split() == ["plain", "2", "ms", "2", "ms", "2", "ms", "9", "ms"]
    assert text[3].split() == ["compiled", "2", "ms", "2", "ms", "2", "ms", "–"]
    assert text[5].split()[-2:] == ["4", "ms"]


def recurrences():
    """Rows as two shapes, two thread counts and two paths leave them."""
    results = []
    for cell, which in itertools.product(("LSTM", "RNN"), ("forward", "forward + backward")):
        for shape, path, threads in (
            ("9×2×4", "as called", 1),
            ("9×2×4", "as called", 2),
            ("9×2×4", "plain", 2),
            ("300×8×128, 3 inputs", "as called", 1),
            ("300×8×128, 3 inputs", "as called", 2),
        ):
            of = {"shape": shape, "path": f"lnlib.nn, {path}", "threads": threads}
            ratio = 0.25 * (1 + len(results))
            results.append(row(f"LN-{cell} {which}", **of, ms=ratio * 4, ratio=ratio))
    stored = table(*results)
    stored["provenance"]["CPU: one"]["threads"] = 2
    return figures.Bench(stored)


def test_a_choice_is_offered_where_paths_compare_and_of_the_machines_own_threads():
    bench = recurrences()
    assert figures.tasks(bench) == {
        "LSTM, 9 steps, H 4": ("LSTM", "9×2×4"),
        "RNN, 9 steps, H 4": ("RNN", "9×2×4"),
    }


def test_what_a_user_calls_stands_in_one_table():
    head, *rows = repr(figures.called(recurrences())).splitlines()[1:]
    assert head.split("  ")[0] == "shape"
    assert [part.strip() for part in head.split("  ") if part][2:] == [
        "LSTM, 1 thread", "LSTM, 2 threads", "RNN, 1 thread", "RNN, 2 threads",
    ]  # fmt: skip
    assert [" ".join(r.split()) for r in rows] == [
        "9×2×4 training 1.50 1.75 4.00 4.25",
        "9×2×4 inference 0.25 0.50 2.75 3.00",
        "300×8×128, 3 inputs training 2.25 2.50 4.75 5.00",
        "300×8×128, 3 inputs inference 1.00 1.25 3.50 3.75",
    ]


# The time of a step.


def test_steps_are_bars_beside_the_floor():
    results = [{"plain": 9.0, "floor": 9.0}, {"plain": 3.0, "compiled": 1.0, "floor": 0.5}]
    figure = steps.draw_steps(results, batch_size=4)
    (bars,) = figure.data
    assert list(bars.y) == ["floor: one pass", "compiled", "plain loop"]
    assert list(bars.x) == [0.5, 1.0, 3.0]
    text = steps.describe_steps(results)
    assert "plain loop 3 ms (6.0 times the floor), compiled 1 ms (2.0 times the floor)" in text
    assert "Press Start" in steps.describe_steps([])


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
    stored = steps.stored_steps(table(*rows), 4)
    assert stored == [{"plain": 2.0, "compiled": 1.0, "floor": 0.5}]


# Devices.


def test_the_measured_network_is_read_from_a_short_and_a_long_message():
    what = "all-reduce over 2 processes"
    stored = table(row(what, ms=0.1, sent_bytes=8), row(what, ms=1.1, sent_bytes=1_000_008))
    delay, speed = figures.networks(figures.Bench(stored))["gloo, measured"]
    assert delay == pytest.approx(1e-4)
    assert speed == pytest.approx(1e9)
