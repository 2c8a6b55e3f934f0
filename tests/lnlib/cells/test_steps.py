"""The steps and their gradients: against the equations, PyTorch and central differences."""

import numpy as np
import pytest
import torch
from torch import nn

from lnlib.cells import RecurrentBatchNorm, gru_step, lstm_step, rnn_step
from tests.cases.cells import (
    DIFFERENCE,
    EACH,
    EXACT,
    FORMS,
    GATES,
    LN,
    B,
    H,
    I,
    back,
    each,
    make,
    places,
    sigmoid,
    step,
)

# Against the equations, copied.


def test_rnn_is_eq_4():
    p, x, h, _ = make("rnn", "paper")
    a = x @ p["W_ih"].T + h @ p["W_hh"].T
    expected = np.tanh(LN(a, p["gain_s"], p["bias_s"]))
    np.testing.assert_allclose(rnn_step(x, h, p), expected, rtol=EXACT)


@pytest.mark.parametrize("form", ["paper", "carried", "per_gate", "draw"])
def test_lstm_is_eqs_20_to_22_and_29_to_31(form):
    p, x, h, c = make("lstm", form)
    a_x, a_h = x @ p["W_ih"].T, h @ p["W_hh"].T
    if form == "draw":
        a = a_x + a_h + p["b"]
    elif form == "per_gate":
        s = a_x + a_h + p["b"]
        a = [
            LN(s[:, k], p["gain_s"][k], p["bias_s"][k])
            for k in (slice(g * H, g * H + H) for g in range(4))
        ]
        a = np.concatenate(a, axis=1)
    else:
        a = LN(a_h, p["gain_h"], p["bias_h"]) + LN(a_x, p["gain_i"], p["bias_i"]) + p["b"]
    i, f, g, o = (a[:, k * H : k * H + H] for k in range(4))
    new = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    normalized = LN(new, p["gain_c"], p["bias_c"])
    expected = sigmoid(o) * np.tanh(normalized), normalized if form == "carried" else new
    np.testing.assert_allclose(lstm_step(x, (h, c), p, form=form), expected, rtol=1e-11)


def test_gru_is_eqs_26_to_28():
    p, x, h, _ = make("gru", "paper")
    a_x, a_h = x @ p["W_ih"].T, h @ p["W_hh"].T
    rz = LN(a_h[:, : 2 * H], p["gain_h"], p["bias_h"]) + LN(
        a_x[:, : 2 * H], p["gain_i"], p["bias_i"]
    )
    r, z = rz[:, :H], rz[:, H:]
    candidate = np.tanh(
        LN(a_x[:, 2 * H :], p["gain_in"], p["bias_in"])
        + sigmoid(r) * LN(a_h[:, 2 * H :], p["gain_hn"], p["bias_hn"])
    )
    expected = (1 - sigmoid(z)) * h + sigmoid(z) * candidate
    np.testing.assert_allclose(gru_step(x, h, p), expected, rtol=1e-11)


# Against PyTorch.


@pytest.mark.parametrize(("cell", "kind"), [("rnn", nn.RNNCell), ("lstm", nn.LSTMCell)])
def test_plain_cells_are_those_of_torch(cell, kind):
    p, x, h, c = make(cell, "plain")
    theirs = kind(I, H, dtype=torch.float64)
    load(theirs, p["W_ih"], p["W_hh"], p["b"])
    state = tuple(map(torch.from_numpy, (h, c)))
    out = theirs(torch.from_numpy(x), state if cell == "lstm" else state[0])
    expected = torch.cat(out, 1) if cell == "lstm" else out
    actual = step(cell, "plain", p, x, h, c)
    np.testing.assert_allclose(actual, expected.detach().numpy(), rtol=1e-11, atol=1e-14)


