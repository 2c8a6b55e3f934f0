"""A GRU's step and its gradient, a kernel each."""

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
    ok = col < H
    offsets = row * 3 * H + col
    r = _load(product, offsets, ok, rstd)
    z = _load(product, offsets + H, ok, rstd)
    mean = tl.sum(r + z, 0) / (2 * H)
    r = tl.where(ok, r - mean, 0)
    z = tl.where(ok, z - mean, 0)
    scale = 1 / tl.sqrt(tl.sum(r * r + z * z, 0) / (2 * H) + EPS)
    r *= scale
    z *= scale
    n, scale_n = _norm(_load(product, offsets + 2 * H, ok, rstd), ok, H, EPS)
    tl.store(rstd + row * 2, scale)
    tl.store(rstd + row * 2 + 1, scale_n)
    _store(product, offsets, ok, r)
    _store(product, offsets + H, ok, z)
    _store(product, offsets + 2 * H, ok, n)
    r = r * _load(gain, col, ok, rstd) + _load(bias, col, ok, rstd)
    z = z * _load(gain, col + H, ok, rstd) + _load(bias, col + H, ok, rstd)
    n = n * _load(gain, col + 2 * H, ok, rstd) + _load(bias, col + 2 * H, ok, rstd)
    r = _sigmoid(r + _load(x, offsets, ok, rstd))
    z = _sigmoid(z + _load(x, offsets + H, ok, rstd))
    n = _tanh(r * n + _load(x, offsets + 2 * H, ok, rstd))
    _store(gates, offsets, ok, r)
    _store(gates, offsets + H, ok, z)
    _store(gates, offsets + 2 * H, ok, n)
    before = _load(h_prev, row * H + col, ok, rstd)
    out = (1 - z) * before + z * n
    if MASKED:
        out = tl.where(row < tl.load(running), out, before)
    _store(h, row * H + col, ok, out)


@_jit
def _gru_backward(
    d_out, dh, x_hat, gates, h_prev, rstd, d_gates, d_product, gain, bias, running,
    H: tl.constexpr, BLOCK: tl.constexpr, FORM: tl.constexpr, EPS: tl.constexpr,
    MASKED: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    ok = col < H
    live = True
    if MASKED:
        live = row < tl.load(running)
    offsets = row * H + col
    d = _load(dh, offsets, ok, rstd) + _load(d_out, offsets, ok, rstd)
    before = _load(h_prev, offsets, ok, rstd)
    offsets = row * 3 * H + col
    r = _load(gates, offsets, ok, rstd)
    z = _load(gates, offsets + H, ok, rstd)
    n = _load(gates, offsets + 2 * H, ok, rstd)
    x_r = _load(x_hat, offsets, ok, rstd)
    x_z = _load(x_hat, offsets + H, ok, rstd)
    x_n = _load(x_hat, offsets + 2 * H, ok, rstd)
    gain_n = _load(gain, col + 2 * H, ok, rstd)
    y_n = x_n * gain_n + _load(bias, col + 2 * H, ok, rstd)
    d_n = d * z * (1 - n * n)
    d_z = d * (n - before) * z * (1 - z)
    d_r = d_n * y_n * r * (1 - r)
    d = tl.where(live, d * (1 - z), d)
    d_r = tl.where(live, d_r, 0)
    d_z = tl.where(live, d_z, 0)
    d_n = tl.where(live, d_n, 0)
    _store(dh, row * H + col, ok, d)
    _store(d_gates, offsets, ok, d_r)
    _store(d_gates, offsets + H, ok, d_z)
    _store(d_gates, offsets + 2 * H, ok, d_n)
    d_r *= _load(gain, col, ok, rstd)
    d_z *= _load(gain, col + H, ok, rstd)
    d_n *= r * gain_n
    scale = tl.load(rstd + row * 2)
    shift = tl.sum(d_r + d_z, 0) / (2 * H)
    slope = tl.sum(d_r * x_r + d_z * x_z, 0) / (2 * H)
    d_r = (d_r - shift - slope * x_r) * scale
    d_z = (d_z - shift - slope * x_z) * scale
    d_n = _norm_backward(d_n, x_n, ok, tl.load(rstd + row * 2 + 1), H)
    _store(d_product, offsets, ok, d_r)
    _store(d_product, offsets + H, ok, d_z)
    _store(d_product, offsets + 2 * H, ok, d_n)
