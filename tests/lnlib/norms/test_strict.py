"""Every function in NumPy: what it refuses, and that it runs where errors of floats are raised."""

import inspect

import numpy as np
import pytest

import lnlib
from lnlib import cells, invariance, norms, numerics, transformer
from lnlib.fisher import GLM, MLP, NORMS, Dense
from lnlib.registry import CELLS

N, H = 6, 8


def draw(*shape, scale=1.0, dtype=float, seed=0):
    numbers = np.random.default_rng([seed, *shape]).normal(size=shape)
    with np.errstate(under="ignore"):
        return (scale * numbers).astype(dtype)


def step_of(kind, form, backward):
    step = getattr(cells, f"{kind}_step" + "_backward" * backward)
    gates, states, _ = CELLS[kind]

    def call(a, one, **options):
        params = {"W_ih": a(gates * H, H), "W_hh": a(gates * H, H, seed=1)}
        state, d = one(N, H), a(N, H, seed=2)
        if states == 2:
            state, d = (state, state), (d, d)
        return step(*[d] * backward, a(N, H), state, params, form=form, **options)

    return call


def of_tokens(name, **choices):
    function = getattr(transformer, name)
    matrices = ["W_q", "W_k", "W_v", "W_o", *["W_1", "W_2"] * ("block" in name)]

    def call(a, one, **options):
        params = {name: a(H, H, seed=k) for k, name in enumerate(matrices)}
        dy = [one(N, H, seed=1)] * ("backward" in name)
        return function(*dy, a(N, H), params, **choices, **options)

    return call


# Each is called with a function that draws arrays of some size, and one that draws those of size 1.
CALLS = {
    "layer_norm": lambda a, one, **o: norms.layer_norm(a(N, H), a(H), a(H, seed=1), **o),
    "layer_norm_backward": lambda a, one, **o: norms.layer_norm_backward(a(N, H), one(N, H), **o),
    "rms_norm": lambda a, one, **o: norms.rms_norm(a(N, H), a(H), **o),
    "rms_norm_backward": lambda a, one, **o: norms.rms_norm_backward(one(N, H), a(N, H), **o),
    "batch_norm": lambda a, one, **o: norms.batch_norm(a(N, H), a(H), a(H), **o),
    "batch_norm_backward": lambda a, one, **o: norms.batch_norm_backward(a(N, H), one(N, H), **o),
    "batch_statistics": lambda a, one: norms.batch_statistics(a(N, H)),
    "update_running": lambda a, one: norms.update_running(a(H), a(H, seed=1)),
    "group_norm": lambda a, one, **o: norms.group_norm(a(N, H, 3), 2, a(H), a(H), **o),
    "group_norm_backward": lambda a, one, **o: norms.group_norm_backward(
        one(N, H, 3), a(N, H, 3), 2, **o
    ),
    "instance_norm": lambda a, one, **o: norms.instance_norm(a(N, H, 3), a(H), **o),
    "instance_norm_backward": lambda a, one, **o: norms.instance_norm_backward(
        a(N, H, 3), one(N, H, 3), **o
    ),
    "weight_norm": lambda a, one: norms.weight_norm(one(N, H), a(3, H), a(3)),
    "weight_norm_backward": lambda a, one: norms.weight_norm_backward(a(N, 3), a(N, H), one(3, H)),
    "adaptive_layer_norm": lambda a, one, **o: norms.adaptive_layer_norm(
        a(N, H), a(N, 3), a(2 * H, 3), **o
    ),
    "adaptive_layer_norm_backward": lambda a, one, **o: norms.adaptive_layer_norm_backward(
        a(N, H), one(N, H), a(N, 3), a(2 * H, 3), **o
    ),
    "dynamic_tanh": lambda a, one: norms.dynamic_tanh(a(N, H), a(1), a(H), a(H)),
    "dynamic_tanh_backward": lambda a, one: norms.dynamic_tanh_backward(a(N, H), a(N, H), one(1)),
    **{
        f"{kind}_step{'_backward' * back} {form}": step_of(kind, form, back)
        for kind, cell in CELLS.items()
        for form in cell.forms
        for back in (False, True)
    },
    **{
        f"{name} {qk_norm}": of_tokens(name, qk_norm=qk_norm)
        for name in ("attention", "attention_weights", "attention_backward")
        for qk_norm in transformer.NORMS
    },
    **{
        f"{name} {place}": of_tokens(name, placement=place)
        for name in ("block", "block_backward")
        for place in transformer.PLACEMENTS
    },
    "variant": lambda a, one, **o: numerics.variant(a(N, H), **{"eps": 1e-5} | o),
    **{
        f"{method} of numerics": lambda a, one, m=method, **o: numerics.layer_norm(a(N, H), m, **o)
        for method in numerics.METHODS
    },
    **{f.__name__: lambda a, one, f=f: f(a(N, H)) for f in numerics.METHODS.values()},
    **{
        f"output {name}": lambda a, one, name=name, **o: invariance.output(
            name, a(N, H), invariance.network([H, H], np.random.default_rng(0), norm=name), **o
        )
        for name in invariance.NORMS
    },
    **{
        f"fisher {name}": lambda a, one, name=name, **o: GLM(
            one(3, H), a(3), norm=name, family="bernoulli", **o
        ).fisher(one(N, H))
        for name in NORMS
    },
    "MLP": lambda a, one, **o: MLP([Dense(a(3, H), a(3))], **o).fisher_product(
        a(N, H), np.ones(3 * H + 3)
    ),
}
each_call = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
with_eps = {
    name: call
    for name, call in CALLS.items()
    if any(p.kind is p.VAR_KEYWORD for p in inspect.signature(call).parameters.values())
}


