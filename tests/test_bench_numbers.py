"""The numbers of the bench, by times that are given.

Every part is asked for its rows with times that are given, so that a ratio the wrong way round, a
time of another pass or a missing division is seen.
"""

import pytest
import torch

from bench import exchange, experiments, norm, rnn
from tests.cases.bench import FakeMedians, check, find_row


@pytest.fixture
def given(monkeypatch):
    made = FakeMedians()
    for part in (exchange, experiments, norm, rnn):
        if hasattr(part, "medians"):
            monkeypatch.setattr(part, "medians", made)
    return made


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


# Two processes.


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
