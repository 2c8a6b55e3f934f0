"""An LSTM's step and its gradient, a kernel each."""

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
def _lstm_forward(
    x, product, h_prev, h, c_prev, c, gates, cell_hat, rstd, gain, bias, gain_c, bias_c,
    running, H: tl.constexpr, BLOCK: tl.constexpr, FORM: tl.constexpr, EPS: tl.constexpr,
    MASKED: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    mask = col < H
    offsets = row * 4 * H + col
    i = _load(product, offsets, mask, rstd)
    f = _load(product, offsets + H, mask, rstd)
    g = _load(product, offsets + 2 * H, mask, rstd)
    o = _load(product, offsets + 3 * H, mask, rstd)
    x_i = _load(x, offsets, mask, rstd)
    x_f = _load(x, offsets + H, mask, rstd)
    x_g = _load(x, offsets + 2 * H, mask, rstd)
    x_o = _load(x, offsets + 3 * H, mask, rstd)
    NORMS: tl.constexpr = 1 if FORM == "draw" else 5 if FORM == "per_gate" else 2
    r_at = row * NORMS
    if FORM == "draw":
        i += x_i
        f += x_f
        g += x_g
        o += x_o
    else:
        if FORM == "per_gate":
            i, r_i = _norm(i + x_i, mask, H, EPS)
            f, r_f = _norm(f + x_f, mask, H, EPS)
            g, r_g = _norm(g + x_g, mask, H, EPS)
            o, r_o = _norm(o + x_o, mask, H, EPS)
            tl.store(rstd + r_at, r_i)
            tl.store(rstd + r_at + 1, r_f)
            tl.store(rstd + r_at + 2, r_g)
            tl.store(rstd + r_at + 3, r_o)
        else:
            mean = tl.sum(i + f + g + o, 0) / (4 * H)
            i = tl.where(mask, i - mean, 0)
            f = tl.where(mask, f - mean, 0)
            g = tl.where(mask, g - mean, 0)
            o = tl.where(mask, o - mean, 0)
            r = 1 / tl.sqrt(tl.sum(i * i + f * f + g * g + o * o, 0) / (4 * H) + EPS)
            i *= r
            f *= r
            g *= r
            o *= r
            tl.store(rstd + r_at, r)
        _store(product, offsets, mask, i)
        _store(product, offsets + H, mask, f)
        _store(product, offsets + 2 * H, mask, g)
        _store(product, offsets + 3 * H, mask, o)
        i = i * _load(gain, col, mask, rstd) + _load(bias, col, mask, rstd)
        f = f * _load(gain, col + H, mask, rstd) + _load(bias, col + H, mask, rstd)
        g = g * _load(gain, col + 2 * H, mask, rstd) + _load(bias, col + 2 * H, mask, rstd)
        o = o * _load(gain, col + 3 * H, mask, rstd) + _load(bias, col + 3 * H, mask, rstd)
        if FORM != "per_gate":
            i += x_i
            f += x_f
            g += x_g
            o += x_o
    i = _sigmoid(i)
    f = _sigmoid(f)
    g = _tanh(g)
    o = _sigmoid(o)
    _store(gates, offsets, mask, i)
    _store(gates, offsets + H, mask, f)
    _store(gates, offsets + 2 * H, mask, g)
    _store(gates, offsets + 3 * H, mask, o)
    offsets = row * H + col
    previous = _load(c_prev, offsets, mask, rstd)
    cell = tl.where(mask, f * previous + i * g, 0)
    n_hat, r = _norm(cell, mask, H, EPS)
    tl.store(rstd + r_at + NORMS - 1, r)
    _store(cell_hat, offsets, mask, n_hat)
    y = n_hat * _load(gain_c, col, mask, rstd) + _load(bias_c, col, mask, rstd)
    out = o * _tanh(y)
    if FORM == "carried":
        cell = y
    if MASKED:
        active = row < tl.load(running)
        cell = tl.where(active, cell, previous)
        out = tl.where(active, out, _load(h_prev, offsets, mask, rstd))
    _store(c, offsets, mask, cell)
    _store(h, offsets, mask, out)


@_jit
def _lstm_backward(
    d_out, dh, dc, x_hat, gates, c_prev, cell_hat, rstd, d_gates, d_product, d_cell, gain,
    gain_c, bias_c, running, H: tl.constexpr, BLOCK: tl.constexpr, FORM: tl.constexpr,
    EPS: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    mask = col < H
    active = True
    if MASKED:
        active = row < tl.load(running)
    offsets = row * H + col
    d = _load(dh, offsets, mask, rstd) + _load(d_out, offsets, mask, rstd)
    d_c = _load(dc, offsets, mask, rstd)
    previous = _load(c_prev, offsets, mask, rstd)
    n_hat = _load(cell_hat, offsets, mask, rstd)
    scale = _load(gain_c, col, mask, rstd)
    tanh = _tanh(n_hat * scale + _load(bias_c, col, mask, rstd))
    offsets = row * 4 * H + col
    i = _load(gates, offsets, mask, rstd)
    f = _load(gates, offsets + H, mask, rstd)
    g = _load(gates, offsets + 2 * H, mask, rstd)
    o = _load(gates, offsets + 3 * H, mask, rstd)
    NORMS: tl.constexpr = 1 if FORM == "draw" else 5 if FORM == "per_gate" else 2
    r_at = row * NORMS
    d_y = d * o * (1 - tanh * tanh)
    if FORM == "carried":
        d_y += d_c
    r = tl.load(rstd + r_at + NORMS - 1)
    d_sum = _norm_backward(d_y * scale, n_hat, mask, r, H)
    if FORM != "carried":
        d_sum += d_c
    d_i = d_sum * g * i * (1 - i)
    d_f = d_sum * previous * f * (1 - f)
    d_g = d_sum * i * (1 - g * g)
    d_o = d * tanh * o * (1 - o)
    d_c = tl.where(active, d_sum * f, d_c)
    # Kept rows hand their gradient on; those that ran get theirs through the product.
    d = tl.where(active, 0, d)
    d_y = tl.where(active, d_y, 0)
    d_i = tl.where(active, d_i, 0)
    d_f = tl.where(active, d_f, 0)
    d_g = tl.where(active, d_g, 0)
    d_o = tl.where(active, d_o, 0)
    _store(dh, row * H + col, mask, d)
    _store(dc, row * H + col, mask, d_c)
    _store(d_cell, row * H + col, mask, d_y)
    _store(d_gates, offsets, mask, d_i)
    _store(d_gates, offsets + H, mask, d_f)
    _store(d_gates, offsets + 2 * H, mask, d_g)
    _store(d_gates, offsets + 3 * H, mask, d_o)
    if FORM != "draw":
        d_i *= _load(gain, col, mask, rstd)
        d_f *= _load(gain, col + H, mask, rstd)
        d_g *= _load(gain, col + 2 * H, mask, rstd)
        d_o *= _load(gain, col + 3 * H, mask, rstd)
        x_i = _load(x_hat, offsets, mask, rstd)
        x_f = _load(x_hat, offsets + H, mask, rstd)
        x_g = _load(x_hat, offsets + 2 * H, mask, rstd)
        x_o = _load(x_hat, offsets + 3 * H, mask, rstd)
        if FORM == "per_gate":
            d_i = _norm_backward(d_i, x_i, mask, tl.load(rstd + r_at), H)
            d_f = _norm_backward(d_f, x_f, mask, tl.load(rstd + r_at + 1), H)
            d_g = _norm_backward(d_g, x_g, mask, tl.load(rstd + r_at + 2), H)
            d_o = _norm_backward(d_o, x_o, mask, tl.load(rstd + r_at + 3), H)
        else:
            r = tl.load(rstd + r_at)
            shift = tl.sum(d_i + d_f + d_g + d_o, 0) / (4 * H)
            slope = tl.sum(d_i * x_i + d_f * x_f + d_g * x_g + d_o * x_o, 0) / (4 * H)
            d_i = (d_i - shift - slope * x_i) * r
            d_f = (d_f - shift - slope * x_f) * r
            d_g = (d_g - shift - slope * x_g) * r
            d_o = (d_o - shift - slope * x_o) * r
        _store(d_product, offsets, mask, d_i)
        _store(d_product, offsets + H, mask, d_f)
        _store(d_product, offsets + 2 * H, mask, d_g)
        _store(d_product, offsets + 3 * H, mask, d_o)
