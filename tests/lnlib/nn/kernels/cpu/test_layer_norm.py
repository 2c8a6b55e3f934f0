"""RMS norm and fused add-and-norm as modules, compared with PyTorch's operations."""

import copy
import os
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import forward_ad, gradcheck, gradgradcheck
from torch.testing import assert_close

from lnlib.nn import LayerNorm, RMSNorm
from lnlib.nn.kernels import layer_norm_function
from lnlib.nn.kernels.cpu import layer_norm
from tests.cases.norm_modules import (
    ALONE_OR_ADDED,
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

SHAPES = [
    *(((H,), (n, H)) for H, n in ((7, 5), (16, 8), (33, 1), (100, 9), (1, 3))),
    ((3, 4), (2, 5, 3, 4)),
    ((6,), (6,)),
    ((4,), (0, 4)),
    ((130,), (70, 2, 130)),  # more rows than are summed before double takes over
]


@each_kind
@each_implementation
@ALONE_OR_ADDED
@pytest.mark.parametrize(("normalized_shape", "shape"), SHAPES, ids=str)
def test_outputs_and_gradients_equal_those_of_pytorch(
    kind, implementation, added, normalized_shape, shape
):
    options = {"dtype": torch.float64, "eps": 0.3}
    ours, theirs = make_pair(kind, normalized_shape, implementation, **options)
    for scale, shift in ((1.0, 0.0), (-3.0, 2.0)):
        actual, expected = (run(m, added, shape, scale=scale, shift=shift) for m in (ours, theirs))
        assert_close(actual, expected, **FLOAT64)


@each_kind
@ALONE_OR_ADDED
@pytest.mark.parametrize("dtype", FLOATS[:3], ids=str)
def test_errors_against_float64_are_no_larger_than_those_of_torch(built, kind, added, dtype):
    # The root mean square over all numbers and five seeds, of each output and each gradient.
    ours, theirs = make_pair(kind, 256, "compiled", dtype=dtype)
    exact = copy.deepcopy(theirs).double()
    squares = {}
    for seed in range(5):
        x, residual, *d = (draw(300, 256, seed=10 * seed + k, dtype=dtype) for k in range(4))
        x, d = x + 3, d[: 1 + added]
        total, results = x + residual if added else x, {}  # the exact one gets the rounded sum
        for name, module, leaf in (
            ("ours", ours, x), ("theirs", theirs, total), ("exact", exact, total.double()),
        ):  # fmt: skip
            leaf = leaf.clone().requires_grad_()
            is_of_two = name == "ours" and added
            outputs = (module(leaf, residual) if is_of_two else (module(leaf), leaf))[: 1 + added]
            leaves, wide = [leaf, *module.parameters()], [t.to(leaf.dtype) for t in d]
            results[name] = [*outputs, *torch.autograd.grad(outputs, leaves, wide)]
        for name in ("ours", "theirs"):
            for k, (a, e) in enumerate(zip(results[name], results["exact"], strict=True)):
                assert a.dtype == dtype
                error = (a.double() - e).square().mean().item()
                squares[name, k] = squares.get((name, k), 0) + error
    for k in range(len(squares) // 2):
        # Measured: 0.08 (gradients of layer norm's parameters in 16 bits) to 1.00002.
        assert squares["ours", k] <= 1.01**2 * squares["theirs", k]


@each_dtype
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -0.0, 1e-40, 6e4], ids=str)
def test_special_numbers_are_handled_as_in_pytorch(built, dtype, value):
    x, residual = draw(2, 5, 20, dtype=dtype)
    x[1, 3], residual[1, 3] = value, 0
    ours, theirs = make_pair("rms", 20, "compiled", dtype=dtype)
    y, total = ours(x, residual)
    assert_close(total, x + residual, rtol=0, atol=0, equal_nan=True)
    assert_close(y, theirs(x + residual), equal_nan=True)


@each_kind
@ALONE_OR_ADDED
@pytest.mark.parametrize("count", [1, 3])
def test_every_thread_processes_its_part(built, monkeypatch, kind, added, count):
    monkeypatch.setattr(layer_norm, "WORK", 8)
    torch.set_num_threads(count)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(count), raising=False)
    ours, theirs = make_pair(kind, 20, "compiled", dtype=torch.float64)
    for n in (2, 7, 301):
        actual, expected = (run(m, added, (n, 20)) for m in (ours, theirs))
        assert_close(actual, expected, **FLOAT64)


@each_kind
def test_tensors_can_have_any_memory_layout(built, kind):
    ours, theirs = make_pair(kind, 6, "compiled", dtype=torch.float64)
    strided = draw(6, 2).t()
    for module in (ours, theirs):
        module.weight = nn.Parameter(strided[0])
    x, residual, dy, dsum = (draw(6, 5, 4, seed=k).permute(2, 1, 0) for k in range(4))
    x.requires_grad_()
    both = []
    for outputs in (ours(x, residual), (theirs(x + residual), x + residual)):
        both.append([*outputs, *torch.autograd.grad(outputs, x, (dy, dsum))])
    assert_close(*both, **FLOAT64)


