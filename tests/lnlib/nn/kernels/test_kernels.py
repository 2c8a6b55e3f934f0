"""Choice of the implementation: the requested one, or its fallback."""

import runpy

import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch.testing import assert_close
from torch.utils.flop_counter import FlopCounterMode

from lnlib.nn import LayerNormGRU, LayerNormLSTM, LayerNormRNN, kernels
from lnlib.nn.kernels import autograd, reference
from lnlib.nn.kernels.cpu import build, layer_norm, recurrent
from lnlib.nn.kernels.spec import Spec

each_kind = pytest.mark.parametrize(
    "kind", [LayerNormRNN, LayerNormLSTM, LayerNormGRU], ids=lambda k: k.__name__
)


def make(kind=LayerNormLSTM, **options):
    torch.manual_seed(0)
    return kind(3, 5, dtype=torch.float64, **options)


def x(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


@pytest.fixture
def unbuilt(monkeypatch, tmp_path):
    """A process in which nothing has been built yet, and whose compiler fails."""
    monkeypatch.setattr(recurrent, "_library", build.Library(recurrent.SOURCE, recurrent._check))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("CXX", "/bin/false")
    monkeypatch.delenv("LNLIB_COMPILED", raising=False)
    kernels._warn_fallback.cache_clear()
    yield monkeypatch
    kernels._warn_fallback.cache_clear()


@pytest.mark.parametrize("implementation", ["plain", "function", "compiled"])
def test_the_name_selects_the_implementation(built, calls, implementation):
    make(implementation=implementation)(x(4, 2, 3))
    assert calls == [implementation]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_the_default_is_the_compiled_implementation(built, calls, dtype):
    module = make().to(dtype)
    module(x(4, 2, 3).to(dtype))[0].sum().backward()
    module.eval()
    with torch.no_grad():
        module(x(4, 2, 3).to(dtype))
    assert calls == ["compiled", "compiled"]


@pytest.mark.parametrize("implementation", ["auto", "compiled"])
def test_16_bit_tensors_fall_back_silently(unbuilt, calls, capfd, implementation):
    make(implementation=implementation).bfloat16()(x(4, 2, 3).bfloat16())
    assert calls == ["function"]
    assert capfd.readouterr() == ("", "")


def test_cuda_falls_back_for_tensors_on_a_cpu(calls):
    make(implementation="cuda")(x(4, 2, 3))
    assert calls == ["function"]


@pytest.mark.parametrize("implementation", ["auto", "compiled"])
def test_failed_builds_fall_back_with_one_line(unbuilt, calls, capfd, implementation):
    for _ in range(2):
        y = make(implementation=implementation)(x(4, 2, 3))[0]
        y.sum().backward()
    assert calls == ["function", "function"]
    out, err = capfd.readouterr()
    assert out == ""
    assert err.splitlines() == [
        f"lnlib: no compiled recurrences, slower ones take their place: {recurrent.reason()}"
    ]
    assert "/bin/false ended with status 1" in err


@pytest.mark.parametrize("implementation", ["auto", "compiled"])
def test_disabled_implementations_fall_back_silently(unbuilt, calls, capfd, implementation):
    unbuilt.setenv("LNLIB_COMPILED", "0")
    make(implementation=implementation)(x(4, 2, 3))
    assert calls == ["function"]
    assert not kernels.available()["compiled"]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("compiler", ["works", "fails"])
def test_the_library_can_be_built_in_advance(request, capfd, compiler):
    layer_norm.operator_reason()  # builds the library if possible; its output is ignored
    capfd.readouterr()
    request.getfixturevalue({"works": "built", "fails": "unbuilt"}[compiler])
    with pytest.raises(SystemExit) as end:
        runpy.run_module("lnlib.nn.kernels", run_name="__main__")
    assert end.value.code == (compiler == "fails")
    text = f"lnlib: compiled recurrences: {recurrent.reason()}\n"
    text += f"lnlib: compiled norms: {layer_norm.reason()}\n"
    text += f"lnlib: operator of the norms: {layer_norm.operator_reason()}\n"
    assert capfd.readouterr() == (text, "")


# Tools that inspect operations must see them.


def test_dispatch_modes_see_the_operations(built, calls):
    counter = FlopCounterMode(display=False)
    with counter:
        make()(x(4, 2, 3))
    assert calls == ["plain"]
    # 2 (3 + 5) 4 · 5 for each of the 4 steps of 2 sequences.
    assert counter.get_total_flops() == 2 * 8 * 20 * 4 * 2


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # from PyTorch, about deprecations
def test_torch_compile_takes_a_module_as_one_graph(built):
    torch.compiler.reset()
    module = make()
    compiled = torch.compile(module, backend="eager", fullgraph=True)
    assert_close(compiled(x(4, 2, 3)), module(x(4, 2, 3)))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@each_kind
@pytest.mark.parametrize(
    "options",
    [{}, pytest.param({"num_layers": 2, "bidirectional": True}, marks=pytest.mark.slow)],
    ids=str,
)
def test_exported_modules_accept_any_batch_size(built, kind, options):
    module = make(kind, **options)
    sizes = ({1: torch.export.Dim("batch")},)
    exported = torch.export.export(module, (x(4, 3, 3),), dynamic_shapes=sizes).module()
    assert_close(exported(x(4, 7, 3)), module(x(4, 7, 3)))


def test_meta_tensors_give_shapes(built, calls):
    mode = FakeTensorMode()
    fake = mode.from_tensor(x(4, 2, 3))
    module = make(implementation="compiled")
    parameters = {n: mode.from_tensor(p.detach()) for n, p in module.named_parameters()}
    assert torch.func.functional_call(module, parameters, (fake,))[0].shape == (4, 2, 5)
    assert calls == ["plain"]


def run(inputs, h, weight, gain, weight_x=None):
    """A simple network, by the compiled path if that can."""
    product = reference.InputProduct(x(5, 5) if weight_x is None else weight_x, None, ())
    given = Spec("rnn"), inputs, [2] * 4, [h], weight, [(gain, None)]
    return kernels.run("compiled", *given, product)[0]


@pytest.mark.parametrize("which", range(1, 4), ids=["state", "weight", "gain"])
def test_mixed_dtypes_fall_back_to_a_supporting_implementation(built, monkeypatch, which):
    monkeypatch.setattr(recurrent, "run", lambda *a, **k: pytest.fail("not for these"))
    given = [x(8, 5), x(2, 5), x(5, 5), x(5)]
    mixed = list(given)
    mixed[which] = given[which].float()
    y = run(*mixed)
    assert y.dtype == torch.float64
    given[which] = mixed[which].double()
    inputs, h, weight, gain = given
    made = inputs @ x(5, 5).T
    assert_close(y, autograd.run(Spec("rnn"), made, [2] * 4, [h], weight, [(gain, None)])[0])
