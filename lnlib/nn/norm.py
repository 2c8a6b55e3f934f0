"""Layer norm and RMS norm as modules, each in several implementations, alone or of a sum.

The arithmetic is in :mod:`lnlib.nn.functional`, and in one pass in
:mod:`lnlib.nn.kernels.cpu.layer_norm`.
"""

from collections.abc import Callable
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lnlib.nn import _calls, functional
from lnlib.nn.kernels.cpu import layer_norm
from lnlib.norms._arguments import check_eps

IMPLEMENTATIONS = ("plain", "function", "fused", "compiled")
OURS = ("fused", "compiled")  # on a CPU


class _Norm(nn.Module):
    """What both norms share: the choice of the implementation, and the call."""

    _functions: ClassVar[dict[str, Callable]]  # with "fused", PyTorch's own
    _is_centered: ClassVar[bool]

    def _check_and_set(self, implementation: str) -> None:
        name = type(self).__name__
        if implementation not in IMPLEMENTATIONS:
            raise ValueError(
                f"{name}: implementation must be one of {', '.join(IMPLEMENTATIONS)}, "
                f"got {implementation!r}; the fast one is 'fused'"
            )
        if 0 in self.normalized_shape:
            raise ValueError(
                f"{name}: normalized_shape must have at least one feature and no size of 0, "
                f"got {tuple(self.normalized_shape)}; give the width of the layer"
            )
        if self.eps is not None or self._is_centered:
            check_eps(name, self.eps)
        self.implementation = implementation

    def forward(
        self, input: Tensor, residual: Tensor | None = None
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Return the normalized ``input``; with a ``residual``, that of their sum, and the sum."""
        centered, weight = self._is_centered, self.weight
        shape, bias, eps = self.normalized_shape, self.bias if centered else None, self.eps
        arguments = (input, residual, shape, weight, bias, eps, centered)
        is_fast = self.implementation in OURS
        if is_fast and (result := layer_norm.at_once(*arguments)) is not None:
            return result
        if _calls.is_transformed(self, input):
            return _calls.call(self, input, residual)
        name = "LayerNorm" if centered else "RMSNorm"
        functional.check_real(name, input=input, residual=residual, weight=weight)
        is_ours = _is_ours(self, input, residual)
        if is_ours and (result := layer_norm.norm(*arguments)) is not None:
            return _in_format_of(input, result)
        function = self._functions.get(self.implementation, self._functions["fused"])
        parameters = (weight, bias) if centered else (weight,)
        total = input if residual is None else _add(name, input, residual)
        y = function(total, shape, *parameters, eps)
        return _in_format_of(input, y if residual is None else (y, total))

    def extra_repr(self) -> str:
        """Return what the class of ``torch.nn`` prints, and the implementation unless fused."""
        if self.implementation == "fused":
            return super().extra_repr()
        return f"{super().extra_repr()}, implementation={self.implementation!r}"


class LayerNorm(_Norm, nn.LayerNorm):
    """Normalize each example over its own features; drop-in for ``torch.nn.LayerNorm``.

    ::

        y = weight * (x - mean) / sqrt(var + eps) + bias

    Ba, Kiros & Hinton (2016), eqs. 15-16. ``mean`` and the biased ``var`` run over the last
    axes, those of ``normalized_shape``. There are no running statistics, so ``eval()`` changes
    nothing. A subclass of ``torch.nn.LayerNorm`` with the same parameters and ``state_dict``,
    that can show its arithmetic, and that adds and normalizes in one pass.

    On a CPU the default is our own kernel, which stays accurate for a row whose mean is large
    compared with its standard deviation: two float32 features with a mean of 1e4 and a standard
    deviation of 1 come out of ``torch.nn.LayerNorm`` with an error of up to 0.2, here of 1e-7. It
    is also right where squares of float32 overflow, past 1e19; PyTorch's operations then return 0
    or NaN without a warning.

    Not for ``torch.jit.script``, which PyTorch deprecates; ``torch.export`` and ``torch.compile``
    take it.

    Args:
        normalized_shape: The trailing axes of the input, an int for one.
        eps: In squared units of the input.
        elementwise_affine: Whether there are ``weight`` (the gain) and ``bias``.
        bias: Whether there is ``bias``, given ``elementwise_affine``.
        device: Of the parameters.
        dtype: Of the parameters. A float16 or bfloat16 input may meet float32 parameters, but not
            in PyTorch's kernel on a GPU, the default there, unless under autocast.
        implementation: ``"plain"``, ``"function"``, ``"fused"`` or ``"compiled"``: plain
            operations, the gradient by hand, one kernel (on a GPU PyTorch's; ours on a CPU and with
            a residual, where PyTorch has none), or ours alone
            (:mod:`lnlib.nn.kernels.cpu.layer_norm`).
            PyTorch's operations take the place of ours where they cannot run.

    Shape:
        Input and output: ``(*, *normalized_shape)``. With a ``residual`` of the input's shape, two
        outputs: the normalized sum, and the sum.

    Raises:
        ValueError: If ``implementation`` is none of these, a size is 0, or ``eps`` is below 0.

    Example:
        >>> norm = LayerNorm(4, eps=0, implementation="plain")
        >>> norm(torch.tensor([[1.0, 2.0, 3.0, 4.0]])).detach()
        tensor([[-1.3416, -0.4472,  0.4472,  1.3416]])
        >>> y, stream = norm(torch.tensor([[1.0, 2.0, 3.0, 3.0]]), torch.tensor([[0, 0, 0, 1.0]]))
        >>> stream
        tensor([[1., 2., 3., 4.]])
    """

    _functions: ClassVar = {
        "plain": functional.layer_norm_plain,
        "function": functional.layer_norm_function,
        "fused": F.layer_norm,
    }
    _is_centered = True

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
        super().__init__(normalized_shape, eps, elementwise_affine, bias, device, dtype)
        self._check_and_set(implementation)


class RMSNorm(_Norm, nn.RMSNorm):
    """Divide each example by its root mean square; drop-in for ``torch.nn.RMSNorm``.

    ::

        y = weight * x / sqrt(mean(x^2) + eps)

    Zhang & Sennrich (2019): layer norm (eqs. 15-16 of Ba, Kiros & Hinton, 2016) without the mean
    and without the bias. The mean runs over the last axes, those of ``normalized_shape``. A
    subclass of ``torch.nn.RMSNorm`` with the same parameters and ``state_dict``. On a CPU,
    PyTorch's own is composed of operations; this one is one pass, and right where the squares of
    float32 overflow, past 1e19; there PyTorch's operations return 0 or NaN without a word.

    Not for ``torch.jit.script``, which PyTorch deprecates; ``torch.export`` and ``torch.compile``
    take it.

    Args:
        normalized_shape: The trailing axes of the input, an int for one.
        eps: In squared units of the input. ``None``: the machine epsilon of the dtype that it is
            computed in, float32's for 16 bits (before PyTorch 2.8 or so: of the input's).
        elementwise_affine: Whether there is ``weight`` (the gain).
        device: Of the parameter.
        dtype: Of the parameter. A float16 or bfloat16 input may meet a float32 one.
        implementation: As in :class:`LayerNorm`.

    Shape:
        Input and output: ``(*, *normalized_shape)``. With a ``residual`` of the input's shape, two
        outputs: the normalized sum, and the sum.

    Raises:
        ValueError: If ``implementation`` is none of these, a size is 0, or ``eps`` is below 0.

    Example:
        >>> norm = RMSNorm(2, eps=0, implementation="plain")
        >>> norm(torch.tensor([[1.0, 7.0]])).detach()
        tensor([[0.2000, 1.4000]])
        >>> y, stream = norm(torch.tensor([[1.0, 4.0]]), torch.tensor([[0.0, 3.0]]))
        >>> stream
        tensor([[1., 7.]])
    """

    _functions: ClassVar = {
        "plain": functional.rms_norm_plain,
        "function": functional.rms_norm_function,
        "fused": F.rms_norm,
    }
    _is_centered = False

    def __init__(
        self,
        normalized_shape: int | list[int] | torch.Size,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        implementation: str = "fused",
    ) -> None:
        super().__init__(normalized_shape, eps, elementwise_affine, device, dtype)
        self._check_and_set(implementation)


def _in_format_of(
    input: Tensor, result: Tensor | tuple[Tensor, Tensor]
) -> Tensor | tuple[Tensor, Tensor]:
    """Return the result in the memory format of the input: kernels write rows."""
    memory_format = {4: torch.channels_last, 5: torch.channels_last_3d}.get(input.dim())
    if (
        memory_format is None
        or input.is_contiguous()
        or torch._C._are_functorch_transforms_active()
    ):
        return result  # under vmap there is no format
    if not input.is_contiguous(memory_format=memory_format):
        return result
    if isinstance(result, tuple):
        return tuple(y.contiguous(memory_format=memory_format) for y in result)
    return result.contiguous(memory_format=memory_format)


def _is_ours(module: LayerNorm | RMSNorm, input: Tensor, residual: Tensor | None) -> bool:
    """Return whether our kernel runs; on a GPU PyTorch has fused kernels."""
    if not isinstance(input, Tensor) or module.implementation not in OURS:
        return False
    is_mixed = module.weight is not None and module.weight.dtype != input.dtype
    if is_mixed and not functional.RMS_IS_WIDE and isinstance(module, RMSNorm):
        return False  # PyTorch then returned the wider dtype
    is_theirs = residual is None and input.device.type != "cpu"
    return module.implementation == "compiled" or not is_theirs


def _add(name: str, input: Tensor, residual: Tensor) -> Tensor:
    functional.check_tensors(name, input=input, residual=residual)
    if input.shape != residual.shape:
        raise RuntimeError(
            f"{name}: residual must be of the input's shape {list(input.shape)}, got "
            f"{list(residual.shape)}; try residual.expand_as(input)"
        )
    return input + residual
