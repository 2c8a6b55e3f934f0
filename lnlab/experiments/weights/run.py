"""A network of section 6.6 that keeps track of its weights: their length, and how far they turn."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import nn

from lnlab.datasets import Dataset
from lnlab.experiments.mnist import run as mnist
from lnlab.experiments.weights import EXPERIMENT, NORMS, OPTIMIZERS, RATES, Settings

__all__ = ["NORMS", "OPTIMIZERS", "RATES", "Run", "Settings"]


class Run(mnist.Run):
    """Training with one norm, optimizer, scale and seed.

    The seed draws the weights and the order of the cases, which depend on nothing else.

    Args:
        settings: The settings.
        data: Training and test cases.
        seed: A whole number from 0.
        device: Device of the model and the data.

    Raises:
        ValueError: If there are fewer training cases than ``batch_size``, or ``seed`` is negative.
    """

    experiment = EXPERIMENT

    def __init__(
        self,
        settings: Settings,
        data: Dataset,
        *,
        seed: int = 0,
        device: torch.device | str = "cpu",
    ) -> None:
        super().__init__(settings, data, seed=seed, device=device)
        if settings.optimizer == "sgd":
            parameters = self.optimizer.param_groups[0]["params"]
            self.optimizer = torch.optim.SGD(parameters, lr=settings.learning_rate)
        *hidden, _ = (m for m in self.model if isinstance(m, nn.Linear))
        self._weights = [linear.weight for linear in hidden]
        with torch.no_grad():
            for weight in self._weights:
                weight.mul_(settings.scale)
        self._initial = self._lengths()
        # A buffer, so that a checkpoint keeps it: ||W||² at the start and all squared updates.
        self.model.register_buffer("walked", self._initial.square())
        self._turned: list[torch.Tensor] = []
        self.optimizer.register_step_pre_hook(self._before)
        self.optimizer.register_step_post_hook(self._after)

    def _lengths(self) -> torch.Tensor:
        return torch.stack([w.detach().double().norm() for w in self._weights])

    def _before(self, *_: object) -> None:
        # A copy in double precision as well, where .double() would return the weights themselves.
        self._old = [w.detach().to(torch.float64, copy=True) for w in self._weights]

    @torch.no_grad()
    def _after(self, *_: object) -> None:
        turned = []
        for i, (old, new) in enumerate(zip(self._old, self._weights, strict=True)):
            step = new.double() - old
            self.model.walked[i] += step.square().sum()
            # Not the arc cosine, which loses small angles: the part across W over that along it.
            along = (step * old).sum() / old.square().sum()
            across = (step - along * old).norm() / old.norm()
            turned.append(torch.rad2deg(torch.atan2(across, 1 + along)))
            if self.settings.magnitude == "fixed":
                new.mul_(self._initial[i] / new.double().norm())
        self._turned.append(torch.stack(turned))

    def state(self) -> dict[str, torch.Tensor]:
        """Return the angles of the updates since the last measurement."""
        return {"turned": torch.stack(self._turned)} if self._turned else {}

    def load_state(self, state: Mapping[str, torch.Tensor]) -> None:
        """Restore them."""
        self._turned = [*state["turned"]] if state else []

    def measure(self) -> dict[str, float]:
        """Measure NLL and test error and, of hidden layers 1 and 2, the weights.

        ``length_1`` is ||W||, the root of the sum of all squares. ``square_1`` is what it would be
        had every update so far stood at a right angle to W: the root of ||W||² at the start plus
        every squared update. ``turn_1`` is the angle by which an update turns W, in degrees: the
        mean over the updates since the last measurement, NaN before the first.
        """
        lengths, square = self._lengths(), self.model.walked.sqrt()
        turned, self._turned = self._turned, []
        mean = torch.stack(turned).mean(0) if turned else torch.full_like(lengths, math.nan)
        results = {}
        for i in range(len(self._weights)):
            results[f"length_{i + 1}"] = float(lengths[i])
            results[f"square_{i + 1}"] = float(square[i])
            results[f"turn_{i + 1}"] = float(mean[i])
        return super().measure() | results