def test_plain_gru_is_that_of_torch_with_the_sign_of_z_turned():
    p, x, h, c = make("gru", "plain")
    theirs = nn.GRUCell(I, H, dtype=torch.float64)
    sign = np.repeat([1.0, -1.0, 1.0], H)
    load(theirs, sign[:, None] * p["W_ih"], sign[:, None] * p["W_hh"], sign * p["b"])
    expected = theirs(torch.from_numpy(x), torch.from_numpy(h)).detach().numpy()
    np.testing.assert_allclose(step("gru", "plain", p, x, h, c), expected, rtol=1e-11, atol=1e-14)


def load(module, W_ih, W_hh, b):
    with torch.no_grad():
        for name, a in {
            "weight_ih": W_ih,
            "weight_hh": W_hh,
            "bias_ih": b,
            "bias_hh": 0 * b,
        }.items():
            getattr(module, name).copy_(torch.from_numpy(a))


# The way back.


@each
@pytest.mark.parametrize("given", [True, False], ids=["all parameters", "weights alone"])
def test_gradients_match_central_differences(cell, form, given):
    params, x, h, c = make(cell, form)
    if not given:
        params = {name: params[name] for name in ("W_ih", "W_hh")}
    arguments = {"x": x, "h": h, "c": c} if cell == "lstm" else {"x": x, "h": h}
    d = np.random.default_rng(1).normal(size=step(cell, form, params, x, h, c).shape)
    gradients = back(cell, form, params, x, h, c, d)
    assert gradients.keys() == {**arguments, **params}.keys()
    for name, a in {**arguments, **params}.items():
        np.testing.assert_allclose(
            gradients[name],
            differences(lambda: (d * step(cell, form, params, x, h, c)).sum(), a),
            rtol=DIFFERENCE,
            atol=DIFFERENCE,
            err_msg=name,
        )


def differences(loss, a, width=1e-6):
    """Differentiate ``loss()`` in each number of ``a``, which is moved in place and put back."""
    gradient = np.empty_like(a)
    for k in np.ndindex(a.shape):
        kept = a[k]
        a[k] = kept + width
        above = loss()
        a[k] = kept - width
        gradient[k] = (above - loss()) / (2 * width)
        a[k] = kept
    return gradient


@pytest.mark.parametrize("nonlinearity", ["tanh", "relu", "identity"])
def test_rnn_gradients_follow_the_nonlinearity(nonlinearity):
    params, x, h, c = make("rnn", "paper")
    d = np.random.default_rng(1).normal(size=(B, H))
    gradients = back("rnn", "paper", params, x, h, c, d, nonlinearity=nonlinearity)
    expected = differences(
        lambda: (d * rnn_step(x, h, params, nonlinearity=nonlinearity)).sum(), params["W_hh"]
    )
    np.testing.assert_allclose(gradients["W_hh"], expected, rtol=DIFFERENCE, atol=DIFFERENCE)


@pytest.mark.parametrize("cell", list(FORMS))
def test_gradients_through_given_statistics_match_differences(cell):
    params, x, h, c = make(cell, "batch")
    statistics = RecurrentBatchNorm()
    step(cell, "batch", params, *(1.5 * a for a in (x, h, c)), batch_norm=statistics.at(0))
    at = statistics.at(0, training=False)
    d = np.random.default_rng(1).normal(size=step(cell, "batch", params, x, h, c).shape)
    gradients = back(cell, "batch", params, x, h, c, d, batch_norm=at)
    expected = differences(
        lambda: (d * step(cell, "batch", params, x, h, c, batch_norm=at)).sum(), h
    )
    np.testing.assert_allclose(gradients["h"], expected, rtol=DIFFERENCE, atol=DIFFERENCE)


@each
def test_arguments_stay_as_they_are(cell, form):
    params, x, h, c = make(cell, form)
    before = [a.copy() for a in (x, h, c, *params.values())]
    out = step(cell, form, params, x, h, c)
    back(cell, form, params, x, h, c, np.ones_like(out))
    for a, kept in zip((x, h, c, *params.values()), before, strict=True):
        np.testing.assert_array_equal(a, kept)


# Every setting at an odd value, against the same formulas with PyTorch's norms.


