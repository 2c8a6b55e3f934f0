"""Marks of tests of Triton kernels that use Triton's interpreter.

``TRITON_INTERPRET=1`` must be set before Triton is imported; ``triton/test_interpreter.py`` runs
these tests in a separate process.
"""

import functools
import os

import pytest

interpreted = os.environ.get("TRITON_INTERPRET") == "1"
in_the_interpreter = pytest.mark.skipif(not interpreted, reason="runs in a process of its own")
in_this_process = pytest.mark.skipif(interpreted, reason="needs the compiler")


def patch_the_language_once_per_kernel():
    """Let the interpreter patch ``triton.language`` only once per kernel.

    By default, it patches it for every call of a kernel or of a function within one, and removes
    the patch afterwards, which takes half of the time.
    """
    from triton.runtime import interpreter

    if not hasattr(interpreter, "_LangPatchScope"):
        return  # older versions work differently: slower, with the same result
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
