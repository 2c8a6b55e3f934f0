"""What the kernels have in common, and Triton itself where it is installed."""

from __future__ import annotations

try:
    import triton
    import triton.language as tl
except ImportError:
    # PyTorch for CPUs comes without. The module can then be read, and its kernels not run.
    triton = tl = None


def _jit(kernel):
    return kernel if triton is None else triton.jit(kernel)


def launch(kernel, programs: int, H: int, per_warp: int, *arguments, **options) -> None:
    """Run a kernel of rows of ``H`` numbers, each of its warps with so many of them."""
    block = triton.next_power_of_2(H)
    compiler = compiler_options(block, per_warp)
    kernel[(programs,)](*arguments, H=H, BLOCK=block, **compiler, **options)


def compiler_options(block: int, per_warp: int) -> dict[str, int | bool]:
    """Return from 128 to 1024 threads, and what Triton 3.9 warns about if it is left out."""
    return {"num_warps": min(32, max(4, block // per_warp)), "enable_fp_fusion": True}


@_jit
def _sigmoid(x):
    e = tl.exp(-tl.abs(x))
    return tl.where(x < 0, e, 1.0) / (1 + e)


@_jit
def _tanh(x):
    e = tl.exp(-2 * tl.abs(x))
    y = (1 - e) / (1 + e)
    y = tl.where(x < 0, -y, y)
    if x.dtype == tl.float32:
        # 1 - e cancels for small x; there Taylor's series is exact to float32.
        s = x * x
        p = 2.1869488e-2 * s - 5.3968254e-2
        p = p * s + 1.3333333e-1
        p = p * s - 3.3333333e-1
        y = tl.where(s < 0.09, x + x * s * p, y)
    return y


@_jit
def _load(pointer, offsets, mask, like):
    return tl.load(pointer + offsets, mask=mask, other=0).to(like.dtype.element_ty)


@_jit
def _store(pointer, offsets, mask, value):
    tl.store(pointer + offsets, value.to(pointer.dtype.element_ty), mask=mask)


@_jit
def _norm(a, mask, n, EPS: tl.constexpr):
    # Columns at or past H are 0, in the result too.
    a = tl.where(mask, a - tl.sum(a, 0) / n, 0)
    r = 1 / tl.sqrt(tl.sum(a * a, 0) / n + EPS)
    return a * r, r


@_jit
def _norm_backward(d, x_hat, mask, r, n):
    d = d - tl.sum(d, 0) / n - x_hat * (tl.sum(d * x_hat, 0) / n)
    return tl.where(mask, d * r, 0)
