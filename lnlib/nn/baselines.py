"""The normalizations that the paper compares layer norm with, as PyTorch modules."""

import math
import numbers

import torch
import torch.nn.functional as F
from torch import nn

from lnlib.norms._arguments import check_eps


class BatchNorm(nn.Module):
    """Batch normalization of ``(B, H)``, with the biased or the unbiased variance.

    ::

        y = weight * (x - mean) / sqrt(var + eps) + bias      # mean, var over the batch

    Ba, Kiros & Hinton (2016), eq. 2 with the mini-batch in place of the expectation. Section 6.6
    takes the unbiased variance at batch size 4; ``torch.nn.BatchNorm1d`` knows the biased one
    alone, and with ``unbiased=False`` this is that module. At test time the running averages
    stand in, the variance unbiased in both, as in PyTorch.

    Args:
        features: H.
        eps: Inside the root, in squared units of ``x``.
        momentum: Weight of the newest batch in the running averages.
        unbiased: Divide the sum of squared deviations by B - 1 instead of B in training.

    Shape:
        ``(B, H)`` to ``(B, H)``; in training B must be at least 2.
    """

    def __init__(
        self,
        features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        *,
        unbiased: bool = False,
    ) -> None:
        super().__init__()
        check_eps("BatchNorm", eps)
        if not isinstance(momentum, numbers.Real) or not 0 <= momentum <= 1:
            raise ValueError(
                f"BatchNorm: momentum must be between 0 and 1, got {momentum!r}; it is the weight "
                "of the newest batch, typically 0.1"
            )
        self.eps, self.momentum, self.unbiased = eps, momentum, unbiased
        self.weight = nn.Parameter(torch.ones(features))
        self.bias = nn.Parameter(torch.zeros(features))
        self.register_buffer("running_mean", torch.zeros(features))
        self.register_buffer("running_var", torch.ones(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalize each feature over the batch, or by the running averages in ``eval()``."""
        weight, eps = self.weight, self.eps
        if self.training:
            batch = x.shape[0]
            if batch < 2:
                raise ValueError(
                    f"BatchNorm: training needs at least 2 examples in a batch, got {batch}; "
                    "the variance of one example is 0 (layer norm has no such limit)"
                )
            if self.unbiased:
                # (x - m) / sqrt(v B/(B-1) + eps) is the fused kernel's own formula after moving
                # the factor out of the root, into the gain and eps.
                keep = (batch - 1) / batch
                weight, eps = weight * math.sqrt(keep), eps * keep
        return F.batch_norm(
            x, self.running_mean, self.running_var, weight, self.bias,
            training=self.training, momentum=self.momentum, eps=eps,
        )  # fmt: skip


class WeightNormLinear(nn.Module):
    """A linear layer under weight normalization.

    ::

        y_i = gain_i * (w_i . x) / ||w_i|| + bias_i

    Ba, Kiros & Hinton (2016), eq. 5 with mean 0 and sigma = ||w_i||; Salimans & Kingma (2016).
    Gains start at 1 and biases at 0, as section 6 says.

    Args:
        in_features: D.
        out_features: H.

    Shape:
        ``(..., D)`` to ``(..., H)``.
    """

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        self.gain = nn.Parameter(torch.ones(out_features))
        self.bias = nn.Parameter(torch.zeros(out_features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the normalized summed inputs."""
        norm = torch.linalg.vector_norm(self.weight, dim=1)
        # Scaling the output and not W saves a pass over W.
        return F.linear(x, self.weight) * (self.gain / norm) + self.bias
