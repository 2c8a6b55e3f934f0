"""A norm that takes its gain and bias from a condition, and one number's squash in its place."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lnlib.nn import _calls
from lnlib.nn.functional import check_tensors
from lnlib.norms._arguments import check_eps


class AdaptiveLayerNorm(nn.Module):
    """Layer norm with a gain and a bias for each example, computed from its condition.

    ::

        scale, shift = the two halves of  weight condition + bias
        y = (1 + scale) * (x - mean) / sqrt(var + eps) + shift

    Perez et al. (2018), *FiLM*; Peebles & Xie (2023). ``weight`` and ``bias`` start at 0: layer
    norm without gain and bias. :func:`lnlib.adaptive_layer_norm` in PyTorch.

    Args:
        normalized_shape: Features H of an example, the last axis.
        condition_size: Features C of a condition.
        eps: In squared units of the input.
        device: Of the parameters.
        dtype: Of the parameters.

    Shape:
        Input ``(B, *, H)``, condition ``(B, C)``: one for each example, whatever axes follow, such
        as tokens; or ``(..., C)`` with as many axes as the input. Output: that of the input.

    Raises:
        ValueError: If a size is below 1.

    Example:
        >>> norm = AdaptiveLayerNorm(2, 1, eps=0)
        >>> x = torch.tensor([[[1.0, 3.0], [5.0, 1.0]]])
        >>> norm(x, torch.tensor([[7.0]])).detach()
        tensor([[[-1.,  1.],
                 [ 1., -1.]]])
    """

    def __init__(
        self,
        normalized_shape: int,
        condition_size: int,
        eps: float = 1e-5,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        sizes = {"normalized_shape": normalized_shape, "condition_size": condition_size}
        _check_sizes("AdaptiveLayerNorm", **sizes)
        check_eps("AdaptiveLayerNorm", eps)
        self.normalized_shape, self.condition_size = (normalized_shape,), condition_size
        self.eps = eps
        made = {"device": device, "dtype": dtype}
        self.weight = nn.Parameter(torch.zeros(2 * normalized_shape, condition_size, **made))
        self.bias = nn.Parameter(torch.zeros(2 * normalized_shape, **made))

    def forward(self, input: Tensor, condition: Tensor) -> Tensor:
        """Return ``input`` normalized, scaled and moved as ``condition`` says."""
        if _calls.is_special(self, input):
            return _calls.call(self, input, condition)
        _check_input("AdaptiveLayerNorm", input, *self.normalized_shape)
        check_tensors("AdaptiveLayerNorm", condition=condition, weight=self.weight)
        each = condition.shape[:-1]
        if condition.dim() == 2 < input.dim():  # one for all tokens of an example
            condition = condition.view(len(condition), *[1] * (input.dim() - 2), -1)
        fits = condition.dim() == input.dim() and condition.shape[-1] == self.condition_size
        pairs = zip(condition.shape[:-1], input.shape[:-1], strict=False)
        if not fits or any(c not in (1, n) for c, n in pairs):
            wanted = [*input.shape[:-1][: len(each)], self.condition_size]
            raise RuntimeError(
                f"AdaptiveLayerNorm: condition must be of shape {wanted}, one for each example, or "
                f"with 1 in place of leading sizes, got {[*each, condition.shape[-1]]}"
            )
        scale, shift = F.linear(condition, self.weight, self.bias).chunk(2, dim=-1)
        return (1 + scale) * F.layer_norm(input, self.normalized_shape, eps=self.eps) + shift

    def extra_repr(self) -> str:
        """Return the sizes and eps."""
        return f"{self.normalized_shape}, condition_size={self.condition_size}, eps={self.eps}"


class DynamicTanh(nn.Module):
    """Squash each number by itself, where a norm would stand: ``weight * tanh(alpha x) + bias``.

    Zhu et al. (2025). It has no statistics and is no normalization: see
    :func:`lnlib.dynamic_tanh`, of which this is PyTorch's side.

    Args:
        normalized_shape: Features H of an example, the last axis.
        alpha: What the learned scale starts at.
        device: Of the parameters.
        dtype: Of the parameters.

    Shape:
        Input and output: ``(*, H)``.

    Raises:
        ValueError: If ``normalized_shape`` is below 1.

    Example:
        >>> DynamicTanh(2)(torch.tensor([[-100.0, 100.0]])).detach()
        tensor([[-1.,  1.]])
    """

    def __init__(
        self,
        normalized_shape: int,
        alpha: float = 0.5,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        _check_sizes("DynamicTanh", normalized_shape=normalized_shape)
        made = {"device": device, "dtype": dtype}
        self.normalized_shape, self.start = (normalized_shape,), alpha
        self.alpha = nn.Parameter(torch.full((1,), float(alpha), **made))
        self.weight = nn.Parameter(torch.ones(normalized_shape, **made))
        self.bias = nn.Parameter(torch.zeros(normalized_shape, **made))

    def forward(self, input: Tensor) -> Tensor:
        """Return the squashed ``input``."""
        if _calls.is_special(self, input):
            return _calls.call(self, input)
        _check_input("DynamicTanh", input, *self.normalized_shape)
        check_tensors("DynamicTanh", weight=self.weight)
        return self.weight * torch.tanh(self.alpha * input) + self.bias

    def extra_repr(self) -> str:
        """Return the number of features and where alpha started."""
        return f"{self.normalized_shape}, alpha={self.start}"


def _check_sizes(owner: str, **sizes: int) -> None:
    for name, size in sizes.items():
        if not isinstance(size, int) or size < 1:
            raise ValueError(
                f"{owner}: {name} must be a number of features, 1 or more, got {size!r}"
            )


def _check_input(owner: str, input: Tensor, H: int) -> None:
    check_tensors(owner, input=input)
    if input.dim() < 1 or input.shape[-1] != H:
        raise RuntimeError(
            f"{owner}: input must end in {H} features, got {list(input.shape)}; the features are "
            "the last axis"
        )