@each_kind
@pytest.mark.parametrize("frozen", ["input", "residual", "weight", "parameters"])
def test_only_trainable_tensors_get_gradients(built, kind, frozen):
    both = []
    for module in make_pair(kind, 7, "compiled", dtype=torch.float64):
        x, residual, dy, dsum = (draw(5, 7, seed=k) for k in range(4))
        leaves = {"input": x, "residual": residual, **dict(module.named_parameters())}
        for name, leaf in leaves.items():
            is_parameter = frozen == "parameters" and isinstance(leaf, nn.Parameter)
            leaf.requires_grad_(name != frozen and not is_parameter)
        ours = isinstance(module, (LayerNorm, RMSNorm))
        outputs = module(x, residual) if ours else (module(x + residual), x + residual)
        torch.autograd.backward(outputs, (dy, dsum))
        both.append([torch.zeros(()) if p.grad is None else p.grad for p in leaves.values()])
    assert_close(*both, **FLOAT64)


@each_kind
@pytest.mark.parametrize("used", [0, 1], ids=["the norm", "the sum"])
def test_one_output_can_be_unused(built, kind, used):
    ours, theirs = make_pair(kind, 7, "compiled", dtype=torch.float64)
    x, residual, dy = (draw(5, 7, seed=k).requires_grad_() for k in range(3))
    total = x + residual
    both = [
        torch.autograd.grad(outputs[used], (x, residual), dy)
        for outputs in (ours(x, residual), (theirs(total), total))
    ]
    assert_close(*both, **FLOAT64)


@each_kind
@each_implementation
@ALONE_OR_ADDED
def test_gradients_match_central_differences_twice(kind, implementation, added):
    module, _ = make_pair(kind, (3, 2), implementation, dtype=torch.float64, eps=0.1)
    names = [name for name, _ in module.named_parameters()]

    def forward(*tensors):
        given = dict(zip(names, tensors, strict=False))
        return torch.func.functional_call(module, given, tensors[len(names) :])

    inputs = [draw(3, 2, 3, seed=k).transpose(1, 2).requires_grad_() for k in range(1 + added)]
    assert gradcheck(forward, (*module.parameters(), *inputs))
    assert gradgradcheck(forward, (*module.parameters(), *inputs))


# PyTorch's compiler and its forward mode themselves use what PyTorch deprecates.
compiles = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@compiles
@each_kind
@ALONE_OR_ADDED
def test_forward_mode_gives_the_derivative_along_a_direction(kind, added):
    module, _ = make_pair(kind, 4, "compiled", dtype=torch.float64)
    parameters = {name: p.detach() for name, p in module.named_parameters()}
    tensors = [draw(5, 4, seed=k) for k in range(1 + added)]

    def loss(parameters, *given):
        outputs = torch.func.functional_call(module, parameters, given)
        return sum((y.sin() * y).sum() for y in ((outputs,) if not added else outputs))

    tangents = [draw(5, 4, seed=8 + k) for k in range(1 + added)]
    with forward_ad.dual_level():
        dual = [forward_ad.make_dual(t, d) for t, d in zip(tensors, tangents, strict=True)]
        moved = forward_ad.unpack_dual(loss(parameters, *dual)).tangent
    leaves = [t.requires_grad_() for t in tensors]
    slopes = torch.autograd.grad(loss(parameters, *leaves), leaves)
    assert_close(moved, sum((s * d).sum() for s, d in zip(slopes, tangents, strict=True)))


@compiles
@each_kind
@ALONE_OR_ADDED
def test_torch_compile_gives_one_graph(kind, added):
    torch.compiler.reset()
    module, _ = make_pair(kind, 4, "fused", dtype=torch.float64)
    compiled = torch.compile(module, backend="aot_eager", fullgraph=True)
    x, residual = (draw(5, 4, seed=k).requires_grad_() for k in range(2))
    given = (x, residual)[: 1 + added]
    both = []
    for call in (compiled, module):
        outputs = call(*given)
        outputs = outputs if added else (outputs,)
        loss = sum((y * draw(*y.shape, seed=5)).sum() for y in outputs)
        both.append([*outputs, *torch.autograd.grad(loss, [*given, *module.parameters()])])
    assert_close(*both, **FLOAT64)


@pytest.mark.parametrize(
    ("kind", "implementation", "node"),
    [
        ("rms", "plain", "Mul"),
        ("rms", "function", "NormFunction"),
        ("rms", "fused", "Rows"),
        ("rms", "compiled", "Rows"),
        ("layer", "fused", "Rows"),
        ("layer", "plain", "Add"),
    ],
)
def test_the_name_selects_the_implementation_of_the_gradient(built, kind, implementation, node):
    module = KINDS[kind][0](4, implementation=implementation)
    y, _ = module(torch.ones(3, 4), torch.ones(3, 4))
    assert node in y.grad_fn.name()