def torch_step(cell, form, p, x, h, c, f=torch.tanh, eps=0.3, given=None):
    """Take a step by the equations; ``given`` are the statistics of batch norm by place."""
    F = torch.nn.functional

    def norm(place, z):
        if place not in places(cell, form):
            return z
        gain, bias = p[f"gain_{place}"], p[f"bias_{place}"]
        if form == "batch":
            mean, var = given[place] if given else (None, None)
            return F.batch_norm(z, mean, var, gain, bias, training=given is None, eps=eps)
        if place == "s" and cell == "lstm":
            return F.group_norm(z, 4, gain, bias, eps)
        return F.layer_norm(z, z.shape[-1:], gain, bias, eps)

    a_x, a_h, b = x @ p["W_ih"].T, h @ p["W_hh"].T, p.get("b", torch.zeros(GATES[cell] * H))
    if cell == "rnn":
        return f(norm("s", a_x + a_h) if form == "paper" else norm("i", a_x) + norm("h", a_h) + b)
    if cell == "lstm":
        gates = norm("i", a_x) + norm("h", a_h) + b
        i, f, g, o = (norm("s", gates) if form == "per_gate" else gates).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        normalized = norm("c", c)
        carried = normalized if form == "carried" else c
        return torch.cat([o.sigmoid() * normalized.tanh(), carried], 1)
    k = 2 * H
    r, z = (norm("i", a_x[:, :k]) + norm("h", a_h[:, :k]) + b[:k]).sigmoid().chunk(2, 1)
    n = (norm("in", a_x[:, k:]) + b[k:] + r * norm("hn", a_h[:, k:])).tanh()
    return (1 - z) * h + z * n


ODD = [(cell, form, {}) for cell, form in EACH] + [
    ("rnn", form, {"nonlinearity": name})
    for form in FORMS["rnn"]
    for name in ("relu", "identity", "tanh")
]


@pytest.mark.parametrize(
    ("cell", "form", "options"),
    ODD,
    ids=lambda v: v if isinstance(v, str) else "-".join(v.values()),
)
@pytest.mark.parametrize("at_test", [False, True], ids=["", "given statistics"])
def test_every_setting_matters_and_is_right(cell, form, options, at_test):
    params, x, h, c = make(cell, form)
    given, kept = None, {"eps": 0.3}
    if at_test:
        if form != "batch":
            return
        statistics = RecurrentBatchNorm(momentum=0.3)
        for scale in (0.5, 2):
            start = (scale * x, h + scale, c + scale)
            step(cell, form, params, *start, batch_norm=statistics.at(0), **kept)
        kept["batch_norm"] = statistics.at(0, training=False)
        given = {
            place: tuple(torch.from_numpy(s(place, 0)) for s in (statistics.mean, statistics.var))
            for place in places(cell, form)
        }
    names = ["x", "h", "c"][: 3 if cell == "lstm" else 2]
    leaves = {
        name: torch.tensor(a, requires_grad=True)
        for name, a in (dict(zip(names, (x, h, c), strict=False)) | params).items()
    }
    f = {"relu": torch.relu, "identity": lambda a: a}.get(options.get("nonlinearity"), torch.tanh)
    p = {name: leaves[name] for name in params}
    out = torch_step(cell, form, p, leaves["x"], leaves["h"], leaves.get("c"), f, given=given)
    d = np.random.default_rng(1).normal(size=out.shape)
    out.backward(torch.from_numpy(d))
    actual = step(cell, form, params, x, h, c, **options, **kept)
    np.testing.assert_allclose(actual, out.detach().numpy(), rtol=1e-10, atol=1e-12)
    gradients = back(cell, form, params, x, h, c, d, **options, **kept)
    for name, leaf in leaves.items():
        np.testing.assert_allclose(
            gradients[name], leaf.grad.numpy(), rtol=1e-9, atol=1e-11, err_msg=name
        )


