"""The network of section 6.6, its norms, and training runs."""

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import nn

from lnlab.datasets import Dataset
from lnlab.experiments._classification import ClassificationRun
from lnlab.experiments.mnist import EXPERIMENT, Settings, steps
from lnlab.training import resolve_device
from lnlib.nn import LayerNorm
from lnlib.nn.baselines import BatchNorm, WeightNormLinear


def network(
    settings: Settings, inputs: int, classes: int, *, generator: torch.Generator
) -> nn.Sequential:
    """Build the network of section 6.6.

    Args:
        settings: Norm, widths and initialization.
        inputs: Number of features of an example, 784 for MNIST.
        classes: Number of classes, 10.
        generator: Generator for the weight matrices; nothing else is random.

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


class MNISTRun(ClassificationRun):
    """Training of the network of section 6.6, with one seed.

    The seed determines the initial weights and the order of the examples, which do not depend on
    the norm: runs with the same seed differ only in the norm.

    Args:
        settings: The settings.
        data: Training and test examples.
        seed: A whole number from 0.
        device: Device of the model and the data.
        step: Implementation of an update, one of :data:`.steps.NAMES` or ``auto``. All give the
            same numbers up to rounding, and the others are faster than the readable ``plain``.

    Raises:
        ValueError: If there are fewer training examples than ``batch_size``, ``seed`` is negative,
            or the implementation cannot run here.
    """

    experiment = EXPERIMENT

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
        self.step = steps.choose(step, settings.batch_size, self.x.device)
        self._take = steps.compiled.make(self) if self.step == "compiled" else None

    def setup(self, data: Dataset) -> None:
        """Put the examples on the device, and build the model and its optimizer."""
        super().setup(data)
        settings, sizes = self.settings, (self.x.shape[1], self.classes)
        self.model = network(settings, *sizes, generator=self.generator()).to(self.device)
        self.optimizer = torch.optim.Adam(
            [steps.flatten(self.model)],
            lr=settings.learning_rate,
            betas=settings.adam_betas,
            eps=settings.adam_eps,
            fused=True,  # one pass over the parameters: twice as fast as the default on a CPU
        )

    def update(self, batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        """Take one step of the optimizer; return the mean NLL of the batch before it, in nats."""
        if self._take is not None:
            return self._take(*batch)
        loss = super().update(batch)
        (flat,) = self.optimizer.param_groups[0]["params"]
        if not flat.is_cuda:
            steps.sweep(self.optimizer.state[flat])
        return loss

    @classmethod
    def check(cls, settings: Sequence[Settings], device: str, *, step: str = "auto") -> None:
        """Raise if the implementation cannot run here, before data are loaded."""
        if step != "auto":  # auto would start a compiler, even if all runs are recorded
            steps.choose(step, 1, resolve_device(device))
