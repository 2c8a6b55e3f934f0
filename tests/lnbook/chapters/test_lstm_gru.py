"""The chapter lstm_gru: its figures, beside PyTorch, loops and numbers of their own."""

import copy

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from lnbook.chapters.lstm_gru import figures, gates, ink, lstm, versions
from lnbook.figures.plots import GATES
from lnlib import cells

H, INPUTS = 6, 4


@pytest.fixture
def drawn():
    """One input, a state h, weights with their gains and biases."""
    rng = np.random.default_rng(3)
    params = {
        "W_ih": rng.normal(size=(4 * H, INPUTS)),
        "W_hh": rng.normal(size=(4 * H, H)),
        "b": rng.normal(size=4 * H),
    }
    for place, n in (("i", 4 * H), ("h", 4 * H), ("c", H)):
        params[f"gain_{place}"], params[f"bias_{place}"] = rng.normal([[1.0], [0.0]], size=(2, n))
    return rng.normal(size=INPUTS), rng.normal(size=H), params


def in_torch(x, h, params, form):
    """The summed inputs by PyTorch, (4, H)."""
    p = {name: torch.tensor(value) for name, value in params.items()}
    from_x, from_h = p["W_ih"] @ torch.tensor(x), p["W_hh"] @ torch.tensor(h)
    if form == "paper":
        a = F.layer_norm(from_x, (4 * H,), p["gain_i"], p["bias_i"])
        a = a + F.layer_norm(from_h, (4 * H,), p["gain_h"], p["bias_h"]) + p["b"]
    else:
        a = from_x + from_h + p["b"]
    a = a.reshape(4, H)
    return F.layer_norm(a, (H,)) if form == "per_gate" else a


@pytest.mark.parametrize("form", ["plain", "paper", "per_gate"])
def test_summed_inputs_are_those_of_pytorch(drawn, form):
    got = lstm.summed_inputs(*drawn, form)
    assert np.allclose(got, in_torch(*drawn, form), atol=1e-12)


def test_the_gates_drawn_are_those_of_the_cell(drawn):
    x, h, params = drawn
    c = np.linspace(-1, 1, H)
    i, f, g, o = (np.array(t.y) for t in gates.draw_squash(x, h, params, 1.0)[1].data if t.name)
    new = f * c + i * g
    h_new, c_new = cells.lstm_step(x[None], (h[None], c[None]), params)
    assert np.allclose(new, c_new[0], atol=1e-12)
    cell = F.layer_norm(
        torch.tensor(new), (H,), *map(torch.tensor, (params["gain_c"], params["bias_c"]))
    )
    assert np.allclose(o * np.tanh(cell.numpy()), h_new[0], atol=1e-12)


def test_a_point_lies_on_its_curve_and_within_the_axis(drawn):
    for figure in gates.draw_squash(*drawn, 16.0):
        low, high = figure.layout.xaxis.range
        for trace in figure.data:
            if trace.name:
                assert np.all((low < np.array(trace.x)) & (np.array(trace.x) < high))
        names = [trace.name for trace in figure.data if trace.name]
        assert names == [name for name, *_ in GATES.values()]


def test_the_scale_moves_the_gates_without_a_norm_and_not_with(drawn):
    x, h, params = drawn
    small, large = (gates.draw_squash(x, h, params, s) for s in (1.0, 8.0))
    first = [[np.array(fig.data[2].y) for fig in panels] for panels in (small, large)]
    assert np.abs(first[0][0] - first[1][0]).max() > 0.1
    assert np.abs(first[0][1] - first[1][1]).max() < 1e-4  # not 0: eps


def test_the_sentence_counts_the_flat_gates_by_their_slopes(drawn):
    x, h, params = drawn
    scaled = params | {name: 4 * params[name] for name in ("W_ih", "W_hh")}
    shares = []
    for form in ("plain", "paper"):
        a = in_torch(x, h, scaled, form).requires_grad_()
        squashed = torch.cat([a[:2].sigmoid(), a[2:3].tanh(), a[3:].sigmoid()])
        (slope,) = torch.autograd.grad(squashed.sum(), a)
        steepest = torch.tensor([0.25, 0.25, 1.0, 0.25], dtype=torch.float64)[:, None]
        shares.append(float((slope < 0.2 * steepest).double().mean()))
    assert figures.saturated(x, h, params, 4.0) == shares
    text = gates.describe_squash(x, h, params, 4.0)
    assert f"{shares[0]:.0%} of the gates" in text
    assert f"{shares[1]:.0%} with layer norm" in text


def bare(params):
    return {name: params[name] for name in ("W_ih", "W_hh")}


