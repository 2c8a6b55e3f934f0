"""The Triton kernels without a GPU: run by Triton's interpreter, and compiled for four chips."""

import pytest
import torch
from torch.testing import assert_close

pytest.importorskip("triton", reason="needs triton, which comes with PyTorch for CUDA")

from lnlib.nn.kernels import cuda, cuda_graphs, cuda_steps, cuda_trial, plain, triton_kernels
from lnlib.nn.kernels.spec import Spec
from tests.cases.interpreter import in_the_interpreter, in_this_process

PARTS = {"lstm": 4, "gru": 3, "rnn": 1}
KINDS = [
    *(("lstm", form, "tanh") for form in ("paper", "carried", "per_gate", "draw")),
    ("gru", "paper", "tanh"),
    *(("rnn", form, f) for form in ("paper", "parts") for f in ("tanh", "relu")),
]
each_kind = pytest.mark.parametrize(("kind", "form", "nonlinearity"), KINDS)


def make(kind, form, nonlinearity, sizes, dtype, H=5, scale=1.0):
    """Return a function of the module that runs it, and its leaves."""
    generator = torch.Generator().manual_seed(0)

    def draw(*shape, scale=1.0, shift=0.0):
        drawn = torch.randn(shape, generator=generator, dtype=torch.float64) * scale + shift
        return drawn.to(dtype).requires_grad_()

    parts, B = PARTS[kind], sizes[0]
    inputs, weight = draw(sum(sizes), parts * H, scale=scale), draw(parts * H, H, scale=0.4)
    state = [draw(B, H) for _ in range(2 if kind == "lstm" else 1)]
    widths = {"lstm": (4, 1), "gru": (2, 1), "rnn": (1,)}[kind]
    norms = [(draw(n * H, scale=0.5, shift=1), draw(n * H)) for n in widths]
    if form == "draw":
        del norms[0]
    options = {"lstm": {"form": form}, "gru": {}}.get(
        kind, {"form": form, "nonlinearity": nonlinearity}
    )
    options["eps"] = 0.3  # dropped, it would show
    leaves = [inputs, *state, weight, *(p for norm in norms for p in norm)]

    def run(module, **more):
        return module.run(Spec(kind, **options, **more), inputs, sizes, state, weight, norms)

    return run, leaves


def gradients(results, leaves):
    return torch.autograd.grad(sum((r * r.detach().cos()).sum() for r in results), leaves)


@pytest.fixture
def kernels(monkeypatch):
    """Let the CUDA path take its steps by Triton's interpreter on a CPU."""
    monkeypatch.setattr(
        cuda_graphs,
        "_walker",
        lambda spec, x, running, w: cuda_graphs._Walker(spec, triton_kernels),
    )


@in_the_interpreter
@each_kind
@pytest.mark.parametrize(
    ("sizes", "reverse"),
    [([3] * 4, False), ([4, 4, 3, 3, 1], True)],
    ids=["equal, forward", "unequal, reverse"],
)
def test_results_and_gradients_are_those_of_the_plain_loop(
    kernels, kind, form, nonlinearity, sizes, reverse
):
    run, leaves = make(kind, form, nonlinearity, sizes, torch.float64)
    expected, actual = run(plain, reverse=reverse), run(cuda, reverse=reverse)
    # Measured: results 3e-15, gradients 4e-14.
    assert_close(actual, expected, rtol=1e-11, atol=1e-12)
    assert_close(gradients(actual, leaves), gradients(expected, leaves), rtol=1e-10, atol=1e-11)


@in_the_interpreter
@each_kind
@pytest.mark.parametrize("H", [1, 8, 33])
def test_columns_past_the_width_do_not_count(kernels, kind, form, nonlinearity, H):
    run, leaves = make(kind, form, nonlinearity, [2, 2], torch.float64, H=H)
    expected, actual = run(plain), run(cuda)
    assert_close(actual, expected, rtol=1e-11, atol=1e-12)
    assert_close(gradients(actual, leaves), gradients(expected, leaves), rtol=1e-9, atol=1e-10)


def strided(*shape):
    """Return numbers whose neighbors are not neighbors in memory."""
    drawn = torch.randn(*shape[::-1], generator=torch.Generator().manual_seed(1))
    return drawn.double().permute(*reversed(range(len(shape)))).requires_grad_()


@in_the_interpreter
def test_arguments_and_gradients_may_lie_in_memory_as_they_like(kernels):
    T, B, H = 3, 4, 5
    norms = [tuple(strided(2, n).select(0, k) for k in (0, 1)) for n in (4 * H, H)]
    tensors = [strided(*s) for s in ((T * B, 4 * H), (B, H), (B, H), (4 * H, H))]
    d_results = [strided(T * B, H), strided(B, H), strided(B, H)]
    inputs, *others = tensors
    both = []
    for module in (plain, cuda):
        results = module.run(Spec("lstm"), inputs, [B] * T, others[:2], others[2], norms)
        both.append([*results, *torch.autograd.grad(results, tensors, d_results)])
    assert_close(both[1], both[0], rtol=1e-10, atol=1e-11)


