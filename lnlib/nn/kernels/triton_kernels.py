"""The steps of :mod:`.cuda_steps` as Triton kernels: one program a row, one kernel a step.

Same names, arguments and results. A row's summed inputs lie in registers, so that a step reads and
writes every number once. All arithmetic is in the dtype of ``rstd``, float32 or float64. With
``TRITON_INTERPRET=1`` set before the import they run on a CPU, slowly.
"""

from __future__ import annotations

from torch import Tensor

from lnlib.nn.kernels.cuda_steps import Spec, Weights

try:
    import triton
    import triton.language as tl
except ImportError:
    # PyTorch for CPUs comes without. The module can then be read, and its kernels not run.
    triton = None


def _jit(kernel):
    return kernel if triton is None else triton.jit(kernel)


# What the kernels are compiled for besides their pointers: H, the power of two that covers it, the
# form's name, eps, and whether rows may have ended.


def lstm_forward(spec, w, x, product, h_prev, h, c_prev, c, gates, cell_hat, rstd, running) -> None:
    """Write ``h``, ``c`` and what the backward step needs."""
    pointers = (x, product, h_prev, h, c_prev, c, gates, cell_hat, rstd, *w[1:])
    _launch(_lstm_forward, spec, w, pointers, running)


def lstm_backward(
    spec,
    w,
    d_out,
    dh,
    dc,
    x_hat,
    gates,
    c_prev,
    cell_hat,
    rstd,
    d_gates,
    d_product,
    d_cell,
    running,
) -> None:
    """Write the gradients of one step; in ``dh`` what does not come back through the product."""
    pointers = (d_out, dh, dc, x_hat, gates, c_prev, cell_hat, rstd, d_gates, d_product, d_cell)
    _launch(_lstm_backward, spec, w, (*pointers, w.gain, w.gain_c, w.bias_c), running)


def gru_forward(spec, w, x, product, h_prev, h, gates, rstd, running) -> None:
    """Write ``h`` and what the backward step needs."""
    pointers = (x, product, h_prev, h, gates, rstd, w.gain, w.bias)
    _launch(_gru_forward, spec, w, pointers, running)


def gru_backward(
    spec, w, d_out, dh, x_hat, gates, h_prev, rstd, d_gates, d_product, running
) -> None:
    """Write the gradients of one step; in ``dh`` what does not come back through the product."""
    pointers = (d_out, dh, x_hat, gates, h_prev, rstd, d_gates, d_product, w.gain, w.bias)
    _launch(_gru_backward, spec, w, pointers, running)


def rnn_forward(spec, w, x, product, h_prev, h, rstd, running) -> None:
    """Write ``h`` and what the backward step needs."""
    pointers = (x, product, h_prev, h, rstd, w.gain, w.bias)
    _launch(_rnn_forward, spec, w, pointers, running, RELU=spec.nonlinearity == "relu")


def rnn_backward(spec, w, d_out, dh, x_hat, h, rstd, d_gates, d_product, running) -> None:
    """Write the gradients of one step; in ``dh`` what does not come back through the product."""
    pointers = (d_out, dh, x_hat, h, rstd, d_gates, d_product, w.gain)
    _launch(_rnn_backward, spec, w, pointers, running, RELU=spec.nonlinearity == "relu")


def _launch(
    kernel, spec: Spec, w: Weights, pointers: tuple[Tensor, ...], running: Tensor | None, **options
) -> None:
    rows, H = len(pointers[0]), w.weight.shape[1]
    block = triton.next_power_of_2(H)
    kernel[(rows,)](
        *pointers,
        # A pointer that is not read.
        pointers[0] if running is None else running,
        H=H,
        BLOCK=block,
        FORM=spec.form,
        EPS=spec.eps,
        MASKED=running is not None,
        **_compiled_with(block),
        **options,
    )


