"""Adaptive layer norm (adaLN, adaLN-Zero), and dynamic tanh."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lnlib.nn import _calls
from lnlib.nn.functional import check_tensors
from lnlib.nn.kernels.cpu import layer_norm
from lnlib.norms._arguments import check_eps


class AdaptiveLayerNorm(nn.Module):
    """Layer norm with scale and shift, and on request a gate, computed from a condition.

    ::

        scale, shift, gate = the parts of  weight condition + bias, H numbers each
        y = (1 + scale) * (x - mean) / sqrt(var + eps) + shift

    Without a gate the module returns ``y``: adaptive layer norm (adaLN), after Perez et al. (2018),
    *FiLM*. With ``gate=True`` it returns ``(y, gate)``, for a residual block
    ``x + gate * sublayer(y)``. ``weight`` and ``bias`` are initialized to 0. At first ``y`` is
    therefore layer norm without gain and bias, and a block with a gate is the identity: adaLN-Zero
    of Peebles & Xie (2023), section 3.2. In the first backward pass only the rows of the gate get
    a gradient that is not 0; after one update all parts do.

    DiT applies SiLU to the condition first, ``norm(x, F.silu(condition))``, and its linear layer
    has the order shift, scale, gate. :func:`lnlib.adaptive_layer_norm` is the same in NumPy,
    without a gate.

    Args:
        normalized_shape: Features H of an example, the last axis.
        condition_size: Features C of a condition.
        eps: In squared units of the input.
        device: Of the parameters.
        dtype: Of the parameters.
        gate: Whether to compute and return a gate for the sublayer that follows.

    Attributes:
        weight: Shape ``(2 H, C)``, or ``(3 H, C)`` with a gate: the rows of the scale, of the
            shift, of the gate.
        bias: Shape ``(2 H,)`` or ``(3 H,)``, in the same order.

    Shape:
        Input ``(B, *, H)``. Condition ``(B, C)``, one for each example, whatever axes follow, such
        as tokens; or ``(..., C)`` with as many axes as the input. Output: that of the input. Gate:
        as many axes as the input, of size 1 where the condition is shared, as ``(B, 1, H)`` for
        an input ``(B, T, H)``.

    Raises:
        ValueError: If a size is below 1.
        TypeError: If ``gate`` is not a bool.
        RuntimeError: In a call, if a shape does not fit.

    Example:
        >>> norm = AdaptiveLayerNorm(2, 1, eps=0)
        >>> x = torch.tensor([[[1.0, 3.0], [5.0, 1.0]]])
        >>> norm(x, torch.tensor([[7.0]])).detach()
        tensor([[[-1.,  1.],
                 [ 1., -1.]]])

        A residual block with adaLN-Zero, which is the identity at initialization:

        >>> class Block(nn.Module):
        ...     def __init__(self, H, C):
        ...         super().__init__()
        ...         self.norm = AdaptiveLayerNorm(H, C, gate=True)
        ...         self.mlp = nn.Sequential(nn.Linear(H, 4 * H), nn.GELU(), nn.Linear(4 * H, H))
        ...
        ...     def forward(self, x, condition):
        ...         y, gate = self.norm(x, condition)
        ...         return x + gate * self.mlp(y)
        >>> x, condition = torch.randn(8, 16, 32), torch.randn(8, 10)
        >>> torch.equal(Block(32, 10)(x, condition), x)
        True
    """

    def __init__(
        self,
        normalized_shape: int,
        condition_size: int,
        eps: float = 1e-5,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        gate: bool = False,
    ) -> None:
        super().__init__()
        sizes = {"normalized_shape": normalized_shape, "condition_size": condition_size}
        _check_sizes("AdaptiveLayerNorm", **sizes)
        check_eps("AdaptiveLayerNorm", eps)
        if not isinstance(gate, bool):
            raise TypeError(f"AdaptiveLayerNorm: gate must be True or False, got {gate!r}")
        self.normalized_shape, self.condition_size = (normalized_shape,), condition_size
        self.eps, self.gate = eps, gate
        factory_kwargs = {"device": device, "dtype": dtype}
        rows = (3 if gate else 2) * normalized_shape
        self.weight = nn.Parameter(torch.empty(rows, condition_size, **factory_kwargs))
        self.bias = nn.Parameter(torch.empty(rows, **factory_kwargs))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set ``weight`` and ``bias`` to 0."""
        nn.init.zeros_(self.weight)
        nn.init.zeros_(self.bias)

    def forward(self, input: Tensor, condition: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        """Return ``input``, normalized, scaled and shifted; with ``gate=True``, the gate, too."""
        if _calls.is_transformed(self, input):
            return _calls.call(self, input, condition)
        _check_input("AdaptiveLayerNorm", input, *self.normalized_shape)
        check_tensors("AdaptiveLayerNorm", condition=condition, weight=self.weight)
        leading_sizes = condition.shape[:-1]
        if condition.dim() == 2 < input.dim():  # one for all tokens of an example
            condition = condition.view(len(condition), *[1] * (input.dim() - 2), -1)
        fits = condition.dim() == input.dim() and condition.shape[-1] == self.condition_size
        pairs = zip(condition.shape[:-1], input.shape[:-1], strict=False)
        if not fits or any(c not in (1, n) for c, n in pairs):
            expected = [*input.shape[:-1][: len(leading_sizes)], self.condition_size]
            raise RuntimeError(
                f"AdaptiveLayerNorm: condition must be of shape {expected}, one for each example, "
                f"or with 1 in place of leading sizes, got {[*leading_sizes, condition.shape[-1]]}"
            )
        parts = F.linear(condition, self.weight, self.bias).split(self.normalized_shape[0], dim=-1)
        x_hat = _normalized(input, self.normalized_shape, self.eps)
        y = (1 + parts[0]) * x_hat + parts[1]
        return (y, parts[2]) if self.gate else y

    def extra_repr(self) -> str:
        """Return the sizes, eps and whether there is a gate."""
        gate = ", gate=True" if self.gate else ""
        return (
            f"{self.normalized_shape}, condition_size={self.condition_size}, eps={self.eps}{gate}"
        )


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
        factory_kwargs = {"device": device, "dtype": dtype}
        self.normalized_shape, self.initial_alpha = (normalized_shape,), alpha
        self.alpha = nn.Parameter(torch.full((1,), float(alpha), **factory_kwargs))
        self.weight = nn.Parameter(torch.ones(normalized_shape, **factory_kwargs))
        self.bias = nn.Parameter(torch.zeros(normalized_shape, **factory_kwargs))

    def forward(self, input: Tensor) -> Tensor:
        """Return the squashed ``input``."""
        if _calls.is_transformed(self, input):
            return _calls.call(self, input)
        _check_input("DynamicTanh", input, *self.normalized_shape)
        check_tensors("DynamicTanh", weight=self.weight)
        return self.weight * torch.tanh(self.alpha * input) + self.bias

    def extra_repr(self) -> str:
        """Return the number of features and the initial alpha."""
        return f"{self.normalized_shape}, alpha={self.initial_alpha}"


def _normalized(input: Tensor, normalized_shape: tuple[int, ...], eps: float) -> Tensor:
    """Return what :class:`lnlib.nn.LayerNorm` does without gain and bias."""
    if input.device.type == "cpu":  # accurate where the mean is large
        x_hat = layer_norm.norm(input, None, normalized_shape, None, None, eps, centered=True)
        if x_hat is not None:
            return x_hat
    return F.layer_norm(input, normalized_shape, eps=eps)


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
