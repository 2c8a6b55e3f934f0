"""Figures compared with autograd, definitions and synthetic records."""

import itertools
import math
from statistics import fmean

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from lnbook.chapters.effective_learning_rate import figures, same_step, training
from lnbook.figures.plots import NORMS
from tests.cases.drawn import check_band, lines
from tests.cases.oracle import by_seed, parsed
from tests.cases.protocol import Answer, ends, holm, key, outcome

EPOCHS = (0.0, 0.5, 1.0, 5.0, 10.0, 15.0, 20.0)
LABELS = {"layer": "layer norm", "batch": "batch norm", "none": "no norm"}
SCALES = {0.25: "× 0.25", 1.0: "× 1", 4.0: "× 4", 16.0: "× 16"}


def records(seeds):
    rng, result = np.random.default_rng(5), []
    falls = np.array(EPOCHS) * (24 - np.array(EPOCHS)) / 100  # then rises
    for norm, scale, seed in itertools.product(LABELS, SCALES, seeds):
        curves = {
            "epoch": list(EPOCHS),
            "train_nll": list(rng.uniform(0.5, 2, 7) * np.exp(-falls)),
            "length_2": list(scale * rng.uniform(5, 11, 7)),
        }
        settings = {"norm": norm, "optimizer": "sgd", "scale": scale, "learning_rate": 0.1}
        result.append({"settings": settings, "seed": seed, "curves": curves})
    return result


RECORDS = {3: records((2, 0, 1)), 10: records(range(10))}


def rows(name, norm, scale=1.0, count=3):
    runs = by_seed(RECORDS[count], norm=norm, scale=scale).values()
    return [run["curves"][name] for run in runs]


def means(values):
    return [fmean(column) for column in zip(*values, strict=True)]


@pytest.mark.parametrize("norm", LABELS)
def test_four_initial_scales_are_drawn_and_described(norm):
    known = training.WeightGrowthRuns(RECORDS[3])
    lengths, losses = training.draw_starts(known, norm)
    parts = training.describe_starts(known, norm).partition(": ")[2].split("; ")
    for (scale, label), part in zip(SCALES.items(), parts, strict=True):
        length = means(rows("length_2", norm, scale=scale))
        loss = rows("train_nll", norm, scale=scale)
        np.testing.assert_allclose(lines(lengths)[label][0].y, length, rtol=1e-3)
        check_band(lines(losses)[label], EPOCHS, loss, rtol=1e-3)
        wanted = [length[0], length[-1], means(loss)[-1]]
        reported = parsed(part.removeprefix(label).partition(" nats")[0])
        np.testing.assert_allclose(reported, wanted, rtol=0.06)


@pytest.mark.parametrize("count", [3, 10])
def test_losses_from_other_initial_scales_are_ratios_with_bounds(count):
    table = training.recovered(training.WeightGrowthRuns(RECORDS[count]))
    assert ("95% interval" in table.caption) == (count == 10)
    answers = []
    for scale in (s for s in SCALES if s != 1):
        for norm in LABELS:
            changed, drawn = (rows("train_nll", norm, scale=s, count=count) for s in (scale, 1.0))
            lower = [math.log(b[-1] / a[-1]) for a, b in zip(changed, drawn, strict=True)]
            answers.append(Answer(lower, "", what=f"{scale} {norm}"))
    p = holm(answers)
    assert len(p) == (len(answers) if count >= 10 else 0)
    shown = [pair for row in table.rows for pair in zip(row[1::2], row[2::2], strict=True)]
    for (cell, badge), answer in zip(shown, answers, strict=True):
        logs = [-d for d in answer.differences]
        wanted = [math.exp(v) for v in (fmean(logs), *ends(logs))]
        np.testing.assert_allclose(parsed(cell), wanted, atol=0.0051)
        assert badge.endswith(outcome(answer, p.get(key(answer))))


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
@pytest.mark.parametrize("scale", [0.25, 8.0])
def test_steps_and_rescaling_change_the_outputs_as_in_pytorch(norm, whose, scale):
    W, b, x = tensors(norm, scale, whose)
    rows = 1 if whose == "one" else UNITS
    drawn = np.random.default_rng(5).normal(size=(UNITS, INPUTS))[:rows]
    step = torch.zeros_like(W)
    step[:rows] = torch.tensor(drawn / np.linalg.norm(drawn) * same_step.STEP)
    before, after = outputs(norm, W, b, x), outputs(norm, W + step, b, x)
    changed = (after - before).square().mean().sqrt().item()
    assert figures.step(norm, scale, whose) == pytest.approx(changed, rel=1e-9)
    plain, b, x = tensors(norm)
    moved = (before - outputs(norm, plain, b, x)).square().mean().sqrt().item()
    assert figures.scaling(norm, scale, whose) == pytest.approx(moved, abs=1e-12)


@pytest.mark.parametrize(
    ("norm", "whose"), [("batch", "one"), ("weight", "one"), ("layer", "one"), ("layer", "all")]
)
def test_fisher_blocks_equal_those_of_autograd(norm, whose):
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
    assert result["along"] == pytest.approx(along, abs=1e-12)


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