def test_every_public_function_is_tested():
    public = {*norms.__all__, *(n for n in cells.__all__ if n.islower())}
    public |= {n for n in vars(transformer) if n.startswith(("attention", "block"))}
    assert public <= {name.split()[0] for name in CALLS}
    assert {n for n in lnlib.__all__ if callable(getattr(lnlib, n))} <= public


def flat(result):
    if isinstance(result, dict):
        return flat(tuple(result.values()))
    if isinstance(result, tuple):
        return [a for part in result for a in flat(part)]
    return [np.asarray(result)]


@each_call
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_underflow_raises_nothing_where_errors_of_floats_are_raised(call, dtype):
    for root in (0, 2, 1.3, 1):  # numbers near 1 down to the smallest
        runs_where_errors_are_raised(call, dtype, root)


def runs_where_errors_are_raised(call, dtype, root):
    scale = float(np.finfo(dtype).tiny) ** (1 / root if root else 0)
    draws = [
        lambda *s, size=size, **o: draw(*s, scale=size, dtype=dtype, **o) for size in (scale, 1)
    ]
    with np.errstate(all="ignore"):
        expected = flat(call(*draws))
    with np.errstate(all="raise"):
        ours = flat(call(*draws))
        assert np.geterr() == dict.fromkeys(("divide", "over", "under", "invalid"), "raise")
    assert all(map(np.array_equal, ours, expected))


@each_call
def test_longdouble_and_complex_arrays_raise_an_error(call):
    for dtype in {np.dtype(np.longdouble), np.dtype(np.complex64)} - {np.dtype(float)}:
        with pytest.raises((TypeError, ValueError), match=rf"got {dtype}; t(ry|ake) "):
            call(lambda *s, dtype=dtype, **o: draw(*s, **o).astype(dtype), draw)


@pytest.mark.parametrize("call", with_eps.values(), ids=with_eps)
def test_invalid_eps_raises_an_error(call):
    for eps in (-1e-5, np.nan, np.inf, 10**400, True, np.True_, None, "1e-5", 1j, np.ones(1)):
        with pytest.raises(ValueError, match=r"eps must be finite and >= 0, got .{1,60}; try 1e-5"):
            call(draw, draw, eps=eps)
