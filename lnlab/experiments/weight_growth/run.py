"""A network of section 6.6 that records the norm of its weights and how far updates rotate them."""

import math
from collections.abc import Mapping

import torch
from torch import nn

from lnlab.datasets import Dataset
from lnlab.experiments.mnist import run as mnist
from lnlab.experiments.weight_growth import EXPERIMENT


class WeightGrowthRun(mnist.MNISTRun):
    """Training with one norm, optimizer, scale and seed.

    The seed determines the initial weights and the order of the examples, which depend on nothing
    else.

    Args: as :class:`lnlab.experiments._classification.ClassificationRun`.
    """

    experiment = EXPERIMENT

    def setup(self, data: Dataset) -> None:
        """Build the network of section 6.6, and scale its initial weights."""
        super().setup(data)
        if self.settings.optimizer == "sgd":
            parameters = self.optimizer.param_groups[0]["params"]
            self.optimizer = torch.optim.SGD(parameters, lr=self.settings.learning_rate)
        *hidden, _ = (m for m in self.model if isinstance(m, nn.Linear))
        self._weights = [linear.weight for linear in hidden]
        with torch.no_grad():
            for weight in self._weights:
                weight.mul_(self.settings.scale)
        self._initial = self._weight_norms()
        # A buffer, so that it is in the checkpoint: initial ||W||² plus all squared updates.
        self.model.register_buffer("walked", self._initial.square())
        self._angles: list[torch.Tensor] = []
        self.optimizer.register_step_pre_hook(self._copy_weights)
        self.optimizer.register_step_post_hook(self._measure_step)

    def _weight_norms(self) -> torch.Tensor:
        return torch.stack([w.detach().double().norm() for w in self._weights])

    def _copy_weights(self, *_: object) -> None:
        # A copy even if the weights are in float64, for which .double() would not copy them.
        self._old = [w.detach().to(torch.float64, copy=True) for w in self._weights]

    @torch.no_grad()
    def _measure_step(self, *_: object) -> None:
        angles = []
        for i, (old, new) in enumerate(zip(self._old, self._weights, strict=True)):
            step = new.double() - old
            self.model.walked[i] += step.square().sum()
            # Arc tangent of the components orthogonal and parallel to W; arccos is inaccurate near
            # 0.
            parallel = (step * old).sum() / old.square().sum()
            orthogonal = (step - parallel * old).norm() / old.norm()
            angles.append(torch.rad2deg(torch.atan2(orthogonal, 1 + parallel)))
            if self.settings.magnitude == "fixed":
                new.mul_(self._initial[i] / new.double().norm())
        self._angles.append(torch.stack(angles))

    def state(self) -> dict[str, torch.Tensor]:
        """Return the angles of the updates since the last measurement."""
        return {"turned": torch.stack(self._angles)} if self._angles else {}

    def load_state(self, state: Mapping[str, torch.Tensor]) -> None:
        """Restore the state that :meth:`state` returned."""
        self._angles = [*state["turned"]] if state else []

    def measure(self) -> dict[str, float]:
        """Measure NLL, test error, and the weights of hidden layers 1 and 2.

        ``length_1`` is the Euclidean norm of W. ``square_1`` is the norm that W would have if each
        update so far had been orthogonal to W: the square root of the initial ||W||² plus the sum
        of the squared norms of the updates. ``turn_1`` is the angle by which an update rotates W,
        in degrees: the mean over the updates since the last measurement, and NaN before the first
        one.
        """
        weight_norms, square = self._weight_norms(), self.model.walked.sqrt()
        angles, self._angles = self._angles, []
        mean = torch.stack(angles).mean(0) if angles else torch.full_like(weight_norms, math.nan)
        results = {}
        for i in range(len(self._weights)):
            results[f"length_{i + 1}"] = float(weight_norms[i])
            results[f"square_{i + 1}"] = float(square[i])
            results[f"turn_{i + 1}"] = float(mean[i])
        return super().measure() | results
