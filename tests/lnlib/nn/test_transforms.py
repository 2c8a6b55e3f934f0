"""Gradients and inputs of every kind that PyTorch hands to a module, as torch.nn takes them."""

import copy

import pytest
import torch
import torch.utils._pytree
from torch import fx, nn
from torch.autograd import forward_ad
from torch.nn.utils._per_sample_grad import call_for_per_sample_grads
from torch.testing import assert_close

from lnlib.nn import (
    DynamicTanh,
    LayerNorm,
    LayerNormGRU,
    LayerNormGRUCell,
    LayerNormLSTM,
    LayerNormLSTMCell,
    LayerNormRNN,
    LayerNormRNNCell,
    RMSNorm,
)
from tests.cases.modules import CELLS, randomize
from tests.cases.modules import KINDS as RECURRENT
from tests.cases.norm_modules import draw

B, T, H = 4, 3, 5
FAST = ("fused", "compiled", "function")
NORMS = ("layer", "layer + residual", "rms", "rms + residual")
CASES = [
    *[(name, how) for name in NORMS for how in FAST],
    *[(name, how) for name in RECURRENT for how in ("auto", "function")],
]  # fmt: skip
each_case = pytest.mark.parametrize(("name", "implementation"), CASES, ids=map(" ".join, CASES))


def make(name, implementation):
    """Return a function of one tensor, its input, and the parameters behind it."""
    kind, _, residual = name.partition(" + ")
    if kind in RECURRENT:
        module = RECURRENT[kind](H, H, dtype=torch.float64, implementation=implementation)
        return randomize(module), lambda x: module(x)[0], draw(T, B, H, seed=5)
    module = {"layer": LayerNorm, "rms": RMSNorm}[kind](
        H, dtype=torch.float64, implementation=implementation
    )
    call = (lambda x: sum(module(x, 2 * x))) if residual else module
    return randomize(module), call, draw(B, H, seed=5)


def both(name, implementation):
    """Return the case and the same numbers in plain operations, which autograd knows."""
    ours, plain = make(name, implementation), make(name, "plain")
    plain[0].load_state_dict(ours[0].state_dict())
    return ours, plain


def gradients(case, dy):
    """Return the gradients of the input and of the parameters for what is made of the output."""
    module, call, x = case
    x = x.clone().requires_grad_()
    y = call(x)
    return torch.autograd.grad(y, (x, *module.parameters()), dy(y))


def of_a_sign(y):
    z = y.detach().requires_grad_()
    return torch.autograd.grad(torch.sgn(z).sum(), z)[0]


def zero_tensor(y):
    return torch._efficientzerotensor(y.shape, dtype=y.dtype)


def negative_view(y):
    return torch._neg_view(draw(*y.shape))


def imaginary_part(y):
    return torch.view_as_complex(draw(*y.shape, 2)).conj().imag


def sparse(y):
    return draw(*y.shape).to_sparse()


def one_number(y):
    return torch.full((), 1.7, dtype=y.dtype).expand_as(y)


@each_case
@pytest.mark.parametrize(
    "dy", [of_a_sign, zero_tensor, negative_view, imaginary_part, sparse, one_number]
)
def test_an_incoming_gradient_of_any_kind_gives_the_gradient_of_plain_operations(
    name, implementation, dy
):
    is_torchs = implementation == "function" or (name, implementation) == ("layer", "fused")
    if dy is sparse and (name in RECURRENT or is_torchs):
        pytest.skip("PyTorch's own operations on the way refuse it")

    def written_out(y):
        d = dy(y).to_dense()
        return torch.zeros_like(d) if d._is_zerotensor() else d.clone()

    ours, plain = both(name, implementation)
    assert_close(gradients(ours, dy), gradients(plain, written_out), rtol=1e-10, atol=1e-10)


@each_case
@pytest.mark.parametrize("again", [False, True], ids=["once", "create_graph"])
def test_batched_gradients_are_those_taken_one_by_one(name, implementation, again):
    module, call, x = make(name, implementation)
    x.requires_grad_()
    y, leaves = call(x), (x, *module.parameters())
    dys = draw(7, *y.shape)
    batched = torch.autograd.grad(
        y, leaves, dys, retain_graph=True, is_grads_batched=True, create_graph=again
    )
    single = [torch.autograd.grad(y, leaves, dy, retain_graph=True) for dy in dys]
    for k in range(len(leaves)):
        assert_close(batched[k], torch.stack([g[k] for g in single]), rtol=1e-10, atol=1e-10)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of PyTorch's own forward mode