@in_the_interpreter
@each_kind
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0], ids="inputs of {:g}".format)
def test_float32_is_as_close_to_float64_as_the_plain_loop_is(
    kernels, kind, form, nonlinearity, scale
):
    exact = make(kind, form, nonlinearity, [3] * 3, torch.float64, scale=scale)[0](plain)
    run, _ = make(kind, form, nonlinearity, [3] * 3, torch.float32, scale=scale)
    for actual, theirs, e in zip(run(cuda), run(plain), exact, strict=True):
        allowed = 3 * (theirs - e).abs().max() + 1e-6
        assert (actual - e).abs().max() < allowed


@in_the_interpreter
@each_kind
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_kernels_do_what_the_steps_in_pytorch_do(monkeypatch, kind, form, nonlinearity, dtype):
    results = []
    for steps in (cuda_steps, triton_kernels):
        monkeypatch.setattr(
            cuda_graphs, "_walker", lambda spec, x, r, w, s=steps: cuda_graphs._Walker(spec, s)
        )
        run, leaves = make(kind, form, nonlinearity, [4, 3, 3], dtype, H=6)
        values = run(cuda)
        results.append([*values, *gradients(values, leaves)])
    for a, b in zip(*results, strict=True):
        assert a.dtype == b.dtype == dtype
        # In roundings of the largest number, measured 2 in float16 and 32 in float32.
        assert (a - b).abs().max() <= 100 * torch.finfo(dtype).eps * b.abs().max()


@in_the_interpreter
def test_tanh_keeps_its_digits_near_zero_and_is_1_far_from_it():
    x = torch.tensor([[0.0, 1e-30, -1e-6, 1e-3, -0.1, 0.299, 0.301, -1.0, 9.0, -50.0, 1e4, 0.5]])
    spec = Spec("rnn", "parts", "tanh", 1e-5)
    one, zero = torch.ones(x.shape[1]), torch.zeros(x.shape[1])
    w = cuda_steps.Weights(torch.zeros(x.shape[1], x.shape[1]), one, zero, None, None)
    h = torch.empty_like(x)
    product, rstd = torch.zeros_like(x), torch.empty(1, 1)
    triton_kernels.rnn_forward(spec, w, x, product, h, h, rstd, None)
    assert_close(h, x.double().tanh().float(), rtol=4e-7, atol=0)


@in_the_interpreter
@each_kind
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_the_check_before_their_first_use_finds_them_right(kind, form, nonlinearity, dtype):
    spec, H = Spec(kind, form, nonlinearity, 0.3), 5
    n = PARTS[kind] * H
    gains = [torch.ones(k) for k in (n, n, H, H)]
    w = cuda_steps.Weights(torch.ones(n, H, dtype=dtype), *gains)
    running = torch.ones(1, dtype=torch.int32) if dtype == torch.float32 else None
    # Measured: 2e-7 of the largest, where 3e-4 is allowed; in float16 the same numbers.
    cuda_trial._check(triton_kernels, spec, torch.ones(1, 3, n, dtype=dtype), running, w)


# What the interpreter cannot know: whether the compiler takes it.

IN_THE_WIDE_DTYPE = {"gain", "bias", "gain_c", "bias_c", *cuda_steps.WIDE}
WIDE = {"fp16": "fp32", "bf16": "fp32", "fp32": "fp32", "fp64": "fp64"}


def compile_kernel(name, form, H, dtype, masked, chip, relu=False):
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    kernel = getattr(triton_kernels, name)
    block = triton.next_power_of_2(H)
    constants = {"H": H, "BLOCK": block, "FORM": form, "EPS": 1e-5, "MASKED": masked}
    if name.startswith("_rnn"):
        constants["RELU"] = relu
    pointers = {
        n: "*i32" if n == "running" else "*" + (WIDE[dtype] if n in IN_THE_WIDE_DTYPE else dtype)
        for n in kernel.arg_names
        if n not in constants
    }
    # By position: Triton 3.2 has another name for the constants.
    signature = {n: pointers.get(n, "constexpr") for n in kernel.arg_names}
    source = ASTSource(kernel, signature, constants)
    options = triton_kernels._compiled_with(block)
    return triton.compile(source, target=GPUTarget("cuda", chip, 32), options=options)


@in_this_process
@each_kind
@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("chip", [75, 80, 90, 100], ids="sm_{}".format)
def test_kernels_compile(monkeypatch, tmp_path, kind, form, nonlinearity, direction, chip):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    relu = nonlinearity == "relu"
    shapes = [(256, "bf16", True), (cuda_trial.WIDEST, "fp16", True)]
    if chip == 80:  # seconds each: what does not depend on the chip is seen on one
        shapes += [(1, "fp32", True), (400, "fp32", False), (64, "fp64", False)]
    for H, dtype, masked in shapes:
        kernel = compile_kernel(f"_{kind}_{direction}", form, H, dtype, masked, chip, relu)
        assert kernel.asm["cubin"]
        assert ".entry" in kernel.asm["ptx"]
