"""The chapter lstm_gru: its figures, beside PyTorch, loops and numbers of their own."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from lnbook.chapters.lstm_gru import cell_variants, figures, gates, ink, lstm
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


@pytest.mark.parametrize("start", ["zero", "nonzero"])
@pytest.mark.parametrize("form", cell_variants.FORMS)
def test_outputs_are_those_of_a_loop_in_pytorch(form, start):
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
    return figures.InitialStatistics(rng.normal(size=(3, INPUTS)), params, rng.normal(size=H))


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
    assert f"that of LN(Wₓx) is {second[1].std():.2f}" in ink.describe_ink(1.0)


def test_a_right_cell_shows_no_error_and_a_mistake_shows_where_the_table_says():
    right = figures.seen(cells.lstm_step, "nonzero")
    assert not right.any()
    rows = {row[0]: row[1:] for row in figures.mistakes().rows}
    assert {row[0] for row in rows.values()} == {"0"}
    assert [name for name, row in rows.items() if row[1] == "0"] == [
        "the normalized cell is carried to the next step"
    ]
    assert all("0" not in (row[2], row[3]) for row in rows.values())
