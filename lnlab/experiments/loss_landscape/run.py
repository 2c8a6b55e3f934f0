"""Measurements of the smoothness of the loss, and of the effect of lower layers on upper ones."""

import copy
import math
from itertools import pairwise

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from lnlab.analysis.smoothness import along_gradient, covariate_shift
from lnlab.datasets import Dataset
from lnlab.experiments._classification import ClassificationRun
from lnlab.experiments.loss_landscape import EXPERIMENT, Settings
from lnlib.nn import LayerNorm, RMSNorm
from lnlib.nn.baselines import BatchNorm

FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)  # step sizes along the gradient, in learning rates


def network(
    settings: Settings, inputs: int, classes: int, *, generator: torch.Generator
) -> nn.Sequential:
    """Build the network: hidden layers with a norm and ReLU, and logits without a norm.

    Weights are normal with standard deviation sqrt(2/fan_in) (He initialization): in a ReLU network
    without a norm, the summed inputs then have the same scale in each layer (He et al., 2015).

    Args:
        settings: Norm and widths.
        inputs: Number of features of an example.
        classes: Number of classes.
        generator: Generator for the weight matrices; nothing else is random.
    """
    sizes = [inputs, *settings.hidden, classes]
    layers: list[nn.Module] = []
    for depth, (fan_in, width) in enumerate(pairwise(sizes)):
        layers.append(linear := nn.Linear(fan_in, width))
        with torch.no_grad():
            linear.weight.normal_(0, math.sqrt(2 / fan_in), generator=generator)
            linear.bias.zero_()
        if depth < len(sizes) - 2:
            if settings.norm == "batch":
                layers.append(BatchNorm(width, settings.eps, settings.momentum))
            elif settings.norm != "none":
                kind = {"layer": LayerNorm, "rms": RMSNorm}[settings.norm]
                layers.append(kind(width, settings.eps))
            layers.append(nn.ReLU())
    return nn.Sequential(*layers)


class LossLandscape:
    """The loss of a network on some examples as a function of all its weights, in float64.

    Batch norm takes its statistics from these examples.

    Args:
        model: The network, which is not changed.
        x: The examples.
        y: Their classes.
    """

    def __init__(self, model: nn.Sequential, x: torch.Tensor, y: torch.Tensor) -> None:
        self.model = copy.deepcopy(model).cpu().double().train()
        self.x, self.y = x.cpu().double(), y.cpu()

    @property
    def weights(self) -> np.ndarray:
        """All weights as one vector, layer by layer."""
        return parameters_to_vector(self.model.parameters()).detach().numpy().copy()

    @property
    def layers(self) -> list[slice]:
        """The slice of each layer in the vector of weights, including those of its norm."""
        starts, total = [], 0
        for module in self.model:
            if isinstance(module, nn.Linear):
                starts.append(total)
            total += sum(p.numel() for p in module.parameters())
        return [slice(a, b) for a, b in pairwise([*starts, total])]

    @torch.inference_mode(False)
    @torch.enable_grad()
    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the loss and its gradient for the given weights."""
        parameters = list(self.model.parameters())
        vector_to_parameters(torch.from_numpy(weights), parameters)
        loss = F.cross_entropy(self.model(self.x), self.y)
        gradient = parameters_to_vector(torch.autograd.grad(loss, parameters))
        return float(loss.detach()), gradient.numpy()

    def inputs(self, weights: np.ndarray) -> list[torch.Tensor]:
        """Return the inputs of each layer except the lowest."""
        vector_to_parameters(torch.from_numpy(weights), self.model.parameters())
        result, x = [], self.x
        with torch.no_grad():
            for module in self.model:
                if isinstance(module, nn.Linear):
                    result.append(x)
                x = module(x)
        return result[1:]


class LandscapeRun(ClassificationRun):
    """Training with one norm, learning rate and seed.

    The seed determines the initial weights and the order of the examples, which depend on nothing
    else.

    Args: as :class:`lnlab.experiments._classification.ClassificationRun`.
    """

    experiment = EXPERIMENT
    allow_divergence = True

    def setup(self, data: Dataset) -> None:
        """Put the examples on the device, and build the model and its optimizer."""
        super().setup(data)
        sizes = self.x.shape[1], self.classes
        self.model = network(self.settings, *sizes, generator=self.generator()).to(self.device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=self.settings.learning_rate)

    def measure(self) -> dict[str, float]:
        """Measure NLL, test error, smoothness along the gradient, and the effect of lower layers.

        ``loss_range``, ``gradient_length``, ``gradient_change`` and ``smoothness`` are those of
        :class:`lnlab.analysis.smoothness.Smoothness`, for steps along the gradient of a quarter to
        four times the learning rate. ``shift_l`` is the norm of the change of the gradient of layer
        l after an update of the layers below it, divided by the norm of the gradient. ``moments_l``
        is the change of the mean and the standard deviation of the inputs of layer l by that
        update, root mean square over the inputs, in standard deviations. ``l`` numbers the layers
        above the lowest, from 1. NaN if the run has diverged.
        """
        return super().measure() | self._landscape()

    @torch.inference_mode(False)
    def _landscape(self) -> dict[str, float]:
        n, rate = self.settings.measured_examples, self.settings.learning_rate
        loss = LossLandscape(self.model, self.x[:n], self.y[:n])
        here = loss.weights
        step = -rate * loss(here)[1]
        with np.errstate(all="ignore"):  # the run may have diverged
            result = along_gradient(loss, here, [factor * rate for factor in FACTORS])._asdict()
            shifts = covariate_shift(loss, here, step, loss.layers)
        before, after = loss.inputs(here), loss.inputs(here + step)
        moments = map(_relative_change, before, after)
        for name, values in (("shift", shifts), ("moments", moments)):
            result |= {f"{name}_{k}": float(v) for k, v in enumerate(values, start=1)}
        return result


def _relative_change(before: torch.Tensor, after: torch.Tensor) -> float:
    (std, mean), (new_std, new_mean) = (torch.std_mean(x, 0, correction=0) for x in (before, after))
    on = std > 0  # the std of a unit that is never active is 0
    moved = torch.stack([new_mean - mean, new_std - std])[:, on] / std[on]
    return float(moved.square().mean().sqrt())
