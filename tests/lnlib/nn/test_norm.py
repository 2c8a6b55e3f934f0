"""Layer norm and RMS norm as modules: drop-ins for those of PyTorch."""

import copy
import pickle
import subprocess
import sys

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from lnlib import _install
from lnlib.nn import LayerNorm, RMSNorm
from tests.cases.norm_modules import (
    FLOAT64,
    FLOATS,
    KINDS,
    draw,
    each_dtype,
    each_implementation,
    each_kind,
    make_pair,
    run,
)

each_weight_dtype = pytest.mark.parametrize("weight_dtype", FLOATS, ids=str)


def call(function, *args, **options):
    """Return what ``function`` returns, or the type of what it raises."""
    try:
        return function(*args, **options)
    except Exception as error:
        return type(error)


@each_kind
@each_implementation
@pytest.mark.parametrize("options", [{"bias": False}, {"elementwise_affine": False}], ids=str)
def test_parameters_can_be_left_out(kind, implementation, options):
    if kind == "rms" and "bias" in options:
        pytest.skip("has none")
    ours, theirs = make_pair(kind, 7, implementation, dtype=torch.float64, **options)
    assert ours.state_dict().keys() == theirs.state_dict().keys()
    assert_close(run(ours, False, (5, 7)), run(theirs, False, (5, 7)), **FLOAT64)


@pytest.mark.filterwarnings("ignore:Mismatch dtype")  # PyTorch's own, of RMS norm
@each_kind
@each_implementation
@each_weight_dtype
@each_dtype
def test_mixed_dtypes_behave_as_in_pytorch_with_and_without_autocast(
    kind, implementation, dtype, weight_dtype
):
    ours, theirs = make_pair(kind, 8, implementation, dtype=weight_dtype)
    x = draw(5, 8, dtype=dtype)
    # Older ones round to the input's dtype before they multiply by a wider weight.
    near = {"rtol": 8 * torch.finfo(dtype).eps, "atol": 1e-5 if dtype.itemsize < 8 else 1e-13}
    for autocast in (False, True):
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            expected = call(theirs, x)
            if isinstance(expected, torch.Tensor):
                assert_close(ours(x), expected, **near)  # dtype included
            else:
                with pytest.raises(expected, match=r"must be of the input's|mixed dtype"):
                    ours(x)


# Not fused: on a CPU PyTorch's own kernel rounds mean and rstd to 16 bits between forward and
# backward, which puts its weight gradient here off by 0.01 (float16) and 0.1 (bfloat16).
@each_kind
@pytest.mark.parametrize("implementation", ["plain", "function"])
@pytest.mark.parametrize("dtype", FLOATS[:2], ids=str)
def test_16_bit_inputs_are_summed_in_float32(kind, implementation, dtype):
    # 4096 numbers near 100 add up to six times the largest float16.
    ours, _ = make_pair(kind, 4096, implementation, dtype=dtype)
    x, dy = (draw(3, 4096, seed=k, dtype=dtype) for k in range(2))
    x = 100 + 8 * x
    results = []
    for module, t, d in ((ours, x, dy), (copy.deepcopy(ours).double(), x.double(), dy.double())):
        y = module(t.requires_grad_())
        results.append([y, *torch.autograd.grad(y, [t, *module.parameters()], d)])
    assert_close(*results, check_dtype=False)


@each_kind
@each_implementation
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
def test_eps_of_none_equals_pytorchs_in_every_dtype(kind, implementation, affine, dtype):
    """Of inputs so small that an eps of another dtype gives another output and gradient."""
    if kind == "layer":
        with pytest.raises(ValueError, match="LayerNorm: eps must be finite and >= 0, got None"):
            LayerNorm(8, None, affine, implementation=implementation)
        return
    size = torch.finfo(torch.float32 if dtype == torch.bfloat16 else dtype).eps ** 0.5
    results = []
    for module in (RMSNorm(8, None, affine, dtype=dtype, implementation=implementation),
                   nn.RMSNorm(8, None, affine, dtype=dtype)):  # fmt: skip
        x = (size * draw(5, 8)).to(dtype).requires_grad_()
        y = module(x)
        (y * y).sum().backward()
        results.append((y.double(), size * x.grad.double()))
    (y, dx), expected = results
    assert 0.3 < y.square().mean() < 0.7  # eps is as large as the squares
    close = {torch.bfloat16: 0.02, torch.float32: 1e-5}.get(dtype, 1e-12)
    assert_close((y, dx), expected, rtol=close, atol=close)