@pytest.mark.parametrize("factor", [0.25, 1.0, 4.0])
def test_a_norm_for_each_gate_spreads_all_the_same_and_the_joint_norm_keeps_the_loud(drawn, factor):
    x, h, params = drawn
    params = bare(params)
    louder = {name: value.copy() for name, value in params.items()}
    for value in louder.values():
        value[H : 2 * H] *= factor
    plain = (louder["W_ih"] @ x + louder["W_hh"] @ h).reshape(4, H)
    assert np.allclose(figures.spreads(x, h, params, factor, "plain"), plain.std(axis=1))
    assert np.allclose(figures.spreads(x, h, params, factor, "per_gate"), 1, atol=1e-3)
    joint = figures.spreads(x, h, params, factor, "paper")
    same = figures.spreads(x, h, params, 1.0, "paper")
    # Each of the two parts is scaled as a whole, so the ratio of the others stays near what it was.
    assert joint[1] / joint[0] == pytest.approx(factor * same[1] / same[0], rel=0.3)
    figure = gates.draw_spread(x, h, params, factor)
    assert [trace.y[1] for trace in figure.data] == pytest.approx(joint)
    assert f"{joint[1] / joint[0]:.2f} times with one joint norm" in gates.describe_spread(
        x, h, params, factor
    )


def test_louder_leaves_the_weights_as_they_were(drawn):
    x, h, params = drawn
    before = copy.deepcopy(params)
    gates.draw_spread(x, h, params, 4.0)
    assert all(np.array_equal(params[name], before[name]) for name in params)


@pytest.mark.parametrize("start", ["zero", "nonzero"])
@pytest.mark.parametrize("form", versions.FORMS)
def test_outputs_are_those_of_a_loop_in_pytorch(form, start):
    params, xs, (h, c) = versions.drawn_weights(8)
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


def test_a_right_cell_shows_no_error_and_a_mistake_shows_where_the_table_says():
    right = figures.seen(cells.lstm_step, "nonzero")
    assert not right.any()
    rows = {row[0]: row[1:] for row in figures.mistakes().rows}
    assert {row[0] for row in rows.values()} == {"0"}
    assert [name for name, row in rows.items() if row[1] == "0"] == [
        "the normalized cell is carried to the next step"
    ]
    assert all("0" not in (row[2], row[3]) for row in rows.values())


def test_the_last_lines_of_a_step_are_eqs_21_and_22():
    rng = np.random.default_rng(5)
    a, c = rng.normal(size=(3, 4 * H)), rng.normal(size=(3, H))
    h_new, c_new = figures.finish(a, c)
    i, f, g, o = torch.tensor(a).chunk(4, dim=1)
    cell = f.sigmoid() * torch.tensor(c) + i.sigmoid() * g.tanh()
    assert np.allclose(c_new, cell, atol=1e-12)
    assert np.allclose(h_new, o.sigmoid() * F.layer_norm(cell, (H,)).tanh(), atol=1e-12)


@pytest.fixture
def started(drawn):
    _, _, params = drawn
    rng = np.random.default_rng(4)
    return figures.Started(rng.normal(size=(3, INPUTS)), params, rng.normal(size=H))


