"""Layer norm and RMS norm twice: in plain operations, and with the gradient by hand.

They compute the same: the ``plain`` ones leave the gradient to autograd, :class:`NormFunction`
spells it out. RMS norm is layer norm without the mean and without the bias.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

# PyTorch 2.6 took an ``eps`` of ``None`` from the input's dtype and returned the wider dtype of
# input and weight; later ones take it from the dtype they compute in, and return the input's.
RMS_IS_WIDE = F.rms_norm(torch.full((1,), 2.0**-10, dtype=torch.bfloat16), (1,)).item() > 0.5


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
    input = _check("LayerNorm", input, normalized_shape, weight, bias)
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
    input = _check("LayerNorm", input, normalized_shape, weight, bias)
    return NormFunction.apply(input, weight, bias, len(normalized_shape), eps, True)


def rms_norm_plain(
    input: Tensor,
    normalized_shape: tuple[int, ...],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """Divide by the root mean square, as Zhang & Sennrich (2019), in plain operations.

    ::

        y = weight * x / sqrt(mean(x^2) + eps)

    Args:
        input: Shape ``(*, *normalized_shape)``. float16 and bfloat16 are computed in float32.
        normalized_shape: The last axes, those that share a root mean square.
        weight: The gain, shape ``normalized_shape``. ``None`` means ones.
        eps: In squared units of ``input``; ``None`` means :func:`rms_eps`.

    Returns:
        Tensor of the shape and dtype of ``F.rms_norm``'s: the input's, but float32 under autocast
        on CUDA, as PyTorch has it since 2.12.

    Raises:
        RuntimeError: As ``F.rms_norm``, if a shape or dtype does not fit.
    """
    input = _check("RMSNorm", input, normalized_shape, weight)
    eps = rms_eps(input.dtype) if eps is None else eps
    x_hat, _ = _standardize(input, len(normalized_shape), eps, centered=False)
    return _affine(x_hat, weight, None).to(_rms_dtype(input, weight))


def rms_norm_function(
    input: Tensor,
    normalized_shape: tuple[int, ...],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """Compute what :func:`rms_norm_plain` does, with the gradient written by hand."""
    input = _check("RMSNorm", input, normalized_shape, weight)
    eps = rms_eps(input.dtype) if eps is None else eps
    wide = input.to(_rms_dtype(input, weight))
    return NormFunction.apply(wide, weight, None, len(normalized_shape), eps, False)


def rms_eps(dtype: torch.dtype) -> float:
    """Return what ``F.rms_norm`` takes for an ``eps`` of ``None``: the machine epsilon."""
    return torch.finfo(wide_dtype(dtype) if RMS_IS_WIDE else dtype).eps


def _rms_dtype(input: Tensor, weight: Tensor | None) -> torch.dtype:
    narrow = RMS_IS_WIDE or weight is None
    return input.dtype if narrow else torch.result_type(input, weight)


class NormFunction(torch.autograd.Function):
    """Layer norm, or RMS norm if not ``centered``, over the last ``ndim`` axes and its gradient.

    ::

        dx_hat  = weight * dy
        dx      = (dx_hat - mean(dx_hat) - x_hat * mean(dx_hat * x_hat)) / std
        dweight = sum(dy * x_hat)        dbias = sum(dy)

    RMS norm's has the root mean square for ``std`` and lacks ``mean(dx_hat)``. It can be
    differentiated twice and under ``vmap``, but not in forward mode.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(input, weight, bias, ndim, eps, centered) -> Tensor:
        """Return what the plain functions return."""
        x_hat, _ = _standardize(input, ndim, eps, centered)
        return _affine(x_hat, weight, bias).to(input.dtype)

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:
        """Keep what the gradient needs: the inputs alone."""
        input, weight, bias, ctx.ndim, ctx.eps, ctx.centered = inputs
        ctx.save_for_backward(input, weight, bias)

    @staticmethod
    def backward(ctx, dy: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients in ``input``, ``weight`` and ``bias``."""
        return *norm_backward(dy, *ctx.saved_tensors, ctx.ndim, ctx.eps, ctx.centered), *[None] * 3


def norm_backward(
    dy: Tensor,
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    ndim: int,
    eps: float,
    centered: bool = True,
) -> tuple[Tensor | None, ...]:
    """Return ``dx``, ``dweight`` and ``dbias`` of :class:`NormFunction`, differentiable again."""
    # Recomputed: saved in the forward pass, they would be constants in a second derivative.
    x_hat, std = _standardize(input, ndim, eps, centered)
    dy = _wide(dy)
    axes = tuple(range(-ndim, 0))
    dx_hat = dy if weight is None else weight * dy
    slope = (dx_hat * x_hat).mean(axes, keepdim=True)
    dx = dx_hat - slope * x_hat
    if centered:
        dx = dx - dx_hat.mean(axes, keepdim=True)
    return (dx / std).to(input.dtype), *parameter_gradients(dy, x_hat, weight, bias)


def parameter_gradients(
    dy: Tensor, x_hat: Tensor, weight: Tensor | None, bias: Tensor | None
) -> tuple[Tensor | None, Tensor | None]:
    """Return ``dweight`` and ``dbias``, the sums over the examples."""
    dweight = dbias = None
    if weight is not None:
        dweight = (dy * x_hat).sum_to_size(weight.shape).to(weight.dtype)
    if bias is not None:
        dbias = dy.sum_to_size(bias.shape).to(bias.dtype)
    return dweight, dbias


def _standardize(
    input: Tensor, ndim: int, eps: float, centered: bool = True
) -> tuple[Tensor, Tensor]:
    """Return ``x_hat = (x - mean) / std`` and ``std = sqrt(var + eps)``, in at least float32.

    Where not ``centered``, the mean counts as 0.
    """
    axes = tuple(range(-ndim, 0))
    x = _wide(input)
    if centered:
        x = x - x.mean(axes, keepdim=True)
    std = (x.square().mean(axes, keepdim=True) + eps).sqrt()
    return x / std, std


def _affine(x_hat: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    y = x_hat if weight is None else x_hat * weight
    return y if bias is None else y + bias


def _wide(x: Tensor) -> Tensor:
    return x.to(wide_dtype(x.dtype))


def wide_dtype(dtype: torch.dtype) -> torch.dtype:
    """Return the dtype to compute in: float32 for 16 bits."""
    return torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype


def check_tensors(name: str, **tensors: Tensor) -> None:
    """Refuse what is no tensor."""
    for what, t in tensors.items():
        if not isinstance(t, Tensor):
            raise TypeError(
                f"{name}: {what} must be a Tensor, got {type(t).__name__}; try torch.tensor(...)"
            )
    check_real(name, **tensors)


def check_real(name: str, **tensors: Tensor | None) -> None:
    """Refuse complex tensors: their variance is another formula."""
    for what, t in tensors.items():
        if isinstance(t, Tensor) and t.is_complex():
            raise NotImplementedError(
                f"{name}: {what} must be real, got {t.dtype}; take {what}.real and {what}.imag, or "
                f"torch.view_as_real({what})"
            )


def _check(
    name: str,
    input: Tensor,
    normalized_shape: tuple[int, ...],
    weight: Tensor | None,
    bias: Tensor | None = None,
) -> Tensor:
    """Refuse what PyTorch's function refuses; return the input in the dtype of the output."""
    check_tensors(name, input=input)
    ndim = len(normalized_shape)
    if ndim == 0 or tuple(input.shape[-ndim:]) != tuple(normalized_shape):
        raise RuntimeError(
            f"{name}: input must end in normalized_shape {list(normalized_shape)}, of at least one "
            f"axis, got {list(input.shape)}; give the sizes of the last axes of the input"
        )
    # Under autocast both norms return float32 on CUDA (PyTorch's RMS norm since 2.12); on CPU
    # autocast leaves them alone.
    if input.is_cuda and torch.is_autocast_enabled("cuda"):
        return _wide(input)
    for parameter in (weight, bias):
        fits = parameter is None or parameter.dtype in (input.dtype, wide_dtype(input.dtype))
        if not fits and name == "LayerNorm":
            raise RuntimeError(
                f"LayerNorm: weight and bias must be of the input's {input.dtype}, or "
                f"float32 if the input has 16 bits, got {parameter.dtype}; try "
                "module.to(input.dtype)"
            )
    if not input.is_floating_point():
        raise NotImplementedError(
            f"{name}: input must be a floating-point tensor, got {input.dtype}; try input.float()"
        )
    return input
