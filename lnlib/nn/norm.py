"""Layer normalization in PyTorch, three times: in plain operations, by hand, and fused.

:class:`LayerNorm` takes any of the three by name. They compute the same:
:func:`layer_norm_plain` leaves the gradient to autograd, :class:`LayerNormFunction` spells it out,
and ``F.layer_norm`` has a kernel for either direction.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def layer_norm_plain(
    input: Tensor,
    normalized_shape: tuple[int, ...],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Compute eqs. 15-16 of Ba, Kiros & Hinton (2016) in plain operations; autograd follows.

    Args:
        input: Shape ``(*, *normalized_shape)``. float16 and bfloat16 are computed in float32.
        normalized_shape: The last axes, those that share a mean and a variance.
        weight: The gain, shape ``normalized_shape``. ``None`` means ones.
        bias: Shape ``normalized_shape``. ``None`` means zeros.
        eps: In squared units of ``input``.

    Returns:
        Tensor of the shape and dtype of ``input``; float32 under autocast on CUDA.

    Raises:
        RuntimeError: As ``F.layer_norm``, if a shape or dtype does not fit.
    """
    input = _check(input, normalized_shape, weight, bias)
    x_hat, _ = _standardize(input, len(normalized_shape), eps)
    return _affine(x_hat, weight, bias).to(input.dtype)


