"""Base class of a run: model, optimizer, batches, loss and measurements for the training loop."""

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
    """One run: an experiment's settings and one seed.

    A subclass defines ``experiment``, :meth:`setup`, :meth:`updates`, :meth:`batches`,
    :meth:`loss`, :meth:`measure` and :attr:`cases`. A run can be resumed after any update, bit for
    bit. Therefore everything that changes in training, other than the model's parameters and
    buffers and the optimizer's state, must be part of :meth:`state` or be determined by settings,
    seed, epoch and update.

    Args:
        settings: The experiment's settings.
        data: The data, as the experiment's ``load`` returns them.
        seed: A whole number from 0.
        device: Device of the model.

    Raises:
        ValueError: If the seed is negative, or the settings do not fit the data.
    """

    experiment: ClassVar[Experiment]
    model: torch.nn.Module
    optimizer: torch.optim.Optimizer
    step = "plain"  # how an update is computed
    # Measures that can be NaN, for "not measured", after the first update.
    optional_measures: tuple[str, ...] = ()
    measures_at_end = False  # whether some measures are taken only when ``at_end`` is set
    at_end = False  # whether the last update of the run is done
    allow_divergence = False  # whether a non-finite loss is recorded instead of raising an error
    _position: tuple[int, int] | None = None  # epoch and update of the next batch

    def __init__(
        self, settings: Any, data: Any, *, seed: int = 0, device: torch.device | str = "cpu"
    ) -> None:
        if seed < 0:
            raise ValueError(f"Run: seed must be a whole number from 0, got {seed}")
        self.settings, self.seed, self.device = settings, seed, device
        self.segments: list[dict[str, Any]] = []  # conditions of the training before a checkpoint
        self.updates_per_epoch = self.updates(settings, data)
        self.setup(data)

    def setup(self, data: Any) -> None:
        """Build ``model`` and ``optimizer``, and keep what training needs of the data.

        Raises:
            ValueError: If the settings do not fit the data.
        """
        raise NotImplementedError(f"{type(self).__name__} must define setup()")

    def generator(self) -> torch.Generator:
        """Return a generator of initial weights, on the CPU so that they are the same on a GPU."""
        import torch

        return torch.Generator().manual_seed(self.seed)

    @functools.cached_property
    def conditions(self) -> dict[str, Any]:
        """Versions, commit and device; evaluated at the start, since the code can change later."""
        return records.conditions(next(self.model.parameters()).device)

    @classmethod
    def updates(cls, settings: Any, data: Any) -> int:
        """Return the number of updates in an epoch.

        Raises:
            ValueError: If the settings do not fit the data.
        """
        raise NotImplementedError(f"{cls.__name__} must define updates()")

    @staticmethod
    def check_enough(settings: Any, name: str, available: int, what: str, data: Any) -> None:
        """Raise ``ValueError`` if a setting needs more examples than are available."""
        if (needed := getattr(settings, name) or 0) > available:
            raise ValueError(
                f"Run: {name} {needed} needs as many {what}, but {data.name} has {available}; "
                f"choose a smaller {name}"
            )

    @property
    def cases(self) -> Mapping[str, int]:
        """Number of examples of each split, for the record."""
        raise NotImplementedError(f"{type(self).__name__} must define cases")

    def batches(self, epoch: int) -> Iterator[Any]:
        """Yield the batches of an epoch, whose order depends only on the seed and the epoch."""
        raise NotImplementedError(f"{type(self).__name__} must define batches()")

    def loss(self, batch: Any) -> torch.Tensor:
        """Return the mean loss of a batch, a scalar tensor to differentiate."""
        raise NotImplementedError(f"{type(self).__name__} must define loss()")

    def measure(self) -> Mapping[str, float | np.ndarray | torch.Tensor]:
        """Evaluate the model; return numbers, and arrays to record.

        Called in eval mode and inference mode. NaN stands for a value that is not measured yet. The
        shape of an array must not change during a run.
        """
        raise NotImplementedError(f"{type(self).__name__} must define measure()")

    def update(self, batch: Any) -> torch.Tensor:
        """Take one step of the optimizer; return the mean loss of the batch before the step."""
        loss = self.loss(batch)
        # Zeroed in place: gradients can be views of one flat tensor.
        self.optimizer.zero_grad(set_to_none=False)
        loss.backward()
        self.clip(batch)
        self.optimizer.step()
        return loss.detach()

    def clip(self, batch: Any) -> None:
        """Clip the gradient of a batch before its update, to the setting ``clip`` if it is there.

        It is the maximum Euclidean norm over all parameters; ``None`` disables clipping.
        """
        from torch.nn.utils import clip_grad_norm_

        if getattr(self.settings, "clip", None) is not None:
            clip_grad_norm_(self.model.parameters(), self.settings.clip)

    def advance(self, epoch: int, first: int, last: int) -> Iterator[tuple[int, torch.Tensor]]:
        """Take updates ``first + 1`` to ``last`` of an epoch.

        After a resume, batches of earlier updates are drawn and skipped, so that later batches are
        those of an uninterrupted run.

        Yields:
            The number of updates since the last yield, and the sum of their losses, a float64
            tensor on the device: reading its value would synchronize the GPU at every update.
        """
        if self._position != (epoch, first):
            self._batches = itertools.islice(self.batches(epoch), first, None)
        for batch in itertools.islice(self._batches, last - first):
            loss = self.update(batch).double()
            first += 1
            self._position = (epoch, first)
            yield 1, loss

    def state(self) -> dict[str, torch.Tensor]:
        """Return further state for a checkpoint, as tensors.

        That is state that updates change, other than that of the model and the optimizer, such as
        a sum since the last measurement.
        """
        return {}

    def load_state(self, state: Mapping[str, torch.Tensor]) -> None:
        """Restore the state that :meth:`state` returned."""

    def adam(self) -> torch.optim.Adam:
        """Return Adam for the trainable parameters, with the hyperparameters of the settings."""
        import torch

        return torch.optim.Adam(
            [p for p in self.model.parameters() if p.requires_grad],
            lr=self.settings.learning_rate,
            betas=self.settings.adam_betas,
            eps=self.settings.adam_eps,
            fused=True,
        )

    @classmethod
    def check(cls, settings: Sequence[Settings], device: str, **options: Any) -> None:
        """Raise ``ValueError`` if these runs cannot run here; called before data are loaded."""
