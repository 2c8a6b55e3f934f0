"""The network of section 6.7, its norms, and training runs."""

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from lnlab.datasets import Dataset
from lnlab.experiments._classification import ClassificationRun
from lnlab.experiments.convnet import EXPERIMENT, SIDE, Settings
from lnlib.nn import LayerNorm

STRIDES = (1, 2, 2)
KERNEL = 3


class ChannelNorm(LayerNorm):
    """Layer norm over the channels at each position of ``(B, C, H, W)``."""

    def forward(self, x: Tensor) -> Tensor:
        """Normalize each position separately."""
        return super().forward(x.movedim(1, -1)).movedim(-1, 1)


def norm(settings: Settings, channels: int, side: int) -> nn.Module:
    """Return the norm of ``(B, channels, side, side)``, with gains of 1 and biases of 0.

    Layer norm has a gain and a bias for each unit, as in eq. 4; the other norms have one for each
    channel, as is common.
    """
    eps = settings.eps
    return {
        "none": nn.Identity,
        "batch": lambda: nn.BatchNorm2d(channels, eps, settings.momentum),
        "layer": lambda: LayerNorm((channels, side, side), eps),
        "channel": lambda: ChannelNorm(channels, eps),
        "group": lambda: nn.GroupNorm(4, channels, eps),
        "instance": lambda: nn.GroupNorm(channels, channels, eps),
    }[settings.norm]()