@pytest.mark.parametrize(("gain", "bias"), [(1.0, 0.0), (0.1, 1.0), (0.0, 1.0)])
def test_gradients_at_the_start_are_those_of_autograd(started, gain, bias):
    p = {name: torch.tensor(w).requires_grad_() for name, w in started.weights.items()}
    norms = {
        place: [torch.full((n,), v, dtype=torch.float64).requires_grad_() for v in (gain, bias)]
        for place, n in (("i", 4 * H), ("h", 4 * H), ("c", H))
    }
    h = c = torch.zeros(1, H, dtype=torch.float64)
    for x in torch.tensor(started.xs):
        a = F.layer_norm(x @ p["W_ih"].T, (4 * H,), *norms["i"])
        a = a + F.layer_norm(h @ p["W_hh"].T, (4 * H,), *norms["h"])
        i, f, g, o = a.chunk(4, dim=1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * F.layer_norm(c, (H,), *norms["c"]).tanh()
    (h * torch.tensor(started.v)).sum().backward()
    result = started.at(gain, bias)
    assert np.allclose(result["h"], h[0].detach(), atol=1e-12)
    squashed = torch.stack([i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()])[:, 0]
    assert np.allclose(result["gates"], squashed.detach(), atol=1e-12)
    for name, weight in p.items():
        assert np.allclose(result[name], weight.grad, atol=1e-9)
    for place, (weight, _) in norms.items():
        assert np.allclose(result[f"gain_{place}"], weight.grad, atol=1e-9)


def test_the_norm_of_one_pixel_is_that_of_pytorch_and_does_not_depend_on_the_ink():
    for amount in (0.25, 1.0):
        from_x = torch.tensor(ink.W_X * amount)
        after = F.layer_norm(from_x, (ink.ROWS,))
        summed = F.layer_norm(from_x + torch.tensor(ink.FROM_H), (ink.ROWS,))
        assert np.allclose(figures.parts(amount), np.stack([from_x, after, summed]), atol=1e-12)
        panels = ink.draw_ink(amount)
        drawn = [panel.data[0].y for panel in panels]
        assert np.allclose(drawn, figures.parts(amount), atol=1e-4)
        assert np.abs(drawn).max() < panels[0].layout.yaxis.range[1]
    first, second = figures.parts(0.25), figures.parts(1.0)
    assert np.allclose(first[1], second[1], atol=1e-3)  # not exactly: eps
    assert np.abs(first[2] - second[2]).max() > 0.1
    assert f"that of LN(W_x x) is {second[1].std():.2f}" in ink.describe_ink(1.0)


def test_parameters_are_fresh_weights_and_learned_norms():
    p = figures.parameters(3, {"i": 2, "in": 1}, 8, 500, np.random.default_rng(0))
    shapes = {name: value.shape for name, value in p.items()}
    assert shapes == {
        "W_ih": (1500, 8), "W_hh": (1500, 500), "gain_i": (1000,), "bias_i": (1000,),
        "gain_in": (500,), "bias_in": (500,),
    }  # fmt: skip
    assert p["W_ih"].var() * 8 == pytest.approx(1, rel=0.05)
    assert p["W_hh"].var() * 500 == pytest.approx(1, rel=0.05)
    assert p["gain_i"].mean() == pytest.approx(1, abs=0.03)
    assert p["bias_i"].mean() == pytest.approx(0, abs=0.03)
    assert p["gain_i"].std() == pytest.approx(0.2, rel=0.1)


# Records.

EPOCHS = [0.0, 0.5, 1.0, 2.0]


def run(cell, step, norm, seed, nll, error):
    curves = {
        "x": "epoch",
        "epoch": EPOCHS,
        "train_nll": [2.3, nll * 4, nll * 2, nll],
        "test_nll": [2.3, 1.0, 0.5, 0.2],
        "test_error": [0.9, error * 4, error * 2, error],
        "gradient_norm": [None, 1.0, 1.0, 1.0],
    }
    settings = {"cell": cell, "step": step, "norm": norm, "gain": 1.0}
    return {"settings": settings, "seed": seed, "curves": curves}


def records(layer=0.02, none=0.03):
    return [
        run(cell, step, norm, seed, nll=3 * error, error=error + 0.001 * seed)
        for cell in ("lstm", "gru", "rnn")
        for step in ("row", "pixel")
        for norm, error in (("layer", layer), ("none", none))
        for seed in (2, 0, 1)
    ]


def test_runs_from_another_gain_are_a_band_of_their_own_beside_the_same_seeds():
    runs = records()
    for seed in (1, 0):
        runs.append(run("lstm", "row", "layer", seed, nll=0.9, error=0.3))
        runs[-1]["settings"]["gain"] = 0.1
    learned = figures.Learned(runs)
    assert learned.seeds("lstm", "row", "gain 0.1") == [0, 1]
    none, small = learned.arms("lstm", "row", "gain 0.1")
    assert {run["settings"]["norm"] for run in none.runs.values()} == {"none"}
    assert {run["settings"]["gain"] for run in small.runs.values()} == {0.1}
    layer, _ = learned.arms("lstm", "row", "gain 0.1", against="layer")
    assert (list(layer.runs), list(small.runs)) == ([0, 1, 2], [0, 1])
    assert learned.seeds("lstm", "row", "layer") == [0, 1, 2]
    table = figures.comparison(learned)
    assert table.rows[-1][0] == "LSTM, rows, gain 0.1"
    assert "2 or 3 seeds per row" in table.caption


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"norm": "layer", "gain": 0.0, "bias_init": "uniform"}, "gain 0, biases drawn"),
        ({"norm": "layer", "form": "per_gate"}, "one norm per gate"),
        ({"norm": "layer", "form": "draw"}, "draw"),
    ],
    ids=["gain", "form", "draw"],
)
def test_a_band_is_named_by_what_is_unusual_in_it(settings, name):
    other_run = run("lstm", "row", settings["norm"], 0, 0.1, 0.1)
    other_run["settings"].update(settings)
    learned = figures.Learned([*records(), other_run])
    assert learned.others == [("lstm", "row", name)]
    assert learned.curves("lstm", "row", name, "train_nll").shape == (1, 4)
    assert learned.seeds("lstm", "row", "layer") == [0, 1, 2]


def test_records_that_are_no_band_are_refused():
    with pytest.raises(ValueError, match="record them with: make replay"):
        figures.Learned([])
    runs = records()
    runs[0]["settings"]["learning_rate"] = 0.1
    with pytest.raises(ValueError, match="must differ in the seed alone, got different"):
        figures.Learned(runs)
