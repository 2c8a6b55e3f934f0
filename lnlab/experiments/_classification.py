"""Base class of runs that train a classifier."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from lnlab.datasets import Dataset
from lnlab.run import Run

EVAL_BATCH_SIZE = 2000  # examples per batch in the evaluation


class ClassificationRun(Run):
    """A run that trains a classifier; a subclass adds ``model`` and ``optimizer``.

    The order of the examples depends only on the seed and the epoch.

    Args:
        settings: Settings with ``batch_size``, ``train_examples``, ``measured_examples`` and more.
        data: Training and test examples.
        seed: A whole number from 0.
        device: Device of the model and the data.

    Raises:
        ValueError: If there are fewer training examples than ``batch_size``, or ``seed`` is
            negative.
    """

    def setup(self, data: Dataset) -> None:
        """Put the examples that :meth:`split` returns on the device."""
        data = self.split(self.settings, data)
        parts = data.x_train, data.y_train, data.x_test, data.y_test
        on_device = (torch.from_numpy(part).to(self.device) for part in parts)
        self.x, self.y, self.x_test, self.y_test = on_device
        self.classes = int(data.y_train.max()) + 1

    @classmethod
    def updates(cls, settings: Any, data: Dataset) -> int:
        """Return the number of updates per epoch; a last, smaller batch is dropped."""
        return len(cls.split(settings, data).x_train) // settings.batch_size

    @property
    def cases(self) -> dict[str, int]:
        """Number of training and test examples."""
        return {"train": len(self.x), "test": len(self.x_test)}

    @staticmethod
    def split(settings: Any, data: Dataset) -> Dataset:
        """Return the data to use: the first ``train_examples`` for training, all test examples.

        Raises:
            ValueError: If there are fewer training examples than ``batch_size``.
        """
        n = settings.train_examples
        cases = len(data.x_train[:n])
        Run.check_enough(settings, "batch_size", cases, "training examples", data)
        return dataclasses.replace(data, x_train=data.x_train[:n], y_train=data.y_train[:n])

    def batches(self, epoch: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Yield ``x (B, D)`` and ``y (B,)``, with each example at most once per epoch."""
        order = torch.from_numpy(self.order(epoch)).to(self.x.device)
        for chosen in order.split(self.settings.batch_size):
            yield self.x[chosen], self.y[chosen]

    def order(self, epoch: int) -> np.ndarray:
        """Return the indices of the examples of an epoch's full batches, in order."""
        order = np.random.default_rng([self.seed, epoch]).permutation(len(self.x))
        return order[: self.updates_per_epoch * self.settings.batch_size]

    def loss(self, batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        """Return the mean negative log likelihood of a batch, in nats."""
        x, y = batch
        return F.cross_entropy(self.model(x), y)

    def measure(self) -> dict[str, float]:
        """Measure training NLL (nats), test NLL (nats) and test error (a fraction) in eval mode.

        The training NLL is that of the first ``measured_examples`` training examples, at most as
        many as there are test examples.
        """
        n = min(self.settings.measured_examples, len(self.x_test))
        train_nll, _ = self._evaluate(self.x[:n], self.y[:n])
        test_nll, test_error = self._evaluate(self.x_test, self.y_test)
        return {"train_nll": train_nll, "test_nll": test_nll, "test_error": test_error}

    def _evaluate(self, x: torch.Tensor, y: torch.Tensor) -> tuple[float, float]:
        nll, errors = 0.0, 0
        for part, labels in zip(x.split(EVAL_BATCH_SIZE), y.split(EVAL_BATCH_SIZE), strict=True):
            logits = self.model(part)
            nll += F.cross_entropy(logits, labels, reduction="sum").double()
            errors += (logits.argmax(1) != labels).sum()
        return float(nll) / len(x), int(errors) / len(x)
