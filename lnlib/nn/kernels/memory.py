"""Whether a kernel can read a tensor's numbers at its address, and what to do where it cannot."""

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.autograd import forward_ad

# Whether a tensor is the batch of ``is_grads_batched``; that of ``torch.func`` is another.
is_batched = torch._C._functorch.is_legacy_batchedtensor

_DEFAULTS = (Tensor.__torch_function__.__func__, torch._C._disabled_torch_function_impl)


def is_transformed(tensors: Iterable[Tensor]) -> bool:
    """Return whether PyTorch has to see the operations on these tensors, or to read them itself.

    That is the case under ``torch.func``, in forward mode, in a compiler, a tracer or a dispatch
    mode, and for tensors whose memory does not hold their numbers: fake and meta tensors, classes
    with a ``__torch_dispatch__`` or ``__torch_function__`` of their own, negative views
    (``is_neg()``), batched gradients, and the zero tensors of autograd, which have no memory.
    """
    if torch.compiler.is_compiling() or torch.jit.is_tracing():
        return True
    if torch._C._are_functorch_transforms_active() or torch._C._len_torch_dispatch_stack():
        return True
    for t in tensors:
        if type(t) is not Tensor and _overrides(type(t)):
            return True
        if t.is_neg() or t._is_zerotensor() or t.is_meta or is_batched(t):
            return True
    if forward_ad._current_level < 0:
        return False
    return any(forward_ad.unpack_dual(t).tangent is not None for t in tensors)


def _overrides(kind: type) -> bool:
    function = kind.__torch_function__
    is_default = getattr(function, "__func__", function) in _DEFAULTS
    return not is_default or kind.__torch_dispatch__ is not Tensor.__torch_dispatch__


def dense(t: Tensor | None) -> Tensor | None:
    """Return an incoming gradient with strides: that of a sparse gather or embedding has none."""
    return t if t is None or t.layout == torch.strided else t.to_dense()


def readable(t: Tensor | None) -> Tensor | None:
    """Return an equal tensor whose memory holds its numbers."""
    if t is None or not is_transformed([t]):
        return t
    if _overrides(type(t)):
        raise TypeError(
            f"lnlib.nn: a compiled kernel cannot read an incoming gradient of type "
            f'{type(t).__name__}; use implementation="plain"'
        )
    return t.clone() if t._is_zerotensor() else t.resolve_neg()
