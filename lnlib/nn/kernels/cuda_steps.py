"""One time step of the recurrences and its gradient, in PyTorch operations on given memory.

What the Triton kernels of the same names do in one kernel each, and what stands in for them where
Triton is missing. The walk over time is in :mod:`.cuda`.

Every tensor is one step's slice of a sequence, ``(B, ...)``, and is written in place. ``product``
holds ``W_h h``, and afterwards its normalized numbers. ``rstd`` has a column a norm, that of the
cell last, in the dtype of the arithmetic. A row at or past ``running`` is not in the sequence and
keeps its state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

# What is in the dtype of the arithmetic, however short that of the inputs and weights is.
WIDE = ("rstd", "c", "c_prev", "cell_hat", "dc", "d_cell")


class Weights(NamedTuple):
    """What all steps share; gains and biases are always there and as wide as the cell."""

    weight: Tensor  # (parts H, H)
    gain: Tensor  # (parts H,)
    bias: Tensor
    gain_c: Tensor | None  # (H,), for an LSTM alone
    bias_c: Tensor | None


def lstm_forward(spec, w, x, product, h_prev, h, c_prev, c, gates, cell_hat, rstd, running) -> None:
    """Write ``h``, ``c`` and what the backward step needs."""
    a = product.to(rstd.dtype)
    if spec.of_sum:
        a += x
    x_hat = _standardize(a, spec.norms, rstd, spec.eps)
    y = x_hat * w.gain + w.bias if spec.norms else x_hat
    if not spec.of_sum:
        y = y + x
    i, f, g, o = y.chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    cell = f * c_prev + i * g
    n_hat = _standardize(cell, (1,), rstd[:, -1:], spec.eps)
    normalized = n_hat * w.gain_c + w.bias_c
    product.copy_(x_hat)
    gates.copy_(torch.cat((i, f, g, o), 1))
    cell_hat.copy_(n_hat)
    _keep(c, normalized if spec.form == "carried" else cell, c_prev, running)
    _keep(h, o * normalized.tanh(), h_prev, running)


def lstm_backward(
    spec, w, d_out, dh, dc, x_hat, gates, c_prev, cell_hat, rstd, d_gates, d_product, d_cell,
    running,
) -> None:  # fmt: skip
    """Write the gradients of one step; in ``dh`` what does not come back through the product."""
    d = dh.to(rstd.dtype) + d_out
    i, f, g, o = gates.to(rstd.dtype).chunk(4, 1)
    tanh = (cell_hat * w.gain_c + w.bias_c).tanh()
    d_normalized = d * o * (1 - tanh * tanh)
    if spec.form == "carried":
        d_normalized = d_normalized + dc
    d_sum = _standardize_backward(d_normalized * w.gain_c, cell_hat, (1,), rstd[:, -1:])
    if spec.form != "carried":
        d_sum = d_sum + dc
    d_pre = torch.cat(
        (
            d_sum * g * i * (1 - i),
            d_sum * c_prev * f * (1 - f),
            d_sum * i * (1 - g * g),
            d * tanh * o * (1 - o),
        ),
        1,
    )
    _keep(d_cell, d_normalized, 0, running)
    _keep(dc, d_sum * f, dc, running)
    _finish(spec, w, d, d_pre, x_hat, rstd, d_gates, d_product, dh, running, 0)


def gru_forward(spec, w, x, product, h_prev, h, gates, rstd, running) -> None:
    """Write ``h`` and what the backward step needs."""
    x_hat = _standardize(product.to(rstd.dtype), spec.norms, rstd, spec.eps)
    y_r, y_z, y_n = (x_hat * w.gain + w.bias).chunk(3, 1)
    x_r, x_z, x_n = x.chunk(3, 1)
    r, z = (x_r + y_r).sigmoid(), (x_z + y_z).sigmoid()
    n = (x_n + r * y_n).tanh()
    product.copy_(x_hat)
    gates.copy_(torch.cat((r, z, n), 1))
    _keep(h, (1 - z) * h_prev + z * n, h_prev, running)


def gru_backward(
    spec, w, d_out, dh, x_hat, gates, h_prev, rstd, d_gates, d_product, running
) -> None:
    """Write the gradients of one step; in ``dh`` what does not come back through the product."""
    d = dh.to(rstd.dtype) + d_out
    r, z, n = gates.to(rstd.dtype).chunk(3, 1)
    H = r.shape[1]
    y_n = x_hat[:, 2 * H :] * w.gain[2 * H :] + w.bias[2 * H :]
    d_n = d * z * (1 - n * n)
    d_z = d * (n - h_prev) * z * (1 - z)
    d_pre = torch.cat((d_n * y_n * r * (1 - r), d_z, d_n), 1)
    _finish(spec, w, d, d_pre, x_hat, rstd, d_gates, d_product, dh, running, d * (1 - z), r)


def rnn_forward(spec, w, x, product, h_prev, h, rstd, running) -> None:
    """Write ``h`` and what the backward step needs."""
    a = product.to(rstd.dtype)
    if spec.of_sum:
        a += x
    x_hat = _standardize(a, spec.norms, rstd, spec.eps)
    y = x_hat * w.gain + w.bias
    if not spec.of_sum:
        y = y + x
    product.copy_(x_hat)
    _keep(h, y.tanh() if spec.nonlinearity == "tanh" else y.relu(), h_prev, running)


def rnn_backward(spec, w, d_out, dh, x_hat, h, rstd, d_gates, d_product, running) -> None:
    """Write the gradients of one step; in ``dh`` what does not come back through the product."""
    d = dh.to(rstd.dtype) + d_out
    slope = 1 - h.to(rstd.dtype) ** 2 if spec.nonlinearity == "tanh" else h > 0
    _finish(spec, w, d, d * slope, x_hat, rstd, d_gates, d_product, dh, running, 0)


def _standardize(a: Tensor, norms: Sequence[int], rstd: Tensor, eps: float) -> Tensor:
    """Normalize runs of columns, as wide as ``norms`` says, and note their ``1 / std``."""
    if not norms:
        return a
    parts = []
    for k, part in enumerate(a.split([n * a.shape[1] // sum(norms) for n in norms], 1)):
        part = part - part.mean(1, keepdim=True)
        rstd[:, k : k + 1] = (part.square().mean(1, keepdim=True) + eps).rsqrt()
        parts.append(part * rstd[:, k : k + 1])
    return torch.cat(parts, 1)


def _standardize_backward(dy: Tensor, x_hat: Tensor, norms: Sequence[int], rstd: Tensor) -> Tensor:
    """Return the gradient of what :func:`_standardize` was given."""
    if not norms:
        return dy
    widths = [n * dy.shape[1] // sum(norms) for n in norms]
    parts = []
    for k, (d, x) in enumerate(zip(dy.split(widths, 1), x_hat.split(widths, 1), strict=True)):
        x = x.to(dy.dtype)
        slope = (d * x).mean(1, keepdim=True)
        parts.append((d - d.mean(1, keepdim=True) - slope * x) * rstd[:, k : k + 1])
    return torch.cat(parts, 1)


def _finish(
    spec, w, d, d_pre, x_hat, rstd, d_gates, d_product, dh, running, direct, r=None
) -> None:
    """Write the gradients of the summed inputs, before and behind the norm, and ``dh``."""
    d_norm = d_pre
    if r is not None:  # the candidate's norm is scaled by r before it is added
        d_norm = torch.cat((d_pre[:, : -r.shape[1]], d_pre[:, -r.shape[1] :] * r), 1)
    if spec.norms:
        d_norm = _standardize_backward(d_norm * w.gain, x_hat, spec.norms, rstd)
    _keep(d_gates, d_pre, 0, running)
    _keep(d_product, d_norm, 0, running)
    _keep(dh, direct, d, running)


def _keep(out: Tensor, new: Tensor | float, old: Tensor | float, running: Tensor | None) -> None:
    """Write ``new``, and ``old`` in the rows that are not running."""
    if running is not None:
        rows = torch.arange(len(out), device=out.device)[:, None]
        new = torch.where(rows < running, new, old)
    out.copy_(new) if isinstance(new, Tensor) else out.fill_(new)
