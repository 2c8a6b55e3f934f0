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


def compile_kernel(kernel, H, chip, per_warp, type_of, constants):
    """Compile a kernel for a GPU that need not be there.

    Args:
        kernel: A function of Triton.
        H: Numbers of a row.
        chip: Its compute capability, such as 80.
        per_warp: As for ``arithmetic.launch``.
        type_of: Returns the type of an argument by its name.
        constants: Of those that the kernel may have, besides ``H`` and ``BLOCK``.
    """
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from lnlib.nn.kernels.triton.arithmetic import compiler_options

    block = triton.next_power_of_2(H)
    constants = {"H": H, "BLOCK": block} | constants
    constants = {name: v for name, v in constants.items() if name in kernel.arg_names}
    # By position, because Triton 3.2 has other names for the constants.
    signature = {n: "constexpr" if n in constants else type_of(n) for n in kernel.arg_names}
    options = compiler_options(block, per_warp)
    source = ASTSource(kernel, signature, constants)
    compiled = triton.compile(source, target=GPUTarget("cuda", chip, 32), options=options)
    assert compiled.asm["cubin"]
    assert ".entry" in compiled.asm["ptx"]


each_chip = pytest.mark.parametrize(
    "chip",
    [80, *(pytest.param(chip, marks=pytest.mark.slow) for chip in (75, 90, 100))],
    ids="sm_{}".format,
)
WIDE = {"fp16": "fp32", "bf16": "fp32", "fp32": "fp32", "fp64": "fp64"}

if interpreted:
    patch_the_language_once_per_kernel()
