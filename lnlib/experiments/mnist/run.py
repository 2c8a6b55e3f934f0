"""Section 6.6, figure 6: permutation-invariant MNIST with batches of 128 and of 4.

A 784-1000-1000-10 network with ReLU, trained by Adam on 55,000 cases. Batch norm stands on all
layers, the logits included, with the unbiased variance at batch size 4; layer norm stands on the
hidden layers alone. What the paper leaves open is a field of :class:`Settings`.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from itertools import pairwise
from pathlib import Path

import torch
from torch import nn

from lnlib.data import Dataset
from lnlib.experiments.mnist import steps
from lnlib.nn import LayerNorm
from lnlib.nn.baselines import BatchNorm, WeightNormLinear
from lnlib.runs.settings import Settings as Base
from lnlib.runs.settings import command
from lnlib.runs.train import Classification, Recipe, record_runs, resolve_device, unusual

NORMS = ("none", "batch", "layer", "weight")
PAPER = {"section": "6.6", "figure": "6"}
# The paper's widths, and narrower ones for a data set of a fortieth of the size.
HIDDEN = {"mnist": (1000, 1000), "digits": (200, 200)}

# What the command line runs if a flag is not given; of these, several values are several runs.
SEVERAL = {"learning_rate": (1e-3,), "batch_size": (4, 128), "norm": ("layer", "batch", "none")}


@dataclasses.dataclass(frozen=True)
class Settings(Base):
    """Everything that is chosen before a run.

    The paper gives the network, the optimizer's name, the number of training cases, the batch
    sizes, and where each norm stands. The rest is ours.

    Args:
        norm: ``none``, ``batch``, ``layer``, or beyond the paper ``weight``.
        batch_size: 128 and 4 in the paper. A last, smaller batch of an epoch is left out.
        epochs: Passes over the training cases.
        data: ``mnist``, or ``digits`` for the small set that comes with scikit-learn.
        hidden: Widths of the hidden layers. ``None`` takes those that :data:`HIDDEN` has for the
            data set.
        train_cases: The first so many training cases (55,000 in the paper), at most all.
        learning_rate: Adam's; the paper does not give it.
        adam_betas: Adam's decay rates, at the defaults of Adam's paper.
        adam_eps: Adam's epsilon, likewise.
        eps: Inside the root of batch and layer norm; the paper's equations have none.
        variance: Batch norm's in training: ``biased``, ``unbiased``, or ``paper``, which is
            unbiased below batch size 128 ("for the smaller batch-size").
        momentum: Weight of the newest batch in batch norm's running averages.
        initialization: Of the weights: ``uniform`` in +-1/sqrt(fan in), as PyTorch does, or
            ``he``, normal with deviation sqrt(2/fan in). Biases start at 0, gains at 1.
        measured_cases: Training cases on which the test-time NLL is measured: the first so many,
            and no more than there are test cases.
        first_epoch_points: How often to measure within the first epoch.
    """

    norm: str = "layer"
    batch_size: int = 128
    epochs: int = 5
    data: str = "mnist"
    hidden: tuple[int, ...] | None = None
    train_cases: int = 55_000
    learning_rate: float = 1e-3
    adam_betas: tuple[float, float] = (0.9, 0.999)
    adam_eps: float = 1e-8
    eps: float = 1e-5
    variance: str = "paper"
    momentum: float = 0.1
    initialization: str = "uniform"
    measured_cases: int = 10_000
    first_epoch_points: int = 20

    def __post_init__(self) -> None:
        """Refuse what cannot be run."""
        if self.hidden is None:
            usual = HIDDEN.get(self.data, HIDDEN["mnist"])
            object.__setattr__(self, "hidden", usual)
        self._one_of(
            norm=NORMS,
            variance=("paper", "biased", "unbiased"),
            initialization=("uniform", "he"),
        )
        self._whole("batch_size", "epochs", "train_cases", "measured_cases", "first_epoch_points")
        self._widths("hidden")
        self._positive("learning_rate")
        self._betas("adam_betas")
        self._not_negative("adam_eps", "eps")
        self._number("momentum", "a number from 0 to 1", lambda value: 0 <= value <= 1)
        if self.norm == "batch" and self.batch_size < 2:
            raise ValueError(
                "Settings: batch_size must be at least 2 where norm is batch, got 1; the variance "
                "of one case is 0 (layer norm has no such limit)"
            )

    @property
    def unused(self) -> tuple[str, ...]:
        """Names of the settings that have no effect in this run."""
        of_batch = () if self.norm == "batch" else ("variance", "momentum")
        return of_batch if self.norm in ("batch", "layer") else (*of_batch, "eps")

    @property
    def unbiased(self) -> bool:
        """Whether batch norm divides by B - 1 in training."""
        return self.variance == "unbiased" or (self.variance == "paper" and self.batch_size < 128)


def network(
    settings: Settings, inputs: int, classes: int, *, generator: torch.Generator
) -> nn.Sequential:
    """Build the network of section 6.6.

    Args:
        settings: Norm, widths, initialization.
        inputs: Features of a case, 784 for MNIST.
        classes: 10.
        generator: Draws the weight matrices, in order; nothing else is random.

    Returns:
        Modules that map ``(B, inputs)`` to logits ``(B, classes)``.
    """
    sizes = [inputs, *settings.hidden, classes]
    layers: list[nn.Module] = []
    for depth, (fan_in, width) in enumerate(pairwise(sizes)):
        is_logits = depth == len(sizes) - 2
        if settings.norm == "weight":
            layers.append(linear := WeightNormLinear(fan_in, width))
        else:
            # A bias before a norm that removes the mean would have no effect; eq. 5 has it after.
            normalized = settings.norm == "batch" or (settings.norm == "layer" and not is_logits)
            layers.append(linear := nn.Linear(fan_in, width, bias=not normalized))
            if normalized and settings.norm == "batch":
                layers.append(
                    BatchNorm(width, settings.eps, settings.momentum, unbiased=settings.unbiased)
                )
            elif normalized:
                layers.append(LayerNorm(width, settings.eps))
        if not is_logits:
            layers.append(nn.ReLU())
        with torch.no_grad():
            if settings.initialization == "he":
                linear.weight.normal_(0, math.sqrt(2 / fan_in), generator=generator)
            else:
                bound = 1 / math.sqrt(fan_in)
                linear.weight.uniform_(-bound, bound, generator=generator)
            if linear.bias is not None:
                linear.bias.zero_()
    return nn.Sequential(*layers)


class Replay(Classification):
    """One run of section 6.6: one norm, one batch size, one seed. Feed it to ``train``.

    The seed draws the weights and the order of the cases, and neither depends on the norm: runs
    of one seed differ in the norm alone.

    Args:
        settings: What is chosen.
        data: Training and test cases.
        seed: From 0.
        device: Where model and data live.
        step: How a step is computed, one of :data:`.steps.NAMES` or ``auto``: the same numbers but
            for rounding, faster than the readable ``plain``.

    Raises:
        ValueError: If there are fewer training cases than ``batch_size``, ``seed`` is negative, or
            the step cannot run here.
    """

    def __init__(
        self,
        settings: Settings,
        data: Dataset,
        *,
        seed: int = 0,
        device: torch.device | str = "cpu",
        step: str = "plain",
    ) -> None:
        super().__init__(settings, data, seed=seed, device=device)
        generator = torch.Generator().manual_seed(seed)  # on the CPU: one W for all devices
        model = network(settings, self.x.shape[1], self.classes, generator=generator)
        self.model = model.to(device)
        self.optimizer = torch.optim.Adam(
            [steps.flatten(self.model)],
            lr=settings.learning_rate,
            betas=settings.adam_betas,
            eps=settings.adam_eps,
            fused=True,  # one pass over the parameters: twice as fast as the default on a CPU
        )
        self.step = steps.choose(step, settings.batch_size, self.x.device)
        self._take = None if self.step == "plain" else steps.make(self.step, self)

    def update(self, batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        """Take one step of the optimizer; return the batch's mean NLL before it, in nats."""
        return super().update(batch) if self._take is None else self._take(*batch)


