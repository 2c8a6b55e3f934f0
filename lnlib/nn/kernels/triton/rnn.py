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
    ok = col < H
    offsets = row * H + col
    y = _load(product, offsets, ok, rstd)
    x_here = _load(x, offsets, ok, rstd)
    if FORM == "paper":
        y += x_here
    y, r = _norm(y, ok, H, EPS)
    tl.store(rstd + row, r)
    _store(product, offsets, ok, y)
    y = y * _load(gain, col, ok, rstd) + _load(bias, col, ok, rstd)
    if FORM == "parts":
        y += x_here
    # Not a maximum, which loses a NaN.
    y = tl.where(y < 0, 0, y) if RELU else _tanh(y)
    if MASKED:
        y = tl.where(row < tl.load(running), y, _load(h_prev, offsets, ok, rstd))
    _store(h, offsets, ok, y)


@_jit
def _rnn_backward(
    d_out, dh, x_hat, h, rstd, d_gates, d_product, gain, running, H: tl.constexpr,
    BLOCK: tl.constexpr, FORM: tl.constexpr, EPS: tl.constexpr, MASKED: tl.constexpr,
    RELU: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    ok = col < H
    offsets = row * H + col
    d = _load(dh, offsets, ok, rstd) + _load(d_out, offsets, ok, rstd)
    y = _load(h, offsets, ok, rstd)
    d_y = tl.where(y > 0, d, 0) if RELU else d * (1 - y * y)
    live = True
    if MASKED:
        live = row < tl.load(running)
    d = tl.where(live, 0, d)
    d_y = tl.where(live, d_y, 0)
    _store(dh, offsets, ok, d)
    _store(d_gates, offsets, ok, d_y)
    d_y *= _load(gain, col, ok, rstd)
    d_y = _norm_backward(d_y, _load(x_hat, offsets, ok, rstd), ok, tl.load(rstd + row), H)
    _store(d_product, offsets, ok, d_y)
