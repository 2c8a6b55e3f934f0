"""Section 5.2.2, watched: how long the weights grow in training, and how far an update turns them.

The paper argues that a norm makes long weights hard to turn, an "implicit learning rate", and has
no experiment on it. The task and the numbers here are ours: the network of section 6.6 with
narrower layers, on digits, trained by plain gradient descent and by Adam.
"""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import torch
from torch import nn

from lnlib.data import Dataset
from lnlib.experiments.mnist import run as mnist
from lnlib.runs.settings import command
from lnlib.runs.train import Recipe, record_runs, unusual

NORMS = ("none", "layer", "batch")
OPTIMIZERS = ("sgd", "adam")
RATES = {"sgd": 0.1, "adam": 3e-3}
# At the start, in the book: other lengths with plain gradient descent alone.
SCALES = {"sgd": (1.0, 0.25, 4.0, 16.0), "adam": (1.0,)}
# What the command line runs if a flag is not given; of these, several values are several runs.
SEVERAL = {"optimizer": OPTIMIZERS, "scale": (), "norm": NORMS}  # scale: SCALES
SEEDS = 10
PAPER = {"section": "5.2.2", "task": "ours, not the paper's"}


@dataclasses.dataclass(frozen=True)
class Settings(mnist.Settings):
    """Everything that is chosen before a run; what is not named here is as in section 6.6.

    Args:
        optimizer: ``sgd``, plain gradient descent, or ``adam``.
        scale: The weights of the hidden layers start this many times as long. With a norm, and but
            for ``eps``, the network then computes the same.
        learning_rate: ``None`` takes the one that :data:`RATES` has for the optimizer.
    """

    batch_size: int = 32
    epochs: int = 20
    data: str = "digits"
    hidden: tuple[int, ...] = (64, 64)
    learning_rate: float | None = None
    first_epoch_points: int = 5
    optimizer: str = "sgd"
    scale: float = 1.0

    def __post_init__(self) -> None:
        """Refuse what cannot be run, and look up the learning rate that is not given."""
        self._one_of(norm=NORMS, optimizer=OPTIMIZERS)
        if self.learning_rate is None:
            object.__setattr__(self, "learning_rate", RATES[self.optimizer])
        self._positive("scale")
        super().__post_init__()

    @property
    def unused(self) -> tuple[str, ...]:
        """Names of the settings that have no effect in this run."""
        return (*super().unused, *(["adam_betas", "adam_eps"] if self.optimizer == "sgd" else []))


class Replay(mnist.Replay):
    """One run: one norm, one optimizer, one scale, one seed. Feed it to ``train``.

    The seed draws the weights and the order of the cases, which depend on nothing else.

    Args:
        settings: What is chosen.
        data: Training and test cases.
        seed: From 0.
        device: Where model and data live.

    Raises:
        ValueError: If there are fewer training cases than ``batch_size``, or ``seed`` is negative.
    """

    def __init__(
        self,
        settings: Settings,
        data: Dataset,
        *,
        seed: int = 0,
        device: torch.device | str = "cpu",
    ) -> None:
        super().__init__(settings, data, seed=seed, device=device)
        if settings.optimizer == "sgd":
            parameters = self.optimizer.param_groups[0]["params"]
            self.optimizer = torch.optim.SGD(parameters, lr=settings.learning_rate)
        *hidden, _ = (m for m in self.model if isinstance(m, nn.Linear))
        self._weights = [linear.weight for linear in hidden]
        with torch.no_grad():
            for weight in self._weights:
                weight.mul_(settings.scale)
        # A buffer, so that a checkpoint keeps it: ||W||² at the start and all squared updates.
        self.model.register_buffer("walked", self._lengths().square())
        self._turned: list[torch.Tensor] = []
        self.optimizer.register_step_pre_hook(self._before)
        self.optimizer.register_step_post_hook(self._after)

    def _lengths(self) -> torch.Tensor:
        return torch.stack([w.detach().double().norm() for w in self._weights])

    def _before(self, *_: object) -> None:
        # A copy in double precision as well, where .double() would return the weights themselves.
        self._old = [w.detach().to(torch.float64, copy=True) for w in self._weights]

    @torch.no_grad()
    def _after(self, *_: object) -> None:
        turned = []
        for i, (old, new) in enumerate(zip(self._old, self._weights, strict=True)):
            step = new.double() - old
            self.model.walked[i] += step.square().sum()
            # Not the arc cosine, which loses small angles: the part across W over that along it.
            along = (step * old).sum() / old.square().sum()
            across = (step - along * old).norm() / old.norm()
            turned.append(torch.rad2deg(torch.atan2(across, 1 + along)))
        self._turned.append(torch.stack(turned))

    def measure(self) -> dict[str, float]:
        """Measure NLL and test error and, of hidden layers 1 and 2, the weights.

        ``length_1`` is ||W||, the root of the sum of all squares. ``square_1`` is what it would be
        had every update so far stood at a right angle to W: the root of ||W||² at the start plus
        every squared update. ``turn_1`` is the angle by which an update turns W, in degrees: the
        mean over the updates since the last measurement, NaN before the first.
        """
        lengths, square = self._lengths(), self.model.walked.sqrt()
        turned, self._turned = self._turned, []
        mean = torch.stack(turned).mean(0) if turned else torch.full_like(lengths, math.nan)
        found = {}
        for i in range(len(self._weights)):
            found[f"length_{i + 1}"] = float(lengths[i])
            found[f"square_{i + 1}"] = float(square[i])
            found[f"turn_{i + 1}"] = float(mean[i])
        return super().measure() | found


def record_all(
    settings: list[Settings],
    seeds: list[int],
    *,
    out: Path,
    device: str = "auto",
    again: bool = False,
) -> list[Path]:
    """Run every pair of settings and seed that has no record yet, with a bar and checkpoints.

    See :func:`lnlib.runs.train.record_runs`.

    Args:
        settings: One for each norm, optimizer, scale and so on.
        seeds: Seeds for each of them.
        out: Folder of the records.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
        again: Run again what is already recorded.

    Returns:
        The records' paths, one for each run, new or not.
    """
    return record_runs(_RECIPE, settings, seeds, out=out, device=device, again=again)


def _name(settings: Settings, seed: int) -> str:
    given = {k: getattr(settings, k) for k in ("norm", "optimizer", "scale", "epochs")}
    scale = f"x{settings.scale}".removesuffix(".0")
    kind = [settings.norm, settings.optimizer, scale]
    return "-".join(["weights", *kind, *unusual(settings, Settings(**given)), f"seed{seed}"])


def _command(replay: Replay) -> list[str]:
    always = ("norm", "optimizer", "scale", "learning_rate", "epochs")
    return command("weights", replay.chosen, replay.seed, *always)


_RECIPE = Recipe(
    experiment="weights",
    paper=PAPER,
    replay=Replay,
    name=_name,
    label=lambda s: f"{s.norm}, {s.optimizer}, weights times {s.scale:g}",
    command=_command,
)
