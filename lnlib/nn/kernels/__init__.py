"""The recurrences of :mod:`lnlib.nn.rnn`, once readable and several times fast.

============  ===================================================================================
``plain``     a loop of PyTorch operations, autograd behind it: any device, any derivative
``function``  the loop with its gradient by hand; needs nothing but PyTorch
``compiled``  C++ for the CPU, built on the first use where a compiler is found
``cuda``      CUDA, without a step of Python for each time step
``auto``      ``cuda`` for tensors on a GPU, ``compiled`` elsewhere: what modules take
============  ===================================================================================

They compute the same; rounding differs. A path that does not support what it is given, such as
tensors of 16 bits, gives way to ``function``; so does one that is not available here, and where
``compiled`` does, a line on stderr says why, once. Whatever looks at the operations themselves gets
``plain``: ``torch.func``, forward-mode differentiation, ``torch.compile``, ``torch.jit.trace``,
modes and subclasses of tensors with a ``__torch_dispatch__``. :func:`available` says which paths
there are. Only ``plain`` can be differentiated twice; the others then raise an error.

The first use on a CPU builds the ``compiled`` path, some seconds; ``python -m lnlib.nn.kernels``
does so beforehand. ``LNLIB_COMPILED=0`` in the environment leaves it out, without a word.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

import torch
from torch import Tensor
from torch.autograd import forward_ad

from lnlib.nn.kernels import build, function, plain

IMPLEMENTATIONS = ("auto", "plain", "function", "compiled", "cuda")


def available() -> dict[str, bool]:
    """Return for each implementation whether it can run on this machine.

    Asking builds the ``compiled`` one, if a compiler is found and it was not built before.
    ``lnlib.nn.kernels.compiled.reason()`` says where it lies, or why it is missing.

    Example:
        >>> available()["function"]
        True
    """
    return {"plain": True, "function": True} | {
        name: _optional(name).available() for name in ("compiled", "cuda")
    }


def run(
    implementation: str,
    kind: str,
    data: Tensor,
    batch_sizes: list[int],
    *args,
    product: plain.Product,
    eps: float,
    **options,
) -> tuple[Tensor, ...]:
    """Run a recurrence by the named implementation, or by the one that stands in for it.

    Args:
        implementation: One of :data:`IMPLEMENTATIONS`.
        kind: ``lstm``, ``gru`` or ``rnn``.
        data: What the inputs are made of by ``product``, ``(N, features)``.
        batch_sizes: As for the function of that name in :mod:`.plain`, and so are the rest.
        *args: The state, the recurrent weights, the norms.
        product: The part that needs no loop.
        eps: Inside the root of every norm.
        **options: ``form``, ``nonlinearity``, ``reverse``.

    Returns:
        The outputs, and the last state.
    """
    parts = (*args, *product.norms, product)
    given = [t for a in parts for t in (a if isinstance(a, (tuple, list)) else (a,))]
    module = _choose(implementation, data, [t for t in given if isinstance(t, Tensor)])
    if getattr(module, "TAKES_DATA", False):
        options["product"] = product
    else:
        data = product.inputs(data, eps)
    return getattr(module, kind)(data, batch_sizes, *args, eps=eps, **options)


def _choose(implementation: str, inputs: Tensor, others: list[Tensor]):
    if implementation == "plain" or _is_transformed(inputs, others):
        return plain
    if implementation == "auto":
        implementation = "cuda" if inputs.is_cuda else "compiled"
    if implementation in ("compiled", "cuda"):
        module = _optional(implementation)
        if module.supports(inputs, *others):
            if module.available():
                return module
            if implementation == "compiled":
                _give_way(module.reason())
    return function


@cache  # once
def _give_way(reason: str) -> None:
    if not build.is_switched_off():
        build.say(f"no compiled recurrences, slower ones take their place: {reason}")


def _optional(name: str):
    # Loaded when asked for: most readers never do.
    return import_module(f"lnlib.nn.kernels.{name}")


def _is_transformed(inputs: Tensor, others: list[Tensor]) -> bool:
    """Return whether more is asked than numbers and a gradient."""
    if inputs.is_meta or torch.compiler.is_compiling() or torch.jit.is_tracing():
        return True
    if torch._C._are_functorch_transforms_active() or torch._C._len_torch_dispatch_stack():
        return True
    tensors = (inputs, *others)
    # Their numbers are not, or not as they are, at their address.
    dispatch = Tensor.__torch_dispatch__
    if any(type(t).__torch_dispatch__ is not dispatch or t.is_neg() for t in tensors):
        return True
    if forward_ad._current_level < 0:
        return False
    return any(forward_ad.unpack_dual(t).tangent is not None for t in tensors)
