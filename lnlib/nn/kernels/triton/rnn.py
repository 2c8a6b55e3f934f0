"""A simple recurrent network's step and its gradient, a kernel each."""

from __future__ import annotations

from lnlib.nn.kernels.triton.arithmetic import _jit, _load, _norm, _norm_backward, _store, _tanh, tl


@_jit
def _rnn_forward(
    x, product, h_prev, h, rstd, gain, bias, running, H: tl.constexpr, BLOCK: tl.constexpr,
    FORM: tl.constexpr, EPS: tl.constexpr, MASKED: tl.constexpr, RELU: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    mask = col < H
    offsets = row * H + col
    y = _load(product, offsets, mask, rstd)
    x_here = _load(x, offsets, mask, rstd)
    if FORM == "paper":
        y += x_here
    y, r = _norm(y, mask, H, EPS)
    tl.store(rstd + row, r)
    _store(product, offsets, mask, y)
    y = y * _load(gain, col, mask, rstd) + _load(bias, col, mask, rstd)
    if FORM == "parts":
        y += x_here
    # Not a maximum, which loses a NaN.
    y = tl.where(y < 0, 0, y) if RELU else _tanh(y)
    if MASKED:
        y = tl.where(row < tl.load(running), y, _load(h_prev, offsets, mask, rstd))
    _store(h, offsets, mask, y)


@_jit
def _rnn_backward(
    d_out, dh, x_hat, h, rstd, d_gates, d_product, gain, running, H: tl.constexpr,
    BLOCK: tl.constexpr, FORM: tl.constexpr, EPS: tl.constexpr, MASKED: tl.constexpr,
    RELU: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    mask = col < H
    offsets = row * H + col
    d = _load(dh, offsets, mask, rstd) + _load(d_out, offsets, mask, rstd)
    y = _load(h, offsets, mask, rstd)
    d_y = tl.where(y > 0, d, 0) if RELU else d * (1 - y * y)
    active = True
    if MASKED:
        active = row < tl.load(running)
    d = tl.where(active, 0, d)
    d_y = tl.where(active, d_y, 0)
    _store(dh, offsets, mask, d)
    _store(d_gates, offsets, mask, d_y)
    d_y *= _load(gain, col, mask, rstd)
    d_y = _norm_backward(d_y, _load(x_hat, offsets, mask, rstd), mask, tl.load(rstd + row), H)
    _store(d_product, offsets, mask, d_y)
