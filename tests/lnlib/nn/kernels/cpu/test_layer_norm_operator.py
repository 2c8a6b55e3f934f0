"""The compiled norms as a C++ operator: the same results, and fallbacks."""

import subprocess
import sys
from functools import partial

import pytest
import torch
from torch.autograd import forward_ad
from torch.utils.flop_counter import FlopCounterMode

from lnlib.nn import LayerNorm
from lnlib.nn.kernels.cpu import layer_norm
from tests.cases.norm_modules import ALONE_OR_ADDED, draw, each_dtype, each_kind, make_pair, run

draw32 = partial(draw, dtype=torch.float32)


@pytest.fixture
def operator():
    if not layer_norm.available():
        pytest.skip(f"no compiled library here: {layer_norm.reason()}")
    if layer_norm._operator() is None:
        pytest.skip(f"no operator here: {layer_norm._operator_library.load()[1]}")
    return layer_norm._operator()


def call(operator, module, input, residual=None):
    bias = getattr(module, "bias", None)
    given = (input, residual, module.normalized_shape, module.weight, bias, module.eps)
    return operator(*given, isinstance(module, LayerNorm))


@pytest.mark.parametrize("shape", [(7, 5), (3, 4, 16), (600, 256), (0, 8), (4,)], ids=str)
@each_dtype
@pytest.mark.parametrize("affine", [True, False])
@ALONE_OR_ADDED
@each_kind
def test_the_operator_gives_the_same_bits_as_the_python_function(
    operator, monkeypatch, kind, added, affine, dtype, shape
):
    torch.set_num_threads(2)
    module, _ = make_pair(kind, shape[-1], elementwise_affine=affine, dtype=dtype)
    x = draw(*shape, dtype=dtype)
    taken = call(operator, module, x, x if added else None) is not None
    assert taken or dtype not in layer_norm._compiled().dtypes
    ours = run(module, added, shape, dtype)
    monkeypatch.setattr(layer_norm, "at_once", lambda *_, **__: None)
    for actual, expected in zip(ours, run(module, added, shape, dtype), strict=True):
        assert torch.equal(actual, expected)


class Subclass(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return super().__torch_function__(function, types, args, kwargs or {})


def dual(x):
    return forward_ad.make_dual(x, torch.ones_like(x))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # from PyTorch's forward mode
@pytest.mark.parametrize(
    "special",
    [
        lambda x: x.t().contiguous().t(),
        lambda x: x[:, :4],
        lambda x: x.int(),
        lambda x: x.double(),
        lambda x: x.to("meta"),
        lambda x: x.to_sparse(),
        lambda x: x.as_subclass(Subclass),
        lambda x: torch._neg_view(x),
        lambda x: torch._efficientzerotensor(x.shape),
        dual,
        lambda x: x.tolist(),
    ],
)
def test_special_tensors_fall_back(operator, special):
    module, x = make_pair("layer", 5)[0], draw32(4, 5)
    with forward_ad.dual_level():
        assert call(operator, module, x) is not None
        assert call(operator, module, special(x)) is None
        assert call(operator, module, x, special(x)) is None


def test_special_parameters_fall_back(operator):
    x = draw32(4, 5)
    given = (x, None, (5,))
    assert operator(*given, torch.ones(5, dtype=torch.float64), None, 1e-5, True) is None
    assert operator(*given, torch.ones(10)[::2], None, 1e-5, True) is None
    assert operator(*given, torch.ones(4), None, 1e-5, True) is None
    assert operator(*given, torch.ones(5).as_subclass(Subclass), None, 1e-5, True) is None
    assert operator(*given, None, torch.ones(5), 1e-5, True) is None
    assert operator(*given, None, None, "small", True) is None


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # from torch.jit.trace
def test_transforms_modes_and_tracers_fall_back(operator):
    module, x, result = make_pair("rms", 5)[0], draw32(4, 5), []

    def keep(x):
        result.append(call(operator, module, x))
        return x * 1

    torch.vmap(keep)(x)
    torch.func.grad(lambda x: keep(x).sum())(x)
    torch.jit.trace(keep, x, check_trace=False)
    with FlopCounterMode(display=False):
        keep(x)
    assert result == [None] * len(result)
    assert len(result) >= 4


@ALONE_OR_ADDED
@each_kind
def test_the_autograd_node_behaves_like_pytorchs(operator, kind, added):
    module, x, residual = make_pair(kind, 5)[0], draw32(4, 5), draw32(4, 5, seed=1)
    given = (x.requires_grad_(), residual.requires_grad_() if added else None)

    def output():
        y = call(operator, module, *given)
        assert "Rows" in (y[0] if added else y).grad_fn.name()
        return sum(y) if added else y

    y = output()
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    with pytest.raises(RuntimeError, match="a second time"):
        y.sum().backward()
    y = output()
    with torch.no_grad():
        module.weight.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    packed = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        output().sum().backward()
    assert len(packed) >= 3


def test_gradients_can_be_computed_in_several_threads(operator):
    code = """
import threading, torch
from lnlib.nn import LayerNorm
m = LayerNorm(64)
x = torch.randn(32, 64)
def work():
    for _ in range(200):
        y = m(x.clone().requires_grad_())
        (g,) = torch.autograd.grad(y.square().sum(), m.weight, create_graph=True)
        g.sum().backward()
workers = [threading.Thread(target=work) for _ in range(4)]
[w.start() for w in workers]; [w.join() for w in workers]
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