def layer_norm_function(
    input: Tensor,
    normalized_shape: tuple[int, ...],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Compute what :func:`layer_norm_plain` does, with the gradient written by hand."""
    input = _check(input, normalized_shape, weight, bias)
    return LayerNormFunction.apply(input, weight, bias, len(normalized_shape), eps)


class LayerNormFunction(torch.autograd.Function):
    """Layer normalization over the last ``ndim`` axes and its gradient.

    ::

        dx_hat  = weight * dy
        dx      = (dx_hat - mean(dx_hat) - x_hat * mean(dx_hat * x_hat)) / std
        dweight = sum(dy * x_hat)        dbias = sum(dy)

    It can be differentiated twice and under ``vmap``, but not in forward mode.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(
        input: Tensor, weight: Tensor | None, bias: Tensor | None, ndim: int, eps: float
    ) -> Tensor:
        """Return what :func:`layer_norm_plain` returns."""
        x_hat, _ = _standardize(input, ndim, eps)
        return _affine(x_hat, weight, bias).to(input.dtype)

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:
        """Keep what the gradient needs: the inputs alone."""
        input, weight, bias, ctx.ndim, ctx.eps = inputs
        ctx.save_for_backward(input, weight, bias)

    @staticmethod
    def backward(ctx, dy: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients in ``input``, ``weight`` and ``bias``."""
        input, weight, bias = ctx.saved_tensors
        # Computed again: kept from forward, they would be constants in a second derivative.
        x_hat, std = _standardize(input, ctx.ndim, ctx.eps)
        dy = _wide(dy)
        axes = tuple(range(-ctx.ndim, 0))
        dx_hat = dy if weight is None else weight * dy
        shift = dx_hat.mean(axes, keepdim=True)
        slope = (dx_hat * x_hat).mean(axes, keepdim=True)
        dx = ((dx_hat - shift - slope * x_hat) / std).to(input.dtype)
        dweight = dbias = None
        if weight is not None:
            dweight = (dy * x_hat).sum_to_size(weight.shape).to(weight.dtype)
        if bias is not None:
            dbias = dy.sum_to_size(bias.shape).to(bias.dtype)
        return dx, dweight, dbias, None, None


def _standardize(input: Tensor, ndim: int, eps: float) -> tuple[Tensor, Tensor]:
    """Return ``x_hat = (x - mean) / std`` and ``std = sqrt(var + eps)``, in at least float32."""
    axes = tuple(range(-ndim, 0))
    x = _wide(input)
    centered = x - x.mean(axes, keepdim=True)
    std = (centered.square().mean(axes, keepdim=True) + eps).sqrt()
    return centered / std, std


def _affine(x_hat: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    y = x_hat if weight is None else x_hat * weight
    return y if bias is None else y + bias


def _wide(x: Tensor) -> Tensor:
    return x.to(_wide_dtype(x))


def _wide_dtype(x: Tensor) -> torch.dtype:
    return torch.float32 if x.dtype in (torch.float16, torch.bfloat16) else x.dtype


def _check(
    input: Tensor, normalized_shape: tuple[int, ...], weight: Tensor | None, bias: Tensor | None
) -> Tensor:
    """Refuse what ``F.layer_norm`` refuses; return the input in the dtype of the output."""
    if not isinstance(input, Tensor):
        raise TypeError(
            f"LayerNorm: input must be a Tensor, got {type(input).__name__}; try torch.tensor(...)"
        )
    ndim = len(normalized_shape)
    if ndim == 0 or tuple(input.shape[-ndim:]) != tuple(normalized_shape):
        raise RuntimeError(
            f"LayerNorm: input must end in normalized_shape {list(normalized_shape)}, which needs "
            f"an axis or more, got {list(input.shape)}; name the sizes of the input's last axes"
        )
    # Under autocast layer_norm returns float32 on CUDA; on CPU autocast leaves it alone.
    if input.is_cuda and torch.is_autocast_enabled("cuda"):
        return _wide(input)
    for parameter in (weight, bias):
        if parameter is not None and parameter.dtype not in (input.dtype, _wide_dtype(input)):
            raise RuntimeError(
                f"LayerNorm: weight and bias must be of the input's {input.dtype}, or float32 "
                f"for 16 bits, got {parameter.dtype}; try module.to(input.dtype)"
            )
    if not input.is_floating_point():
        raise NotImplementedError(
            f"LayerNorm: input must hold floats, got {input.dtype}; try input.float()"
        )
    return input


IMPLEMENTATIONS = {
    "plain": layer_norm_plain,
    "function": layer_norm_function,
    "fused": F.layer_norm,
}


class LayerNorm(nn.LayerNorm):
    """Normalize each example over its own features; drop-in for ``torch.nn.LayerNorm``.

    ::

        y = weight * (x - mean) / sqrt(var + eps) + bias

    Ba, Kiros & Hinton (2016), eqs. 15-16. ``mean`` and the biased ``var`` run over the last
    axes, those of ``normalized_shape``; nothing is kept between calls, so ``eval()`` changes
    nothing. A subclass of ``torch.nn.LayerNorm`` with the same parameters and ``state_dict``,
    that can show its arithmetic.

    Args:
        normalized_shape: The trailing axes of the input, an int for one.
        eps: In squared units of the input.
        elementwise_affine: Whether there are ``weight`` (the gain) and ``bias``.
        bias: Whether there is ``bias``, given ``elementwise_affine``.
        device: Of the parameters.
        dtype: Of the parameters. A float16 or bfloat16 input may meet float32 parameters.
        implementation: ``"plain"``, ``"function"`` or ``"fused"``: plain operations, the
            gradient by hand, or PyTorch's kernels.

    Shape:
        Input and output: ``(*, *normalized_shape)``.

    Raises:
        ValueError: If ``implementation`` is none of the three, or ``normalized_shape`` holds a 0.

    Example:
        >>> norm = LayerNorm(4, eps=0, implementation="plain")
        >>> norm(torch.tensor([[1.0, 2.0, 3.0, 4.0]])).detach()
        tensor([[-1.3416, -0.4472,  0.4472,  1.3416]])
    """

    def __init__(
        self,
        normalized_shape: int | list[int] | torch.Size,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        implementation: str = "fused",
    ) -> None:
        if implementation not in IMPLEMENTATIONS:
            raise ValueError(
                f"LayerNorm: implementation must be one of {', '.join(IMPLEMENTATIONS)}, "
                f"got {implementation!r}; the fast one is 'fused'"
            )
        super().__init__(normalized_shape, eps, elementwise_affine, bias, device, dtype)
        if 0 in self.normalized_shape:
            raise ValueError(
                "LayerNorm: normalized_shape must have at least one feature to take a mean of, "
                f"got {tuple(self.normalized_shape)}; give the width of the layer"
            )
        self.implementation = implementation

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalized ``input``."""
        layer_norm = IMPLEMENTATIONS[self.implementation]
        return layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Return what ``torch.nn.LayerNorm`` prints, and the implementation unless fused."""
        text = super().extra_repr()
        if self.implementation != "fused":
            text += f", implementation={self.implementation!r}"
        return text
