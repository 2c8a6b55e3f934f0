"""The compiled norms of :mod:`.cpu.layer_norm` as one C++ function, with a C++ node for autograd.

It computes what :class:`.layer_norm_function.Rows` computes, with the same kernels, and returns
``None`` for what is left to that: tensors that are not contiguous, transforms, modes, subclasses.
A call takes some microseconds less, which is most of what a small norm takes. Building it needs the
headers of PyTorch, which come with it, and those of Python.
"""

import ctypes
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from lnlib.nn import functional
from lnlib.nn.kernels.cpu import build
from lnlib.nn.kernels.layer_norm_function import FLOATS, gradients

SOURCE = Path(__file__).with_suffix(".cpp")


class _Kernel(ctypes.Structure):
    _fields_ = (
        ("forward", ctypes.c_void_p),
        ("backward", ctypes.c_void_p),
        ("eps", ctypes.c_double),
    )


class _Setup(ctypes.Structure):
    _fields_ = (
        ("kernels", _Kernel * len(FLOATS)),
        ("work", ctypes.c_int64),
        ("most", ctypes.c_int64),
        ("gradients", ctypes.py_object),
    )


def make(library: ctypes.CDLL, kernel: Any, work: int) -> Callable:
    """Return the function, of the arguments of :func:`.cpu.layer_norm.norm`.

    Args:
        library: Built from :data:`SOURCE`.
        kernel: The compiled norms.
        work: Numbers per thread, at least.
    """
    setup = _Setup(work=work, most=build.MAX_THREADS, gradients=partial(gradients, kernel))
    for k, dtype in enumerate(FLOATS):
        if dtype in kernel.dtypes:
            pair = (kernel.forwards[dtype], kernel.backwards[dtype])
            addresses = [ctypes.cast(f, ctypes.c_void_p).value for f in pair]
            setup.kernels[k] = _Kernel(*addresses, functional.rms_eps(dtype))
    create = ctypes.PyDLL(None, handle=library._handle).lnlib_operator
    create.restype, create.argtypes = ctypes.py_object, [ctypes.POINTER(_Setup)]
    return create(ctypes.byref(setup))
