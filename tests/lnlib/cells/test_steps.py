"""Cell steps and their gradients, compared with the same formulas in PyTorch."""

import numpy as np
import pytest
import torch

from lnlib.cells import RecurrentBatchNorm
from tests.cases.cells import (
    EACH,
    EXACT,
    FORMS,
    GATES,
    H,
    backward,
    each,
    make,
    places,
    step,
)

# Backward steps.


@each
def test_missing_gains_and_biases_are_1_and_0_without_gradients(cell, form):
    params, x, h, c = make(cell, form)
    bare = {name: params[name] for name in ("W_ih", "W_hh")}
    full = {n: bare.get(n, np.full_like(a, n.startswith("gain"))) for n, a in params.items()}
    out = step(cell, form, bare, x, h, c)
    np.testing.assert_allclose(out, step(cell, form, full, x, h, c), rtol=EXACT, atol=EXACT)
    d = np.random.default_rng(1).normal(size=out.shape)
    ours, expected = (backward(cell, form, p, x, h, c, d) for p in (bare, full))
    assert ours.keys() == expected.keys() - (full.keys() - bare.keys())
    for name, gradient in ours.items():
        np.testing.assert_allclose(gradient, expected[name], rtol=1e-10, atol=EXACT, err_msg=name)


# Settings that are not the defaults, compared with the same formulas with PyTorch's norms.


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


NON_DEFAULT = [(cell, form, {}) for cell, form in EACH] + [
    ("rnn", form, {"nonlinearity": name})
    for form in FORMS["rnn"]
    for name in ("relu", "identity", "tanh")
]


@pytest.mark.parametrize(
    ("cell", "form", "options"),
    NON_DEFAULT,
    ids=lambda v: v if isinstance(v, str) else "-".join(v.values()),
)
@pytest.mark.parametrize("at_test", [False, True], ids=["", "given statistics"])
def test_every_setting_acts_as_in_pytorch(cell, form, options, at_test):
    params, x, h, c = make(cell, form)
    given, saved = None, {"eps": 0.3}
    if at_test:
        if form != "batch":
            return
        statistics = RecurrentBatchNorm(momentum=0.3)
        for scale in (0.5, 2):
            start = (scale * x, h + scale, c + scale)
            step(cell, form, params, *start, batch_norm=statistics.at(0), **saved)
        saved["batch_norm"] = statistics.at(0, training=False)
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
    actual = step(cell, form, params, x, h, c, **options, **saved)
    np.testing.assert_allclose(actual, out.detach().numpy(), rtol=1e-10, atol=1e-12)
    gradients = backward(cell, form, params, x, h, c, d, **options, **saved)
    for name, leaf in leaves.items():
        np.testing.assert_allclose(
            gradients[name], leaf.grad.numpy(), rtol=1e-9, atol=1e-11, err_msg=name
        )


@pytest.mark.parametrize("b", [True, False], ids=["b", "no b"])
@each
def test_float32_is_preserved_and_arguments_are_not_modified(cell, form, b):
    params, *arrays = make(cell, form)
    params = {name: a.astype(np.float32) for name, a in params.items() if b or name != "b"}
    x, h, c = (a.astype(np.float32) for a in arrays)
    for a in (x, h, c, *params.values()):
        a.flags.writeable = False
    out = step(cell, form, params, x, h, c)
    gradients = backward(cell, form, params, x, h, c, np.ones_like(out))
    assert {name for name, a in gradients.items() if a.dtype != np.float32} == set()
    assert out.dtype == np.float32