def _compiled_with(block: int) -> dict[str, int | bool]:
    """Return what the compiler is told."""
    return {
        # A power of two: four numbers of each row a thread, and 128 to 1024 threads.
        "num_warps": min(32, max(4, block // 128)),
        # Said, or Triton 3.9 warns that its default will change.
        "enable_fp_fusion": True,
    }


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
def _load(pointer, at, ok, like):
    return tl.load(pointer + at, mask=ok, other=0).to(like.dtype.element_ty)


@_jit
def _store(pointer, at, ok, value):
    tl.store(pointer + at, value.to(pointer.dtype.element_ty), mask=ok)


@_jit
def _norm(a, ok, n, EPS: tl.constexpr):
    # Columns at or past H are 0, in the result too.
    a = tl.where(ok, a - tl.sum(a, 0) / n, 0)
    r = 1 / tl.sqrt(tl.sum(a * a, 0) / n + EPS)
    return a * r, r


@_jit
def _norm_backward(d, x_hat, ok, r, n):
    d = d - tl.sum(d, 0) / n - x_hat * (tl.sum(d * x_hat, 0) / n)
    return tl.where(ok, d * r, 0)


@_jit
def _lstm_forward(
    x,
    product,
    h_prev,
    h,
    c_prev,
    c,
    gates,
    cell_hat,
    rstd,
    gain,
    bias,
    gain_c,
    bias_c,
    running,
    H: tl.constexpr,
    BLOCK: tl.constexpr,
    FORM: tl.constexpr,
    EPS: tl.constexpr,
    MASKED: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    ok = col < H
    at = row * 4 * H + col
    i = _load(product, at, ok, rstd)
    f = _load(product, at + H, ok, rstd)
    g = _load(product, at + 2 * H, ok, rstd)
    o = _load(product, at + 3 * H, ok, rstd)
    x_i = _load(x, at, ok, rstd)
    x_f = _load(x, at + H, ok, rstd)
    x_g = _load(x, at + 2 * H, ok, rstd)
    x_o = _load(x, at + 3 * H, ok, rstd)
    if FORM == "draw":
        r_at = row
        i += x_i
        f += x_f
        g += x_g
        o += x_o
    else:
        if FORM == "per_gate":
            r_at = row * 5
            i, r_i = _norm(i + x_i, ok, H, EPS)
            f, r_f = _norm(f + x_f, ok, H, EPS)
            g, r_g = _norm(g + x_g, ok, H, EPS)
            o, r_o = _norm(o + x_o, ok, H, EPS)
            tl.store(rstd + r_at, r_i)
            tl.store(rstd + r_at + 1, r_f)
            tl.store(rstd + r_at + 2, r_g)
            tl.store(rstd + r_at + 3, r_o)
            r_at += 4
        else:
            r_at = row * 2
            mean = tl.sum(i + f + g + o, 0) / (4 * H)
            i = tl.where(ok, i - mean, 0)
            f = tl.where(ok, f - mean, 0)
            g = tl.where(ok, g - mean, 0)
            o = tl.where(ok, o - mean, 0)
            r = 1 / tl.sqrt(tl.sum(i * i + f * f + g * g + o * o, 0) / (4 * H) + EPS)
            i *= r
            f *= r
            g *= r
            o *= r
            tl.store(rstd + r_at, r)
            r_at += 1
        _store(product, at, ok, i)
        _store(product, at + H, ok, f)
        _store(product, at + 2 * H, ok, g)
        _store(product, at + 3 * H, ok, o)
        i = i * _load(gain, col, ok, rstd) + _load(bias, col, ok, rstd)
        f = f * _load(gain, col + H, ok, rstd) + _load(bias, col + H, ok, rstd)
        g = g * _load(gain, col + 2 * H, ok, rstd) + _load(bias, col + 2 * H, ok, rstd)
        o = o * _load(gain, col + 3 * H, ok, rstd) + _load(bias, col + 3 * H, ok, rstd)
        if FORM != "per_gate":
            i += x_i
            f += x_f
            g += x_g
            o += x_o
    i = _sigmoid(i)
    f = _sigmoid(f)
    g = _tanh(g)
    o = _sigmoid(o)
    _store(gates, at, ok, i)
    _store(gates, at + H, ok, f)
    _store(gates, at + 2 * H, ok, g)
    _store(gates, at + 3 * H, ok, o)
    at = row * H + col
    before = _load(c_prev, at, ok, rstd)
    cell = tl.where(ok, f * before + i * g, 0)
    n_hat, r = _norm(cell, ok, H, EPS)
    tl.store(rstd + r_at, r)
    _store(cell_hat, at, ok, n_hat)
    y = n_hat * _load(gain_c, col, ok, rstd) + _load(bias_c, col, ok, rstd)
    out = o * _tanh(y)
    if FORM == "carried":
        cell = y
    if MASKED:
        live = row < tl.load(running)
        cell = tl.where(live, cell, before)
        out = tl.where(live, out, _load(h_prev, at, ok, rstd))
    _store(c, at, ok, cell)
    _store(h, at, ok, out)


@_jit
def _lstm_backward(
    d_out,
    dh,
    dc,
    x_hat,
    gates,
    c_prev,
    cell_hat,
    rstd,
    d_gates,
    d_product,
    d_cell,
    gain,
    gain_c,
    bias_c,
    running,
    H: tl.constexpr,
    BLOCK: tl.constexpr,
    FORM: tl.constexpr,
    EPS: tl.constexpr,
    MASKED: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    ok = col < H
    live = True
    if MASKED:
        live = row < tl.load(running)
    at = row * H + col
    d = _load(dh, at, ok, rstd) + _load(d_out, at, ok, rstd)
    d_c = _load(dc, at, ok, rstd)
    before = _load(c_prev, at, ok, rstd)
    n_hat = _load(cell_hat, at, ok, rstd)
    scale = _load(gain_c, col, ok, rstd)
    tanh = _tanh(n_hat * scale + _load(bias_c, col, ok, rstd))
    at = row * 4 * H + col
    i = _load(gates, at, ok, rstd)
    f = _load(gates, at + H, ok, rstd)
    g = _load(gates, at + 2 * H, ok, rstd)
    o = _load(gates, at + 3 * H, ok, rstd)
    if FORM == "draw":
        r_at = row
    elif FORM == "per_gate":
        r_at = row * 5
    else:
        r_at = row * 2

    d_y = d * o * (1 - tanh * tanh)
    if FORM == "carried":
        d_y += d_c
    if FORM == "draw":
        r = tl.load(rstd + r_at)
    elif FORM == "per_gate":
        r = tl.load(rstd + r_at + 4)
    else:
        r = tl.load(rstd + r_at + 1)
    d_sum = _norm_backward(d_y * scale, n_hat, ok, r, H)
    if FORM != "carried":
        d_sum += d_c
    d_i = d_sum * g * i * (1 - i)
    d_f = d_sum * before * f * (1 - f)
    d_g = d_sum * i * (1 - g * g)
    d_o = d * tanh * o * (1 - o)
    d_c = tl.where(live, d_sum * f, d_c)
    # Kept rows hand their gradient on; those that ran get theirs through the product.
    d = tl.where(live, 0, d)
    d_y = tl.where(live, d_y, 0)
    d_i = tl.where(live, d_i, 0)
    d_f = tl.where(live, d_f, 0)
    d_g = tl.where(live, d_g, 0)
    d_o = tl.where(live, d_o, 0)
    _store(dh, row * H + col, ok, d)
    _store(dc, row * H + col, ok, d_c)
    _store(d_cell, row * H + col, ok, d_y)
    _store(d_gates, at, ok, d_i)
    _store(d_gates, at + H, ok, d_f)
    _store(d_gates, at + 2 * H, ok, d_g)
    _store(d_gates, at + 3 * H, ok, d_o)
    if FORM != "draw":
        d_i *= _load(gain, col, ok, rstd)
        d_f *= _load(gain, col + H, ok, rstd)
        d_g *= _load(gain, col + 2 * H, ok, rstd)
        d_o *= _load(gain, col + 3 * H, ok, rstd)
        x_i = _load(x_hat, at, ok, rstd)
        x_f = _load(x_hat, at + H, ok, rstd)
        x_g = _load(x_hat, at + 2 * H, ok, rstd)
        x_o = _load(x_hat, at + 3 * H, ok, rstd)
        if FORM == "per_gate":
            d_i = _norm_backward(d_i, x_i, ok, tl.load(rstd + r_at), H)
            d_f = _norm_backward(d_f, x_f, ok, tl.load(rstd + r_at + 1), H)
            d_g = _norm_backward(d_g, x_g, ok, tl.load(rstd + r_at + 2), H)
            d_o = _norm_backward(d_o, x_o, ok, tl.load(rstd + r_at + 3), H)
        else:
            r = tl.load(rstd + r_at)
            shift = tl.sum(d_i + d_f + d_g + d_o, 0) / (4 * H)
            slope = tl.sum(d_i * x_i + d_f * x_f + d_g * x_g + d_o * x_o, 0) / (4 * H)
            d_i = (d_i - shift - slope * x_i) * r
            d_f = (d_f - shift - slope * x_f) * r
            d_g = (d_g - shift - slope * x_g) * r
            d_o = (d_o - shift - slope * x_o) * r
        _store(d_product, at, ok, d_i)
        _store(d_product, at + H, ok, d_f)
        _store(d_product, at + 2 * H, ok, d_g)
        _store(d_product, at + 3 * H, ok, d_o)


@_jit
def _gru_forward(
    x,
    product,
    h_prev,
    h,
    gates,
    rstd,
    gain,
    bias,
    running,
    H: tl.constexpr,
    BLOCK: tl.constexpr,
    FORM: tl.constexpr,
    EPS: tl.constexpr,
    MASKED: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    ok = col < H
    at = row * 3 * H + col
    r = _load(product, at, ok, rstd)
    z = _load(product, at + H, ok, rstd)
    mean = tl.sum(r + z, 0) / (2 * H)
    r = tl.where(ok, r - mean, 0)
    z = tl.where(ok, z - mean, 0)
    scale = 1 / tl.sqrt(tl.sum(r * r + z * z, 0) / (2 * H) + EPS)
    r *= scale
    z *= scale
    n, scale_n = _norm(_load(product, at + 2 * H, ok, rstd), ok, H, EPS)
    tl.store(rstd + row * 2, scale)
    tl.store(rstd + row * 2 + 1, scale_n)
    _store(product, at, ok, r)
    _store(product, at + H, ok, z)
    _store(product, at + 2 * H, ok, n)
    r = r * _load(gain, col, ok, rstd) + _load(bias, col, ok, rstd)
    z = z * _load(gain, col + H, ok, rstd) + _load(bias, col + H, ok, rstd)
    n = n * _load(gain, col + 2 * H, ok, rstd) + _load(bias, col + 2 * H, ok, rstd)
    r = _sigmoid(r + _load(x, at, ok, rstd))
    z = _sigmoid(z + _load(x, at + H, ok, rstd))
    n = _tanh(r * n + _load(x, at + 2 * H, ok, rstd))
    _store(gates, at, ok, r)
    _store(gates, at + H, ok, z)
    _store(gates, at + 2 * H, ok, n)
    before = _load(h_prev, row * H + col, ok, rstd)
    out = (1 - z) * before + z * n
    if MASKED:
        out = tl.where(row < tl.load(running), out, before)
    _store(h, row * H + col, ok, out)


@_jit
def _gru_backward(
    d_out,
    dh,
    x_hat,
    gates,
    h_prev,
    rstd,
    d_gates,
    d_product,
    gain,
    bias,
    running,
    H: tl.constexpr,
    BLOCK: tl.constexpr,
    FORM: tl.constexpr,
    EPS: tl.constexpr,
    MASKED: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    ok = col < H
    live = True
    if MASKED:
        live = row < tl.load(running)
    at = row * H + col
    d = _load(dh, at, ok, rstd) + _load(d_out, at, ok, rstd)
    before = _load(h_prev, at, ok, rstd)
    at = row * 3 * H + col
    r = _load(gates, at, ok, rstd)
    z = _load(gates, at + H, ok, rstd)
    n = _load(gates, at + 2 * H, ok, rstd)
    x_r = _load(x_hat, at, ok, rstd)
    x_z = _load(x_hat, at + H, ok, rstd)
    x_n = _load(x_hat, at + 2 * H, ok, rstd)
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
    _store(d_gates, at, ok, d_r)
    _store(d_gates, at + H, ok, d_z)
    _store(d_gates, at + 2 * H, ok, d_n)
    d_r *= _load(gain, col, ok, rstd)
    d_z *= _load(gain, col + H, ok, rstd)
    d_n *= r * gain_n
    scale = tl.load(rstd + row * 2)
    shift = tl.sum(d_r + d_z, 0) / (2 * H)
    slope = tl.sum(d_r * x_r + d_z * x_z, 0) / (2 * H)
    d_r = (d_r - shift - slope * x_r) * scale
    d_z = (d_z - shift - slope * x_z) * scale
    d_n = _norm_backward(d_n, x_n, ok, tl.load(rstd + row * 2 + 1), H)
    _store(d_product, at, ok, d_r)
    _store(d_product, at + H, ok, d_z)
    _store(d_product, at + 2 * H, ok, d_n)


@_jit
def _rnn_forward(
    x,
    product,
    h_prev,
    h,
    rstd,
    gain,
    bias,
    running,
    H: tl.constexpr,
    BLOCK: tl.constexpr,
    FORM: tl.constexpr,
    EPS: tl.constexpr,
    MASKED: tl.constexpr,
    RELU: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    ok = col < H
    at = row * H + col
    y = _load(product, at, ok, rstd)
    x_here = _load(x, at, ok, rstd)
    if FORM == "paper":
        y += x_here
    y, r = _norm(y, ok, H, EPS)
    tl.store(rstd + row, r)
    _store(product, at, ok, y)
    y = y * _load(gain, col, ok, rstd) + _load(bias, col, ok, rstd)
    if FORM == "parts":
        y += x_here
    # Not a maximum, which loses a NaN.
    y = tl.where(y < 0, 0, y) if RELU else _tanh(y)
    if MASKED:
        y = tl.where(row < tl.load(running), y, _load(h_prev, at, ok, rstd))
    _store(h, at, ok, y)


@_jit
def _rnn_backward(
    d_out,
    dh,
    x_hat,
    h,
    rstd,
    d_gates,
    d_product,
    gain,
    running,
    H: tl.constexpr,
    BLOCK: tl.constexpr,
    FORM: tl.constexpr,
    EPS: tl.constexpr,
    MASKED: tl.constexpr,
    RELU: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    ok = col < H
    at = row * H + col
    d = _load(dh, at, ok, rstd) + _load(d_out, at, ok, rstd)
    y = _load(h, at, ok, rstd)
    d_y = tl.where(y > 0, d, 0) if RELU else d * (1 - y * y)
    live = True
    if MASKED:
        live = row < tl.load(running)
    d = tl.where(live, 0, d)
    d_y = tl.where(live, d_y, 0)
    _store(dh, at, ok, d)
    _store(d_gates, at, ok, d_y)
    d_y *= _load(gain, col, ok, rstd)
    d_y = _norm_backward(d_y, _load(x_hat, at, ok, rstd), ok, tl.load(rstd + row), H)
    _store(d_product, at, ok, d_y)
