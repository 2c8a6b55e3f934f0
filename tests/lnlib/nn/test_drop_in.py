"""Compatibility with code written for the modules of torch.nn."""

import io
import itertools
from functools import partial

import pytest
import torch
from torch.testing import assert_close

from lnlib.nn import (
    AdaptiveLayerNorm,
    DynamicTanh,
    LayerNorm,
    ParallelLayerNorm,
    ParallelRMSNorm,
    RMSNorm,
)
from lnlib.nn.baselines import BatchNorm
from lnlib.nn.transformer import Transformer
from tests.cases.modules import CELLS, IN, KINDS, TORCH, B, H, T, each_form, each_kind, make, states

IMPLEMENTATIONS = ["plain", "function", "fused", "compiled"]


@each_kind
def test_positional_arguments_equal_those_of_pytorch(kind):
    args = [IN, H, 2, True, True, 0.5, True, 0, "cpu", torch.float64]
    if kind == "rnn":
        args.insert(3, "relu")
    ours, theirs = KINDS[kind](*args), TORCH[kind](*args)
    for name in (
        *("input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout"),
        *("bidirectional", "proj_size", "mode"),
    ):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert ours.weight_hh_l1_reverse.dtype == theirs.weight_hh_l1_reverse.dtype
    assert KINDS[kind](IN, H).mode == TORCH[kind](IN, H).mode


@each_kind
@pytest.mark.parametrize("size", [1, -1, 0.0, True, "0"], ids=repr)
def test_projections_raise_an_error(kind, size):
    with pytest.raises(ValueError, match=rf"proj_size must be 0, got {size!r}; .*Linear"):
        KINDS[kind](IN, H, proj_size=size)


@each_form
def test_all_weights_are_listed_per_layer_and_direction(kind, form):
    module = make(kind, form=form, num_layers=11, bidirectional=True)
    assert module.flatten_parameters() is None
    lists, theirs = module.all_weights, TORCH[kind](IN, H, num_layers=11, bidirectional=True)
    assert len(lists) == len(theirs.all_weights) == 22
    assert [w[0].shape for w in lists] == [w[0].shape for w in theirs.all_weights]
    assert [w[1] for w in lists][:2] == [module.weight_hh_l0, module.weight_hh_l0_reverse]
    of_all = [id(p) for own in lists for p in own]
    assert sorted(of_all) == sorted(map(id, module.parameters()))
    one = {name for name, p in module.named_parameters() if any(p is q for q in lists[3])}
    assert one == {n for n, _ in module.named_parameters() if "_l1_reverse" in n}


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("kind", [LayerNorm, RMSNorm])
@pytest.mark.parametrize("shape", [(5,), (4, 5), (3, 4, 5)], ids=str)
@pytest.mark.parametrize("depth", [(), (6,)], ids=["images", "volumes"])
def test_memory_format_channels_last_is_preserved(kind, implementation, shape, depth):
    format = torch.channels_last_3d if depth else torch.channels_last
    x = torch.randn(2, 3, *depth, 4, 5)
    if depth and len(shape) == 3:
        shape = (3, *depth, 4, 5)
    norm = kind(shape, implementation=implementation)
    last = x.contiguous(memory_format=format)
    for y, expected in ((norm(last), norm(x)), *zip(norm(last, last), norm(x, x), strict=True)):
        assert y.is_contiguous(memory_format=format)
        assert not y.is_contiguous()
        assert_close(y, expected)
    assert norm(x).is_contiguous()
    both = torch.stack([last, last])
    assert_close(torch.vmap(norm)(both)[1], norm(x))


def complex_calls():
    z, x, complex64 = torch.randn(4, 5, dtype=torch.complex64), torch.randn(4, 5), torch.complex64
    for implementation, kind in itertools.product(IMPLEMENTATIONS, (LayerNorm, RMSNorm)):
        make_norm, name = partial(kind, 5, implementation=implementation), kind.__name__
        name = f"{name} {implementation}"
        yield name, lambda f=make_norm: f()(z)
        yield f"{name} residual", lambda f=make_norm: f()(x, z)
        yield f"{name} weight", lambda f=make_norm: f(dtype=complex64)(x)
    yield "adaptive condition", lambda: AdaptiveLayerNorm(5, 5)(x, z)
    for kind in (ParallelLayerNorm, ParallelRMSNorm, DynamicTanh):
        yield kind.__name__, lambda kind=kind: kind(5)(z)
    for kind in KINDS:
        yield kind, lambda kind=kind: KINDS[kind](5, H)(z)
        yield f"{kind} cell", lambda kind=kind: CELLS[kind](5, H)(z)
        yield f"{kind} weights", lambda kind=kind: KINDS[kind](5, H, dtype=complex64)(x)


COMPLEX = dict(complex_calls())


@pytest.mark.parametrize("call", COMPLEX.values(), ids=COMPLEX)
def test_complex_tensors_raise_the_same_error_in_every_implementation(call):
    with pytest.raises(NotImplementedError, match=r": \w+ must be real, got torch.complex64; take"):
        call()


@each_kind
@pytest.mark.parametrize("dtype", [torch.complex64, torch.int64], ids=str)
def test_states_that_autocast_cannot_cast_raise_an_error(kind, dtype):
    for module, x, shape in (
        (KINDS[kind](IN, H), torch.ones(T, B, IN), (1, B, H)),
        (CELLS[kind](IN, H), torch.ones(B, IN), (B, H)),
    ):
        h = torch.ones(shape, dtype=dtype)
        with (
            torch.autocast("cpu", torch.bfloat16),
            pytest.raises((RuntimeError, NotImplementedError), match=rf"hx.* {dtype}"),
        ):
            module(x, (h, h) if kind == "lstm" else h)


@pytest.mark.parametrize("eps", [-1.0, float("nan"), float("inf"), 10**400, True, "1e-5", 1j])
def test_invalid_eps_raises_an_error_in_every_module(eps):
    for build in (
        lambda: LayerNorm(5, eps),
        lambda: RMSNorm(5, eps),
        lambda: ParallelLayerNorm(5, eps),
        lambda: ParallelRMSNorm(5, eps),
        lambda: AdaptiveLayerNorm(5, 3, eps),
        lambda: BatchNorm(5, eps),
        lambda: Transformer(65, eps=eps),
        *(lambda kind=kind: kind(IN, H, eps=eps) for kind in (*KINDS.values(), *CELLS.values())),
    ):
        with pytest.raises(ValueError, match=r"^\w+: eps must be finite and >= 0, got .{1,60};"):
            build()


@pytest.mark.parametrize("momentum", [-0.1, 1.5, float("nan"), None, "0.1"])
def test_invalid_momentum_raises_an_error(momentum):
    with pytest.raises(ValueError, match="BatchNorm: momentum must be between 0 and 1, got"):
        BatchNorm(5, momentum=momentum)


@pytest.mark.one_in(3)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning", "ignore::FutureWarning")
@each_form
def test_models_of_the_older_onnx_exporter_run_correctly(kind, form):
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    module = make(kind, form=form, num_layers=2, bidirectional=True).float().eval()
    x, file = torch.randn(T, B, IN), io.BytesIO()
    torch.onnx.export(module, (x,), file, dynamo=False, input_names=["x"])
    outputs = runtime.InferenceSession(file.getvalue()).run(None, {"x": x.numpy()})
    expected, last = module(x)
    for ours, theirs in zip(outputs, (expected, *states(kind, last)), strict=True):
        assert_close(torch.from_numpy(ours), theirs.detach(), atol=2e-5, rtol=0)
