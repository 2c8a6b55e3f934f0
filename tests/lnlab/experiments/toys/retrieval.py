"""A toy: notes find the pictures that they were taken of. One file, and nothing else.

A linear map is fitted to pairs of notes and pictures, by descent with momentum. What is measured is
how well a note finds its own picture among all of them.
"""

from __future__ import annotations

import dataclasses
import hashlib
from types import SimpleNamespace
from typing import Literal

import numpy as np

from lnlab import config
from lnlab.config import Count, Fraction, Positive
from lnlab.experiment import Experiment, Grid
from lnlab.run import Run


@dataclasses.dataclass(frozen=True)
class Settings(config.Settings):
    """Everything that is chosen before a run.

    Args:
        data: Pairs ``near`` to a linear map, or ``far`` from one.
        start: Whether the map starts at ``zeros`` or is ``drawn`` by the seed.
        learning_rate: Of plain descent.
        momentum: Weight of the former step, 0% to 100%.
        decay: Of the weights; ``None`` has none.
        mirrored: Train on the negatives of all pairs, too.
        pairs_per_update: A last, smaller batch of an epoch is left out.
        epochs: Passes over the pairs.
        first_epoch_points: How often to measure within the first epoch.
    """

    data: Literal["near", "far"] = "near"
    start: Literal["zeros", "drawn"] = "zeros"
    learning_rate: Positive = 0.05
    momentum: Fraction = 0.5
    decay: Positive | None = None
    mirrored: bool = True
    pairs_per_update: Count = 4
    epochs: Count = 3
    first_epoch_points: Count = 2


def load(settings: Settings) -> SimpleNamespace:
    """Draw 24 notes of 3 numbers and their pictures of 2."""
    rng = np.random.default_rng(7)
    notes, true = rng.normal(size=(24, 3)), rng.normal(size=(3, 2))
    noise = {"near": 0.1, "far": 2.0}[settings.data] * rng.normal(size=(24, 2))
    pictures = notes @ true + noise
    sha256 = hashlib.sha256(notes.tobytes() + pictures.tobytes()).hexdigest()
    return SimpleNamespace(name=settings.data, sha256=sha256, notes=notes, pictures=pictures)


class Pairs(Run):
    """One run of it."""

    def __init__(self, settings, data, *, seed=0, device="cpu"):
        import torch

        super().__init__(settings, data, seed=seed, device=device)
        self.notes, self.pictures = (
            torch.from_numpy(a).to(device) for a in (data.notes, data.pictures)
        )
        self.model = torch.nn.Linear(3, 2, bias=False, dtype=torch.float64)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            self.model.weight.normal_(generator=generator)
            self.model.weight.mul_(settings.start == "drawn")
        self.model.to(device)
        self.optimizer = torch.optim.SGD(
            self.model.parameters(),
            lr=settings.learning_rate,
            momentum=settings.momentum,
            weight_decay=settings.decay or 0.0,
        )

    @classmethod
    def updates(cls, settings, data):
        if len(data.notes) < settings.pairs_per_update:
            raise ValueError(
                f"Run: pairs_per_update must be at most {len(data.notes)}, got "
                f"{settings.pairs_per_update}; choose fewer"
            )
        return len(data.notes) // settings.pairs_per_update

    @property
    def cases(self):
        return {"notes": len(self.notes), "pictures": len(self.pictures)}

    def batches(self, epoch):
        order = np.random.default_rng([self.seed, epoch]).permutation(len(self.notes))
        size = self.settings.pairs_per_update
        for k in range(self.updates_per_epoch):
            yield order[k * size : (k + 1) * size]

    def loss(self, batch):
        error = self.model(self.notes[batch]) - self.pictures[batch]
        if self.settings.mirrored:
            error = (error - (self.model(-self.notes[batch]) + self.pictures[batch])) / 2
        return error.square().sum(1).mean()

    def measure(self):
        import torch

        distances = torch.cdist(self.model(self.notes), self.pictures)
        ranks = 1 + (distances < distances.diagonal()[:, None]).sum(1)
        return {
            "recall_1": (ranks <= 1).double().mean(),
            "recall_5": (ranks <= 5).double().mean(),
            "mean_rank": ranks.double().mean(),
            "best_at_recall": float("nan"),
            "map": self.model.weight.float(),
        }

    optional_measures = ("best_at_recall",)


EXPERIMENT = Pairs.experiment = Experiment(
    name="retrieval",
    about="a toy: notes find their pictures",
    paper={"section": "none", "task": "a test's"},
    settings=Settings,
    key="{start}-m{momentum}",
    label="{start}, momentum {momentum}",
    load=load,
    run="lnlab.experiments.retrieval:Pairs",
    loss=("squared_error", "m^2"),
    measures={"recall_#": "fraction", "mean_rank": "places", "best_at_recall": "epochs"},
    arrays={"map": "m"},
    primary_metric="mean_rank",
    sweep_axes={"momentum": (0.0, 0.5)},
    defaults={"epochs": 2, "seeds": 2},
    grids=(Grid(range(2), {"momentum": (0.5,), "epochs": 1}),),
)
