"""The C++ recurrences with inputs that are computed within the loop."""

import copy

import pytest
import torch
from torch.testing import assert_close

from lnlib.nn.kernels import autograd_norms, reference
from lnlib.nn.kernels.cpu import recurrent
from tests.cases.recurrences import EXACT, PARTS, SIZES, Case, each_kind, randn


def with_product(kind, options, sizes, H, features, missing=()):
    """Return a case on data, and what makes its inputs: each norm and bias that the form has."""
    case, form = Case(kind, options, sizes, H), options.get("form", "paper")
    case.inputs = randn(sum(sizes), features, seed=5)
    widths = {"lstm": [4 * H], "gru": [2 * H, H], "rnn": [H]}[kind]
    if form in ("draw", "per_gate") or (kind, form) == ("rnn", "paper"):
        widths = []
    norms = tuple(
        (
            None if 0 in missing else 1 + 0.3 * randn(n, seed=n),
            None if 1 in missing else 0.2 * randn(n, seed=n + 1),
        )
        for n in widths
    )
    b = (
        None
        if kind == "gru" or (kind, form) == ("rnn", "paper")
        else randn(PARTS[kind] * H, seed=4)
    )
    return case, reference.InputProduct(randn(PARTS[kind] * H, features, seed=3), b, norms)


def results_and_grads(module, case, product, **more):
    """Return results and gradients from the data on, by a module or by the plain loop."""
    flat = [product.weight, product.bias, *(p for norm in product.norms for p in norm)]
    leaves = [*case.leaves, *(p for p in flat if p is not None)]
    for p in leaves:
        p.requires_grad_()
    if module is reference:
        on_inputs = copy.copy(case)
        on_inputs.inputs = product.inputs(case.inputs, more["eps"])
        results = on_inputs.run(reference, **more)
    else:
        results = case.run(module, product=product, **more)
    loss = sum((r * r.detach().cos()).sum() for r in results)
    return [*results, *torch.autograd.grad(loss, leaves)]


@each_kind
@pytest.mark.parametrize("reverse", [False, True], ids=["forwards", "backwards"])
@pytest.mark.parametrize(
    ("features", "missing"), [(2, ()), (2, (1,)), (37, (0,)), (37, (0, 1))], ids=str
)
@pytest.mark.parametrize("sizes", ["seventeen", "ending"])
def test_inputs_computed_in_the_loop_equal_those_computed_before(
    built, monkeypatch, kind, options, reverse, features, missing, sizes
):
    monkeypatch.setattr(autograd_norms, "CHUNK", 20)
    monkeypatch.setattr(recurrent, "WORK", 1)
    torch.set_num_threads(2)
    sizes = SIZES[sizes] + [1] * (24 if sizes == "ending" else 0)  # more rows than are made at once
    case, product = with_product(kind, options, sizes, 19, features, missing)
    ours, theirs = (
        results_and_grads(module, case, product, eps=1e-3, reverse=reverse)
        for module in (recurrent, reference)
    )
    assert_close(ours, theirs, **EXACT)


@each_kind
def test_gradients_do_not_share_memory(built, kind, options):
    # b and the biases of two norms have equal gradients: clipping one must leave the others.
    case, product = with_product(kind, options, [3] * 4, 9, 9)
    result = results_and_grads(recurrent, case, product, eps=1e-3)
    gradients = [g for g in result if not g.requires_grad]
    before = [g.clone() for g in gradients]
    for k, g in enumerate(gradients):
        g.zero_()
        assert_close(gradients[k + 1 :], before[k + 1 :], rtol=0, atol=0)


def test_float32_statistics_are_accurate_for_large_means(built):
    # E[x^2] - E[x]^2 would leave none of them.
    case, product = with_product("lstm", {}, [4], 24, 3)
    product.weight[:, 0] = 1e3  # one number for all gates, and so only their mean
    case.inputs[:, 0] = 3
    single = reference.InputProduct(
        product.weight.float(),
        product.bias.float(),
        tuple(tuple(p.float() for p in norm) for norm in product.norms),
    )
    ours = case.map(torch.Tensor.float).run(recurrent, product=single)
    case.inputs = product.inputs(case.inputs, 1e-5)
    # 3000 beside 1: measured 1.5e-4.
    assert_close(ours[0].double(), case.run(reference)[0], rtol=1e-3, atol=1e-3)


@each_kind
def test_data_weights_and_biases_of_the_inputs_need_not_be_contiguous(built, kind, options):
    case, product = with_product(kind, options, [3] * 4, 6, 4)
    b = product.bias if product.bias is None else torch.stack((product.bias,) * 2, 1)[:, 0]
    strided = product._replace(weight=product.weight.t().contiguous().t(), bias=b)
    spread = copy.copy(case)
    spread.inputs = case.inputs.t().contiguous().t()
    assert not any(t.is_contiguous() for t in (spread.inputs, strided.weight, b) if t is not None)
    ours = results_and_grads(recurrent, spread, strided, eps=1e-3)
    theirs = results_and_grads(reference, case, product, eps=1e-3)
    assert_close(ours, theirs, **EXACT)