@pytest.mark.slow
def test_failed_builds_fall_back_to_pytorch_with_one_line(tmp_path):
    code = """
import torch
from lnlib.nn import LayerNorm, RMSNorm
x = torch.arange(8.0).view(2, 4)
torch.testing.assert_close(RMSNorm(4)(x), torch.nn.RMSNorm(4)(x))
y, total = LayerNorm(4)(x, x)
torch.testing.assert_close(y, torch.nn.LayerNorm(4)(x + x))
"""
    env = os.environ | {"CXX": "no-such-compiler", "XDG_CACHE_HOME": str(tmp_path)}
    env.pop("LNLIB_COMPILED", None)
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    texts = [line for line in done.stderr.splitlines() if "take their place" in line]
    assert len(texts) == 1
    assert "no-such-compiler" in texts[0]


def test_the_self_check_detects_wrong_numbers(built):
    class Off(layer_norm._Compiled):
        def backward(self, *args):
            super().backward(*args)
            args[-1 if args[-1] is not None else -2].mul_(1.2)

    kernel = Off(layer_norm._library.load()[0])
    with pytest.raises(RuntimeError, match=r"layer norm of .* differs from the plain formula by"):
        layer_norm_function.compare(kernel, torch.device("cpu"), torch.float32, 19)


@each_kind
@ALONE_OR_ADDED
@pytest.mark.parametrize(
    ("dtype", "power"),
    [(torch.float32, 66), (torch.bfloat16, 115), (torch.float32, 115), (torch.float64, 1000)],
    ids=str,
)
def test_numbers_whose_squares_overflow_are_normalized_as_others_are(
    built, kind, added, dtype, power
):
    ours, _ = make_pair(kind, 40, "compiled", dtype=dtype)
    x, residual, dy = draw(3, 9, 40, dtype=dtype)
    power = power + torch.arange(9)[:, None] % 2  # rows of two sizes
    results = []
    # A power of 2 rounds nothing; beside the square of 2**40, eps is nothing.
    for at in (40, power):
        scale = torch.full((9, 1), 2.0, dtype=dtype) ** torch.as_tensor(at)
        ours.zero_grad()
        a, b = ((t * scale).requires_grad_() for t in (x, residual))
        y = ours(a, b)[0] if added else ours(a)
        y.backward(dy)
        results.append([y, a.grad.double() * scale, *(p.grad for p in ours.parameters())])
    for actual, expected in zip(*results, strict=True):
        assert_close(actual, expected, rtol=1e-2 if dtype == torch.bfloat16 else 1e-4, atol=1e-5)


@each_kind
def test_rows_give_the_same_bits_alone_and_in_a_batch(built, kind):
    ours, _ = make_pair(kind, 40, "compiled", dtype=torch.float32)
    x, dy = (draw(90, 40, dtype=torch.float32) for _ in range(2))

    def both(x, dy):
        x = x.clone().requires_grad_()
        y = ours(x)
        return torch.cat([y.detach(), *torch.autograd.grad(y, x, dy)])

    together = both(x, dy).view(2, 90, 40)
    for k in range(90):
        assert torch.equal(both(x[k : k + 1], dy[k : k + 1]).view(2, 40), together[:, k])


# Digits, where PyTorch's own kernels lose them.


@each_kind
@pytest.mark.parametrize("count", [1, 2])
def test_gradients_of_parameters_are_summed_over_rows_in_double(built, kind, count):
    # 64 rows whose sum is 2^24, beside which 1 is lost in float32, and 200 times 64 rows of sum 1.
    torch.set_num_threads(count)
    dy = torch.full((201 * 64, 64), 2.0**-6)
    dy[:64] = 2.0**18
    module = KINDS[kind][0](64, eps=0, implementation="compiled")
    x = torch.tensor([1.0, -1.0]).repeat(32).expand(len(dy), 64)
    module(x).backward(dy)
    expected = torch.full((64,), 2.0**24 + 200)
    assert torch.equal(module.weight.grad, expected * x[0])
    if kind == "layer":
        assert torch.equal(module.bias.grad, expected)


@ALONE_OR_ADDED
@each_dtype
@pytest.mark.parametrize(
    ("H", "mean"), [(1, 3.0), (1, 1e4), (2, 1e4), (3, -1e4), (768, 1e4), (768, 1e6)]
)
def test_the_default_layer_norm_is_accurate_for_any_mean(built, H, mean, dtype, added):
    # A weight of 2 and a bias of 3: of one feature, or of equal ones, 3 is the output.
    norm = LayerNorm(H, dtype=dtype)
    with torch.no_grad():
        norm.weight.fill_(2)
        norm.bias.fill_(3)
    if dtype == torch.float16:
        mean = min(mean, 1e4)
    x = (mean + draw(500, H)).to(dtype)
    y = norm(x, torch.zeros_like(x))[0] if added else norm(x)
    # Shifted, which changes nothing, so that PyTorch's keeps its digits.
    exact = F.layer_norm(x.double() - mean, (H,), norm.weight.double(), norm.bias.double())
    # Measured: 1.5 eps of the largest output in each dtype; PyTorch's 0.28 in float32.
    allowed = {torch.float16: 1.0, torch.bfloat16: 1.0}.get(dtype, 4.0)
    assert (y.double() - exact).abs().max() <= allowed * torch.finfo(dtype).eps * exact.abs().max()
