"""LSTM and GRU: figures compared with PyTorch, loops and synthetic records."""

import itertools
from statistics import fmean

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from lnbook.chapters.lstm_gru import cell_variants, figures, gates, ink, learning_curves
from lnlab.comparison import UNTESTABLE
from lnlib import cells
from tests.cases.cells import H, make
from tests.cases.drawn import check_band, lines
from tests.cases.oracle import by_seed, parsed
from tests.cases.protocol import Answer, end, holm, key, outcome, reason, to_targets

EPOCHS = (0.0, 0.5, 1.0, 2.0, 3.0, 4.0)
CELLS, STEPS = {"lstm": "LSTM", "gru": "GRU", "rnn": "simple RNN"}, ("row", "pixel")
SEEDS = {"layer": (*range(12)[::-1],), "none": (*range(2, 13),)}
LABELS = {"layer": "layer norm", "none": "no norm"}


def records():
    rng, result = np.random.default_rng(3), []
    kinds = [("layer", 1.0), ("none", 1.0)]
    for cell, step, (norm, gain) in [*itertools.product(CELLS, STEPS, kinds),
                                     ("lstm", "row", ("layer", 0.1))]:  # fmt: skip
        fall = 0.3 if (cell, step) == ("gru", "row") else rng.uniform(1.5, 5)
        for seed in SEEDS[norm] if step == "row" or norm == "none" else (2, 3, 4):
            curves = {"epoch": list(EPOCHS)} | {
                name: list(scale * (np.exp(-fall * np.array(EPOCHS)) + 0.1 * rng.uniform(size=6)))
                for name, scale in (("train_nll", 1), ("test_error", 0.3))
            }
            settings = {"cell": cell, "step": step, "norm": norm, "gain": gain,
                        "learning_rate": 0.01}  # fmt: skip
            result.append({"settings": settings, "seed": seed, "curves": curves})
    return result


RECORDS = records()


def runs(cell, step, norm, gain=1.0):
    return by_seed(RECORDS, cell=cell, step=step, norm=norm, gain=gain)


def value(run, name, epoch):
    at = max(k for k, e in enumerate(EPOCHS) if e <= epoch)
    return (100 if name == "test_error" else 1) * run["curves"][name][at]


def test_labels_of_updates_and_final_errors_are_corrected_for_the_table():
    expected = [(cell, step, 1.0) for step in STEPS for cell in CELLS] + [("lstm", "row", 0.1)]
    results = []
    for cell, step, gain in expected:
        arms = runs(cell, step, "none"), runs(cell, step, "layer", gain)
        of = to_targets(*arms, lambda r: r["curves"]["train_nll"], lambda r: r["curves"]["epoch"])
        none, layer = (
            {s: end([100 * v for v in r["curves"]["test_error"]]) for s, r in arm.items()}
            for arm in arms
        )
        both = sorted(none.keys() & layer.keys())
        why = reason(arms, lambda r: r["curves"]["test_error"], lambda r: r["curves"]["epoch"])
        last = Answer([layer[s] - none[s] for s in both], "", untestable=why)
        results.append((of, last, [fmean(errors[s] for s in both) for errors in (layer, none)]))
    every = [one for of, last, _ in results for one in [*of, last]]
    for k, one in enumerate(every):
        one.what = str(k)
    p = holm(every)
    table = learning_curves.comparison(learning_curves.SequentialDigitRuns(RECORDS))
    assert parsed(table.caption) == [3, 10, len(p)]
    seen = set()
    for row, (of, last, means) in zip(table.rows, results, strict=True):
        *labels, at_end = (outcome(one, p.get(key(one))) for one in [*of, last])
        seen |= {*labels, at_end}
        assert row[3].endswith(at_end)
        np.testing.assert_allclose(parsed(row[4]), means, atol=0.051)
        if labels[0].startswith(UNTESTABLE):
            assert (row[1], row[2]) == (labels[0], "–")
            continue
        if len(set(labels)) == 1 or "undecided" in labels:
            assert row[1].endswith(labels[0] if len(set(labels)) == 1 else "undecided")
        ratios = [100 * fmean(one.shares) + 100 for one in of]
        np.testing.assert_allclose(parsed(row[2]), ratios, atol=0.51)
    assert {"supported", "contradicted", "undecided"} < seen


def test_drawn_gates_equal_those_of_the_cell():
    params, x, h, _ = make("lstm", "paper")
    c = np.linspace(-1, 1, H)
    shown = gates.draw_squash(x[0], h[0], params, 1.0)[1]
    i, f, g, o = (np.array(t.y) for t in shown.data if t.name)
    new = f * c + i * g
    h_new, c_new = cells.lstm_step(x[:1], (h[:1], c[None]), params)
    assert np.allclose(new, c_new[0], atol=1e-12)
    cell = F.layer_norm(
        torch.tensor(new), (H,), *map(torch.tensor, (params["gain_c"], params["bias_c"]))
    )
    assert np.allclose(o * np.tanh(cell.numpy()), h_new[0], atol=1e-12)


