"""Recurrent networks that classify digits, with and without layer norm, and their training runs."""

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from lnlab.datasets import Dataset
from lnlab.experiments._classification import ClassificationRun
from lnlab.experiments.sequential_mnist import EXPERIMENT, Settings
from lnlab.training import resolve_device, train_together
from lnlib.nn import LayerNormGRU, LayerNormLSTM, LayerNormRNN

_PLAIN = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}
_NORMALIZED = {"lstm": LayerNormLSTM, "gru": LayerNormGRU, "rnn": LayerNormRNN}
_GATES = {"lstm": 4, "gru": 3, "rnn": 1}


class SequenceClassifier(nn.Module):
    """A recurrent layer that reads a sequence, and a linear layer on its last output.

    Args:
        recurrent: A recurrent network with the interface of ``nn.LSTM``, sequence first.
        inputs: Number of features per step.
        hidden: Number of outputs of the recurrent layer.
        classes: Number of outputs of the linear layer.
    """

    def __init__(self, recurrent: nn.Module, inputs: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.inputs = inputs
        self.recurrent = recurrent
        self.head = nn.Linear(hidden, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map examples ``(B, T * inputs)`` to logits ``(B, classes)``."""
        steps = x.unflatten(1, (-1, self.inputs)).transpose(0, 1)  # (T, B, inputs)
        outputs, _ = self.recurrent(steps)
        return self.head(outputs[-1])


def network(
    settings: Settings, features: int, classes: int, *, generator: torch.Generator
) -> SequenceClassifier:
    """Build the network, with the same initial weights with and without layer norm.

    Args:
        settings: Cell, norm, step and initialization.
        features: Number of features of an example, 64 for digits: a square image in row-major
            order.
        classes: Number of classes, 10.
        generator: Generator for the three weight matrices and for the bias, if it is not 0.

    Returns:
        A module that maps ``(B, features)`` to logits ``(B, classes)``.

    Raises:
        ValueError: If ``step`` is ``row`` and the image is not a square.
    """
    inputs, H, gates = 1, settings.hidden, _GATES[settings.cell]
    if settings.step == "row":
        inputs = math.isqrt(features)
        if inputs**2 != features:
            raise ValueError(
                f"network: one row per step requires square images, got {features} features; "
                "choose step='pixel'"
            )
    if settings.norm == "none":
        recurrent = _PLAIN[settings.cell](inputs, H)
    else:
        form = {} if settings.cell == "gru" else {"form": settings.form}
        recurrent = _NORMALIZED[settings.cell](
            inputs, H, eps=settings.eps, gain=settings.gain, **form
        )
    model = SequenceClassifier(recurrent, inputs, H, classes)
    bound = 1 / math.sqrt(H)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "bias" in name:
                parameter.zero_()
        weight_ih, weight_hh = recurrent.weight_ih_l0, recurrent.weight_hh_l0
        weight_ih.uniform_(-bound, bound, generator=generator)
        if settings.recurrent_init == "uniform":
            weight_hh.uniform_(-bound, bound, generator=generator)
        else:
            for square in weight_hh.split(H):
                nn.init.orthogonal_(square, generator=generator)
        model.head.weight.uniform_(-bound, bound, generator=generator)
        biases = _biases(recurrent)
        if settings.bias_init == "uniform":
            drawn = torch.empty(gates * H).uniform_(-bound, bound, generator=generator)
            for bias, part in zip(biases, drawn.split([len(b) for b in biases]), strict=True):
                bias.copy_(part)
        if settings.cell == "gru" and settings.norm == "none":
            # PyTorch's z is 1 - z of the paper, and 1 - s(z) = s(-z). With these signs both
            # networks are the same function initially, except for the norm.
            for parameter in (weight_ih, weight_hh, *biases):
                parameter[H : 2 * H].neg_()
    return model


def _biases(recurrent: nn.Module) -> list[torch.Tensor]:
    """Return the bias of the summed inputs, in the order of the gates; it can be part of norms."""
    own = [b for name, b in recurrent.named_parameters() if name in ("bias_ih_l0", "bias_l0")]
    if own:
        return own
    norms = ("layernorm_i_l0", "layernorm_in_l0", "layernorm_s_l0")
    return [getattr(recurrent, name).bias for name in norms if hasattr(recurrent, name)]


class SequentialMNISTRun(ClassificationRun):
    """Training of a recurrent network, with one seed.

    The seed determines the initial weights and the order of the examples, which do not depend on
    the norm: runs with the same seed differ only in the norm and, if it is tuned, in the learning
    rate.

    Args: as :class:`lnlab.experiments._classification.ClassificationRun`.
    """

    experiment = EXPERIMENT

    def setup(self, data: Dataset) -> None:
        """Put the examples on the device, and build the model and its optimizer."""
        super().setup(data)
        sizes = self.x.shape[1], self.classes
        self.model = network(self.settings, *sizes, generator=self.generator()).to(self.device)
        self.optimizer = self.adam()
        self._norms: list[torch.Tensor] = []

    @staticmethod
    def split(settings: Settings, data: Dataset) -> Dataset:
        """Return the examples for training and those for testing."""
        x, y = data.x_train, data.y_train
        if settings.held_out:
            out = slice(4, None, 5)
            is_training = torch.ones(len(x), dtype=torch.bool)
            is_training[out] = False
            is_training = is_training.numpy()
            data = dataclasses.replace(
                data, x_train=x[is_training], y_train=y[is_training], x_test=x[out], y_test=y[out]
            )
        return ClassificationRun.split(settings, data)

    def clip(self, batch: Any) -> None:
        """Clip the gradient, and keep its norm before clipping."""
        longest = math.inf if self.settings.clip is None else self.settings.clip
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), longest)
        self._norms.append(norm)

    def state(self) -> dict[str, torch.Tensor]:
        """Return the gradient norms of the updates since the last measurement."""
        return {"norms": torch.stack(self._norms)} if self._norms else {}

    def load_state(self, state: Mapping[str, torch.Tensor]) -> None:
        """Restore the state that :meth:`state` returned."""
        self._norms = [*state["norms"]] if state else []

    def measure(self) -> dict[str, float]:
        """Measure training NLL (nats), test NLL (nats), test error (a fraction), gradient norm.

        ``gradient_norm`` is the mean over the updates since the last measurement, each before
        clipping; NaN before the first update.
        """
        norms, self._norms = self._norms, []
        mean = float(torch.stack(norms).mean()) if norms else math.nan
        return super().measure() | {"gradient_norm": mean}


def train_norms(
    norms: Sequence[str], data: Dataset, *, seed: int = 0, device: str = "auto", **settings: Any
) -> Iterator[dict[str, dict[str, float]]]:
    """Train one network for each norm in lockstep, and yield their results.

    Args:
        norms: For example ``("layer", "none")``.
        data: Training and test examples.
        seed: The seed of all runs, which therefore share initial weights and order of examples.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
        **settings: Other fields of :class:`Settings`.

    Yields:
        A mapping from norm to a point of :func:`lnlab.training.train`, all at the same epoch.
    """
    resolved = resolve_device(device)
    chosen = {norm: Settings(norm=norm, data=data.name, **settings) for norm in norms}
    yield from train_together(
        {
            norm: SequentialMNISTRun(s, data, seed=seed, device=resolved)
            for norm, s in chosen.items()
        }
    )
