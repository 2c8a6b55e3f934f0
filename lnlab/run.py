"""One run of an experiment, as the loop sees it: a model, an optimizer, batches, measures."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from lnlab import records
from lnlab.config import Settings
from lnlab.experiment import Experiment

if TYPE_CHECKING:
    import numpy as np
    import torch


class Run:
    """One run: some settings, one seed. An experiment's own adds what is not here.

    That is ``experiment``, ``model`` and ``optimizer``, :meth:`updates`, :meth:`batches`,
    :meth:`loss`, :meth:`measure` and :attr:`cases`. A run is resumed after any update, bit for bit:
    what changes in training, other than the model's parameters and buffers and the optimizer's
    state, must be in :meth:`state` or follow from settings, seed, epoch and update alone.

    Args:
        settings: What is chosen.
        data: As the experiment's ``load`` returns it.
        seed: From 0.
        device: Where the model lives.

    Raises:
        ValueError: If the seed is negative, or the settings do not go with the data.
    """

    experiment: ClassVar[Experiment]
    model: torch.nn.Module
    optimizer: torch.optim.Optimizer
    step = "plain"  # how an update is computed
    unmeasured: tuple[
        str, ...
    ] = ()  # what can be NaN, for "not measured", in the midst of training
    measures_end = False  # whether something is measured at the end alone: where ``at_end``
    at_end = False  # whether the last update of all was taken
    explodes = False  # whether a loss that is no number is recorded, too, and not an error
    _position: tuple[int, int] | None = None  # epoch and update of the batch that comes next

    def __init__(
        self, settings: Any, data: Any, *, seed: int = 0, device: torch.device | str = "cpu"
    ) -> None:
        if seed < 0:
            raise ValueError(f"Run: seed must be a whole number from 0, got {seed}")
        self.settings, self.seed = settings, seed
        self.segments: list[dict[str, Any]] = []  # on what it was trained until a checkpoint
        self.updates_per_epoch = self.updates(settings, data)

    @functools.cached_property
    def conditions(self) -> dict[str, Any]:
        """On what it is trained now: as the code was when the run was made, not when it ends."""
        return records.conditions(next(self.model.parameters()).device)

    @classmethod
    def updates(cls, settings: Any, data: Any) -> int:
        """Return the number of updates in an epoch.

        Raises:
            ValueError: If the settings do not go with the data.
        """
        raise NotImplementedError(f"{cls.__name__}: say how many updates an epoch has")

    @property
    def cases(self) -> Mapping[str, int]:
        """How many cases of each sort the data have, for the record."""
        raise NotImplementedError(f"{type(self).__name__}: say how many cases there are")

    def batches(self, epoch: int) -> Iterator[Any]:
        """Yield the epoch's batches in an order that depends on the seed and the epoch alone."""
        raise NotImplementedError(f"{type(self).__name__}: say what a batch is")

    def loss(self, batch: Any) -> torch.Tensor:
        """Return the batch's mean loss, from which the gradient is taken."""
        raise NotImplementedError(f"{type(self).__name__}: say what is to become small")

    def measure(self) -> Mapping[str, float | np.ndarray | torch.Tensor]:
        """Measure the model as it is at test time: numbers, and arrays worth keeping.

        Called in ``eval()`` and without gradients. NaN says that there is nothing to measure yet.
        An array has one shape at all times.
        """
        raise NotImplementedError(f"{type(self).__name__}: say what is measured")

    def update(self, batch: Any) -> torch.Tensor:
        """Take one step of the optimizer; return the batch's mean loss before it."""
        loss = self.loss(batch)
        # Zeroed where they lie: gradients may be views of one tensor.
        self.optimizer.zero_grad(set_to_none=False)
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def advance(self, epoch: int, first: int, last: int) -> Iterator[tuple[int, torch.Tensor]]:
        """Take updates ``first + 1`` to ``last`` of an epoch.

        Batches that earlier updates of the epoch had in another process are drawn and dropped, so
        that those to come are the same.

        Yields:
            How many were taken since the last yield, and the sum of their losses in float64, on
            the device: reading a number here would stop a GPU at every update.
        """
        if self._position != (epoch, first):
            self._batches = itertools.islice(self.batches(epoch), first, None)
        for batch in itertools.islice(self._batches, last - first):
            loss = self.update(batch).double()
            first += 1
            self._position = (epoch, first)
            yield 1, loss

    def state(self) -> dict[str, torch.Tensor]:
        """Return what a checkpoint needs beside the model and the optimizer, as tensors.

        That is what updates change and measuring reads: a sum since the last measurement, say.
        """
        return {}

    def load_state(self, state: Mapping[str, torch.Tensor]) -> None:
        """Restore what :meth:`state` has returned."""

    def adam(self) -> torch.optim.Adam:
        """Return Adam for what learns of the model, as the settings say."""
        import torch

        return torch.optim.Adam(
            [p for p in self.model.parameters() if p.requires_grad],
            lr=self.settings.learning_rate,
            betas=self.settings.adam_betas,
            eps=self.settings.adam_eps,
            fused=True,
        )

    # Where an experiment has faster ways to compute an update.

    @classmethod
    def check(cls, settings: Sequence[Settings], device: str, **options: Any) -> None:
        """Refuse what cannot run here before data are asked for."""
