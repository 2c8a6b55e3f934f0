"""The numbers of the recurrences in the bench: times that are given, passes, and peak memory."""

import itertools
import types

import pytest
import torch

from bench import rnn, table
from tests.cases.bench import FakeMedians, check, find_row


def test_a_recurrence_is_held_against_torch_and_the_products_of_its_pass(monkeypatch):
    made = FakeMedians(run=False)
    monkeypatch.setattr(rnn, "medians", made)
    monkeypatch.setattr(rnn, "products", lambda *_: dict(zip(rnn.PASSES, "fb", strict=True)))
    result = rnn.speed("GRU", (3, 2, 5, 4), [rnn.CALLED, "function"], "cpu")
    for k, which in enumerate(("forward", "forward + backward")):
        for name in ("as called", "function"):
            row = find_row(result, what=f"LN-GRU {which}", path=f"lnlib.nn, {name}")
            check(row, made.ms[k][name], made.ms[k]["torch"], made.ms[k]["floor"])
        assert made.options[k]["floors"] == ["fb"[k]]


def test_inference_is_timed_without_a_gradient_and_training_with_its_own():
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


def test_norms_are_held_against_the_same_loop_without_them(monkeypatch):
    made = FakeMedians(run=False)
    monkeypatch.setattr(rnn, "medians", made)
    result = rnn.norms_alone((3, 2, 5, 5))
    for k, which in enumerate(("forward", "forward + backward")):
        for row in (r for r in result if r["what"].endswith(f", {which}")):
            key = row["what"].partition(",")[0].split()[-1], row["path"]
            check(row, made.ms[k][key, 0], made.ms[k][key, 1])


def test_peak_memory_stands_in_the_rows_of_its_pass_shape_and_threads(monkeypatch):
    requested = []

    def run(command, **_):
        requested.append(command[-1])
        sizes = {"torch": 10.04, "as called": 30.06, "plain": 500.0}
        (name,) = [n for n in sizes if repr(n) in command[-1]]
        return types.SimpleNamespace(stdout=str(sizes[name]))

    monkeypatch.setattr(rnn.subprocess, "run", run)
    monkeypatch.setattr(rnn, "paths", lambda kind, device: ["plain"])
    monkeypatch.setattr(rnn, "Path", lambda name: types.SimpleNamespace(exists=lambda: True))
    here, shape = torch.get_num_threads(), rnn.text(rnn.SHAPES[0])
    kinds = itertools.product(("forward", "forward + backward"), (shape, "2×2×2"), (here, here + 1))
    results = [
        table.row(f"LN-LSTM {which}", size, f"lnlib.nn, {path}", 1.0, threads=count)
        for which, size, count in kinds
        for path in ("as called", "plain")
    ]
    rnn.memory(results, "cpu")
    measured = [r for r in results if "peak_mib" in r]
    assert [(r["what"], r["shape"], r["threads"]) for r in measured] == 2 * [
        ("LN-LSTM forward + backward", shape, here)
    ]
    assert [(r["path"], r["peak_mib"], r["instead_peak_mib"]) for r in measured] == [
        ("lnlib.nn, as called", 30.1, 10.0), ("lnlib.nn, plain", 500.0, 10.0),
    ]  # fmt: skip
    assert len(requested) == 3


def test_peak_memory_is_what_a_pass_adds_in_mebibytes(monkeypatch):
    log = []
    monkeypatch.setattr(rnn, "SHAPES", [(5, 3, 4, 4)])
    monkeypatch.setattr(rnn, "Path", lambda name: types.SimpleNamespace(
        write_text=lambda text: log.append((name, text))))  # fmt: skip
    monkeypatch.setattr(rnn, "passes", lambda kind, path, x, H: {
        rnn.PASSES[1]: lambda: log.append((kind, path, tuple(x.shape), H))})  # fmt: skip
    kib = {"VmRSS": 1024 * 100, "VmHWM": 1024 * 107}
    monkeypatch.setattr(rnn, "_memory", lambda field: log.append(field) or kib[field])
    assert rnn.peak("plain", "cpu") == pytest.approx(7.0)
    assert log == [
        ("LSTM", "plain", (2, 3, 4), 4), ("/proc/self/clear_refs", "5"), "VmRSS",
        ("LSTM", "plain", (5, 3, 4), 4), "VmHWM",
    ]  # fmt: skip
