"""The recurrences of :mod:`lnlib.nn.recurrent`, once readable and several times fast.

============  ===================================================================================
``plain``     a loop of PyTorch operations, autograd behind it: any device, any derivative
``function``  the loop with its gradient by hand; needs nothing but PyTorch
``compiled``  C++ for the CPU, built on the first use where a compiler is found
``cuda``      Triton kernels on a GPU, one for each time step
``auto``      ``cuda`` for tensors on a GPU, ``compiled`` elsewhere: what modules take
============  ===================================================================================

They compute the same; rounding differs. A path that does not support what it is given, such as
tensors of 16 bits, gives way to ``function``; so does one that is not available here, and where
``compiled`` does, a line on stderr says why, once. Whatever looks at the operations themselves gets
``plain``: ``torch.func``, forward-mode differentiation, ``torch.compile``, ``torch.jit.trace``,
modes, and tensors whose memory does not hold their numbers (:mod:`.memory`); so does a layer with a
norm that was changed and has to be called. :func:`available` says which paths there are. Only
``plain`` can be differentiated twice; the others then raise an error.

The first use on a CPU builds the ``compiled`` path, some seconds; ``python -m lnlib.nn.kernels``
does so beforehand. ``LNLIB_COMPILED=0`` in the environment leaves it out, without a word.
"""

from collections.abc import Sequence
from functools import cache
from importlib import import_module

from torch import Tensor

from lnlib.nn.kernels import autograd, reference
from lnlib.nn.kernels.cpu import build
from lnlib.nn.kernels.memory import is_transformed
from lnlib.nn.kernels.spec import Norm, Spec

IMPLEMENTATIONS = ("auto", "plain", "function", "compiled", "cuda")
_OPTIONAL = {"compiled": "cpu.recurrent", "cuda": "triton.recurrent"}  # and their modules


def available() -> dict[str, bool]:
    """Return for each implementation whether it can run on this machine.

    The call builds the ``compiled`` one, if there is a compiler and it was not built before.
    ``lnlib.nn.kernels.cpu.recurrent.reason()`` says where it lies, or why it is missing.

    Example:
        >>> available()["function"]
        True
    """
    return {"plain": True, "function": True} | {
        name: _optional(name).available() for name in _OPTIONAL
    }


def run(
    implementation: str,
    spec: Spec,
    data: Tensor,
    batch_sizes: list[int],
    state: Sequence[Tensor],
    weight_hh: Tensor,
    norms: Sequence[Norm],
    product: reference.InputProduct,
) -> tuple[Tensor, ...]:
    """Run a recurrence by the named implementation, or by the one that stands in for it.

    Args:
        implementation: One of :data:`IMPLEMENTATIONS`.
        spec: Which recurrence.
        data: What the inputs are made of by ``product``, ``(N, features)``.
        batch_sizes: As for :func:`.reference.run`; so are ``state``, ``weight_hh``, ``norms``.
        state: Before the first step.
        weight_hh: The recurrent weights.
        norms: Their norms.
        product: The part that needs no loop.

    Returns:
        The outputs, and the last state.
    """
    pairs = (p for norm in (*norms, *product.norms) if not callable(norm) for p in norm)
    others = (*state, weight_hh, product.weight, product.bias, *pairs)
    module = _choose(implementation, data, [t for t in others if t is not None])
    rest = (batch_sizes, state, weight_hh, norms)
    if getattr(module, "TAKES_DATA", False):
        return module.run(spec, data, *rest, product=product)
    return module.run(spec, product.inputs(data, spec.eps), *rest)


def _choose(implementation: str, inputs: Tensor, others: list[Tensor]):
    if implementation == "plain" or is_transformed([inputs, *others]):
        return reference
    if implementation == "auto":
        implementation = "cuda" if inputs.is_cuda else "compiled"
    if implementation in _OPTIONAL:
        module = _optional(implementation)
        if module.supports(inputs, *others):
            if module.available():
                return module
            if implementation == "compiled":
                _warn_fallback(module.reason())
    return autograd


@cache  # once
def _warn_fallback(reason: str) -> None:
    if not build.is_switched_off():
        build.notify(f"no compiled recurrences, slower ones take their place: {reason}")


def _optional(name: str):
    # Loaded on first use: most users never need it.
    return import_module(f"lnlib.nn.kernels.{_OPTIONAL[name]}")
