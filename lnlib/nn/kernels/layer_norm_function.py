"""The norms of :mod:`.cpu.layer_norm` as one autograd function, whatever kernel computes them."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from lnlib.nn import functional
from lnlib.nn.kernels.memory import dense
from lnlib.nn.kernels.once_differentiable import linear

FLOATS = {
    torch.float16: "float16",
    torch.bfloat16: "bfloat16",
    torch.float32: "float32",
    torch.float64: "float64",
}


class Rows(torch.autograd.Function):
    """The norm, and the sum where there is a residual.

    ``settings``: numbers of a row, axes of it, ``eps``, whether it is centered, and the kernel,
    which has a ``forward`` and a ``backward``.
    """

    @staticmethod
    def forward(ctx, settings, input, residual, weight, bias):
        """Return the normalized input, or the normalized sum and the sum."""
        H, _, eps, centered, kernel = settings
        x = input.contiguous()
        y, total = torch.empty_like(x), None
        if residual is not None:
            residual, total = residual.contiguous(), torch.empty_like(x)
        rows = x.numel() // H
        stats = torch.empty((rows, 2), dtype=torch.float64, device=x.device)
        kernel.forward(rows, H, centered, eps, x, residual, weight, bias, y, total, stats)
        if ctx is not None:
            ctx.set_materialize_grads(False)
            ctx.settings = settings
            # What autograd knows, and not copies: a second derivative goes through them.
            ctx.save_for_backward(input if total is None else total, weight, bias, stats)
        return y if total is None else (y, total)

    @staticmethod
    def backward(ctx, dy, dsum=None):
        """Return the gradients; those of both summands are one tensor."""
        if dy is None:
            return None, dsum, dsum, None, None
        *settings, kernel = ctx.settings
        needs = ctx.needs_input_grad[1:]
        return None, *gradients(kernel, *settings, needs, *ctx.saved_tensors, dy, dsum)


def gradients(
    kernel: Any,
    H: int,
    ndim: int,
    eps: float,
    centered: bool,
    needs: Sequence[bool],
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    stats: Tensor,
    dy: Tensor,
    dsum: Tensor | None,
) -> tuple[Tensor | None, ...]:
    """Return the gradients of input, residual, weight and bias, where ``needs`` says so.

    ``kernel`` computes them, unless they have to be differentiable again. A row of ``x``, which was
    normalized, has ``H`` numbers in ``ndim`` axes; ``stats`` are its mean and the reciprocal of its
    standard deviation. ``dsum`` is the gradient of the sum, if that was an output and used.
    """
    needs_x, needs_residual, needs_weight, needs_bias = needs
    if torch.is_grad_enabled():  # as it is with create_graph=True
        dy, dsum = dense(dy), dense(dsum)
        dx, dweight, dbias = functional.norm_backward(dy, x, weight, bias, ndim, eps, centered)
        dx = dx if dsum is None else dx + dsum
        return dx, dx if needs_residual else None, dweight, dbias

    x = x.contiguous()

    def backward(dy: Tensor, dsum: Tensor | None) -> tuple[Tensor | None, ...]:
        dy, dsum = dy.contiguous(), None if dsum is None else dsum.contiguous()
        dx = torch.empty_like(x) if needs_x or needs_residual else None
        dweight = torch.empty_like(weight) if needs_weight else None
        dbias = torch.empty_like(bias) if needs_bias else None
        rows = x.numel() // H
        kernel.backward(rows, H, centered, x, weight, stats, dy, dsum, dx, dweight, dbias)
        return dx, dweight, dbias

    dx, dweight, dbias = linear(backward, dy, dsum)
    return dx, dx if needs_residual else None, dweight, dbias


def compare(
    kernel: Any,
    device: torch.device,
    dtype: torch.dtype,
    H: int,
    weight_dtype: torch.dtype | None = None,
    apply: Callable = Rows.apply,
) -> None:
    """Raise ``RuntimeError`` unless a kernel does to seven rows what the plain formula does."""

    def numbers(k: int, *shape: int) -> Tensor:
        # Without a random generator, whose state is not ours to change.
        count = torch.arange(math.prod(shape), dtype=torch.float64, device=device)
        return (0.7 * count + k).sin().to(dtype).view(shape).requires_grad_()

    for centered in (True, False):
        x, residual, weight, bias, dy, dsum = (
            numbers(k, *((H,) if k in (2, 3) else (7, H))) for k in range(6)
        )
        if weight_dtype is not None:
            weight, bias = (p.detach().to(weight_dtype).requires_grad_() for p in (weight, bias))
        tensors = [x, residual, weight, *([bias] if centered else [])]
        with torch.enable_grad():
            settings = (H, 1, 0.3, centered, kernel)
            outputs = apply(settings, *tensors, *[None] * (4 - len(tensors)))
            ours = [*outputs, *torch.autograd.grad(outputs, tensors, (dy, dsum))]
            wide = [t.detach().double().requires_grad_() for t in tensors]
            total = (x.detach() + residual.detach()).double() + (wide[0] + wide[1])
            total = total - (wide[0] + wide[1]).detach()  # rounded as ours, and differentiable
            y = (
                functional.layer_norm_plain(total, (H,), *wide[2:], 0.3)
                if centered
                else functional.rms_norm_plain(total, (H,), wide[2], 0.3)
            )
            theirs = [y, total]
            theirs += torch.autograd.grad(theirs, wide, (dy.double(), dsum.double()))
        allowed = 8 * torch.finfo(dtype).eps if dtype != torch.float64 else 1e-12
        for a, b in zip(ours, theirs, strict=True):
            # A row of one number has a gain whose gradient is 0.
            error, scale = (a.double() - b).abs().max().item(), b.abs().max().item()
            if not error <= allowed * scale:
                kind = "layer norm" if centered else "RMS norm"
                raise RuntimeError(
                    f"{kind} of {dtype} differs from the plain formula by {error:.2g}, where the "
                    f"largest number is {scale:.2g}"
                )
