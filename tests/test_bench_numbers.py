"""The numbers of the bench, by times that are given, and by bytes and updates that are counted.

Every part is asked for its rows with times that are given, so that a ratio the wrong way round, a
time of another pass or a missing division is seen.
"""

import itertools
import types

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from bench import exchange, experiments, fisher, mnist, norm, pages, rnn, table
from tests.cases.bench import FakeMedians, check, find_row


@pytest.fixture
def given(monkeypatch):
    made = FakeMedians()
    for part in (exchange, experiments, fisher, mnist, norm, pages, rnn):
        if hasattr(part, "medians"):
            monkeypatch.setattr(part, "medians", made)
    return made


@pytest.fixture
def moved(monkeypatch):
    """Count the bytes that a call reads and writes, in PyTorch and in NumPy."""
    counted, copyto, multiply = [], np.copyto, np.multiply

    class Moved(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            tensors = [a for a in (*args, *(kwargs or {}).values()) if isinstance(a, torch.Tensor)]
            times = {"copy_": 1, "add": 1, "mul_": 2}.get(func.overloadpacket.__name__, 0)
            counted.append(times * sum(t.numel() * t.element_size() for t in tensors))
            return func(*args, **(kwargs or {}))

    def count(call):
        counted.clear()
        with Moved(), monkeypatch.context() as patch:
            patch.setattr(np, "copyto", lambda b, a: counted.append(2 * a.nbytes) or copyto(b, a))
            patch.setattr(
                np,
                "multiply",
                lambda a, by, out: counted.append(2 * a.nbytes) or multiply(a, by, out=out),
            )
            call()
        return sum(counted)

    return count


def test_the_floors_of_a_norm_move_two_arrays_and_five(moved):
    ways = norm.movers((6, 8), "cpu")
    array = 4 * 6 * 8
    assert [moved(way) for way in ways["forward"]] == [2 * array] * 5
    assert [moved(way) for way in ways["forward + backward"]] == [5 * array] * 6


def test_the_floor_of_a_training_step_rewrites_parameters_and_both_moments(moved):
    sizes = {"784-1000": 785_000, "1000-1000": 1_001_000, "1000-10": 10_010}  # with biases
    numbers = 3 * sum(sizes.values())
    result = [moved(way) for way in mnist.floors("cpu", 3)]
    assert result == pytest.approx([3 * 2 * 4 * numbers] * 3, rel=1e-5)


@pytest.mark.parametrize(
    ("measured", "instead"),
    [
        (lambda: norm.in_numpy((3, 4)), dict.fromkeys(norm.AXIS, "NumPy, as typed")),
        (
            lambda: norm.in_torch((3, 4), "cpu")[1:],
            {"LayerNorm": "torch.nn.LayerNorm", "BatchNorm": "torch.nn.BatchNorm1d",
             "RMSNorm": "torch.nn.RMSNorm"},
        ),
    ],
    ids=["NumPy", "PyTorch"],
)  # fmt: skip
def test_norms_are_compared_with_alternatives_of_the_same_kind_and_pass(given, measured, instead):
    result = measured()
    assert {r["what"] for r in result} == {f"{k} {which}" for k in instead for which in norm.PASSES}
    for row in result:
        kind, _, which = row["what"].partition(" ")
        k = norm.PASSES.index(which)
        ms = given.ms[k]
        check(row, ms[kind, row["path"]], ms[kind, instead[kind]], ms["floor"])
        assert (row["shape"], row["instead"]) == ("3×4", instead[kind])
        assert row["floor"] == f"{(2, 5)[k]} arrays, moved"


def test_fused_kernels_are_compared_with_separate_ones(given):
    result = norm.in_one_pass((64, 64), "cpu")
    assert [option["times"] for option in given.options] == [64] * 16  # 2**18 numbers in all
    assert len(result) == 16
    for row, ms in zip(result, given.ms, strict=True):
        ours, theirs = ms.values()
        check(row, ours, theirs)
        assert list(ms) == [row["path"], row["instead"]]
    assert {r["dtype"] for r in result} == {"float32", "bfloat16"}


def test_times_belong_to_the_module_and_pass_of_their_row(given, monkeypatch):
    log = []
    for name, module in {
        "torch.nn.LayerNorm": torch.nn.LayerNorm, "torch.nn.BatchNorm1d": torch.nn.BatchNorm1d,
        "torch.nn.RMSNorm": torch.nn.RMSNorm, "lnlib.nn.LayerNorm": norm.LayerNorm,
        "lnlib.nn.RMSNorm": norm.RMSNorm, "lnlib.nn.baselines": norm.BatchNorm,
    }.items():  # fmt: skip

        def call(self, *inputs, name=name, forward=module.forward):
            log.append((name, len(inputs), torch.is_grad_enabled()))
            return forward(self, *inputs)

        monkeypatch.setattr(module, "forward", call)

    def ran(timed):
        log.clear()
        timed()
        return log

    norm.in_torch((3, 4), "cpu")
    for which, calls in zip(norm.PASSES, given.calls, strict=True):
        for (_, path), timed in calls.items():
            expected = [] if path == "PyTorch, op by op" else [(path, 1, which != "forward")]
            assert ran(timed) == expected
    rows = norm.in_one_pass((3, 4), "cpu")
    for row, calls in zip(rows, given.calls[2:], strict=True):
        for path, timed in calls.items():
            within = row["what"].startswith("add") and path == row["path"]
            expected = (path.removesuffix(", apart"), 1 + within, "backward" in row["what"])
            assert ran(timed) == [expected]


def test_operations_and_bytes_of_the_machine_follow_from_shapes(monkeypatch):
    monkeypatch.setattr(norm, "SHAPES", [])
    monkeypatch.setattr(norm, "ONE_PASS", [])
    made = FakeMedians(run=False)
    monkeypatch.setattr(norm, "medians", made)
    product, copy = norm.rows("cpu")
    assert (product["path"], copy["path"]) == ("matrix product", "copy")
    assert product["flops"] == 8_589_934_592  # 2 x 4096 x 1024 x 1024
    assert copy["bytes"] == 8_388_608  # 2 x 4 x 1024 x 1024
    check(copy, made.ms[0]["floor"], None)
    check(product, made.ms[1]["floor"], None)


# Training steps.


def test_mnist_step_times_are_block_times_divided_by_updates(monkeypatch):
    made = FakeMedians(run=False)
    monkeypatch.setattr(mnist, "medians", made)
    monkeypatch.setattr(mnist, "available_steps", lambda device: ["plain", "compiled"])
    monkeypatch.setattr(mnist, "stepper", lambda *a: None)
    monkeypatch.setattr(mnist, "floors", lambda device, updates: [updates])
    late_ms = {("plain", True): (40.0, 99.0), ("plain", False): (70.0, 5.0),
               ("compiled", False): (20.0, 5.0)}  # fmt: skip
    monkeypatch.setattr(
        mnist,
        "late_step_ms_in_new_process",
        lambda norm, step, flush_denormal=False: late_ms[step, flush_denormal],
    )
    result = mnist.rows("cpu")
    for k, (size, block) in enumerate(((4, 20), (128, 3))):
        ms, below = made.ms[k], made.ms[k]["floor"] / block
        assert made.options[k]["floors"] == [block]
        for kind in ("none", "layer", "batch"):
            row = {"what": f"MNIST step, {kind}", "shape": f"batch size {size}"}
            plain = ms[kind, "plain"] / block
            check(find_row(result, **row, path="plain"), plain, None, below)
            compiled = find_row(result, **row, path="compiled")
            check(compiled, ms[kind, "compiled"] / block, plain, below)
    late = {r["path"]: r for r in result if r["what"] == "MNIST step 2,000, layer"}
    check(late["plain"], 70.0, 40.0, 5.0)
    check(late["compiled"], 20.0, 40.0, 5.0)


def test_each_call_of_the_stepper_takes_several_updates(monkeypatch):
    log = []

    class Run:
        updates_per_epoch = 7

        def __init__(self, settings, data, *, seed, device, step):
            self.seed = seed
            log.append((seed, step, settings.batch_size))

        def advance(self, epoch, first, last):
            for update in range(first, last):
                log.append((self.seed, epoch, update))
                yield

    monkeypatch.setattr(mnist.mnist, "MNISTRun", Run)
    monkeypatch.setitem(mnist.UPDATES_PER_CALL, ("cpu", 128), 3)
    call = mnist.stepper("layer", 128, "compiled", None, "cpu")
    call(), call(), call()
    expected = [(0, 0, k) for k in range(6)] + [(0, 1, k) for k in range(3)]
    assert log == [(0, "compiled", 128), *expected]


@pytest.mark.parametrize("measure", experiments.EXPERIMENTS, ids=lambda f: f.__name__.strip("_"))
def test_updates_of_experiments_are_compared_with_those_of_a_reference(measure, monkeypatch, given):
    given.run = False
    monkeypatch.setattr(experiments, "_update", lambda run: run.settings)
    name = measure.__name__.strip("_")
    reference = {"handwriting": "torch.nn", "transformer": "layer"}.get(name, "none")
    rows = measure()
    assert len(rows) == sum(len(calls) - 1 for calls in given.calls)
    for k, row in enumerate(rows):
        ms = given.ms[k if name == "draw" else 0]  # two lengths, each measured alone
        check(row, ms[row["path"]], ms[reference])
    for calls in given.calls:
        for norm_name, settings in calls.items():
            assert settings.norm == {"torch.nn": "none"}.get(norm_name, norm_name)


# The Fisher product, two processes, the pages.


@pytest.mark.filterwarnings(
    "ignore:.torch.jit.script. is deprecated:DeprecationWarning"
)  # PyTorch's own
def test_the_error_of_a_product_is_relative_and_each_product_has_its_own(monkeypatch, given):
    monkeypatch.setattr(fisher, "SIZES", (5, 4, 4, 3))
    monkeypatch.setattr(fisher, "NUM_EXAMPLES", 7)
    monkeypatch.setattr(fisher, "curvlinops_product", lambda *_: None)
    (fair,) = fisher.rows("cpu")
    assert 0 < fair["error"] < 1e-5
    assert 0 < fair["instead_error"] < 1e-5
    product = fisher.MLP.fisher_product
    monkeypatch.setattr(fisher.MLP, "fisher_product", lambda *args: 1.25 * product(*args))
    (row,) = fisher.rows("cpu")
    assert row["error"] == pytest.approx(0.25, rel=1e-4)
    assert row["instead_error"] == fair["instead_error"]
    ms = given.ms[-1]
    check(row, ms["lnlib.fisher.MLP"], ms["PyTorch, jvp and vjp"], ms["floor"])


def test_two_processes_are_compared_with_single_ones(monkeypatch):
    ms = {"error": 0.0, "short 0": 3.0, "long 0": 9.0}
    for k, width in enumerate(exchange.WIDTHS):
        ms |= {f"exchange {width}": 50.0 + k, f"alone {width}": 20.0 + k,
               f"layer {width}": 7.0 + k, f"collectives {width}": 5.0 + k}  # fmt: skip
    monkeypatch.setattr(exchange, "measure", lambda: ms)
    result = exchange.rows("cpu")
    for k, width in enumerate((100, 1000, 10_000)):
        batch, layer = result[2 * k : 2 * k + 2]
        check(batch, 50.0 + k, 20.0 + k, 5.0 + k)
        check(layer, 7.0 + k, 50.0 + k)
        assert batch["shape"] == layer["shape"] == f"2 × 64×{width}"
        # 2 H + 1 numbers of 4 bytes forward, 2 H backward.
        assert (batch["sent_bytes"], layer["sent_bytes"]) == (4 * (4 * width + 1), 0)
    for row, time, sent in zip(result[6:], (3.0, 9.0), (8, 4_000_000), strict=True):
        check(row, time, None)
        assert row["sent_bytes"] == sent


# Recurrences.


def test_recurrences_are_compared_with_pytorch_and_matrix_products(monkeypatch):
    made = FakeMedians(run=False)
    monkeypatch.setattr(rnn, "medians", made)
    monkeypatch.setattr(rnn, "products", lambda *_: dict(zip(rnn.PASSES, "fb", strict=True)))
    result = rnn.speed("GRU", (3, 2, 5, 4), [rnn.CALLED, "function"], "cpu")
    for k, which in enumerate(("forward", "forward + backward")):
        for name in ("as called", "function"):
            row = find_row(result, what=f"LN-GRU {which}", path=f"lnlib.nn, {name}")
            check(row, made.ms[k][name], made.ms[k]["torch"], made.ms[k]["floor"])
        assert made.options[k]["floors"] == ["fb"[k]]


def test_inference_is_timed_without_gradients():
    log = []

    class Module(torch.nn.Linear):
        def forward(self, x):
            log.append((self.training, torch.is_grad_enabled(), self.weight.grad is None))
            return super().forward(x)

    module = Module(4, 2)
    calls = rnn.passes_of(torch.ones(3, 4), module, module)
    calls["forward + backward"](), calls["forward + backward"](), calls["forward"]()
    assert log == [(True, True, True), (True, True, True), (False, False, False)]
    torch.testing.assert_close(module.weight.grad, torch.full((2, 4), 3.0))  # of one pass


def test_loops_with_norms_are_compared_with_loops_without(monkeypatch):
    made = FakeMedians(run=False)
    monkeypatch.setattr(rnn, "medians", made)
    result = rnn.norms_alone((3, 2, 5, 5))
    for k, which in enumerate(("forward", "forward + backward")):
        for row in (r for r in result if r["what"].endswith(f", {which}")):
            key = row["what"].partition(",")[0].split()[-1], row["path"]
            check(row, made.ms[k][key, 0], made.ms[k][key, 1])


def test_peak_memory_is_stored_in_the_matching_rows(monkeypatch):
    sizes = {"torch": 10.04, "as called": 30.06, "plain": 500.0}

    def run(command, **_):
        (name,) = [n for n in sizes if repr(n) in command[-1]]
        return types.SimpleNamespace(stdout=str(sizes[name]))

    monkeypatch.setattr(rnn.subprocess, "run", run)
    monkeypatch.setattr(rnn, "paths", lambda kind, device: ["plain"])
    monkeypatch.setattr(rnn, "Path", lambda name: types.SimpleNamespace(exists=lambda: True))
    here, shape = torch.get_num_threads(), rnn.text(rnn.SHAPES[0])
    results = [
        table.row(f"LN-LSTM {which}", size, "lnlib.nn, as called", 1.0, threads=count)
        for which, size, count in itertools.product(rnn.PASSES, (shape, "2×2×2"), (here, here + 1))
    ]
    rnn.memory(results, "cpu")
    (measured,) = [r for r in results if "peak_mib" in r]
    expected = ("LN-LSTM forward + backward", shape, here)
    assert (measured["what"], measured["shape"], measured["threads"]) == expected
    assert (measured["peak_mib"], measured["instead_peak_mib"]) == (30.1, 10.0)
