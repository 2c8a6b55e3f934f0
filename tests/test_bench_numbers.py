"""The numbers of the bench, by times that are given, and by bytes and updates that are counted.

Every part is asked for its rows with times that are given, so that a ratio the wrong way round, a
time of another pass or a missing division is seen.
"""

import types

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from bench import exchange, experiments, fisher, mnist, norm, pages, rnn, transformer
from tests.cases.bench import FakeMedians, check, find_row


@pytest.fixture
def given(monkeypatch):
    made = FakeMedians()
    for part in (exchange, experiments, fisher, mnist, norm, pages, rnn, transformer):
        if hasattr(part, "medians"):
            monkeypatch.setattr(part, "medians", made)
    return made


class Moved(TorchDispatchMode):
    """Counts the bytes that are read and written, by the operation."""

    def __init__(self):
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        tensors = [a for a in (*args, *kwargs.values()) if isinstance(a, torch.Tensor)]
        name = func.overloadpacket.__name__
        if name in ("copy_", "add", "mul_"):
            size = sum(t.numel() * t.element_size() for t in tensors)
            self.bytes += size * (2 if name == "mul_" else 1)  # mul_ reads and writes its own
        return func(*args, **kwargs)


class CountedNumPy:
    """Stands for NumPy, and counts the bytes that its two ways of moving read and write."""

    def __init__(self, moved):
        self.moved = moved

    def __getattr__(self, name):
        return getattr(np, name)

    def copyto(self, target, source):
        self.moved.bytes += source.nbytes + target.nbytes
        np.copyto(target, source)

    def multiply(self, a, by, out):
        assert by == 1
        self.moved.bytes += a.nbytes + out.nbytes
        return np.multiply(a, by, out=out)


def moved(calls, part, monkeypatch):
    """Return how many bytes each call moves."""
    results = []
    for call in calls:
        mode = Moved()
        monkeypatch.setattr(part, "np", CountedNumPy(mode))
        with mode:
            call()
        results.append(mode.bytes)
    monkeypatch.setattr(part, "np", np)
    return results


def test_the_floors_of_a_norm_move_two_arrays_and_five(monkeypatch):
    ways = norm.movers((6, 8), "cpu")
    array = 4 * 6 * 8
    assert moved(ways["forward"], norm, monkeypatch) == [2 * array] * 5
    assert moved(ways["forward + backward"], norm, monkeypatch) == [5 * array] * 6


def test_the_floor_of_a_training_step_rewrites_parameters_and_both_moments(monkeypatch):
    sizes = {"784-1000": 785_000, "1000-1000": 1_001_000, "1000-10": 10_010}  # with biases
    numbers = 3 * sum(sizes.values())
    result = moved(mnist.floors("cpu", 3), mnist, monkeypatch)
    assert result == pytest.approx([3 * 2 * 4 * numbers] * 3, rel=1e-5)


@pytest.mark.parametrize("which", norm.PASSES)
def test_a_pass_is_forward_alone_without_a_graph_or_both(which):
    log, x, dy = [], torch.randn(3, 4), torch.randn(3, 4)

    def call(inputs):
        log.append(torch.is_grad_enabled())
        out = 2 * inputs
        if out.requires_grad:
            out.register_hook(lambda grad: log.append(grad.clone()))
        return out

    timed = norm._pass(which, call, (x,), (dy,))
    timed(), timed()
    if which == "forward":
        assert log == [False, False]
    else:
        assert (log[0], log[2]) == (True, True)
        assert all(torch.equal(log[k], dy) for k in (1, 3))


def test_each_norm_in_numpy_is_held_against_the_typed_formula_of_its_pass(given):
    result = norm.in_numpy((3, 4))
    for k, which in enumerate(("forward", "forward + backward")):
        ms = given.ms[k]
        for kind, path in (("LayerNorm", "lnlib.layer_norm"), ("BatchNorm", "lnlib.batch_norm"),
                           ("RMSNorm", "lnlib.rms_norm")):  # fmt: skip
            row = find_row(result, what=f"{kind} {which}", path=path)
            check(row, ms[kind, path], ms[kind, "NumPy, as typed"], ms["floor"])
            assert (row["shape"], row["instead"]) == ("3×4", "NumPy, as typed")
        assert given.options[k]["floors"]
    assert len(result) == 6


