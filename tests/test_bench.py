"""The bench: what its table says and keeps, and that what it times computes what it should."""

import shutil

import numpy as np
import pytest
import torch
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from bench import __main__ as bench
from bench import exchange, norm, pages, rnn, table
from lnlib.nn import LayerNormGRU, LayerNormLSTM

EXACT = 1e-12


def row(what="a", device="CPU: one", **of):
    base = table.row(what, "2×3", "ours", 2.0, instead=("theirs", 4.0), floor=("copy", 1.0))
    return base | {"device": device} | of


def made(*rows):
    return {
        "format": table.FORMAT,
        "rows": list(rows),
        "provenance": {r["device"]: {"date": "2026-01-01"} for r in rows},
    }


# The table.


def test_the_table_of_the_book_has_consistent_ratios_and_floors():
    rows = table.read(table.PATH)["rows"]
    table.check_floors(rows, "the book's")
    for r in rows:
        if r["instead_ms"]:
            assert r["ratio"] == pytest.approx(r["ms"] / r["instead_ms"], rel=2e-3), r


def test_a_table_is_read_as_it_was_written(tmp_path):
    stored = made(row(), row("µ", instead=None, instead_ms=None, ratio=None))
    table.write(stored, tmp_path / "new" / "bench.json")
    assert table.read(tmp_path / "new" / "bench.json") == stored
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["bench.json"]


@pytest.mark.parametrize(
    ("stored", "says"),
    [
        ([], "got 'list'"),
        (made(row()) | {"format": 2}, "format 1, got 2"),
        ({"format": 1, "rows": [], "provenance": {}}, "expected rows"),
        (made(row(ms=None)), "row 0 has missing or wrong entries"),
        (made(row(), row(ms=0.0)), "row 1 has missing or wrong entries"),
        (made(row(ratio="0.5")), "row 0 has missing or wrong entries"),
        (made(row()) | {"provenance": {}}, "provenance is missing"),
    ],
)
def test_invalid_tables_raise_an_error_and_are_not_written(stored, says, tmp_path):
    with pytest.raises(ValueError, match=says):
        table.check(stored, "bench.json")
    if isinstance(stored, dict):
        with pytest.raises(ValueError, match=says):
            table.write(stored, tmp_path / "bench.json")
    assert not list(tmp_path.iterdir())


def test_new_rows_replace_those_of_the_same_device():
    old = made(row("a"), row("gone"), row("a", device="GPU: G"))
    merged = table.merge(old, made(row("a", ms=3.0), row("b")))
    assert [(r["what"], r["device"], r["ms"]) for r in merged["rows"]] == [
        ("a", "GPU: G", 2.0),
        ("a", "CPU: one", 3.0),
        ("b", "CPU: one", 2.0),
    ]
    assert set(merged["provenance"]) == {"CPU: one", "GPU: G"}


def test_rows_faster_than_their_floor_are_rejected_when_written_only(tmp_path):
    stored = made(row(), row("fast", ms=0.949))
    with pytest.raises(ValueError, match=r"bench.json: fast, 2×3, ours takes 0\.949 ms and its"):
        table.write(stored, tmp_path / "bench.json")
    assert not list(tmp_path.iterdir())
    table.check(stored, "bench.json")  # as it may be in a table of before
    table.write(made(row(ms=0.951), row(floor=None, floor_ms=None)), tmp_path / "bench.json")


# The command.


class Fake:
    """A part that takes no time."""

    __doc__ = "A part."

    @staticmethod
    def rows(device):
        return [row("a", device=f"{device.upper()}: here")]


@pytest.fixture
def here(monkeypatch, tmp_path):
    monkeypatch.setattr(bench, "MODULES", {"fake": Fake})
    monkeypatch.setattr(bench, "OUT", tmp_path / "_build" / "bench.json")
    monkeypatch.setattr(table, "PATH", tmp_path / "bench.json")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    return tmp_path


def test_the_command_stores_its_measurements(here, capsys):
    assert bench.main() == 0
    assert table.read(here / "_build" / "bench.json")["rows"][0]["what"] == "a"
    assert not (here / "bench.json").exists()
    table.write(
        made(row("z", device="GPU: G"), row("old", device="CPU: here")), here / "bench.json"
    )
    assert bench.main(keep=True) == 0
    stored = table.read(here / "bench.json")
    assert [(r["what"], r["device"]) for r in stored["rows"]] == [
        ("z", "GPU: G"),
        ("a", "CPU: here"),
    ]
    text = capsys.readouterr().out
    assert "replaces the rows of CPU: here, measured 2026-01-01" in text
    assert "leaves the rows of GPU: G" in text
    assert {"load", "cpus", "torch"} <= set(stored["provenance"]["CPU: here"])


def test_damaged_tables_raise_an_error_before_measuring(here, monkeypatch):
    (here / "bench.json").write_text("{")
    monkeypatch.setattr(Fake, "rows", staticmethod(lambda device: pytest.fail("measured")))
    with pytest.raises(ValueError, match="not a JSON file"):
        bench.main(keep=True)


def test_partial_measurements_are_not_stored(here):
    assert bench.main(["fake"]) == 0
    assert not (here / "_build").exists()
    with pytest.raises(ValueError, match="stores the whole table"):
        bench.main(["fake"], keep=True)


