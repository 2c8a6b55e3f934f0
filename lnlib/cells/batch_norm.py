"""Batch norm through time."""

import numpy as np

from lnlib import norms


class RecurrentBatchNorm:
    """Running statistics for batch norm in a recurrent network: the baseline of section 4.

    The summed inputs of step 1 are distributed otherwise than those of step 50, so batch norm
    keeps a mean and a variance for each time step, for each norm of the cell. Cooijmans et al.
    (2016); their gains start at 0.1, as section 4 says. ``shared=True`` keeps one for all steps.

    A training step uses the statistics of the batch and moves the averages; at test time the
    averages stand in. A test sequence longer than any in training has none from there on, and
    the last step's are used.

    Args:
        shared: One set of statistics for all steps.
        momentum: Weight of the newest batch. The first batch of a step is taken whole.

    Example:
        >>> from lnlib.cells import rnn_step
        >>> statistics = RecurrentBatchNorm()
        >>> params = {"W_ih": np.eye(1), "W_hh": np.eye(1)}
        >>> h = np.zeros((2, 1))
        >>> for t, x in enumerate(np.array([[[1.0], [3.0]], [[2.0], [8.0]]])):
        ...     h = rnn_step(x, h, params, form="batch", batch_norm=statistics.at(t))
        >>> statistics.steps
        2
        >>> statistics.mean("i", 1)
        array([5.])
    """

    def __init__(self, *, shared: bool = False, momentum: float = 0.1) -> None:
        if not 0 < momentum <= 1:
            raise ValueError(
                f"RecurrentBatchNorm: momentum must be above 0 and at most 1, got {momentum}; "
                "it is the weight of the newest batch, typically 0.1"
            )
        self.shared, self.momentum = shared, momentum
        self._running_statistics: list[dict[str, tuple[np.ndarray, np.ndarray]]] = []

    @property
    def steps(self) -> int:
        """How many steps have statistics of their own."""
        return len(self._running_statistics)

    def at(self, t: int, *, training: bool = True) -> "BatchNormAtStep":
        """Return what a cell takes as ``batch_norm`` at step ``t``, counted from 0.

        Raises:
            ValueError: If ``t`` is negative or skips a step in training, or has no averages yet
                at test time.
        """
        t = 0 if self.shared else t
        if training and not 0 <= t <= self.steps:
            raise ValueError(
                f"RecurrentBatchNorm.at: t must be from 0 to {self.steps} in training, the first "
                f"step without statistics, got {t}; train on the steps in order"
            )
        if not training and (t < 0 or not self.steps):
            raise ValueError(
                "RecurrentBatchNorm.at: inference needs t from 0 and statistics from training, got "
                f"t = {t} and {self.steps} steps with statistics; run training steps first"
            )
        return BatchNormAtStep(self, t, training)

    def mean(self, position: str, t: int) -> np.ndarray:
        """Return the running mean at step ``t`` of the norm at ``position``, such as ``"h"``."""
        return self._running_statistics[self._known(t)][position][0]

    def var(self, position: str, t: int) -> np.ndarray:
        """Return the running variance at step ``t`` of the norm at ``position``."""
        return self._running_statistics[self._known(t)][position][1]

    def _known(self, t: int) -> int:
        return min(t, self.steps - 1)  # 0 where they are shared

    def _update(self, position: str, t: int, z: np.ndarray) -> None:
        mean, var = norms.batch_statistics(z, ddof=1)
        if t == self.steps:
            self._running_statistics.append({})
        running = self._running_statistics[t]
        if position in running:
            mean = norms.update_running(running[position][0], mean, self.momentum)
            var = norms.update_running(running[position][1], var, self.momentum)
        running[position] = mean, var


class BatchNormAtStep:
    """:class:`RecurrentBatchNorm` at one time step; made by its ``at``."""

    def __init__(self, statistics: RecurrentBatchNorm, t: int, training: bool) -> None:
        self.statistics, self.t, self.training = statistics, t, training

    def given(self, position: str) -> dict[str, np.ndarray]:
        """Return ``mean`` and ``var`` to use instead of the batch's own, if any."""
        if self.training:
            return {}
        statistics = self.statistics
        return {"mean": statistics.mean(position, self.t), "var": statistics.var(position, self.t)}

    def update(self, position: str, z: np.ndarray) -> None:
        """Move the averages towards the batch ``z``, in training."""
        if self.training:
            self.statistics._update(position, self.t, z)