def test_each_norm_in_pytorch_is_held_against_the_module_of_its_kind(given):
    copy, *result = norm.in_torch((3, 4), "cpu")
    assert (copy["what"], copy["path"], copy["bytes"]) == ("machine", "copy", 2 * 4 * 3 * 4)
    check(copy, given.ms[0]["floor"], None)
    theirs = {"LayerNorm": "torch.nn.LayerNorm", "BatchNorm": "torch.nn.BatchNorm1d",
              "RMSNorm": "torch.nn.RMSNorm"}  # fmt: skip
    for k, which in enumerate(("forward", "forward + backward")):
        ms = given.ms[k]
        for kind, instead in theirs.items():
            rows = [r for r in result if r["what"] == f"{kind} {which}"]
            assert len(rows) == 2
            for row in rows:
                check(row, ms[kind, row["path"]], ms[kind, instead], ms["floor"])
                assert row["instead"] == instead
                assert row["floor"] == f"{(2, 5)[k]} arrays, moved"


def test_one_pass_is_held_against_two_and_a_small_one_is_repeated(given):
    result = norm.in_one_pass((64, 64), "cpu")
    assert [option["times"] for option in given.options] == [64] * 16  # 2**18 numbers in all
    assert len(result) == 16
    for row, ms in zip(result, given.ms, strict=True):
        ours, theirs = ms.values()
        check(row, ours, theirs)
        assert list(ms) == [row["path"], row["instead"]]
    assert {r["dtype"] for r in result} == {"float32", "bfloat16"}


@pytest.fixture
def ran(monkeypatch):
    """The modules that are called, by the names that rows have for them, and with how many."""
    known = {f"torch.nn.{kind}": getattr(torch.nn, kind)
             for kind in ("LayerNorm", "BatchNorm1d", "RMSNorm")}  # fmt: skip
    known |= {"lnlib.nn.LayerNorm": norm.LayerNorm, "lnlib.nn.RMSNorm": norm.RMSNorm,
              "lnlib.nn.baselines": norm.BatchNorm}  # fmt: skip
    log = []

    def logged(name, forward):
        def call(self, *inputs):
            log.append((name, len(inputs)))
            return forward(self, *inputs)

        return call

    for name, module in known.items():
        monkeypatch.setattr(module, "forward", logged(name, module.forward))
    return log


def test_a_time_is_that_of_the_module_that_its_row_names(given, ran):
    norm.in_torch((3, 4), "cpu")
    for call in (call for calls in given.calls for call in calls.items()):
        (_, path), timed = call
        ran.clear()
        timed()
        assert ran == ([] if path == "PyTorch, op by op" else [(path, 1)])


def test_one_pass_adds_within_and_the_other_apart(given, ran):
    rows = norm.in_one_pass((3, 4), "cpu")
    for row, calls in zip(rows, given.calls, strict=True):
        for path, timed in calls.items():
            ran.clear()
            timed()
            within = row["what"].startswith("add") and path == row["path"]
            assert ran == [(path.removesuffix(", apart"), 1 + within)]


def test_the_machines_operations_and_bytes_are_those_of_its_shapes(monkeypatch):
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