class Network(nn.Module):
    """Three layers of convolution, norm and ReLU, and a linear output layer.

    Args:
        settings: Norm, channels, padding, cropping and initialization.
        classes: Number of classes, 10.
        generator: Generator for the initial weights, which do not depend on the norm.
    """

    def __init__(self, settings: Settings, classes: int, *, generator: torch.Generator) -> None:
        super().__init__()
        self.crop, side = settings.crop, SIDE - 2 * settings.crop
        self.convolutions, self.norms = nn.ModuleList(), nn.ModuleList()
        inputs = 1
        for channels, stride in zip(settings.channels, STRIDES, strict=True):
            side = math.ceil(side / stride)
            self.convolutions.append(
                nn.Conv2d(
                    inputs,
                    channels,
                    KERNEL,
                    stride,
                    padding=KERNEL // 2,
                    padding_mode=settings.padding,
                    bias=settings.norm == "none",  # a norm has its own bias
                )
            )
            self.norms.append(norm(settings, channels, side))
            inputs = channels
        self.logits = nn.Linear(inputs * side * side, classes)
        with torch.no_grad():
            for layer in (*self.convolutions, self.logits):
                fan_in = layer.weight[0].numel()
                if settings.initialization == "he":
                    layer.weight.normal_(0, math.sqrt(2 / fan_in), generator=generator)
                else:
                    bound = 1 / math.sqrt(fan_in)
                    layer.weight.uniform_(-bound, bound, generator=generator)
                if layer.bias is not None:
                    layer.bias.zero_()

    def summed_inputs(self, x: Tensor) -> list[Tensor]:
        """Map images ``(B, 784)`` to the inputs of each ReLU, ``(B, C, H, W)``."""
        return [after for _, after in self.around_norms(x)]

    def around_norms(self, x: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Map images ``(B, 784)`` to the inputs and outputs of each norm."""
        x = x.view(-1, 1, SIDE, SIDE)
        if self.crop:
            x = x[:, :, self.crop : -self.crop, self.crop : -self.crop]
        results = []
        for convolution, normalize in zip(self.convolutions, self.norms, strict=True):
            before = convolution(x)
            results.append((before, normalize(before)))
            x = results[-1][1].relu()
        return results

    def forward(self, x: Tensor) -> Tensor:
        """Map images ``(B, 784)`` to logits ``(B, classes)``."""
        return self.logits(self.summed_inputs(x)[-1].relu().flatten(1))


def ring(side: int) -> Tensor:
    """Return a mask of the outermost positions of ``(side, side)``.

    Example:
        >>> ring(3).int()
        tensor([[1, 1, 1],
                [1, 0, 1],
                [1, 1, 1]], dtype=torch.int32)
    """
    outer = torch.ones(side, side, dtype=torch.bool)
    outer[1:-1, 1:-1] = False
    return outer


def short(x: Tensor) -> Tensor:
    """Return a map rounded to 128ths: the difference is not visible, and the file is smaller."""
    return ((128 * x).round() / 128).half()


class ConvnetRun(ClassificationRun):
    """Training of a convolutional network (section 6.7), with one seed.

    The seed determines the initial weights and the order of the examples, which do not depend on
    the norm.

    Args: as :class:`lnlab.experiments._classification.ClassificationRun`.

    Raises:
        ValueError: If there are fewer examples than ``train_examples`` and ``val_examples``, or
            than ``batch_size``, or ``seed`` is negative.
    """

    experiment = EXPERIMENT

    def setup(self, data: Dataset) -> None:
        """Put the examples on the device, and build the model and its optimizer."""
        super().setup(data)
        last = slice(-self.settings.val_examples, None)
        self.x_val = torch.from_numpy(data.x_train[last]).to(self.device)
        self.y_val = torch.from_numpy(data.y_train[last]).to(self.device)
        network = Network(self.settings, self.classes, generator=self.generator())
        self.model = network.to(self.device)
        self.optimizer = self.adam()

    @staticmethod
    def split(settings: Settings, data: Dataset) -> Dataset:
        """Return the examples for training and those for testing.

        Raises:
            ValueError: If there are too few, or the images do not have 28 x 28 pixels.
        """
        cases, needed = len(data.x_train), settings.train_examples + settings.val_examples
        if data.x_train.shape[1] != SIDE * SIDE:
            raise ValueError(
                f"Run: data must be images of {SIDE} x {SIDE} pixels, {data.name} has "
                f"{data.x_train.shape[1]} features per example"
            )
        if needed > cases:
            raise ValueError(
                f"Run: train_examples and val_examples must be at most {cases:,} together, as many "
                f"as {data.name} has for training, got {needed:,}; choose fewer"
            )
        return ClassificationRun.split(settings, data)

    @property
    def cases(self) -> Mapping[str, int]:
        """Number of training, validation and test examples."""
        return {**super().cases, "val": len(self.x_val)}

    def measure(self) -> dict[str, float | Tensor]:
        """Measure NLL and error, and the differences between units at the border and the others.

        ``border_on_k`` is the fraction of examples for which a unit of the outermost ring in layer
        k is active, as the mean over these units, and ``inner_on_k`` that for the other units.
        ``border_deviation_k`` is the standard deviation of the ReLU inputs in the ring, over
        examples and units, divided by that of the other units.
        """
        results: dict[str, float | Tensor] = {}
        for split, x, y in (("val", self.x_val, self.y_val), ("test", self.x_test, self.y_test)):
            results[f"{split}_nll"], results[f"{split}_error"] = self._evaluate(x, y)
        mapped = self.x_val[: self.settings.mapped_examples]
        if self.settings.maps:
            results["ink"] = (255 * (mapped > 0).float().mean(0).view(SIDE, SIDE)).round().byte()
        for k, (before, a) in enumerate(self.model.around_norms(mapped), 1):
            before, a = before.float(), a.float()
            on = (a > 0).float().mean(0)
            outer = ring(a.shape[-1]).to(a.device)
            results[f"border_on_{k}"] = float(on[:, outer].mean())
            results[f"inner_on_{k}"] = float(on[:, ~outer].mean())
            border, inner = a[..., outer].std(), a[..., ~outer].std()
            results[f"border_deviation_{k}"] = float(border / inner)
            if self.settings.maps:
                results[f"on_{k}"] = (255 * on).round().byte()
                results[f"mean_{k}"], results[f"deviation_{k}"] = short(a.mean(0)), short(a.std(0))
            if self.settings.maps and self.settings.norm != "none":
                results[f"before_mean_{k}"] = short(before.mean(0))
                results[f"before_deviation_{k}"] = short(before.std(0))
        return results
