"""The gradient by hand: against autograd's of the plain loop, and against finite differences."""

import pytest
import torch
from torch.autograd import gradcheck
from torch.testing import assert_close

from lnlib.nn.kernels import autograd, reference
from lnlib.nn.kernels.spec import Spec

H = 5
GATES = {"lstm": 4, "gru": 3, "rnn": 1}
CASES = [
    ("lstm", {"form": "paper"}),
    ("lstm", {"form": "carried"}),
    ("lstm", {"form": "per_gate"}),
    ("lstm", {"form": "draw"}),
    ("gru", {}),
    ("rnn", {"form": "paper", "nonlinearity": "tanh"}),
    ("rnn", {"form": "parts", "nonlinearity": "tanh"}),
    ("rnn", {"form": "paper", "nonlinearity": "relu"}),
    ("rnn", {"form": "parts", "nonlinearity": "relu"}),
]
each_case = pytest.mark.parametrize(
    ("kind", "options"), CASES, ids=lambda v: v if isinstance(v, str) else "-".join(v.values())
)
EQUAL, PACKED = [3] * 7, [4, 4, 4, 2, 1, 1, 1]
LONG = [2] * 20  # enough steps to lay the weights out anew
each_length = pytest.mark.parametrize("sizes", [EQUAL, PACKED], ids=["equal", "packed"])
each_direction = pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])

# Measured: 3e-13 over 7 steps, 5e-12 over 20.
EXACT = {"rtol": 0, "atol": 1e-10}