def test_a_step_of_mnist_is_the_time_of_a_block_divided(monkeypatch):
    made, requested = FakeMedians(run=False), []
    monkeypatch.setattr(mnist, "medians", made)
    monkeypatch.setattr(mnist, "available_steps", lambda device: ["plain", "compiled"])
    monkeypatch.setattr(mnist, "stepper", lambda *a: requested.append(a) or a)
    monkeypatch.setattr(mnist, "floors", lambda device, updates: [(device, updates)])
    monkeypatch.setattr(
        mnist,
        "late_step_ms_in_new_process",
        lambda norm, step, flush_denormal=False: (
            (40.0, 99.0) if flush_denormal else ({"plain": 70.0, "compiled": 20.0}[step], 5.0)
        ),
    )
    result = mnist.rows("cpu")
    for k, (size, block) in enumerate(((4, 20), (128, 3))):
        ms, below = made.ms[k], made.ms[k]["floor"] / block
        assert made.options[k]["floors"] == [("cpu", block)]
        for kind in ("none", "layer", "batch"):
            rows = {
                r["path"]: r
                for r in result
                if (r["what"], r["shape"]) == (f"MNIST step, {kind}", f"batch size {size}")
            }
            plain = ms[kind, "plain"] / block
            check(rows["plain"], plain, None, below)
            check(rows["compiled"], ms[kind, "compiled"] / block, plain, below)  # fmt: skip
    late = {r["path"]: r for r in result if r["what"] == "MNIST step 2,000, layer"}
    check(late["plain"], 70.0, 40.0, 5.0)
    check(late["compiled"], 20.0, 40.0, 5.0)
    assert len(result) == 14


def test_a_call_of_the_stepper_makes_a_block_of_updates(monkeypatch):
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

    monkeypatch.setattr(mnist.mnist, "Run", Run)
    monkeypatch.setitem(mnist.UPDATES_PER_CALL, ("cpu", 128), 3)
    call = mnist.stepper("layer", 128, "compiled", None, "cpu")
    call(), call(), call()
    expected = [(0, 0, k) for k in range(6)] + [(0, 1, k) for k in range(3)]
    assert log == [(0, "compiled", 128), *expected]


def test_an_update_of_the_transformer_is_one_of_those_in_a_call(monkeypatch, given):
    given.run = False
    monkeypatch.setattr(transformer, "stepper", lambda settings, data, device: settings.norm)
    result = transformer.rows("cpu")
    ms = given.ms[0]
    assert {r["path"] for r in result} == set(transformer.NORMS) - {"layer"}
    for row in result:
        check(row, ms[row["path"]] / 2, ms["layer"] / 2)
        assert (row["instead"], row["threads"]) == ("layer", 1)

    monkeypatch.undo()
    updates = []

    class Run:
        def __init__(self, settings, data, device):
            pass

        def batches(self, epoch):
            return iter("abcdef")

        def update(self, batch):
            updates.append(batch)

    monkeypatch.setattr(transformer, "Run", Run)
    transformer.stepper(None, None, "cpu")()
    assert updates == ["a", "b"]


@pytest.mark.parametrize("measure", experiments.EXPERIMENTS, ids=lambda f: f.__name__.strip("_"))
def test_an_experiments_update_is_held_against_the_one_without_norm(measure, monkeypatch, given):
    given.run = False
    monkeypatch.setattr(experiments, "_update", lambda run: run.settings)
    result = measure()
    for k, row in enumerate(result):
        name = measure.__name__.strip("_")
        ms = given.ms[k if name == "draw" else 0]  # two lengths, each measured alone
        base = "torch.nn" if name == "handwriting" else "none"
        check(row, ms[row["path"]], ms[base])
    if measure is experiments._draw:
        assert [r["shape"] for r in result] == ["8×64×128", "16×64×128"]
        assert [of["layer"].glimpses for of in given.calls] == [8, 16]
    for calls in given.calls:
        for norm_name, settings in calls.items():
            expected = {"torch.nn": "none"}.get(norm_name, norm_name)
            assert settings.norm == expected


def test_an_update_is_the_same_batch_each_time():
    log = []
    run = types.SimpleNamespace(batches=lambda epoch: iter([("first", epoch), "second"]),
                                update=log.append)  # fmt: skip
    call = experiments._update(run)
    call(), call()
    assert log == [("first", 0)] * 2


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


def test_two_processes_are_held_against_each_alone_and_layer_norm_against_batch_norm(monkeypatch):
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
