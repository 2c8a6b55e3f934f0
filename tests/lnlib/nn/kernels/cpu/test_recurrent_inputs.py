"""The C++ recurrences from the data on: what makes the inputs within the loop."""

import pytest
import torch
from torch.testing import assert_close

from lnlib.nn.kernels import autograd_norms, reference
from lnlib.nn.kernels.cpu import recurrent
from tests.cases.compiled import FLOAT64, SIZES, arguments, call, randn
from tests.cases.recurrences import each_kind


def products(kind, options, H, features, seed=3):
    """Return what makes the inputs from the data: each norm and bias that the form has."""
    generator = torch.Generator().manual_seed(seed)
    gates, form = {"lstm": 4, "gru": 3, "rnn": 1}[kind], options.get("form", "paper")
    widths = {"lstm": [4 * H], "gru": [2 * H, H], "rnn": [H]}[kind]
    if form in ("draw", "per_gate") or (kind, form) == ("rnn", "paper"):
        widths = []
    weight, b = randn(generator, gates * H, features), randn(generator, gates * H)
    norms = [(1 + 0.3 * randn(generator, n), 0.2 * randn(generator, n)) for n in widths]
    b = None if kind == "gru" or (kind, form) == ("rnn", "paper") else b
    return reference.Product(weight, b, tuple(norms))


def with_product(module, kind, options, tensors, sizes, norms, product, **more):
    """Return outputs and gradients from the data on, by a module or by the plain loop."""
    data, *rest = tensors
    flat = [product.weight, *([product.bias] if product.bias is not None else [])]
    flat += [p for norm in product.norms for p in norm if p is not None]
    given = [*tensors, *flat, *(p for norm in norms if norm for p in norm if p is not None)]
    for p in given:
        p.requires_grad_()
    if module is reference:
        inputs = product.inputs(data, more["eps"])
        outputs = call(reference, kind, options, [inputs, *rest], sizes, norms, **more)
    else:
        outputs = call(module, kind, options, tensors, sizes, norms, product=product, **more)
    generator = torch.Generator().manual_seed(9)
    projected = sum((y * randn(generator, *y.shape)).sum() for y in outputs)
    return [*outputs, *torch.autograd.grad(projected, given)]


@each_kind
@pytest.mark.parametrize("reverse", [False, True], ids=["forwards", "backwards"])
@pytest.mark.parametrize("features", [2, 37], ids=["narrow", "wide"])
@pytest.mark.parametrize("sizes", ["seventeen", "ending"])
def test_inputs_made_in_the_loop_are_those_made_before_it(
    built, monkeypatch, kind, options, reverse, features, sizes
):
    monkeypatch.setattr(autograd_norms, "CHUNK", 20)
    monkeypatch.setattr(recurrent, "WORK", 1)
    torch.set_num_threads(2)
    sizes = SIZES[sizes] + [1] * (24 if sizes == "ending" else 0)  # more rows than are made at once
    tensors, norms = arguments(kind, options, 19, sizes)
    generator = torch.Generator().manual_seed(5)
    tensors[0] = randn(generator, sum(sizes), features)
    product = products(kind, options, 19, features)
    ours, theirs = (
        with_product(m, kind, options, tensors, sizes, norms, product, eps=1e-3, reverse=reverse)
        for m in (recurrent, reference)
    )
    assert_close(ours, theirs, **FLOAT64)


@each_kind
@pytest.mark.parametrize("missing", [(0,), (1,), (0, 1)], ids=["gain", "bias", "both"])
def test_norms_of_the_inputs_may_miss_a_gain_or_bias(built, kind, options, missing):
    tensors, norms = arguments(kind, options, 9, [3] * 4)
    tensors[0] = randn(torch.Generator().manual_seed(5), 12, 4)
    product = products(kind, options, 9, 4)
    saved = tuple(
        tuple(None if k in missing else p for k, p in enumerate(norm)) for norm in product.norms
    )
    product = product._replace(norms=saved)
    ours, theirs = (
        with_product(m, kind, options, tensors, [3] * 4, norms, product, eps=1e-3)
        for m in (recurrent, reference)
    )
    assert_close(ours, theirs, **FLOAT64)


@each_kind
def test_no_two_gradients_share_numbers(built, kind, options):
    # b and the biases of two norms have equal gradients: clipping one must leave the others.
    tensors, norms = arguments(kind, options, 9, [3] * 4)
    tensors[0] = randn(torch.Generator().manual_seed(5), 12, 9)
    product = products(kind, options, 9, 9)
    result = with_product(recurrent, kind, options, tensors, [3] * 4, norms, product, eps=1e-3)
    gradients = [g for g in result if not g.requires_grad]
    before = [g.clone() for g in gradients]
    for k, g in enumerate(gradients):
        g.zero_()
        assert_close(gradients[k + 1 :], before[k + 1 :], rtol=0, atol=0)


def test_float32_statistics_of_the_inputs_keep_their_digits_far_from_0(built):
    # E[x^2] - E[x]^2 would leave none of them.
    tensors, norms = arguments("lstm", {}, 24, [4])
    tensors[0] = randn(torch.Generator().manual_seed(5), 4, 3)
    product = products("lstm", {}, 24, 3)
    product.weight[:, 0] = 1e3  # one number for all gates, and so only their mean
    tensors[0][:, 0] = 3
    exact = call(
        reference, "lstm", {}, [product.inputs(tensors[0], 1e-5), *tensors[1:]], [4], norms
    )
    single = reference.Product(
        product.weight.float(),
        product.bias.float(),
        tuple(tuple(p.float() for p in norm) for norm in product.norms),
    )
    norms = [[p.detach().float() for p in norm] for norm in norms]
    tensors = [t.detach().float() for t in tensors]
    ours = call(recurrent, "lstm", {}, tensors, [4], norms, product=single)
    # 3000 beside 1: measured 1.5e-4.
    assert_close(ours[0].double(), exact[0].detach(), rtol=1e-3, atol=1e-3)


@each_kind
def test_data_weights_and_biases_of_the_inputs_need_not_be_contiguous(built, kind, options):
    tensors, norms = arguments(kind, options, 6, [3] * 4)
    tensors[0] = randn(torch.Generator().manual_seed(5), 12, 4)
    product = products(kind, options, 6, 4)
    spread = [t.detach().t().contiguous().t() for t in (tensors[0], product.weight)]
    b = product.bias if product.bias is None else torch.stack((product.bias,) * 2, 1)[:, 0]
    assert not any(t.is_contiguous() for t in (*spread, b) if t is not None)
    given = (spread[0], *tensors[1:]), [3] * 4, norms
    ours = with_product(
        recurrent, kind, options, *given, product._replace(weight=spread[1], bias=b), eps=1e-3
    )
    theirs = with_product(reference, kind, options, tensors, [3] * 4, norms, product, eps=1e-3)
    assert_close(ours, theirs, **FLOAT64)