def record_all(
    settings: list[Settings],
    seeds: list[int],
    *,
    out: Path,
    device: str = "auto",
    again: bool = False,
    step: str = "auto",
) -> list[Path]:
    """Run every pair of settings and seed that has no record yet, with a bar and checkpoints.

    A checkpoint of each run under way lies in ``out/.checkpoints`` until its record is written;
    a call after a break goes on from there.

    Args:
        settings: One for each cell of the figure.
        seeds: Seeds for each of them.
        out: Folder of the records.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
        again: Run again what is already recorded.
        step: As for :class:`Replay`; ``auto`` is the fastest here.

    Returns:
        The records' paths, one for each run, new or not.
    """
    check_step(step, device)
    return record_runs(_RECIPE, settings, seeds, out=out, device=device, again=again, step=step)


def check_step(step: str, device: str) -> None:
    """Refuse a step that cannot run here before data are asked for."""
    if step != "auto":  # auto would start a compiler, even where all is recorded
        steps.choose(step, 1, resolve_device(device))


def run_name(experiment: str, settings: Settings, seed: int) -> str:
    """Name a run by its cell and by what is not as usual in its settings."""
    given = {k: getattr(settings, k) for k in ("norm", "batch_size", "epochs", "data")}
    base = type(settings)(**given)
    data = [settings.data] if settings.data != "mnist" else []
    cell = [settings.norm, f"b{settings.batch_size}"]
    return "-".join([experiment, *data, *cell, *unusual(settings, base), f"seed{seed}"])


def run_command(experiment: str, replay: Replay) -> list[str]:
    """Return the words that repeat a run, but for where it runs and where its record goes."""
    always = ("norm", "batch_size", "epochs")
    said = command(experiment, replay.chosen, replay.seed, *always)
    return [*said, "--step", replay.step]


_RECIPE = Recipe(
    experiment="mnist",
    paper=PAPER,
    replay=Replay,
    name=functools.partial(run_name, "mnist"),
    label=lambda settings: f"{settings.norm}, batch {settings.batch_size}",
    command=functools.partial(run_command, "mnist"),
)
