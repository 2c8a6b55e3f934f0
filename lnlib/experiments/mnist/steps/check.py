"""Small runs on which a fast step is held against the plain one before its first use."""

from __future__ import annotations

import copy
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lnlib.experiments.mnist.steps import flatten
from lnlib.nn import LayerNorm
from lnlib.nn.baselines import BatchNorm, WeightNormLinear

CASES, UPDATES = 5, 9  # of a batch, and of a run
STRETCHES = ((0, 1), (1, 4), (4, 7), (7, 9))  # of updates that are asked for at once
TOLERANCES = ((torch.float32, 1e-4), (torch.float64, 1e-10))

Take = Callable[[int, int], Tensor]  # updates `first + 1` to `last`; returns the sum of their NLL


def check(
    prepare: Callable[[Any], Take],
    *,
    device: torch.device | str = "cpu",
    tolerances: tuple[tuple[torch.dtype, float], ...] = TOLERANCES,
) -> None:
    """Raise ``RuntimeError`` unless a few updates of small networks come out as the plain ones.

    Args:
        prepare: From a run to what takes its updates.
        device: Where to compute.
        tolerances: For each dtype, absolute and relative.
    """
    for dtype, tolerance in tolerances:
        # No setting is at its default: one that is dropped shows.
        for norm in (None, BatchNorm(19, 1e-2, 0.3), LayerNorm(19, 1e-2), WeightNormLinear(12, 19)):
            ours, plain = (small(norm, dtype, device) for _ in range(2))
            take, sums, expected = prepare(ours), [], []
            for first, last in STRETCHES:
                sums.append(take(first, last))
                expected.append(sum(_update(plain, k) for k in range(first, last)))
            found, wanted = ([*r.model.parameters(), *r.model.buffers()] for r in (ours, plain))
            for a, b in zip([*sums, *found], [*expected, *wanted], strict=True):
                if not torch.allclose(a.to(b), b, rtol=tolerance, atol=tolerance):
                    raise RuntimeError("the numbers differ from those of the plain step")


def small(norm: nn.Module | None, dtype: torch.dtype, device: torch.device | str = "cpu") -> Any:
    """Return a run with as much as a step asks for."""
    first = norm if isinstance(norm, WeightNormLinear) else nn.Linear(12, 19, bias=norm is None)
    model = nn.Sequential(first, nn.ReLU(), nn.Linear(19, 3))
    if isinstance(norm, BatchNorm | LayerNorm):
        model.insert(1, norm)
    model = copy.deepcopy(model).to(device, dtype)
    # Numbers without a random generator, whose state is not ours to change.
    for p in model.parameters():
        p.data = torch.arange(p.numel()).cos().to(p).view_as(p)
    n = CASES * UPDATES
    x = torch.arange(12 * n).sin().to(device, dtype).view(n, 12)
    y = (torch.arange(n) % 3).to(device)
    return SimpleNamespace(
        model=model,
        optimizer=torch.optim.Adam(
            [flatten(model)], lr=1e-2, betas=(0.8, 0.95), eps=1e-3, fused=True
        ),
        settings=SimpleNamespace(eps=1e-2, momentum=0.3, unbiased=False, batch_size=CASES),
        x=x,
        y=y,
        x_test=x,
        y_test=y,
        updates_per_epoch=UPDATES,
        order=lambda epoch: np.arange(n),
    )


def batch(run: Any, k: int) -> tuple[Tensor, Tensor]:
    """Return the cases of a run's update ``k``, from 0."""
    part = slice(CASES * k, CASES * (k + 1))
    return run.x[part], run.y[part]


def _update(run: Any, k: int) -> Tensor:
    """Take one update by PyTorch's layers, autograd, and Adam in its own separate operations."""
    x, y = batch(run, k)
    loss = F.cross_entropy(run.model(x), y)
    run.optimizer.param_groups[0]["fused"] = False
    run.optimizer.zero_grad(set_to_none=False)
    loss.backward()
    run.optimizer.step()
    return loss.detach()
