"""The recorded runs, grouped by norm, batch size and learning rate."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from lnbook.figures.plots import NORMS
from lnlab.analysis.recorded import Record, RecordedRuns

RATE = 1e-3  # learning rate of the runs of figure 6, Adam's default
FIGURE_6_SIZES = (128, 4)  # batch sizes


class RunKey(NamedTuple):
    """The settings that the runs of a group share; only the seed differs."""

    norm: str
    batch_size: int
    rate: float = RATE

    def __str__(self) -> str:
        """Return the settings as in a sentence."""
        return f"{NORMS[self.norm][0]}, batch size {self.batch_size}, learning rate {self.rate:g}"


class MNISTRuns(RecordedRuns):
    """Recorded runs of section 6.6, a group for each :class:`RunKey`.

    Args:
        records: Records from :func:`lnlab.records.read_all`, with any norms, batch sizes, learning
            rates and seeds. The runs of a group must be measured at the same epochs.
    """

    def __init__(self, records: Sequence[Record]):
        super().__init__(records, _cell, "make replay")

    @property
    def norms(self) -> list[str]:
        """The norms of figure 6: those recorded at both of its batch sizes."""
        return [n for n in NORMS if all(RunKey(n, size) in self.groups for size in FIGURE_6_SIZES)]

    @property
    def swept_rates(self) -> list[float]:
        """The learning rates at which every norm of the sweep ran with batches of 4."""
        rates = sorted({c.rate for c in self.groups if c.batch_size == 4})
        return [r for r in rates if all(RunKey(n, 4, r) in self.groups for n in self.swept_norms)]

    @property
    def swept_norms(self) -> list[str]:
        """The norms that ran with more than one learning rate at batch size 4."""
        return [n for n in NORMS if len({c.rate for c in self._at_four(n)}) > 1]

    def _at_four(self, norm: str) -> list[RunKey]:
        return [c for c in self.groups if (c.norm, c.batch_size) == (norm, 4)]

    @property
    def rate_sweep(self) -> "MNISTRuns":
        """The runs of the sweep over learning rates with batches of 4, for the seeds they share."""
        return self.among(RunKey(n, 4, r) for n in self.swept_norms for r in self.swept_rates)

    @property
    def size_sweep(self) -> "MNISTRuns":
        """The runs of norms with more than two batch sizes, for the seeds they share."""
        return self.among(
            c for c in self.groups if c.rate == RATE and len(self.batch_sizes(c.norm)) > 2
        )

    def batch_sizes(self, norm: str | None = None) -> list[int]:
        """Return the batch sizes recorded at :data:`RATE` with a norm, or with any if ``None``."""
        sizes = {c.batch_size for c in self.groups if c.rate == RATE and norm in (None, c.norm)}
        return sorted(sizes)

    @property
    def last_common_epoch(self) -> float:
        """The last epoch that all runs of figure 6 have reached."""
        return float(min(self.end(RunKey(n, size)) for n in self.norms for size in FIGURE_6_SIZES))

    @property
    def last_epoch(self) -> float:
        """The last epoch of the longest runs of figure 6."""
        return float(max(self.end(RunKey(n, size)) for n in self.norms for size in FIGURE_6_SIZES))

    def end(self, cell: RunKey) -> float:
        """Return the last epoch of a group's runs."""
        return float(self.epochs(cell)[-1])


def _cell(settings: dict[str, Any]) -> RunKey:
    return RunKey(settings["norm"], settings["batch_size"], settings["learning_rate"])