@each_case
def test_a_tangent_of_the_incoming_gradient_is_carried(name, implementation):
    module, call, x = make(name, implementation)
    x.requires_grad_()
    y, leaves = call(x), (x, *module.parameters())
    dy, direction = draw(*y.shape), draw(*y.shape, seed=8)
    with forward_ad.dual_level():
        dual = torch.autograd.grad(
            y, leaves, forward_ad.make_dual(dy, direction), retain_graph=True
        )
        tangents = [forward_ad.unpack_dual(g).tangent for g in dual]
    expected = torch.autograd.grad(y, leaves, direction)
    assert_close(tangents, list(expected), rtol=1e-10, atol=1e-10)


@each_case
@pytest.mark.parametrize("of", [zero_tensor, negative_view, imaginary_part])
def test_an_input_of_any_kind_gives_the_output_of_plain_operations(name, implementation, of):
    (_, call, x), (_, plain, _) = both(name, implementation)
    given = of(x)
    written = torch.zeros_like(x) if given._is_zerotensor() else given.clone()
    assert_close(call(given), plain(written), rtol=1e-10, atol=1e-10)


MODULES = {
    "LayerNorm": (lambda: LayerNorm(H), (B, H)),
    "LayerNorm, compiled": (lambda: LayerNorm(H, implementation="compiled"), (B, T, H)),
    "RMSNorm": (lambda: RMSNorm(H), (B, T, H)),
    "DynamicTanh": (lambda: DynamicTanh(H), (B, H)),
    "LSTM": (lambda: LayerNormLSTM(H, H, batch_first=True), (B, T, H)),
    "GRU, deep": (lambda: LayerNormGRU(H, H, 2, bidirectional=True, batch_first=True), (B, T, H)),
    "RNN": (lambda: LayerNormRNN(H, H, batch_first=True), (B, T, H)),
    "LSTMCell": (lambda: LayerNormLSTMCell(H, H), (B, H)),
    "GRUCell": (lambda: LayerNormGRUCell(H, H), (B, H)),
    "RNNCell": (lambda: LayerNormRNNCell(H, H), (B, H)),
}
each_module = pytest.mark.parametrize(("make_module", "shape"), MODULES.values(), ids=MODULES)


class Model(nn.Module):
    """A layer of ours between two of PyTorch's."""

    def __init__(self, inner):
        super().__init__()
        self.first, self.inner = nn.Linear(H, H), inner

    def forward(self, x):
        y = self.inner(self.first(x))
        return y


def targets(traced):
    return [node.target for node in traced.graph.nodes if node.op == "call_module"]


@each_module
def test_a_symbolic_trace_has_the_module_as_one_node(make_module, shape):
    model = randomize(Model(make_module()))
    traced = fx.symbolic_trace(model)
    assert targets(traced) == ["first", "inner"]
    x = draw(*shape, dtype=torch.float32)
    assert_close(traced(x), model(x), rtol=0, atol=0)


def first_output(y):
    return y[0] if isinstance(y, tuple) else y


@each_module
@pytest.mark.parametrize(("reduction", "frozen"), [("sum", False), ("mean", True)])
def test_per_example_gradients_equal_a_loop(make_module, shape, reduction, frozen):
    model = randomize(Model(make_module())).double()
    first = next(model.inner.parameters()).requires_grad_(not frozen)
    x = draw(*shape)
    loss = {"sum": torch.sum, "mean": lambda y: y.sum() / B}[reduction]
    y = first_output(call_for_per_sample_grads(model, loss_reduction=reduction)(x))
    loss(y.square()).backward()
    assert_close(y, first_output(model(x)), rtol=1e-10, atol=1e-10)
    per_example = {name: p.grad_sample for name, p in model.named_parameters() if p.requires_grad}
    assert frozen != any(p is first for p in model.parameters() if p.requires_grad)
    for k in range(B):
        named = {n: p for n, p in model.named_parameters() if p.requires_grad}
        loss_k = first_output(model(x[k : k + 1])).square().sum()
        for name, g in zip(named, torch.autograd.grad(loss_k, named.values()), strict=True):
            assert_close(per_example[name][k], g, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", [*RECURRENT.values(), *CELLS.values()])
@pytest.mark.parametrize("state", [torch.float32, torch.bfloat16], ids=str)
def test_under_autocast_a_state_of_either_dtype_gives_what_casting_by_hand_gives(kind, state):
    module = randomize(kind(H, H))
    shape = (1, B, H) if kind in RECURRENT.values() else (B, H)
    x = draw(*((T, B, H) if len(shape) == 3 else shape), dtype=torch.float32)
    hx = tuple(draw(*shape, seed=k, dtype=state) for k in (1, 2))
    hx = hx if "LSTM" in kind.__name__ else hx[0]
    with torch.autocast("cpu", torch.bfloat16):
        actual = module(x, hx)
    narrow = torch.utils._pytree.tree_map(torch.Tensor.bfloat16, hx)
    expected = copy.deepcopy(module).bfloat16()(x.bfloat16(), narrow)
    assert_close(actual, expected)  # dtypes included
