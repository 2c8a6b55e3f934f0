"""The bench: what its table says and keeps, and that what it times computes what it should."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from bench import exchange, norm, rnn, table
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
