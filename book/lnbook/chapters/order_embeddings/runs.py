"""The recorded runs, by norm and learning rate."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lnlab.analysis.recorded import Record, RecordedRuns

DIRECTIONS = {"image": "Image retrieval", "caption": "Caption retrieval"}
CUTS = (1, 5, 10)
NORMS = ("none", "layer")


class RunKey(NamedTuple):
    """Settings that all runs of a group share; only the seed differs."""

    norm: str
    rate: float

    def __str__(self) -> str:
        """Return norm and rate in words."""
        return f"{self.norm}, learning rate {self.rate:g}"


class OrderEmbeddingsRuns(RecordedRuns):
    """Recorded runs of section 6.1, a group for each :class:`RunKey`.

    Args:
        records: Records from :func:`lnlab.records.read_all`. Runs that keep vectors are
            shorter and are left out.

    Raises:
        ValueError: If there is none.
    """

    def __init__(self, records: Sequence[Record]):
        full = [r for r in records if "keep" not in r["settings"]]
        command = "python -m lnlab replay order_embeddings"
        super().__init__(full, lambda s: RunKey(s["norm"], s["learning_rate"]), command)

    @property
    def rates(self) -> list[float]:
        """The learning rates at which both norms ran."""
        rates = sorted({cell.rate for cell in self.groups})
        return [r for r in rates if all(RunKey(norm, r) in self.groups for norm in NORMS)]

    @property
    def updates(self) -> np.ndarray:
        """Numbers of updates after which the runs were measured."""
        cases, batch = self.records[0]["data"]["cases"], self.records[0]["settings"]["batch_size"]
        per_image = cases["train_captions"] // cases["train_images"]
        return (self.epochs() * per_image * (cases["train_images"] // batch)).round().astype(int)

    def score(self, cell: RunKey) -> np.ndarray:
        """Return the mean validation R@1, R@5 and R@10 of images, ``(seeds, points)``, in %."""
        return 100 * np.mean([self.curves(cell, f"val_image_recall_{k}") for k in CUTS], axis=0)

    def best(self, norm: str) -> RunKey:
        """Return a norm's group with the highest best score per run, averaged over seeds."""
        cells = [RunKey(norm, rate) for rate in self.rates]
        return max(cells, key=lambda cell: self.score(cell).max(1).mean())
