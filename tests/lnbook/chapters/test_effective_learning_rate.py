"""What is drawn is what autograd and the definitions say."""

import itertools

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from lnbook.chapters.effective_learning_rate import circle, figures, same_step
from lnbook.figures.plots import NORMS
from lnlab.analysis.learning_rate import spiral

EXACT = 1e-12
UNITS, INPUTS = figures.UNITS, figures.INPUTS


def outputs(norm, W, b, x, gain=None):
    """The natural parameters in PyTorch, float64."""
    a = x @ W.T
    if norm == "layer":
        a = F.layer_norm(a, (UNITS,), eps=0)
    elif norm == "batch":
        a = (a - a.mean(0)) / a.std(0, unbiased=False)
    elif norm == "weight":
        a = a / W.norm(dim=1)
    return (a if gain is None else gain * a) + b


def tensors(norm, scale=1.0, whose="all"):
    model = figures.glm(norm)
    W = torch.tensor(model.W)
    W[: 1 if whose == "one" else UNITS] *= scale
    return W, torch.tensor(model.b), torch.tensor(figures.cases())


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("whose", ["one", "all"])
@pytest.mark.parametrize("scale", [0.25, 1.0, 8.0])
def test_a_step_and_the_scaling_move_the_outputs_as_in_pytorch(norm, whose, scale):
    W, b, x = tensors(norm, scale, whose)
    rows = 1 if whose == "one" else UNITS
    drawn = np.random.default_rng(5).normal(size=(UNITS, INPUTS))[:rows]
    step = torch.zeros_like(W)
    step[:rows] = torch.tensor(drawn / np.linalg.norm(drawn) * same_step.STEP)
    before, after = outputs(norm, W, b, x), outputs(norm, W + step, b, x)
    assert figures.step(norm, scale, whose) == pytest.approx(
        (after - before).square().mean().sqrt().item(), rel=1e-9
    )
    plain, b, x = tensors(norm)
    moved = (before - outputs(norm, plain, b, x)).square().mean().sqrt().item()
    assert figures.scaling(norm, scale, whose) == pytest.approx(moved, abs=1e-12)


@pytest.mark.parametrize(
    ("norm", "whose"), [("batch", "one"), ("weight", "one"), ("layer", "one"), ("layer", "all")]
)
def test_the_blocks_are_those_of_autograd(norm, whose):
    def fisher(scale):
        W, b, x = tensors(norm, scale, whose)
        J = torch.autograd.functional.jacobian(lambda W: outputs(norm, W, b, x), W)
        p = outputs(norm, W, b, x).softmax(1)
        cov = torch.diag_embed(p) - p[:, :, None] * p[:, None, :]
        return torch.einsum("nkip,nkl,nljq->ipjq", J, cov, J).numpy() / len(x)

    before, after = fisher(1.0), fisher(2.0)
    result = figures.blocks(norm, whose)
    ratio = [np.linalg.norm(after[0, :, j]) / np.linalg.norm(before[0, :, j]) for j in (0, 1)]
    np.testing.assert_allclose([result["own"], result["other"]], ratio, rtol=1e-9)
    w = figures.glm(norm).W.copy()
    w[1 if whose == "one" else UNITS :] = 0
    along = np.einsum("ip,ipjq,jq->", w, before, w)
    assert result["along"] == pytest.approx(along, abs=EXACT)
    d = np.random.default_rng(5).normal(size=(UNITS, INPUTS))[0]
    lengths = [np.sqrt(d @ F_[0, :, 0] @ d) for F_ in (before, after)]
    assert result["length"] == pytest.approx(lengths[1] / lengths[0], rel=1e-9)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("family", figures.FAMILIES.values())
@pytest.mark.parametrize(("scale", "scaled"), [(1, "inputs"), (4, "inputs"), (4, "weights")])
def test_the_metric_is_the_second_derivative_of_the_divergence(norm, family, scale, scaled):
    W, b, x = tensors(norm, scale if scaled == "weights" else 1.0)
    x = x * (scale if scaled == "inputs" else 1.0)
    step = torch.tensor([0.08, -0.02, 0.05, 0.03], dtype=torch.float64)
    s0 = outputs(norm, W, b, x)
    cumulant = {
        "gaussian": lambda s: (s**2 / 2).sum(1),
        "bernoulli": lambda s: F.softplus(s).sum(1),
        "categorical": lambda s: torch.logsumexp(s, 1),
    }[family]
    base = s0.clone().requires_grad_()
    (mean,) = torch.autograd.grad(cumulant(base).sum(), base)

    def kl(t):
        if norm == "none":
            s = x @ (W + t * step[:, None] * W / W.norm(dim=1, keepdim=True)).T + b
        else:
            s = outputs(norm, W, b, x, 1 + t * step)
        return (cumulant(s) - cumulant(s0) - (mean * (s - s0)).sum(1)).mean()

    zero = torch.tensor(0.0, dtype=torch.float64)
    exact = torch.autograd.functional.hessian(kl, zero).item() / 2
    assert figures.gain(norm, family, scale, scaled, "exact") == pytest.approx(exact, rel=1e-9)


def test_the_circle_holds_the_whole_way():
    for length, rate in itertools.product((0.5, 1, 2), (0.1, 0.3, 1)):
        way, angles = circle.draw_circle(length, rate)
        tips, _, turns = spiral(length, rate)
        assert np.abs(tips).max() < way.layout.xaxis.range[1]
        np.testing.assert_allclose(angles.data[0].y, turns, atol=0.006)
