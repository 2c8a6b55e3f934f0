"""Measurements of the norms of a network of section 6.6 during training."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from lnlab.datasets import Dataset
from lnlab.experiments.gradient_noise import EXPERIMENT
from lnlab.experiments.mnist import run as mnist
from lnlib.nn import LayerNorm
from lnlib.nn.baselines import BatchNorm

CLOUD = 40  # number of batches (examples with layer norm) whose statistics are recorded
MOVES_SIZE = (400, 8)  # number of examples, and of batches in which each of them is evaluated


class NormInputs(NamedTuple):
    """Summed inputs of a norm, and the statistics that normalize them."""

    inputs: torch.Tensor  # batch norm (batches, B, H), layer norm (N, H)
    mean: torch.Tensor  # (batches, 1, H), or (N, 1)
    var: torch.Tensor  # as in the norm, divided by B - 1 if the norm does so

    def normalized(self, eps: float) -> torch.Tensor:
        """Return ``(inputs - mean) / sqrt(var + eps)``."""
        return (self.inputs - self.mean) / (self.var + eps).sqrt()


def forward(
    model: nn.Sequential,
    x: torch.Tensor,
    *,
    batch_size: int | None = None,
    statistics: list[tuple[torch.Tensor, torch.Tensor]] | None = None,
) -> tuple[torch.Tensor, list[NormInputs]]:
    """Run many batches through a network at once, and return the inputs of its norms.

    Running averages are not updated. For networks without batch norm, ``batch_size`` and
    ``statistics`` have no effect.

    Args:
        model: A network from :func:`lnlab.experiments.mnist.run.network`.
        x: Examples, shape ``(N, D)``.
        batch_size: Batch norm takes its statistics from every ``batch_size`` consecutive examples;
            a divisor of N.
        statistics: Alternatively, the statistics ``(mean, var)`` of each batch norm, each of shape
            ``(H,)``.

    Returns:
        Logits ``(N, classes)``, and one :class:`NormInputs` per norm, in order.
    """
    norm_inputs, statistics = [], iter(statistics or ())
    for layer in model:
        if isinstance(layer, BatchNorm):
            inputs = x.view(-1, batch_size or len(x), x.shape[1])
            if batch_size:
                var, mean = torch.var_mean(inputs, 1, correction=int(layer.unbiased), keepdim=True)
            else:
                mean, var = (s.view(1, 1, -1) for s in next(statistics))
            norm_inputs.append(NormInputs(inputs, mean, var))
            x = norm_inputs[-1].normalized(layer.eps).view_as(x) * layer.weight + layer.bias
        else:
            if isinstance(layer, LayerNorm):
                var, mean = torch.var_mean(x, 1, correction=0, keepdim=True)
                norm_inputs.append(NormInputs(x, mean, var))
            x = layer(x)
    return x, norm_inputs


class GradientNoiseRun(mnist.MNISTRun):
    """Training of the network of section 6.6 that measures its gradient noise.

    Args: as :class:`lnlab.experiments.mnist.run.MNISTRun`.

    Raises:
        ValueError: As there, and if a measurement has no whole batch to take.
    """

    experiment = EXPERIMENT
    optional_measures = ("gradient_noise", "gradient_length")

    def setup(self, data: Dataset) -> None:
        """Build the network of section 6.6, and check that there are enough examples."""
        super().setup(data)
        settings = self.settings
        limits = {"half of the training cases": len(self.x) // 2}
        if settings.norm == "batch":
            limits["the test cases"] = len(self.x_test)
            limits["statistics_examples"] = settings.statistics_examples
        if settings.norm != "none":
            limits["the cases that come in other batches"] = MOVES_SIZE[0]
        tightest = min(limits, key=limits.get)
        if settings.batch_size > limits[tightest]:
            raise ValueError(
                f"noise: batch_size must be at most {limits[tightest]:,} ({tightest}), so "
                f"that every measurement has a full batch, got {settings.batch_size:,}; choose a "
                "smaller one"
            )

    def measure(self) -> dict[str, Any]:
        """Measure NLL, test error and noise; ``l`` is the number of a norm, from 1.

        With batch norm, in units of the std of the same summed inputs over many batches:

        - ``mean_l``, ``std_l``: the mean, minus the true mean, and the std of the first unit in
          each of 40 batches; ``kept_mean_l`` and ``kept_std_l``: the same for the running averages;
        - ``miss_l``, ``kept_miss_l``: root mean square of that difference of the means over all
          units, for all batches of an epoch and for the running average;
        - ``batches_nll``, ``batches_error``: as ``test_nll`` and ``test_error``, but each batch of
          test examples is normalized by its own statistics; ``averages_nll``, ``averages_error``:
          by the average statistics of all training batches, which the running averages estimate;
          ``true_nll``, ``true_error``: by the statistics of all training examples as one batch.

        With layer norm, ``mean_l`` and ``std_l`` are mean and std over the units for each of 40
        examples. The average over the examples is subtracted from the mean, and both are in units
        of the average std.

        With both, ``moves_l`` is the root mean square change of a normalized value when its example
        is in another batch. With every norm, ``gradient_noise`` is the result of
        :meth:`gradient_noise`.
        """
        result = super().measure()
        result["gradient_noise"], result["gradient_length"] = self.gradient_noise()
        if self.settings.norm == "batch":
            result |= self._batch_statistics()
        elif self.settings.norm == "layer":
            result |= self._case_statistics()
        return result | self._moves()

    @torch.inference_mode(False)
    @torch.enable_grad()
    def gradient_noise(self) -> tuple[float, float]:
        """Return the number of batches whose average gradient has as much noise as signal.

        That is the variance of the gradient of a batch, summed over the parameters, divided by the
        squared norm of the mean gradient. The gradient of a batch is that of its mean NLL in
        training mode; with batch norm, it is not a mean over the examples in the batch.

        Returns:
            The ratio and the norm of the mean gradient; both are NaN if the norm is too small to be
            distinguished from 0.
        """
        parameters = list(self.model.parameters())
        total = [torch.zeros_like(p) for p in parameters]
        squares, n = 0.0, 0
        buffers = {name: b.clone() for name, b in self.model.named_buffers()}
        self.model.train()
        for batch in self._probes():
            gradient = torch.autograd.grad(self.loss(batch), parameters)
            n += 1
            for sum_, g in zip(total, gradient, strict=True):
                sum_ += g
                squares += torch.dot(g.flatten(), g.flatten())
        self.model.eval()
        for name, b in self.model.named_buffers():  # restore the running averages
            b.copy_(buffers[name])
        mean = sum(float(sum_.double().square().sum()) for sum_ in total) / n**2
        variance = (float(squares) / n - mean) * n / (n - 1)
        signal = mean - variance / n  # the square of a mean over n contains variance / n
        if signal <= 0:
            return math.nan, math.nan
        return variance / signal, math.sqrt(signal)

    def _order(self) -> torch.Tensor:
        # Different from the order of every epoch, and the same for all points and norms.
        order = np.random.default_rng([self.seed, 0, 1]).permutation(len(self.x))
        return torch.from_numpy(order).to(self.x.device)

    def _probes(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        size = self.settings.batch_size
        n = min(self.settings.gradient_batches, self.updates_per_epoch)
        for chosen in self._order()[: n * size].split(size):
            yield self.x[chosen], self.y[chosen]

    def _batch_statistics(self) -> dict[str, Any]:
        size, result, averages = self.settings.batch_size, {}, []
        cases = min(self.settings.statistics_examples, len(self.x)) // size * size
        x = self.x[self._order()[:cases]]
        # Some batches at a time, so that their activations fit into the cache.
        parts = [forward(self.model, part, batch_size=size)[1] for part in x.split(500 * size)]
        norms = [m for m in self.model if isinstance(m, BatchNorm)]
        for i, (norm, norm_inputs) in enumerate(
            zip(norms, zip(*parts, strict=True), strict=True), 1
        ):
            # (batches, H)
            mean, var = (torch.cat([s[k] for s in norm_inputs])[:, 0] for k in (1, 2))
            unbiased = var.mean(0) * (1 if norm.unbiased else size / (size - 1))
            averages.append((mean.mean(0), unbiased))  # as in a running average
            # Over all examples: the variance within batches plus that between batches.
            std = (unbiased * (size - 1) / size + mean.var(0, correction=0)).sqrt()
            miss, running = (mean - mean.mean(0)) / std, (norm.running_mean - mean.mean(0)) / std
            result |= {f"miss_{i}": _rms(miss), f"kept_miss_{i}": _rms(running)}
            result[f"kept_mean_{i}"] = float(running[0])
            result[f"kept_std_{i}"] = float(norm.running_var[0].sqrt() / std[0])
            result |= _cloud(i, miss[:CLOUD, 0], var[:CLOUD, 0].sqrt() / std[0])
        _, norm_inputs = forward(self.model, x, batch_size=cases)
        true = [(s.mean.flatten(), s.var.flatten()) for s in norm_inputs]
        return result | self._with_other_statistics(averages, true)

    def _case_statistics(self) -> dict[str, Any]:
        x, result = self.x[self._order()[: self.settings.statistics_examples]], {}
        parts = [forward(self.model, part)[1] for part in x.split(2000)]
        for i, norm_inputs in enumerate(zip(*parts, strict=True), 1):
            mean, var = (torch.cat([s[k] for s in norm_inputs])[:, 0] for k in (1, 2))  # (cases,)
            std = var.sqrt()
            result |= _cloud(i, (mean - mean.mean())[:CLOUD] / std.mean(), std[:CLOUD] / std.mean())
        return result

    def _with_other_statistics(self, averages: list, true: list) -> dict[str, float]:
        size, result = self.settings.batch_size, {}
        n = len(self.x_test) // size * size
        for name, chosen in (
            ("batches", {"batch_size": size}),
            ("averages", {"statistics": averages}),
            ("true", {"statistics": true}),
        ):
            logits, labels = forward(self.model, self.x_test[:n], **chosen)[0], self.y_test[:n]
            result[f"{name}_nll"] = float(F.cross_entropy(logits, labels))
            result[f"{name}_error"] = float((logits.argmax(1) != labels).double().mean())
        return result

    def _moves(self) -> dict[str, float]:
        cases, batches = MOVES_SIZE
        size = self.settings.batch_size
        cases = min(cases, len(self.x)) // size * size
        x = self.x[self._order()[:cases]]
        normalized: list[list[torch.Tensor]] = []
        for k in range(batches):
            order = torch.from_numpy(np.random.default_rng([self.seed, k]).permutation(cases))
            _, norm_inputs = forward(self.model, x[order.to(x.device)], batch_size=size)
            back = order.argsort().to(x.device)
            normalized.append(
                # (cases, H)
                [s.normalized(self.settings.eps).flatten(0, -2)[back] for s in norm_inputs]
            )
        return {
            f"moves_{i}": float(torch.stack(layer).var(0, correction=1).mean().sqrt())
            for i, layer in enumerate(zip(*normalized, strict=True), start=1)
        }


def _rms(values: torch.Tensor) -> float:
    return float(values.double().square().mean().sqrt())


def _cloud(layer: int, means: torch.Tensor, stds: torch.Tensor) -> dict[str, np.ndarray]:
    # Three decimal places are enough for a figure.
    results = {f"mean_{layer}": means, f"std_{layer}": stds}
    return {name: value.float().cpu().numpy().round(3) for name, value in results.items()}