def test_missing_pages_are_reported_and_skipped(tmp_path, capsys):
    assert pages.rows("cpu", tmp_path) == []
    assert "Not measured: this needs" in capsys.readouterr().out


# What is timed is right.


@pytest.mark.parametrize("kind", norm.AXIS)
def test_handwritten_formulas_equal_the_library(kind):
    rng = np.random.default_rng(0)
    dy, x = rng.normal(2, 3, size=(2, 7, 5))
    gain, bias = rng.normal(size=(2, 5))
    given = (gain,) if kind == "RMSNorm" else (gain, bias)
    forward, backward = norm.OURS[kind]
    np.testing.assert_allclose(norm.obvious(kind, x, gain, bias), forward(x, *given), atol=EXACT)
    typed = norm.obvious_backward(kind, dy, x, gain)
    for a, b in zip(backward(dy, x, gain), typed, strict=False):
        np.testing.assert_allclose(a, b, atol=EXACT)


@pytest.mark.parametrize(("kind", "module"), [("LSTM", LayerNormLSTM), ("GRU", LayerNormGRU)])
def test_handwritten_loops_compute_the_same(kind, module):
    torch.manual_seed(0)
    cell = module(4, 4, implementation="plain").double()
    with torch.no_grad():
        for p in cell.parameters():
            p.normal_()
    x = torch.randn(5, 3, 4, dtype=torch.float64)
    torch.testing.assert_close(rnn.INDEXED[kind](cell, x), cell(x)[0], rtol=0, atol=EXACT)


def test_loops_without_norms_equal_pytorch():
    x = torch.randn(5, 3, 4)
    loops = rnn.with_and_without(4)
    for (kind, path), ((ours, with_), (bare, without)) in loops.items():
        assert not torch.allclose(with_(x), without(x)), (kind, path)
        if (kind, path) == ("LSTM", "lnlib.nn, compiled"):
            assert (ours.form, bare.form) == ("paper", "draw")
            continue
        if kind == "RNN":
            torch.testing.assert_close(without(x), bare(x)[0])
            continue
        theirs = torch.nn.LSTM(4, 4)
        with torch.no_grad():
            theirs.weight_ih_l0.copy_(bare.weight_ih_l0)
            theirs.weight_hh_l0.copy_(bare.weight_hh_l0)
            theirs.bias_ih_l0.copy_(bare.bias_l0)
            theirs.bias_hh_l0.zero_()
        torch.testing.assert_close(without(x), theirs(x)[0])


@pytest.mark.parametrize("kind", rnn.OURS)
def test_matrix_products_equal_those_of_the_module(kind, monkeypatch):
    T, B, H, inputs = 6, 3, 5, 4
    x = torch.randn(T, B, inputs)
    plain, outputs = rnn.make(kind, "plain", inputs, H, "cpu")
    step = 2 * B * rnn.GATES[kind] * H * H  # backward the first step's state needs no gradient

    by_numpy, matmul = [], np.matmul

    def counted(a, b, out):
        by_numpy.append(2 * len(a) * b.size)
        return matmul(a, b, out=out)

    def count(call):
        by_numpy.clear()
        with FlopCounterMode(display=False) as counter:
            call()
        return counter.get_total_flops() + sum(by_numpy)

    monkeypatch.setattr(np, "matmul", counted)
    forward = count(lambda: outputs(x))
    both = count(lambda: outputs(x).sum().backward())
    ways = rnn.products(kind, x, H)
    assert [count(way) for way in ways["forward"]] == [forward] * 3
    assert [count(way) for way in ways["forward + backward"]] == [both + step] * 3
    assert plain.weight_hh_l0.grad is not None


def test_the_synchronized_norm_of_one_process_is_batch_norm():
    x, dy = torch.randn(2, 9, 4, dtype=torch.float64)
    weight, bias = torch.randn(2, 4, dtype=torch.float64)
    leaves = [t.clone().requires_grad_() for t in (x, weight, bias)]
    y = exchange.Synchronized.apply(*leaves, False)
    ours = torch.autograd.grad(y, leaves, dy)
    expected = F.batch_norm(leaves[0], None, None, *leaves[1:], training=True, eps=exchange.EPS)
    torch.testing.assert_close(y, expected, rtol=0, atol=EXACT)
    for a, b in zip(ours, torch.autograd.grad(expected, leaves, dy), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-11)


@pytest.mark.slow
def test_two_processes_agree_with_one():
    result = exchange.measure(rounds=1)
    assert 0 < result["error"] < EXACT
    assert {f"exchange {w}" for w in exchange.WIDTHS} <= set(result)


def test_failures_of_a_process_are_reported(monkeypatch):
    monkeypatch.setattr(exchange.sys, "executable", shutil.which("false"))
    with pytest.raises(RuntimeError, match="a process failed"):
        exchange.measure(rounds=1)


def test_communicated_bytes_equal_the_formula(monkeypatch):
    sent = []
    monkeypatch.setattr(exchange, "gather", lambda own: sent.append(own) or torch.stack([own] * 2))
    monkeypatch.setattr(exchange.dist, "all_reduce", lambda both: sent.append(both))
    calls = exchange.calls(100)
    calls["exchange"]()
    assert sum(t.numel() * t.element_size() for t in sent) == exchange.sent_bytes(100)
    sent.clear()
    calls["alone"](), calls["layer"]()
    assert sent == []
