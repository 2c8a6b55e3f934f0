"""Triton kernels of a step of the layer-normalized GRU and of its backward pass.

Each program computes one row of the batch, over ``BLOCK >= H`` columns. Gates lie side by side in
rows of ``3 * H``, in the order r, z, n. Pointers, with their shapes for a batch of B:

- ``x`` ``(B, 3 * H)``: the input's part of the gates, with its norms applied;
- ``product`` ``(B, 3 * H)``: ``h_prev @ weight_hh.T``; the forward pass overwrites it with its
  normalized values, which the backward pass reads as ``x_hat``;
- ``rstd`` ``(B, 2)``: 1 / std over r and z together, and over n;
- ``running``: one number, the rows whose sequences have not ended (only if ``MASKED``).
"""

from __future__ import annotations

from lnlib.nn.kernels.triton.arithmetic import (
    _jit,
    _load,
    _norm,
    _norm_backward,
    _sigmoid,
    _store,
    _tanh,
    tl,
)


@_jit
def _gru_forward(
    x, product, h_prev, h, gates, rstd, gain, bias, running, H: tl.constexpr,
    BLOCK: tl.constexpr, FORM: tl.constexpr, EPS: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    mask = col < H
    offsets = row * 3 * H + col
    r = _load(product, offsets, mask, rstd)
    z = _load(product, offsets + H, mask, rstd)
    mean = tl.sum(r + z, 0) / (2 * H)
    r = tl.where(mask, r - mean, 0)
    z = tl.where(mask, z - mean, 0)
    scale = 1 / tl.sqrt(tl.sum(r * r + z * z, 0) / (2 * H) + EPS)
    r *= scale
    z *= scale
    n, scale_n = _norm(_load(product, offsets + 2 * H, mask, rstd), mask, H, EPS)
    tl.store(rstd + row * 2, scale)
    tl.store(rstd + row * 2 + 1, scale_n)
    _store(product, offsets, mask, r)
    _store(product, offsets + H, mask, z)
    _store(product, offsets + 2 * H, mask, n)
    r = r * _load(gain, col, mask, rstd) + _load(bias, col, mask, rstd)
    z = z * _load(gain, col + H, mask, rstd) + _load(bias, col + H, mask, rstd)
    n = n * _load(gain, col + 2 * H, mask, rstd) + _load(bias, col + 2 * H, mask, rstd)
    r = _sigmoid(r + _load(x, offsets, mask, rstd))
    z = _sigmoid(z + _load(x, offsets + H, mask, rstd))
    n = _tanh(r * n + _load(x, offsets + 2 * H, mask, rstd))
    _store(gates, offsets, mask, r)
    _store(gates, offsets + H, mask, z)
    _store(gates, offsets + 2 * H, mask, n)
    previous = _load(h_prev, row * H + col, mask, rstd)
    out = (1 - z) * previous + z * n
    if MASKED:
        out = tl.where(row < tl.load(running), out, previous)
    _store(h, row * H + col, mask, out)


@_jit
def _gru_backward(
    d_out, dh, x_hat, gates, h_prev, rstd, d_gates, d_product, gain, bias, running,
    H: tl.constexpr, BLOCK: tl.constexpr, FORM: tl.constexpr, EPS: tl.constexpr,
    MASKED: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    mask = col < H
    active = True
    if MASKED:
        active = row < tl.load(running)
    offsets = row * H + col
    d = _load(dh, offsets, mask, rstd) + _load(d_out, offsets, mask, rstd)
    previous = _load(h_prev, offsets, mask, rstd)
    offsets = row * 3 * H + col
    r = _load(gates, offsets, mask, rstd)
    z = _load(gates, offsets + H, mask, rstd)
    n = _load(gates, offsets + 2 * H, mask, rstd)
    x_r = _load(x_hat, offsets, mask, rstd)
    x_z = _load(x_hat, offsets + H, mask, rstd)
    x_n = _load(x_hat, offsets + 2 * H, mask, rstd)
    gain_n = _load(gain, col + 2 * H, mask, rstd)
    y_n = x_n * gain_n + _load(bias, col + 2 * H, mask, rstd)
    d_n = d * z * (1 - n * n)
    d_z = d * (n - previous) * z * (1 - z)
    d_r = d_n * y_n * r * (1 - r)
    d = tl.where(active, d * (1 - z), d)
    d_r = tl.where(active, d_r, 0)
    d_z = tl.where(active, d_z, 0)
    d_n = tl.where(active, d_n, 0)
    _store(dh, row * H + col, mask, d)
    _store(d_gates, offsets, mask, d_r)
    _store(d_gates, offsets + H, mask, d_z)
    _store(d_gates, offsets + 2 * H, mask, d_n)
    d_r *= _load(gain, col, mask, rstd)
    d_z *= _load(gain, col + H, mask, rstd)
    d_n *= r * gain_n
    scale = tl.load(rstd + row * 2)
    shift = tl.sum(d_r + d_z, 0) / (2 * H)
    slope = tl.sum(d_r * x_r + d_z * x_z, 0) / (2 * H)
    d_r = (d_r - shift - slope * x_r) * scale
    d_z = (d_z - shift - slope * x_z) * scale
    d_n = _norm_backward(d_n, x_n, mask, tl.load(rstd + row * 2 + 1), H)
    _store(d_product, offsets, mask, d_r)
    _store(d_product, offsets + H, mask, d_z)
    _store(d_product, offsets + 2 * H, mask, d_n)
