"""Recurrences with random tensors on a CPU, on a GPU, or on a tensor that claims to be on one."""

import copy

import pytest
import torch
from torch.testing import assert_close

from lnlib.nn.kernels import reference
from lnlib.nn.kernels.spec import Spec
from lnlib.nn.kernels.triton import recurrent

KINDS = [
    *(("lstm", {"form": form}) for form in ("paper", "carried", "per_gate", "draw")),
    ("gru", {}),
    *(
        ("rnn", {"form": form, "nonlinearity": f})
        for form in ("paper", "parts")
        for f in ("tanh", "relu")
    ),
]
IDS = ["-".join((kind, *options.values())) for kind, options in KINDS]
PARTS = {"lstm": 4, "gru": 3, "rnn": 1}
NORMS = {"lstm": (4, 1), "gru": (2, 1), "rnn": (1,)}
SIZES = {"one": [1] * 7, "three": [3] * 7, "seventeen": [17] * 7, "ending": [17, 9, 9, 4, 1, 1, 1]}

each_kind = pytest.mark.parametrize(("kind", "options"), KINDS, ids=IDS)
each_direction = pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")

# Measured in float64 over 21 steps: results 2e-14, gradients 5e-13.
EXACT = {"rtol": 1e-10, "atol": 1e-11}


def randn(*shape, seed):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


class Case:
    """Arguments of a recurrence, with gains that are not 1 and biases that are not 0."""

    def __init__(self, kind, options, sizes, H=5, dtype=torch.float64, device="cpu", seed=0):
        generator = torch.Generator().manual_seed(seed)

        def draw(*shape, scale=1.0, shift=0.0):
            drawn = torch.randn(shape, generator=generator, dtype=torch.float64) * scale + shift
            return drawn.to(device, dtype).requires_grad_()

        parts, B = PARTS[kind], sizes[0]
        self.kind, self.options, self.sizes = kind, dict(options), sizes
        self.inputs = draw(sum(sizes), parts * H)
        self.state = [draw(B, H) for _ in range(2 if kind == "lstm" else 1)]
        self.weight = draw(parts * H, H, scale=H**-0.5, shift=0.1)
        self.norms = [(draw(n * H, scale=0.5, shift=1), draw(n * H)) for n in NORMS[kind]]
        if options.get("form") == "draw":
            del self.norms[0]

    @property
    def leaves(self):
        norms = [p for norm in self.norms for p in norm if p is not None]
        return [self.inputs, *self.state, self.weight, *norms]

    def map(self, function):
        """Return a case with new leaves, computed by ``function`` from the detached ones."""
        case = copy.copy(self)
        case.inputs, *case.state, case.weight = (
            function(t.detach()).requires_grad_() for t in (self.inputs, *self.state, self.weight)
        )
        case.norms = [
            [p if p is None else function(p.detach()).requires_grad_() for p in norm]
            for norm in self.norms
        ]
        return case

    def run(self, module, product=None, **more):
        spec = Spec(self.kind, **self.options, **more)
        given = {} if product is None else {"product": product}
        tensors = self.inputs, self.sizes, self.state, self.weight, self.norms
        return module.run(spec, *tensors, **given)

    def results_and_grads(self, module, **more):
        results = self.run(module, **more)
        return [*results, *self.grads(results)]

    def grads(self, results, **more):
        # Weighted, so that the gradients of all outputs differ.
        loss = sum((r * r.detach().cos()).sum() for r in results)
        return torch.autograd.grad(loss, self.leaves, **more)


def check(case, tolerance=EXACT, **more):
    """Compare the results and all gradients with those of the reference."""
    expected, actual = case.run(reference, **more), case.run(recurrent, **more)
    assert_close(actual, expected, **tolerance)
    assert_close(case.grads(actual), case.grads(expected), **tolerance)


def check_short(kind, options, dtype, device):
    short = Case(kind, options, [3] * 6, H=16, dtype=dtype, device=device)
    exact = Case(kind, options, [3] * 6, H=16, device=device)
    with torch.no_grad():
        for a, b in zip(exact.leaves, short.leaves, strict=True):
            a.copy_(b)
    actual, expected = short.run(recurrent), exact.run(reference)
    assert all(r.dtype == dtype for r in actual)
    # In units of the rounding of the largest number; measured: 5 for results and 8 for gradients.
    # The gradient of a ReLU jumps if rounding moves a unit across 0.
    rounding = torch.finfo(dtype).eps
    for a, e in zip(actual, expected, strict=True):
        assert (a.double() - e).abs().max() < 16 * rounding * e.abs().max()
    if options.get("nonlinearity") == "relu":
        return
    loss = sum(r.double().sum() for r in actual), sum(r.sum() for r in expected)
    grads = torch.autograd.grad(loss[0], short.leaves), torch.autograd.grad(loss[1], exact.leaves)
    for a, e in zip(*grads, strict=True):
        assert a.dtype == dtype
        assert (a.double() - e).abs().max() < 24 * rounding * e.abs().max()


def creep(device, dtype):
    """A cell of 1 that grows by sigmoid(-8) tanh(1), 2.6e-4, in each of 100 steps."""
    H, T = 4, 100
    gates = torch.tensor([-8.0, 30.0, 1.0, 0.0]).repeat_interleave(H).expand(T, -1)
    h, c = torch.zeros(1, H), torch.ones(1, H)
    gates, *state, weight = (t.to(device, dtype) for t in (gates, h, c, torch.zeros(4 * H, H)))
    _, _, c = recurrent.run(Spec("lstm", "draw"), gates, [1] * T, state, weight, [(None, None)])
    return c


class OnGpu(torch.Tensor):
    """A tensor that claims to be on a GPU, to test decisions that depend on the device."""

    is_cuda = True
