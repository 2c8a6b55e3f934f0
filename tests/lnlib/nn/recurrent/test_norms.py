"""The norms in recurrent modules are modules: hooks, changed settings, replacements."""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence
from torch.testing import assert_close

from tests.cases.modules import (
    CELLS,
    IN,
    TORCH,
    B,
    H,
    T,
    draw,
    each_form,
    each_kind,
    make,
    randomize,
    start,
    states,
)

LENGTHS = torch.tensor([7, 4, 4, 1])
BOTH = {"num_layers": 2, "bidirectional": True}


def norms(module):
    return {name: norm for name, norm in module.named_children() if name.startswith("layernorm_")}


def networks(kind, form):
    """A network and a cell, as functions that return a new copy."""
    network, cell = make(kind, form=form, **BOTH), randomize(CELLS[kind](IN, H, form=form).double())
    x, hx = draw(T, B, IN), start(kind, 4)
    one = states(kind, hx)
    one = tuple(s[0] for s in one) if kind == "lstm" else one[0][0]
    packed = pack_padded_sequence(x, LENGTHS)
    yield network, lambda m: (lambda y, last: (y.data, *states(kind, last)))(*m(packed, hx))
    yield network, lambda m: (lambda y, last: (y, *states(kind, last)))(*m(x, hx))
    yield cell, lambda m: states(kind, m(x[0], one))


@each_form
def test_values_returned_by_hooks_are_used(kind, form):
    for module, run in networks(kind, form):
        for name in norms(module):
            hooked, moved = copy.deepcopy(module), copy.deepcopy(module)
            getattr(hooked, name).register_forward_hook(lambda m, x, y: y + 0.5)
            getattr(moved, name).bias.data += 0.5
            assert_close(run(hooked), run(moved))
            hooked, moved = copy.deepcopy(module), copy.deepcopy(module)
            getattr(hooked, name).register_forward_pre_hook(lambda m, x: (0 * x[0],))
            getattr(moved, name).weight.data.zero_()  # LN(0) is the bias
            assert_close(run(hooked), run(moved))


def normalized(groups, eps):
    """A hook that recomputes a norm with another ``eps``."""

    def hook(norm, args, _):
        x_hat = F.group_norm(args[0], groups, eps=eps)
        return x_hat * norm.weight + norm.bias

    return hook


@each_form
def test_each_inner_norm_has_its_own_eps(kind, form):
    for module, run in networks(kind, form):
        for name in norms(module):
            ours, expected = copy.deepcopy(module), copy.deepcopy(module)
            getattr(ours, name).eps = 10
            groups = 4 if form == "per_gate" and "_s" in name else 1
            getattr(expected, name).register_forward_hook(normalized(groups, 10))
            assert_close(run(ours), run(expected))
            assert any(
                (a - b).abs().max() > 1e-3 for a, b in zip(run(ours), run(module), strict=True)
            )


@each_form
def test_a_common_eps_of_inner_norms_is_that_of_the_module(kind, form):
    built = make(kind, form=form, eps=0.7, **BOTH)
    one_by_one, at_once = (make(kind, form=form, **BOTH) for _ in range(2))
    for norm in norms(one_by_one).values():
        norm.eps = 0.7
    at_once.eps = 0.7
    assert repr(at_once) == repr(built)
    x, hx = draw(T, B, IN), start(kind, 4)
    for module in (one_by_one, at_once):
        assert_close(module(x, hx), built(x, hx))
    with pytest.raises(ValueError, match=r"eps must be finite and >= 0, got -1"):
        built.eps = -1


@pytest.mark.parametrize("layers", [{}, BOTH], ids=["one layer", "two layers, both directions"])
@each_form
def test_networks_without_norms_equal_pytorchs(kind, form, layers):
    ours = make(kind, form=form, **layers)
    theirs = TORCH[kind](IN, H, dtype=torch.float64, **layers)
    for name in norms(ours):
        setattr(ours, name, nn.Identity())
    move_weights(ours, theirs)
    x, hx = draw(T, B, IN), start(kind, 4 if layers else 1)
    packed = pack_padded_sequence(x, LENGTHS)
    assert_close(ours(x, hx), theirs(x, hx))
    assert_close(ours(packed, hx)[0].data, theirs(packed, hx)[0].data)


def move_weights(ours, theirs):
    """Copy our weights to PyTorch's module; PyTorch's z of a GRU is 1 - z."""
    own = dict(ours.named_parameters())
    with torch.no_grad():
        for name, p in theirs.named_parameters():
            if name.startswith("weight"):
                p.copy_(own[name])
            else:
                b = own.get(name.replace("bias_ih", "bias"))
                p.zero_() if b is None else p.copy_(b)
            if p.shape[0] == 3 * H:
                p[H : 2 * H] *= -1


@each_kind
def test_a_patched_forward_of_a_norm_is_used(kind):
    x, hx = draw(T, B, IN), start(kind)
    for name in norms(make(kind)):
        ours, expected = make(kind), make(kind)
        norm = getattr(ours, name)
        norm.forward = lambda x, norm=norm: F.layer_norm(
            x, x.shape[1:], 2 * norm.weight, norm.bias, norm.eps
        )
        getattr(expected, name).weight.data *= 2
        assert_close(ours(x, hx), expected(x, hx))


@each_kind
def test_the_fast_path_is_only_left_while_a_norm_is_changed(kind, built, calls):
    module, x = make(kind), draw(T, B, IN)
    module.eps = 0.1
    handle = next(iter(norms(module).values())).register_forward_hook(lambda m, x, y: None)
    module(x)
    handle.remove()
    module(x)
    assert calls == ["plain", "compiled"]


@each_kind
def test_invalid_replacements_of_norms_are_named_in_the_error(kind):
    x = draw(T, B, IN)
    for name in norms(make(kind)):
        module = make(kind)
        setattr(module, name, None)
        with pytest.raises(TypeError, match=rf"{name} must be a Module, got NoneType; .*Identity"):
            module(x)
        module = make(kind)
        getattr(module, name).register_forward_hook(lambda m, x, y: y[:, :1])
        with pytest.raises(RuntimeError, match=rf"{name} must return a Tensor .*, 1\)"):
            module(x)
        getattr(module, name).register_forward_hook(lambda m, x, y: [])
        with pytest.raises(RuntimeError, match=rf"{name} must return a Tensor .*got list"):
            module(x)