@pytest.mark.parametrize("b", [True, False], ids=["b", "no b"])
@each
def test_float32_stays_float32_forwards_and_backwards(cell, form, b):
    params, *arrays = make(cell, form)
    params = {name: a.astype(np.float32) for name, a in params.items() if b or name != "b"}
    x, h, c = (a.astype(np.float32) for a in arrays)
    out = step(cell, form, params, x, h, c)
    gradients = back(cell, form, params, x, h, c, np.ones_like(out))
    assert {name for name, a in gradients.items() if a.dtype != np.float32} == set()
    assert out.dtype == np.float32


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_gates_saturate_without_a_warning(cell):
    params, x, h, c = make(cell, "plain")
    for sign in (1, -1):
        # One number for every gate: 1 lets all of it through, 0 nothing.
        p = {name: 0 * a for name, a in params.items()} | {
            "b": np.full(GATES[cell] * H, sign * 1e4)
        }
        out = step(cell, "plain", p, x, h, c)
        if cell == "gru":
            expected = np.ones_like(h) if sign > 0 else h
        else:
            expected = (np.tanh(c + 1), c + 1) if sign > 0 else (0 * c, 0 * c)
            expected = np.concatenate(expected, 1)
        np.testing.assert_allclose(out, expected, rtol=EXACT, atol=EXACT)


# What the norms do.


def test_rescaling_all_weights_of_the_sum_changes_nothing_in_eq_4():
    p, x, h, _ = make("rnn", "paper")
    scaled = p | {"W_ih": 7 * p["W_ih"], "W_hh": 7 * p["W_hh"]}
    np.testing.assert_allclose(
        rnn_step(x, h, scaled, eps=0), rnn_step(x, h, p, eps=0), rtol=EXACT, atol=EXACT
    )
    alone = p | {"W_hh": 7 * p["W_hh"]}
    assert np.abs(rnn_step(x, h, alone, eps=0) - rnn_step(x, h, p, eps=0)).max() > 0.1


@pytest.mark.parametrize(("cell", "form"), [("rnn", "parts"), ("lstm", "paper"), ("gru", "paper")])
@pytest.mark.parametrize("weight", ["W_ih", "W_hh"])
def test_normalized_parts_remove_the_scale_of_either_weight(cell, form, weight):
    # In a GRU the candidate has norms of its own.
    factor = np.repeat([7.0, 7.0, 3.0], H)[:, None] if cell == "gru" else 7.0
    p, x, h, c = make(cell, form)
    scaled = p | {weight: factor * p[weight]}
    np.testing.assert_allclose(
        step(cell, form, scaled, x, h, c, eps=0),
        step(cell, form, p, x, h, c, eps=0),
        rtol=1e-11,
        atol=1e-11,
    )


def test_the_three_lstms_part_although_their_weights_are_the_same():
    p, x, h, c = make("lstm", "paper")
    sums = {"W_ih", "W_hh"}
    bare = {name: a for name, a in p.items() if name in sums}
    end = {}
    for form in ("paper", "carried", "per_gate"):
        state = h, c
        for _ in range(3):
            state = lstm_step(x, state, bare, form=form)
        end[form] = state[0]
    assert np.abs(end["paper"] - end["carried"]).max() > 0.1
    assert np.abs(end["paper"] - end["per_gate"]).max() > 0.1


def test_gain_0_makes_the_output_a_constant_and_kills_the_gradient_of_the_weights():
    p, x, h, c = make("lstm", "paper")
    dead = p | {f"gain_{place}": 0 * p[f"gain_{place}"] for place in "ihc"}
    out = lstm_step(x, (h, c), dead)[0]
    assert np.ptp(out - lstm_step(2 * x, (-h, c), dead)[0]) == 0
    gradients = back("lstm", "paper", dead, x, h, c, np.ones((B, 2 * H)))
    assert not gradients["W_ih"].any()
    assert not gradients["W_hh"].any()


def test_no_example_sees_another_under_layer_norm():
    for cell, form in [("rnn", "paper"), ("lstm", "paper"), ("gru", "paper")]:
        p, x, h, c = make(cell, form)
        other = x.copy()
        other[1:] += 3
        np.testing.assert_array_equal(
            step(cell, form, p, other, h, c)[0], step(cell, form, p, x, h, c)[0]
        )
