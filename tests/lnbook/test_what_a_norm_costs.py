"""What a normalization costs: what is drawn is what the formulas and the measured rows say."""

import itertools
import json

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from lnbook.show import Explorer, choice, slider
from lnbook.what_a_norm_costs import figures
from lnlib.runs import record

EXACT = 1e-12


@pytest.fixture(scope="module")
def kept():
    return json.loads((record.folder() / "bench.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def bench(kept):
    return figures.Bench(kept)


def row(what, **of):
    base = {"shape": "2×3", "path": "ours", "instead": "theirs", "ms": 2.0, "instead_ms": 4.0}
    base |= {"floor": "copy", "floor_ms": 1.0, "ratio": 0.5, "device": "CPU: one", "threads": 1}
    return {"what": what} | base | of


def table(*rows):
    return {"format": 1, "rows": list(rows), "provenance": {r["device"]: {} for r in rows}}


# Arithmetic.


def theirs(norm, x, gain, bias):
    if norm == "rms":
        return F.rms_norm(x, x.shape[-1:], gain, eps=1.0)
    if norm == "layer":
        return F.layer_norm(x, x.shape[-1:], gain, bias, eps=1.0)
    return F.batch_norm(x, None, None, gain, bias, training=True, eps=1.0)


@pytest.mark.parametrize("norm", figures.LOOKS)
def test_the_counted_formulas_are_those_of_pytorch(norm):
    rng = np.random.default_rng(0)
    x, dy = rng.normal(3, 2, size=(2, 7, 5))
    gain, bias = rng.normal(size=(2, 5))
    leaves = [torch.tensor(a, requires_grad=True) for a in (x, gain, bias)]
    y = theirs(norm, *leaves)
    np.testing.assert_allclose(figures.forward(norm, x, gain, bias), y.detach(), atol=EXACT)
    y.backward(torch.tensor(dy))
    axis = 0 if norm == "batch" else 1
    mean = x.mean(axis, keepdims=True)
    square = (x**2 if norm == "rms" else (x - mean) ** 2).mean(axis, keepdims=True)
    found = figures.backward(norm, dy, x, mean, 1 / np.sqrt(square + 1), gain)
    for ours, leaf in zip(found, leaves, strict=True):
        if ours is not None:
            np.testing.assert_allclose(ours, leaf.grad, atol=EXACT)
    assert (found[2] is None) == (norm == "rms")


@pytest.mark.parametrize("norm", figures.LOOKS)
@pytest.mark.parametrize("which", figures.PASSES)
@pytest.mark.parametrize(("N", "H"), [(1, 1), (3, 5), (6, 2), (1, 8)])
def test_the_formula_counts_what_running_counts(norm, which, N, H):
    assert figures.flops(norm, which, N, H) == figures.count(norm, which, N, H)


def test_a_number_counts_each_operation_once():
    figures.Counted.made = 0
    values = np.array([figures.Counted(v) for v in (1.0, 2.0, 3.0)])
    assert float(values.mean()) == 2  # two additions, a division
    assert float(1 / np.sqrt(values[0] * 4.0 - 3.0)) == 1  # four more
    assert figures.Counted.made == 7


def test_bytes_are_the_arrays_and_little_more():
    N, H = 1000, 1000
    for norm, which in itertools.product(figures.LOOKS, figures.PASSES):
        large = 4 * figures.arrays(norm, which) * N * H
        assert large < figures.bytes_moved(norm, which, N, H) < 1.003 * large
        halved = figures.bytes_moved(norm, which, N, H, 2)
        assert 2 * halved == figures.bytes_moved(norm, which, N, H)
    # x, y; mean, 1/std; gain, bias.
    assert figures.bytes_moved("layer", "forward", 3, 5) == 4 * (2 * 15 + 2 * 3 + 2 * 5)
    # dy, x, dx; mean, 1/std; gain, dgain, dbias.
    assert figures.bytes_moved("layer", "backward", 3, 5) == 4 * (3 * 15 + 2 * 3 + 3 * 5)


# The roofline.


def test_the_share_is_that_of_bytes_over_operations_for_many_cases():
    machine = {"product": 67e12, "other": 67e12, "bytes": 3.35e12, "size": 4}
    expected = (8 / 3.35e12) / (2 * 1024 / 67e12)
    assert figures.share(machine, "layer", "forward", 10**6, 1024) == pytest.approx(expected, 1e-3)


def test_the_machine_is_the_measured_one(bench):
    machine = figures.machines(bench)["this CPU, float32"]
    copy = bench.one("machine", path="copy", shape="4096×1024")
    product = bench.one("machine", path="matrix product")
    assert machine["bytes"] == pytest.approx(2 * 4 * 4096 * 1024 / copy["ms"] * 1e3)
    assert machine["product"] == pytest.approx(2 * 4096 * 1024**2 / product["ms"] * 1e3)


def machine_rows(*copies):
    rows = [row("machine", path="copy", bytes=b, ms=ms) for b, ms in copies]
    return figures.Bench(table(row("machine", path="matrix product", flops=1e9), *rows))


def test_arrays_that_a_cache_holds_move_as_fast_as_those_that_were_measured_there():
    large, small = (8 * 4096 * 1024, 1.0), (8 * 128 * 1000, 0.01)
    for copies in ((large, small), (small, large)):
        machine = figures.machines(machine_rows(*copies))["this CPU, float32"]
        assert machine["bytes"] == pytest.approx(large[0] * 1e3)
        for shape, (moved, ms) in {
            (128, 1000): small,
            (4096, 1023): small,  # between the two: a least time has to be one
            (4096, 1024): large,
            (32768, 4096): large,
        }.items():
            found = figures.at_size(machine, *shape)["bytes"]
            assert found == pytest.approx(moved / ms * 1e3), shape
    gpu = figures.machines(machine_rows(large, small))["H100, float32"]
    assert figures.at_size(gpu, 1, 1)["bytes"] == 3.35e12


def test_share_and_sentence_know_the_cache():
    copies = (8 * 4096 * 1024, 1.0), (8 * 128 * 1000, 0.01)
    machines = figures.machines(machine_rows(*copies))
    machine = machines["this CPU, float32"]
    moved = figures.bytes_moved("layer", "forward", 32, 1024)
    cached = copies[1][0] / copies[1][1] * 1e3  # bytes a second
    expected = figures.seconds(machine | {"bytes": cached}, (0, moved))
    product = figures.linear("forward", 32, 1024, 4)
    assert figures.share(machine, "layer", "forward", 32, 1024) == pytest.approx(
        expected / max(product[0] / machine["product"], product[1] / cached)
    )
    said = figures.describe_roofline(machines, "this CPU, float32", "forward", 32, 1024)
    assert f"takes at least {figures._time(1e3 * expected)}" in said


def test_no_point_stands_above_the_roof(bench):
    every = figures.machines(bench)
    for name, which in itertools.product(every, figures.PASSES):
        roof, *points = figures.draw_roofline(every, name, which, 1024, 1024)[0].data
        for point in points:
            top = np.interp(np.log(point.x[0]), np.log(roof.x), np.log(roof.y))
            assert np.log(point.y[0]) <= top + 1e-3


# Rows.


def test_the_table_takes_a_processor_and_can_be_asked_for_another_device():
    kept = table(row("a", device="GPU: G"), row("a"), row("b"))
    assert figures.Bench(kept).device == "CPU: one"
    assert len(figures.Bench(kept, "GPU: G").rows) == 1
    assert figures.Bench(kept).one("b")["ms"] == 2
    with pytest.raises(ValueError, match="no row of 'c'"):
        figures.Bench(kept).one("c")
    with pytest.raises(ValueError, match="no rows of 'TPU'"):
        figures.Bench(kept, "TPU")
    with pytest.raises(ValueError, match="expected format 1, got 2"):
        figures.Bench(kept | {"format": 2})


def test_a_table_writes_times_and_ratios():
    kept = table(row("a"), row("a", ms=0.0321, instead=None, ratio=None, floor_ms=None))
    text = repr(figures.Bench(kept).table(["a"], "Rows."))
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
    shape = "2 × 64×1000"
    kept = table(
        row("BatchNorm over 2 processes", shape=shape, ms=5.0, sent_bytes=16_004),
        row("LayerNorm over 2 processes", shape=shape, ms=0.5, sent_bytes=0),
    )
    said = repr(figures.exchanges(figures.Bench(kept))).splitlines()[2].split()
    assert said == ["1,000", "16,004", "5", "ms", "4", "ms", "1", "ms", "0", "500", "µs"]
    whats = ["MNIST step, none", "MNIST step, layer", "MNIST step, batch"]
    rows = [row(w, path=p, shape="batch size 4") for w in whats for p in ("plain", "manual")]
    late = row("MNIST step 2,000, layer", path="plain", shape="batch size 4", ms=9.0)
    said = repr(figures.steps(figures.Bench(table(*rows, late)), 4)).splitlines()
    assert said[2].split() == ["plain", "2", "ms", "2", "ms", "2", "ms", "9", "ms"]
    assert said[3].split() == ["manual", "2", "ms", "2", "ms", "2", "ms", "–"]
    assert said[5].split()[-2:] == ["4", "ms"]


def test_a_norm_costs_what_the_same_loop_takes_more():
    rows = [
        row("norms of an RNN, forward", path="lnlib.nn, compiled", ms=6.0, instead_ms=5.0,
            instead="the same loop, no norm"),
        row("MNIST step, layer", path="plain", shape="batch size 4", ms=3.0),
        row("MNIST step, none", path="plain", shape="batch size 4", ms=2.0),
    ]  # fmt: skip
    first, second = figures.same_loop(figures.Bench(table(*rows))).rows
    assert first == ["RNN 2×3, compiled", "forward", "no norm", "6 ms", "5 ms", "1.20"]
    assert second[3:] == ["3 ms", "2 ms", "1.50"]


def test_norms_stand_over_a_copy_and_over_the_plain_formula():
    rows = [
        row(f"{kind} {which}", path="PyTorch, op by op", instead="torch.nn", ms=12.0, ratio=3.0)
        for kind in ("LayerNorm", "BatchNorm", "RMSNorm")
        for which in ("forward", "forward + backward")
    ]
    first = repr(figures.norms(figures.Bench(table(*rows)), "2×3")).splitlines()[2].split()
    assert first == ["LayerNorm,", "forward", "4", "ms", "4.00", "3.00", "–"]


def test_the_bars_are_the_rows(bench):
    for task in figures.tasks(bench).values():
        figure = figures.draw_recurrence(bench, task, "forward")
        rows = bench.pick(f"LN-{task[0]} forward", shape=task[1], threads=bench.threads)
        np.testing.assert_allclose(
            figure.data[0].y, [r["ms"] / r["instead_ms"] for r in rows], 2e-3
        )
        floor = rows[0]["floor_ms"] / rows[0]["instead_ms"]
        np.testing.assert_allclose(figure.data[2].y, floor, rtol=2e-3)


def recurrences():
    """Rows as two shapes, two thread counts and two paths leave them."""
    found = []
    for cell, which in itertools.product(("LSTM", "RNN"), ("forward", "forward + backward")):
        for shape, path, threads in (
            ("9×2×4", "as called", 1),
            ("9×2×4", "as called", 2),
            ("9×2×4", "plain", 2),
            ("300×8×128, 3 inputs", "as called", 1),
            ("300×8×128, 3 inputs", "as called", 2),
        ):
            of = {"shape": shape, "path": f"lnlib.nn, {path}", "threads": threads}
            ratio = 0.25 * (1 + len(found))
            found.append(row(f"LN-{cell} {which}", **of, ms=ratio * 4, ratio=ratio))
    kept = table(*found)
    kept["provenance"]["CPU: one"]["threads"] = 2
    return figures.Bench(kept)


def test_a_choice_is_offered_where_paths_compare_and_of_the_machines_own_threads():
    bench = recurrences()
    assert figures.tasks(bench) == {
        "LSTM, 9 steps, H 4": ("LSTM", "9×2×4"),
        "RNN, 9 steps, H 4": ("RNN", "9×2×4"),
    }
    figure = figures.draw_recurrence(bench, ("LSTM", "9×2×4"), "forward + backward")
    assert list(figure.data[0].y) == [0.25 * 7, 0.25 * 8]
    assert [name.split("<br><b>")[0] for name in figure.data[0].x] == [
        "as<br>called",
        "unbound<br>loop",
    ]
    said = figures.describe_recurrence(bench, ("LSTM", "9×2×4"), "forward + backward")
    assert "forward + backward, 9×2×4: as called 7 ms (1.75 times); unbound loop 8 ms" in said


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


# Devices.


def by_rounds(devices, H, network, way):
    """The exchanges, message by message, for a power of two of devices."""
    delay, speed = network
    forward, backward = 4 * (2 * H + 1), 4 * 2 * H
    time = 0.0
    if way == "ring":
        for _ in range(devices - 1):
            time += delay + forward / speed
        for _ in range(2 * (devices - 1)):  # sums of a part each, then the parts handed round
            time += delay + backward / devices / speed
        return time
    known = 1
    while known < devices:
        time += delay + known * forward / speed
        time += delay + backward / speed
        known *= 2
    return time


@pytest.mark.parametrize("way", figures.WAYS)
@pytest.mark.parametrize("devices", [2, 8, 1024])
def test_the_formulas_are_the_sum_of_the_messages(way, devices):
    network = (5e-6, 1e9)
    expected = by_rounds(devices, 300, network, way)
    assert figures.exchange_time(devices, 300, network, way) == pytest.approx(expected, rel=1e-12)


def test_the_measured_network_is_read_from_a_short_and_a_long_message():
    what = "all-reduce over 2 processes"
    kept = table(row(what, ms=0.1, sent_bytes=8), row(what, ms=1.1, sent_bytes=1_000_008))
    delay, speed = figures.networks(figures.Bench(kept))["gloo, measured"]
    assert delay == pytest.approx(1e-4)
    assert speed == pytest.approx(1e9)


# All of them.


def explorers(bench):
    machines, networks = figures.machines(bench), figures.networks(bench)
    return [
        Explorer(
            lambda **state: figures.draw_roofline(machines, **state),
            {
                "machine": choice("m", list(machines)),
                "which": choice("p", figures.PASSES),
                "N": slider("N", figures.CASES, start=1024),
                "H": slider("H", figures.WIDTHS, start=1024),
            },
            title="roofline",
            describe=lambda **state: figures.describe_roofline(machines, **state),
        ),
        Explorer(
            lambda **state: figures.draw_recurrence(bench, **state),
            {
                "task": choice("t", figures.tasks(bench)),
                "which": choice("p", ["forward", "forward + backward"]),
            },
            title="recurrence",
            describe=lambda **state: figures.describe_recurrence(bench, **state),
        ),
        Explorer(
            lambda **state: figures.draw_devices(networks, **state),
            {
                "network": choice("n", list(networks)),
                "H": slider("H", figures.EXCHANGE_WIDTHS),
                "devices": slider("P", figures.DEVICES),
            },
            title="devices",
            describe=lambda **state: figures.describe_devices(networks, **state),
        ),
    ]


def states(explorer):
    names = list(explorer.controls)
    for values in itertools.product(*(c.values for c in explorer.controls.values())):
        yield dict(zip(names, values, strict=True))


@pytest.mark.parametrize("i", range(3))
def test_everything_drawn_lies_inside_its_axes(bench, i):
    explorer = explorers(bench)[i]
    for state in states(explorer):
        for figure in explorer.figures(**state):
            low, high = figure.layout.yaxis.range
            for trace in figure.data:
                y = np.array(trace.y, dtype=float)
                y = np.log10(y) if figure.layout.yaxis.type == "log" else y
                inside = low <= y.min() and y.max() <= high
                assert inside, (state, figure.layout.title.text, trace.name, y.min(), y.max())


@pytest.mark.parametrize("i", range(3))
def test_every_control_changes_the_figure_and_the_sentence(bench, i):
    explorer = explorers(bench)[i]
    for name, control in explorer.controls.items():
        seen, said = set(), set()
        for value in control.values:
            state = explorer.start | {name: value}
            drawn = [figure.to_dict() for figure in explorer.figures(**state)]
            seen.add(str([(d["data"], d["layout"].get("shapes")) for d in drawn]))
            said.add(explorer.describe(**state))
        assert len(seen) == len(said) == len(control.values), name


def test_the_sentences_say_what_happens(bench):
    machines = figures.machines(bench)
    said = figures.describe_roofline(machines, "H100, bfloat16", "forward", 32_768, 1024)
    assert "layer norm does 1.75 operations for each byte, the machine could do 20" in said
    assert said.endswith("58 % of the product's time.")
    said = figures.describe_devices({"n": (5e-6, 50e9)}, "n", 1000, 1000)
    assert "waits 15 ms a step in a ring, 262 µs by doubling" in said
    assert "receives 8 MB forward" in said
    assert figures._time(0.00046e-3) == "0.46 ns"
