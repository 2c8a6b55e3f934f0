"""Who computes: the path that was asked for, or the one that stands in for it."""

import os
import subprocess
import sys

import pytest
import torch
from torch.testing import assert_close

from lnlib.nn import LayerNormGRU, LayerNormLSTM, LayerNormRNN, kernels
from lnlib.nn.kernels import function, plain

each_kind = pytest.mark.parametrize(
    "kind", [LayerNormRNN, LayerNormLSTM, LayerNormGRU], ids=lambda k: k.__name__
)


def make(kind=LayerNormLSTM, **options):
    torch.manual_seed(0)
    return kind(3, 5, dtype=torch.float64, **options)


def x(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


@pytest.fixture
def asked(monkeypatch):
    """The names of the paths that computed something, in order."""
    names = []
    for module in (plain, function):
        real, path = module.lstm, module.__name__.split(".")[-1]

        def spy(*args, real=real, path=path, **options):
            names.append(path)
            return real(*args, **options)

        monkeypatch.setattr(module, "lstm", spy)
    return names


def test_every_path_is_listed_and_two_are_always_there():
    there = kernels.available()
    assert set(there) == set(kernels.IMPLEMENTATIONS) - {"auto"}
    assert there["plain"] is there["function"] is True
    assert there["cuda"] == torch.cuda.is_available()


@pytest.mark.parametrize(
    ("implementation", "path"), [("auto", "function"), ("function", "function"), ("plain", "plain")]
)
def test_the_name_chooses_who_computes(asked, implementation, path):
    make(implementation=implementation)(x(4, 2, 3))
    assert asked == [path]


def test_cuda_gives_way_for_tensors_on_a_cpu(asked):
    make(implementation="cuda")(x(4, 2, 3))
    assert asked == ["function"]


def test_without_a_compiler_the_compiled_path_gives_way_without_a_word():
    code = (
        "import torch; from lnlib.nn import LayerNormLSTM, kernels;"
        "m = LayerNormLSTM(3, 5, implementation='compiled');"
        "m(torch.ones(4, 2, 3))[0].sum().backward();"
        "print(kernels.available()['compiled'], m.weight_hh_l0.grad.shape)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"LNLIB_COMPILED": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "False torch.Size([20, 5])\n"
    assert done.stderr == ""


@each_kind
def test_gradients_of_each_example_come_from_vmap(kind):
    module = make(kind)
    parameters = {name: p.detach() for name, p in module.named_parameters()}
    xs = x(6, 4, 3)  # six sequences of four steps

    def loss(parameters, sequence):
        return torch.func.functional_call(module, parameters, (sequence,))[0].square().sum()

    per_example = torch.func.vmap(torch.func.grad(loss), (None, 0))(parameters, xs)
    for k in range(6):
        module.zero_grad()
        loss(dict(module.named_parameters()), xs[k]).backward()
        for name, p in module.named_parameters():
            assert_close(per_example[name][k], p.grad)


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # PyTorch's own use
@each_kind
def test_forward_mode_gives_the_derivative_along_a_direction(kind):
    module = make(kind)
    a, direction = x(4, 2, 3), x(8, 2, 3)[4:]
    _, along = torch.func.jvp(lambda a: module(a)[0], (a,), (direction,))
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(a, direction)
        same = torch.autograd.forward_ad.unpack_dual(module(dual)[0]).tangent
    with torch.no_grad():
        step = 1e-6
        expected = (module(a + step * direction)[0] - module(a - step * direction)[0]) / (2 * step)
    assert_close(along, expected, rtol=1e-6, atol=1e-8)
    assert_close(same, along)


@pytest.mark.parametrize("loss", [torch.Tensor.sum, lambda y: y.square().sum()])
def test_a_second_derivative_is_refused_where_it_would_be_wrong(loss):
    a = x(4, 2, 3).requires_grad_()
    (slope,) = torch.autograd.grad(loss(make()(a)[0]), a, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slope.sum().backward()
