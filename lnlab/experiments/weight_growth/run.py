"""A network of section 6.6 that records the norm of its weights and how far updates rotate them."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import nn

from lnlab.datasets import Dataset
from lnlab.experiments.mnist import run as mnist
from lnlab.experiments.weight_growth import EXPERIMENT, NORMS, OPTIMIZERS, RATES, Settings

__all__ = ["NORMS", "OPTIMIZERS", "RATES", "Settings", "WeightGrowthRun"]


class WeightGrowthRun(mnist.MNISTRun):
    """Training with one norm, optimizer, scale and seed.

    The seed determines the initial weights and the order of the examples, which depend on nothing
    else.

    Args:
        settings: The settings.
        data: Training and test examples.
        seed: A whole number from 0.
        device: Device of the model and the data.

    Raises:
        ValueError: If there are fewer training examples than ``batch_size``, or ``seed`` is
            negative.
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
        # A buffer, so that it is in the checkpoint: initial ||W||² plus all squared updates.
        self.model.register_buffer("walked", self._initial.square())
        self._turned: list[torch.Tensor] = []
        self.optimizer.register_step_pre_hook(self._before)
        self.optimizer.register_step_post_hook(self._after)

    def _lengths(self) -> torch.Tensor:
        return torch.stack([w.detach().double().norm() for w in self._weights])

    def _before(self, *_: object) -> None:
        # A copy even if the weights are in float64, for which .double() would not copy them.
        self._old = [w.detach().to(torch.float64, copy=True) for w in self._weights]

    @torch.no_grad()
    def _after(self, *_: object) -> None:
        turned = []
        for i, (old, new) in enumerate(zip(self._old, self._weights, strict=True)):
            step = new.double() - old
            self.model.walked[i] += step.square().sum()
            # Arc tangent of the components orthogonal and parallel to W; arccos is inaccurate near
            # 0.
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
        """Restore the state that :meth:`state` returned."""
        self._turned = [*state["turned"]] if state else []

    def measure(self) -> dict[str, float]:
        """Measure NLL, test error, and the weights of hidden layers 1 and 2.

        ``length_1`` is the Euclidean norm of W. ``square_1`` is the norm that W would have if each
        update so far had been orthogonal to W: the square root of the initial ||W||² plus the sum
        of the squared norms of the updates. ``turn_1`` is the angle by which an update rotates W,
        in degrees: the mean over the updates since the last measurement, and NaN before the first
        one.
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