@each_kind
def test_arguments_have_the_order_of_pytorch(kind):
    arguments = [(3, 4), 1e-3, True, *[False] * (kind == "layer"), "cpu", torch.float64]
    ours, theirs = (module(*arguments) for module in KINDS[kind])
    assert isinstance(ours, KINDS[kind][1])
    assert repr(ours) == repr(theirs)
    assert ours.implementation == "fused"
    assert (ours.weight.dtype, ours.weight.shape) == (torch.float64, (3, 4))
    assert ours.state_dict().keys() == theirs.state_dict().keys() == {"weight"}
    assert "implementation='plain'" in repr(KINDS[kind][0](4, implementation="plain"))


@each_kind
@each_implementation
def test_copies_and_pickles_compute_the_same(kind, implementation):
    module, _ = make_pair(kind, 4, implementation)
    x = draw(3, 4, dtype=torch.float32)
    for twin in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert repr(twin) == repr(module)
        assert torch.equal(twin(x), module(x))


INTEGERS = torch.ones(3, 4, dtype=torch.long)
MISTAKES = {
    "wrong width": ({}, torch.ones(3, 5), "normalized_shape.*5"),
    "scalar": ({}, torch.ones(()), "normalized_shape|at least 1 dim"),
    "list": ({}, [1.0, 2.0, 3.0, 4.0], "must be (a )?Tensor.* list"),
    "integers": ({}, INTEGERS, "int64|mixed dtype|floating-point tensor|not impl"),
    "no weight": ({"elementwise_affine": False}, INTEGERS, "floating-point tensor|not implemented"),
    "empty shape": ({"normalized_shape": ()}, torch.ones(3), "normalized_shape"),
}


@each_kind
@each_implementation
@pytest.mark.parametrize(("options", "given", "match"), MISTAKES.values(), ids=MISTAKES)
def test_errors_equal_those_of_pytorch(kind, implementation, options, given, match):
    options = {"normalized_shape": 4, **options}
    ours, theirs = KINDS[kind]
    expected = call(theirs(**options), given)
    # PyTorch now says NotImplementedError or IndexError, where 2.7 said RuntimeError.
    with pytest.raises((expected, RuntimeError), match=match):
        ours(**options, implementation=implementation)(given)


@each_kind
@each_implementation
@pytest.mark.parametrize(
    ("residual", "error", "match"),
    [
        (torch.ones(3, 1), RuntimeError, r"residual must be .* \[3, 4\], got \[3, 1\]; try"),
        ([[1.0] * 4] * 3, TypeError, "residual must be a Tensor, got list; try"),
    ],
    ids=["shape", "list"],
)
def test_invalid_residuals_raise_an_error(kind, implementation, residual, error, match):
    with pytest.raises(error, match=match):
        KINDS[kind][0](4, implementation=implementation)(torch.ones(3, 4), residual)


@each_kind
def test_invalid_constructor_arguments_raise_an_error(kind):
    ours, theirs = KINDS[kind]
    for shape in (0, (3, 0)):
        with pytest.raises(ValueError, match=r"Norm: .*at least one feature .* the width"):
            ours(shape)
    for shape in ("ab", 4.0, -4):
        with pytest.raises(call(theirs, shape), match=r"size|iterable|dimension"):
            ours(shape)
    with pytest.raises(ValueError, match=r"Norm: .* plain, function, fused, compiled, got 'f'; "):
        ours(4, implementation="f")


def test_missing_pytorch_gives_one_clear_sentence():
    code = "import sys; sys.modules['torch'] = None; import lnlib.nn"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stderr.splitlines()[-1] == (
        f"ImportError: lnlib.nn needs PyTorch; install it with: {_install.command()}"
    )
    assert "During handling" not in result.stderr


# torch.compile, which itself uses what PyTorch deprecates.

compiles = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@compiles
@each_kind
@each_implementation
def test_torch_export_works(kind, implementation):
    module, x = make_pair(kind, 4, implementation)[0], draw(3, 4, dtype=torch.float32)
    assert_close(torch.export.export(module, (x,)).module()(x), module(x))
