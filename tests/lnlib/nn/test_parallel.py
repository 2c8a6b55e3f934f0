"""Norms over features that are split over gloo processes, against PyTorch's norm in one process."""

import copy

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F

from lnlib.nn import ParallelLayerNorm, ParallelRMSNorm
from tests.cases.ranks import in_ranks

H, EPS = 11, 1e-3
SLICES = {2: (6, 5), 3: (5, 2, 4)}  # uneven
NORMS = {"layer": ParallelLayerNorm, "rms": ParallelRMSNorm}
CASES = [
    (norm, ranks, dtype, offset)
    for norm in NORMS
    for ranks in SLICES
    for dtype, offset in [
        (torch.float64, 0.0),
        (torch.float64, 1e4),
        (torch.float32, 0.0),
        (torch.float32, 1e4),
        (torch.bfloat16, 3.0),
    ]
]


def given(dtype, offset):
    """Input, gradient of the output, gain and bias; one example has a variance near ``eps``."""
    g = torch.Generator().manual_seed(0)
    x, dy = torch.randn(2, 2, 3, H, generator=g, dtype=torch.float64)
    x[0, 1] *= EPS**0.5
    gain, bias = torch.randn(2, H, generator=g, dtype=torch.float64)
    wide = torch.float32 if dtype == torch.bfloat16 else dtype
    return (x + offset).to(dtype), dy.to(dtype), gain.to(wide), bias.to(wide)


def run(norm, x, dy, gain, bias, slices, rank, group):
    """The outputs and gradients of one rank."""
    x, dy, gain, bias = (t.split(slices, -1)[rank] for t in (x, dy, gain, bias))
    module = NORMS[norm](slices[rank], EPS, dtype=gain.dtype, group=group)
    state = {"weight": gain, "bias": bias} if norm == "layer" else {"weight": gain}
    module.load_state_dict(state)
    module = copy.deepcopy(module)  # with its group
    x = x.clone().requires_grad_()
    y = module(x)
    y.backward(dy)
    return [t.detach() for t in (y, x.grad, *(p.grad for p in module.parameters()))]


def work(rank):
    """All that a test asks of three ranks, in one start of the processes."""
    pair = dist.new_group([0, 1])
    results = {}
    for case in CASES:
        norm, ranks, dtype, offset = case
        if rank < ranks:
            group = pair if ranks == 2 else None
            results[case] = run(norm, *given(dtype, offset), SLICES[ranks], rank, group)
    results["empty"] = ParallelLayerNorm(rank + 1)(torch.zeros(0, rank + 1)).shape
    if rank == 2:
        with pytest.raises(RuntimeError, match="group must contain this process, got one without"):
            ParallelRMSNorm(3, group=pair)(torch.randn(4, 3))
    return results


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    return in_ranks(work, 3, tmp_path_factory.mktemp("ranks"))


@pytest.mark.parametrize(("norm", "count", "dtype", "offset"), CASES)
def test_split_features_give_the_same_outputs_and_gradients(ranks, norm, count, dtype, offset):
    slices = zip(*(r[norm, count, dtype, offset] for r in ranks[:count]), strict=True)
    results = [torch.cat(parts, -1) for parts in slices]
    x, dy, gain, bias = (t.double() for t in given(dtype, offset))
    leaves = [x, gain, bias][: len(results) - 1]
    for leaf in leaves:
        leaf.requires_grad_()
    if norm == "layer":
        y = F.layer_norm(x, (H,), gain, bias, EPS)
    else:
        y = F.rms_norm(x, (H,), gain, EPS)
    expected = [y.detach(), *torch.autograd.grad(y, leaves, dy)]
    # An input of 1e4 is itself rounded by 5e-4 in float32, so its mean is, too.
    scale = offset if norm == "layer" and offset == 1e4 else 1
    close = (1e-12 if dtype == torch.float64 else 1e-6) * max(scale, 10)
    for k, (result, exact) in enumerate(zip(results, expected, strict=True)):
        half = dtype == torch.bfloat16 and k < 2  # of the gain and the bias: float32
        assert result.dtype == (dtype if k < 2 else given(dtype, offset)[2].dtype)
        tolerance = 2**-7 if half else close
        torch.testing.assert_close(
            result.double(), exact, rtol=tolerance, atol=tolerance * exact.abs().max().item()
        )


def test_empty_batches_work(ranks):
    assert [result["empty"] for result in ranks] == [(0, 1), (0, 2), (0, 3)]


@pytest.mark.parametrize("norm", NORMS)
def test_without_a_process_group_it_is_the_ordinary_norm(norm):
    x, *_ = given(torch.float64, 0)
    module = NORMS[norm](H, EPS, dtype=torch.float64)
    whole = {"layer": nn.LayerNorm, "rms": nn.RMSNorm}[norm](H, EPS, dtype=torch.float64)
    nn.init.normal_(whole.weight)
    module.load_state_dict(whole.state_dict())  # the same names
    torch.testing.assert_close(module(x), whole(x))
    assert repr(module).startswith(f"{NORMS[norm].__name__}(11, eps=0.001")
    args = x.requires_grad_(), *(p.detach().requires_grad_() for p in module.parameters())

    def call(x, *parameters):
        named = dict(zip(dict(module.named_parameters()), parameters, strict=True))
        return torch.func.functional_call(module, named, (x,))

    assert torch.autograd.gradcheck(call, args)
    (dx,) = torch.autograd.grad(module(x).pow(3).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        dx.sum().backward()


def test_options_choose_the_parameters_and_eps():
    x = 1e-4 * torch.randn(3, H)
    assert not ParallelLayerNorm(H, elementwise_affine=False).state_dict()
    assert list(ParallelLayerNorm(H, bias=False).state_dict()) == ["weight"]
    bare = ParallelRMSNorm(H, elementwise_affine=False)
    assert not list(bare.parameters())
    torch.testing.assert_close(bare(x), F.rms_norm(x, (H,)))  # eps=None
    assert bare(x.bfloat16()).dtype == torch.bfloat16
    assert ParallelLayerNorm(H, dtype=torch.float16).bias.dtype == torch.float16


@pytest.mark.parametrize("kind", NORMS.values())
@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda kind: kind(0), ValueError, "features must be a number of features, 1 or more"),
        (lambda kind: kind(4)(torch.randn(3, 5)), RuntimeError, r"normalized_shape \[4\]"),
        (lambda kind: kind(4)([1.0] * 4), TypeError, "input must be a Tensor, got list"),
        (lambda kind: kind(4)(torch.ones(4).long()), NotImplementedError, "floating-point"),
    ],
)
def test_invalid_arguments_raise_an_error(kind, call, error, match):
    with pytest.raises(error, match=f"{kind.__name__}: .*{match}"):
        call(kind)
