"""What experiments share that put cases into classes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from lnlab.datasets import Dataset
from lnlab.run import Run


class Classification(Run):
    """A run on cases and their classes; a subclass adds ``model`` and ``optimizer``.

    The order of the cases depends on the seed and the epoch alone.

    Args:
        settings: What is chosen: ``batch_size``, ``train_cases``, ``measured_cases`` and more.
        data: Training and test cases.
        seed: From 0.
        device: Where model and data live.

    Raises:
        ValueError: If there are fewer training cases than ``batch_size``, or ``seed`` is negative.
    """

    def __init__(
        self,
        settings: Any,
        data: Dataset,
        *,
        seed: int = 0,
        device: torch.device | str = "cpu",
    ) -> None:
        super().__init__(settings, data, seed=seed, device=device)
        device = torch.device(device)
        data = self.split(settings, data)
        self.x, self.x_test = (torch.from_numpy(x).to(device) for x in (data.x_train, data.x_test))
        self.y, self.y_test = (torch.from_numpy(y).to(device) for y in (data.y_train, data.y_test))
        self.classes = int(data.y_train.max()) + 1

    @classmethod
    def updates(cls, settings: Any, data: Dataset) -> int:
        """Return the number of updates in an epoch; a last, smaller batch is left out."""
        return len(cls.split(settings, data).x_train) // settings.batch_size

    @property
    def cases(self) -> dict[str, int]:
        """How many cases there are to train on, and to measure on."""
        return {"train": len(self.x), "test": len(self.x_test)}

    @staticmethod
    def split(settings: Any, data: Dataset) -> Dataset:
        """Return the cases to train on and those to measure on: here the first ``train_cases``.

        Raises:
            ValueError: If there are fewer training cases than ``batch_size``.
        """
        n = settings.train_cases
        cases = len(data.x_train[:n])
        if cases < settings.batch_size:
            raise ValueError(
                f"Run: batch_size {settings.batch_size} needs as many training cases, "
                f"{data.name} gives {cases}; choose a smaller batch_size"
            )
        return dataclasses.replace(data, x_train=data.x_train[:n], y_train=data.y_train[:n])

    def batches(self, epoch: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Yield ``x (B, D)`` and ``y (B,)``, each case at most once an epoch."""
        order = torch.from_numpy(self.order(epoch)).to(self.x.device)
        for chosen in order.split(self.settings.batch_size):
            yield self.x[chosen], self.y[chosen]

    def order(self, epoch: int) -> np.ndarray:
        """Return the cases of an epoch's full batches, in their order."""
        order = np.random.default_rng([self.seed, epoch]).permutation(len(self.x))
        return order[: self.updates_per_epoch * self.settings.batch_size]

    def loss(self, batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        """Return the batch's mean negative log likelihood, in nats."""
        x, y = batch
        return F.cross_entropy(self.model(x), y)

    def measure(self) -> dict[str, float]:
        """Measure training NLL (nats), test NLL (nats) and test error (a fraction).

        The training NLL is on the first ``measured_cases`` training cases, and no more than there
        are test cases, with the model as it is at test time: batch norm uses its running averages
        here.
        """
        n = min(self.settings.measured_cases, len(self.x_test))
        train_nll, _ = self._evaluate(self.x[:n], self.y[:n])
        test_nll, test_error = self._evaluate(self.x_test, self.y_test)
        return {"train_nll": train_nll, "test_nll": test_nll, "test_error": test_error}

    def _evaluate(self, x: torch.Tensor, y: torch.Tensor) -> tuple[float, float]:
        nll, wrong = 0.0, 0
        for part, labels in zip(x.split(2000), y.split(2000), strict=True):
            logits = self.model(part)
            nll += F.cross_entropy(logits, labels, reduction="sum").double()
            wrong += (logits.argmax(1) != labels).sum()
        return float(nll) / len(x), int(wrong) / len(x)