@pytest.mark.parametrize("start", ["zero", "nonzero"])
@pytest.mark.parametrize("form", cell_variants.FORMS)
def test_outputs_equal_those_of_a_loop_in_pytorch(form, start):
    params, xs, (h, c) = cell_variants.drawn_weights(8)
    gain = 2.0
    W_ih, W_hh, xs, h, c = map(torch.tensor, (params["W_ih"], params["W_hh"], xs, h, c))
    if start == "zero":
        h, c = torch.zeros_like(h), torch.zeros_like(c)
    for t, x in enumerate(xs[:5]):
        from_x, from_h = x @ W_ih.T, h @ W_hh.T
        if form == "per_gate":
            a = gain * F.layer_norm((from_x + from_h).reshape(1, 4, 8), (8,))
        else:
            a = gain * (F.layer_norm(from_x, (32,)) + F.layer_norm(from_h, (32,)))
        i, f, g, o = a.reshape(4, 1, 8)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        normalized = gain * F.layer_norm(c, (8,))
        h = o.sigmoid() * normalized.tanh()
        c = normalized if form == "carried" else c
        assert np.allclose(figures.outputs(8, gain, start, form)[t], h[0], atol=1e-12)


@pytest.mark.parametrize(("gain", "bias"), [(0.1, 1.0), (0.0, 1.0)])
def test_initial_gradients_equal_those_of_autograd(gain, bias):
    params, xs, v, _ = make("lstm", "paper")
    v = v[0]
    p = {name: torch.tensor(w).requires_grad_() for name, w in params.items()}
    norms = {
        place: [torch.full((n,), v, dtype=torch.float64).requires_grad_() for v in (gain, bias)]
        for place, n in (("i", 4 * H), ("h", 4 * H), ("c", H))
    }
    h = c = torch.zeros(1, H, dtype=torch.float64)
    for x in torch.tensor(xs):
        a = F.layer_norm(x @ p["W_ih"].T, (4 * H,), *norms["i"])
        a = a + F.layer_norm(h @ p["W_hh"].T, (4 * H,), *norms["h"])
        i, f, g, o = a.chunk(4, dim=1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * F.layer_norm(c, (H,), *norms["c"]).tanh()
    (h * torch.tensor(v)).sum().backward()
    started = figures.InitialStatistics(xs, params, v)
    result = started.at(gain, bias)
    assert np.allclose(result["h"], h[0].detach(), atol=1e-12)
    for name in started.weights:
        assert np.allclose(result[name], p[name].grad, atol=1e-9)
    for place, (weight, _) in norms.items():
        assert np.allclose(result[f"gain_{place}"], weight.grad, atol=1e-9)


def test_the_norm_of_one_pixel_equals_pytorchs_and_does_not_depend_on_its_value():
    for amount in (0.25, 1.0):
        from_x = torch.tensor(ink.W_X * amount)
        after = F.layer_norm(from_x, (ink.ROWS,))
        summed = F.layer_norm(from_x + torch.tensor(ink.FROM_H), (ink.ROWS,))
        assert np.allclose(figures.parts(amount), np.stack([from_x, after, summed]), atol=1e-12)
    first, second = figures.parts(0.25), figures.parts(1.0)
    assert np.allclose(first[1], second[1], atol=1e-3)  # not exact because of eps
    assert np.abs(first[2] - second[2]).max() > 0.1


def test_correct_cells_have_no_error_and_mistakes_are_detected_as_in_the_table():
    assert not figures.seen(cells.lstm_step, "nonzero").any()
    rows = {row[0]: row[1:] for row in figures.mistakes().rows}
    assert {row[0] for row in rows.values()} == {"0"}
    assert all("0" not in (row[2], row[3]) for row in rows.values())


@pytest.mark.parametrize("epoch", [0.7, 9.0])
@pytest.mark.parametrize("cell", CELLS)
def test_learning_curves_have_their_range_and_a_dot_at_the_cursor(cell, epoch):
    learned = learning_curves.SequentialDigitRuns(RECORDS)
    figures = learning_curves.draw_learned(learned, epoch, cell, "row")
    floors = {"train_nll": 7e-5, "test_error": 0.4}  # lower ends of the axes
    for (name, floor), figure in zip(floors.items(), figures, strict=True):
        means = []
        for norm, label in LABELS.items():
            of = runs(cell, "row", norm)
            rows = [[max(value(r, name, e), floor) for e in EPOCHS] for r in of.values()]
            check_band(lines(figure)[label], EPOCHS, rows)
            means.append(max(floor, fmean(value(r, name, epoch) for r in of.values())))
        dots = [(t.x[0], t.y[0]) for t in figure.data if t.mode == "markers"]
        np.testing.assert_allclose(dots, [(min(epoch, 4.0), mean) for mean in means])
