"""The recorded runs, by norm, batch size and rate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from lnbook.figures.plots import NORMS
from lnlab.analysis.recorded import Record, Recorded

RATE = 1e-3  # Adam's default, of the runs of figure 6
SIZES = (128, 4)  # of figure 6


class Cell(NamedTuple):
    """What is the same in the runs of a cell; only the seed differs."""

    norm: str
    batch_size: int
    rate: float = RATE

    def __str__(self) -> str:
        """Say it as a person would."""
        return f"{NORMS[self.norm][0]}, batch size {self.batch_size}, learning rate {self.rate:g}"


class Runs(Recorded):
    """Recorded runs of section 6.6, a group for each :class:`Cell`.

    Args:
        records: As :func:`lnlab.records.read_all` returns them, of any norms, batch sizes,
            learning rates and seeds; the runs of one cell measured at the same epochs.
    """

    def __init__(self, records: Sequence[Record]):
        super().__init__(records, _cell, "make replay")

    @property
    def norms(self) -> list[str]:
        """The norms of figure 6: those recorded at both of its batch sizes."""
        return [n for n in NORMS if all(Cell(n, size) in self.groups for size in SIZES)]

    @property
    def rates(self) -> list[float]:
        """The learning rates at which every norm of the sweep ran with batches of 4."""
        rates = sorted({c.rate for c in self.groups if c.batch_size == 4})
        return [r for r in rates if all(Cell(n, 4, r) in self.groups for n in self.swept)]

    @property
    def swept(self) -> list[str]:
        """The norms that ran with more than one learning rate at batch size 4."""
        return [n for n in NORMS if len({c.rate for c in self._at_four(n)}) > 1]

    def _at_four(self, norm: str) -> list[Cell]:
        return [c for c in self.groups if (c.norm, c.batch_size) == (norm, 4)]

    @property
    def sweep(self) -> Runs:
        """The runs with batches of 4 at every learning rate, with the seeds that all of them have.

        Raises:
            ValueError: If there is one learning rate alone.
        """
        if not self.swept:
            raise ValueError(
                "Runs: no sweep over learning rates was given; record it with: python -m lnlab "
                "replay mnist --norm layer batch --batch-size 4 --learning-rate RATE RATE …"
            )
        return self.among(Cell(n, 4, r) for n in self.swept for r in self.rates)

    @property
    def over_sizes(self) -> Runs:
        """The runs of norms with more than two batch sizes, with the seeds that all of them have.

        Raises:
            ValueError: If there are two batch sizes at most.
        """
        cells = [c for c in self.groups if c.rate == RATE and len(self.sizes(c.norm)) > 2]
        if not cells:
            raise ValueError(
                "Runs: no other batch sizes than those of figure 6 were given; record them with: "
                "python -m lnlab replay mnist --norm layer batch --batch-size 2 8 16 …"
            )
        return self.among(cells)

    def sizes(self, norm: str | None = None) -> list[int]:
        """Return the batch sizes recorded at the usual learning rate, by one norm or by any."""
        sizes = {c.batch_size for c in self.groups if c.rate == RATE and norm in (None, c.norm)}
        return sorted(sizes)

    @property
    def last(self) -> float:
        """The last epoch that all runs of figure 6 have."""
        return float(min(self.end(Cell(n, size)) for n in self.norms for size in SIZES))

    @property
    def longest(self) -> float:
        """The last epoch of the longest runs of figure 6."""
        return float(max(self.end(Cell(n, size)) for n in self.norms for size in SIZES))

    def end(self, cell: Cell) -> float:
        """Return the last epoch of a cell's runs."""
        return float(self.epochs(cell)[-1])

    def runs(self, cell: Cell) -> list[Record]:
        """Return the records of a cell, sorted by seed; where there is none, say how to make it."""
        if cell not in self.groups:
            raise ValueError(
                f"Runs: no run of {cell} was given; record it with: python -m lnlab replay mnist "
                f"--norm {cell.norm} --batch-size {cell.batch_size} --learning-rate {cell.rate:g}"
            )
        return self.groups[cell]


def _cell(settings: dict[str, Any]) -> Cell:
    return Cell(settings["norm"], settings["batch_size"], settings["learning_rate"])
