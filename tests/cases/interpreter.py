"""Marks of the tests of Triton kernels that run by its interpreter.

``TRITON_INTERPRET=1`` has to be set before Triton is imported; ``triton/test_interpreter.py`` runs
these tests in a process of their own.
"""

import functools
import os

import pytest

interpreted = os.environ.get("TRITON_INTERPRET") == "1"
in_the_interpreter = pytest.mark.skipif(not interpreted, reason="runs in a process of its own")
in_this_process = pytest.mark.skipif(interpreted, reason="needs the compiler")


def patch_the_language_once_per_kernel():
    """Let the interpreter put its own operations into ``triton.language`` once a kernel.

    It does so whenever a kernel, or a function within one, is called, and takes them out after
    the kernel: half of all its time.
    """
    from triton.runtime import interpreter

    if not hasattr(interpreter, "_LangPatchScope"):
        return  # an older one takes them out in another way: slower, and the same
    patch = interpreter._patch_lang

    class Stays:
        restore = staticmethod(lambda: None)

    @functools.cache
    def once(kernel):
        patch(kernel)
        return Stays

    interpreter._patch_lang = once


if interpreted:
    patch_the_language_once_per_kernel()