def draw(*shape, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def make(kind, options, sizes, *, affine=True):
    """Return the tensors by name: a state that is not zero, gains not 1 and biases not 0."""
    widths = {"lstm": (4 * H, H), "gru": (2 * H, H), "rnn": (H,)}[kind]
    tensors = {
        "inputs": draw(sum(sizes), GATES[kind] * H, seed=0),
        "h": draw(sizes[0], H, seed=1),
        "c": draw(sizes[0], H, seed=2),
        "weight_hh": draw(GATES[kind] * H, H, seed=3),
    }
    if kind != "lstm":
        del tensors["c"]
    for k, width in enumerate(widths):
        if affine and not (options.get("form") == "draw" and k == 0):
            tensors[f"gain_{k}"] = 1 + 0.3 * draw(width, seed=4 + k)
            tensors[f"bias_{k}"] = 0.3 * draw(width, seed=6 + k)
    return {name: t.requires_grad_() for name, t in tensors.items()}


def call(module, kind, options, sizes, tensors, *, reverse=False):
    norms = [(tensors.get(f"gain_{k}"), tensors.get(f"bias_{k}")) for k in range(2)]
    if kind == "rnn":
        del norms[1]
    elif options.get("form") == "draw":
        del norms[0]
    states = [tensors[name] for name in ("h", "c") if name in tensors]
    spec = Spec(kind, **options, reverse=reverse)
    return module.run(spec, tensors["inputs"], sizes, states, tensors["weight_hh"], norms)


def gradients(results, tensors, *, dtype=torch.float64, **options):
    """Return the gradients of one random projection of all the results."""
    dys = [draw(*r.shape, seed=8 + k).to(dtype) for k, r in enumerate(results)]
    loss = sum((dy * r).sum(dtype=torch.float64) for dy, r in zip(dys, results, strict=True))
    return dict(zip(tensors, torch.autograd.grad(loss, tensors.values(), **options), strict=True))


@each_case
@pytest.mark.parametrize("sizes", [EQUAL, PACKED, LONG], ids=["equal", "packed", "long"])
@each_direction
@pytest.mark.parametrize("affine", [True, False], ids=["affine", "bare"])
def test_results_and_gradients_are_those_of_the_plain_loop(kind, options, sizes, reverse, affine):
    tensors = make(kind, options, sizes, affine=affine)
    ours = call(autograd, kind, options, sizes, tensors, reverse=reverse)
    theirs = call(reference, kind, options, sizes, tensors, reverse=reverse)
    assert_close(ours, theirs, **EXACT)
    assert_close(gradients(ours, tensors), gradients(theirs, tensors), **EXACT)


@each_case
@each_direction
def test_gradients_are_the_slopes_of_the_results(kind, options, reverse):
    sizes = [3, 2, 2, 1]
    tensors = make(kind, options, sizes)

    def results(*values):
        named = dict(zip(tensors, values, strict=True))
        return call(autograd, kind, options, sizes, named, reverse=reverse)

    assert gradcheck(results, tuple(tensors.values()))


@each_case
@each_length
@each_direction
@pytest.mark.parametrize("rows", [1, 12])
def test_the_size_of_a_chunk_changes_nothing(kind, options, sizes, reverse, rows, monkeypatch):
    tensors = make(kind, options, sizes)
    whole = gradients(call(autograd, kind, options, sizes, tensors, reverse=reverse), tensors)
    monkeypatch.setattr("lnlib.nn.kernels.autograd_norms.CHUNK", rows)
    cut = gradients(call(autograd, kind, options, sizes, tensors, reverse=reverse), tensors)
    assert_close(cut, whole, **EXACT)


@each_case
@each_length
@each_direction
def test_without_a_gradient_the_results_are_the_same_numbers(kind, options, sizes, reverse):
    tensors = make(kind, options, sizes)
    recorded = call(autograd, kind, options, sizes, tensors, reverse=reverse)
    with torch.no_grad():
        bare = call(autograd, kind, options, sizes, tensors, reverse=reverse)
    assert_close(bare, recorded, rtol=0, atol=0)
    assert not any(r.requires_grad for r in bare)


@each_case
def test_each_gradient_can_be_wanted_alone(kind, options):
    tensors = make(kind, options, PACKED)
    wanted = gradients(call(reference, kind, options, PACKED, tensors), tensors)
    for name in tensors:
        alone = {n: t.detach().requires_grad_(n == name) for n, t in tensors.items()}
        results = call(autograd, kind, options, PACKED, alone)
        gradient = gradients(results, {name: alone[name]})[name]
        assert_close(gradient, wanted[name], **EXACT)


@each_case
def test_a_graph_that_is_retained_gives_its_gradients_again(kind, options):
    tensors = make(kind, options, EQUAL)
    results = call(autograd, kind, options, EQUAL, tensors)
    first = gradients(results, tensors, retain_graph=True)
    assert_close(gradients(results, tensors), first, rtol=0, atol=0)


@each_case
def test_the_gradients_that_come_in_stay_as_they_are(kind, options):
    tensors = make(kind, options, EQUAL)
    results = call(autograd, kind, options, EQUAL, tensors)
    dys = [draw(*r.shape, seed=8) for r in results]
    before = [dy.clone() for dy in dys]
    torch.autograd.grad(results, list(tensors.values()), dys)
    assert_close(dys, before, rtol=0, atol=0)


def one_number(y):
    return torch.full((), 1.7, dtype=y.dtype).expand_as(y)


def a_transpose(y):
    return draw(*y.shape[::-1], seed=9).t()


@each_case
@pytest.mark.parametrize("dy", [one_number, a_transpose])
def test_gradients_that_come_in_may_lie_as_they_like(kind, options, dy):
    tensors = make(kind, options, PACKED)
    both = []
    for module in (autograd, reference):
        results = call(module, kind, options, PACKED, tensors)
        both.append(torch.autograd.grad(results, [*tensors.values()], [dy(r) for r in results]))
    assert_close(*both, **EXACT)


@each_case
@each_direction
@each_length
def test_last_states_can_be_changed_and_the_outputs_stay(kind, options, reverse, sizes):
    tensors = make(kind, options, sizes)
    outputs, *last = call(autograd, kind, options, sizes, tensors, reverse=reverse)
    before = outputs.detach().clone()
    for state in last:
        state.detach().zero_()
    assert_close(outputs.detach(), before, rtol=0, atol=0)


@each_case
def test_inputs_of_fewer_bits_than_the_weights_are_taken_to_theirs(kind, options):
    tensors = {n: t.detach().float() for n, t in make(kind, options, PACKED).items()}
    short = tensors["inputs"].half()
    mixed = call(autograd, kind, options, PACKED, tensors | {"inputs": short})
    wide = call(autograd, kind, options, PACKED, tensors | {"inputs": short.float()})
    assert_close(mixed, wide, rtol=0, atol=0)


@each_case
@pytest.mark.parametrize(
    ("of", "wrt"), [("inputs", "weight_hh"), ("weight_hh", "inputs"), ("h", "h")]
)
def test_a_second_derivative_is_refused(kind, options, of, wrt):
    tensors = make(kind, options, EQUAL)
    results = call(autograd, kind, options, EQUAL, tensors)
    first = gradients(results, tensors, create_graph=True)  # of a dy that needs no gradient
    with pytest.raises(RuntimeError, match='implementation="plain"'):
        torch.autograd.grad(first[of].sum(), tensors[wrt])


@each_case
def test_results_that_were_written_over_are_not_differentiated(kind, options):
    tensors = make(kind, options, EQUAL)
    outputs, *_ = call(autograd, kind, options, EQUAL, tensors)
    outputs.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        outputs.sum().backward()


@each_case
def test_weights_that_do_not_lie_in_order_are_read_in_order(kind, options):
    tensors = make(kind, options, EQUAL)
    stored = {
        n: t.detach().t().contiguous().t().requires_grad_()
        for n, t in tensors.items()
        if t.ndim == 2
    }
    ours = call(autograd, kind, options, EQUAL, tensors | stored)
    theirs = call(reference, kind, options, EQUAL, tensors)
    assert_close(ours, theirs, **EXACT)
    assert_close(gradients(ours, tensors | stored), gradients(theirs, tensors), **EXACT)


@each_case
def test_no_sequence_at_all_gives_empty_results_and_zero_gradients(kind, options):
    sizes = [0, 0]
    tensors = make(kind, options, sizes)
    results = call(autograd, kind, options, sizes, tensors)
    assert [len(r) for r in results] == [0] * len(results)
    for gradient in gradients(results, tensors).values():
        assert not gradient.any()


@each_case
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision_is_rounded_at_the_ends_alone(kind, options, dtype):
    tensors = {
        n: t.detach().to(dtype).requires_grad_() for n, t in make(kind, options, PACKED).items()
    }
    exact = {n: t.detach().double().requires_grad_() for n, t in tensors.items()}
    ours = call(autograd, kind, options, PACKED, tensors)
    theirs = call(reference, kind, options, PACKED, exact)
    assert {r.dtype for r in ours} == {dtype}
    assert_close(ours, tuple(r.to(dtype) for r in theirs))
    mine, wanted = (gradients(*pair, dtype=dtype) for pair in ((ours, tensors), (theirs, exact)))
    assert_close(mine, {n: g.to(dtype) for n, g in wanted.items()})


@each_case
def test_autocast_leaves_the_results_alone(kind, options):
    tensors = {
        n: t.detach().float().requires_grad_() for n, t in make(kind, options, PACKED).items()
    }
    outside = call(autograd, kind, options, PACKED, tensors)
    with torch.autocast("cpu", torch.bfloat16):
        inside = call(autograd, kind, options, PACKED, tensors)
        grads = gradients(inside, tensors)
    assert_close(inside, outside, rtol=0, atol=0)
    assert_close(grads, gradients(outside, tensors), rtol=0, atol=0)


@each_case
def test_no_more_is_kept_for_the_gradient_than_by_the_plain_loop(kind, options):
    sizes = [16] * 8

    def kept(module):
        storages = {}

        def pack(t):
            storages[t.untyped_storage().data_ptr()] = t.untyped_storage().nbytes()
            return t

        tensors = make(kind, options, sizes)
        given = {t.untyped_storage().data_ptr() for t in tensors.values()}
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            results = call(module, kind, options, sizes, tensors)
        given |= {r.untyped_storage().data_ptr() for r in results}
        return sum(size for at, size in storages.items() if at not in given)

    assert kept(autograd) <= kept(reference)
