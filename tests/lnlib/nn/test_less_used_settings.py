"""Less used settings and inputs, each against a computation written from the formula."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

import lnlib
from lnlab.experiments.convnet.run import Settings
from lnlab.experiments.convnet.run import norm as convnet_norm
from lnlib.nn import to_fastrnns
from lnlib.transformer import attention_weights
from tests.cases.modules import (
    CELLS,
    EXACT,
    KINDS,
    B,
    H,
    T,
    draw,
    each_form,
    make,
    numpy_params,
    randomize,
    run_numpy,
    start,
    states,
)


@pytest.mark.parametrize("qk_norm", ["layer", "rms"])
def test_attention_weights_take_eps(qk_norm):
    x, eps = draw(5, 4), 0.7
    params = {name: draw(4, 4, seed=k) for k, name in enumerate(("W_q", "W_k", "W_v", "W_o"))}
    normalize = {
        "layer": lambda a: F.layer_norm(a, (4,), eps=eps),
        "rms": lambda a: F.rms_norm(a, (4,), eps=eps),
    }[qk_norm]
    q, k = (normalize(x @ params[name].T) for name in ("W_q", "W_k"))
    later = torch.ones(5, 5, dtype=bool).triu(1)
    expected = (q @ k.T / 2).masked_fill(later, -torch.inf).softmax(-1)
    arrays = {name: p.numpy() for name, p in params.items()}
    ours = attention_weights(x.numpy(), arrays, qk_norm=qk_norm, eps=eps)
    np.testing.assert_allclose(ours, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("one", [False, True], ids=["a batch", "one sequence"])
def test_states_of_an_lstm_may_come_as_a_list(one):
    module, cell = make("lstm"), randomize(CELLS["lstm"](3, H).double())
    x, (h, c) = draw(T, B, 3), start("lstm")
    if one:
        x, h, c = x[:, 0], h[:, 0], c[:, 0]
    assert_close(module(x, [h, c]), module(x, (h, c)))
    assert_close(cell(x[0], [h[0], c[0]]), cell(x[0], (h[0], c[0])))
    with torch.autocast("cpu", torch.bfloat16):
        assert_close(module(x, [h, c]), module(x, (h, c)))


@pytest.mark.parametrize("implementation", ["plain", "function", "compiled"])
@each_form
def test_a_network_of_one_unit_is_that_of_the_numpy_cells(kind, form, implementation):
    module = randomize(
        KINDS[kind](3, 1, form=form, implementation=implementation, dtype=torch.float64)
    )
    x, hx = draw(T, B, 3), tuple(draw(2, 1, B, 1, seed=2))
    hx = hx if kind == "lstm" else hx[0]
    expected, end = run_numpy(kind, form, numpy_params(module), x, [s[0] for s in states(kind, hx)])
    output, last = module(x, hx)
    np.testing.assert_allclose(output.detach(), expected, rtol=EXACT, atol=EXACT)
    for s, e in zip(states(kind, last), end, strict=True):
        np.testing.assert_allclose(s[0].detach(), e, rtol=EXACT, atol=EXACT)


@pytest.mark.parametrize("form", ["paper", "carried"])
def test_a_network_without_biases_has_no_place_in_the_public_layout(form):
    with pytest.raises(ValueError, match=f"got form '{form}' and bias=False"):
        to_fastrnns(KINDS["lstm"](3, H, form=form, bias=False))


@pytest.mark.parametrize("momentum", [0.1, 0.35])
def test_batch_norm_of_the_convolutional_network_takes_its_momentum(momentum):
    module = convnet_norm(Settings(norm="batch", momentum=momentum), 3, 4)
    x = torch.randn(8, 3, 4, 4) + 2
    module(x)
    assert_close(module.running_mean, momentum * x.mean((0, 2, 3)))
    var = x.transpose(0, 1).reshape(3, -1).var(1)
    assert_close(module.running_var, 1 - momentum + momentum * var)


def test_gradients_of_adaptive_layer_norm_and_dynamic_tanh_are_added_up_in_float64():
    # In float32, 2**24 + 1 is 2**24: added up there, nothing is left of the ones.
    numbers = np.array([2.0**24] + [1.0] * 64 + [-(2.0**24)], np.float32)
    x = np.tile(np.array([1, -1], np.float32), (66, 1))  # normalized, it stays as it is
    weight, condition = np.zeros((4, 1), np.float32), np.ones((1, 1), np.float32)
    dy = np.stack([numbers, numbers], 1)
    *_, dweight, dbias = lnlib.adaptive_layer_norm_backward(dy, x, condition, weight, eps=0)
    np.testing.assert_array_equal(dbias, [64, -64, 64, 64])
    np.testing.assert_array_equal(dweight[:, 0], [64, -64, 64, 64])
    one = np.array(0, np.float32)  # tanh(0 x) is 0, and its slope 1
    _, dalpha, _, dbias = lnlib.dynamic_tanh_backward(dy, np.ones_like(x), one)
    np.testing.assert_array_equal(dbias, [64, 64])
    assert dalpha == 128
    big = np.array(50, np.float32)  # tanh is 1
    dgain = lnlib.dynamic_tanh_backward(dy, np.ones_like(x), big)[2]
    np.testing.assert_array_equal(dgain, [64, 64])
