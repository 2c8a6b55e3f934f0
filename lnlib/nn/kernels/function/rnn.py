"""A simple recurrent network and its gradient."""

from __future__ import annotations

import torch

from lnlib.nn.kernels.function.rows import (
    _add_norm_gradients,
    _before,
    _buffer,
    _chunks,
    _copy,
    _cut,
    _empty,
    _fit,
    _last,
    _layer_norm,
    _norm_backward,
    _order,
    _scratch,
    _stack,
    _steps,
    _transpose,
    _zeros,
)
from lnlib.nn.kernels.once import once_differentiable


class _RNN(torch.autograd.Function):
    """Eq. 4, forward and backward."""

    @staticmethod
    def forward(ctx, inputs, h, weight, gain, bias, spec, sizes, keep):
        eps, reverse = spec.eps, spec.reverse
        H = h.shape[1]
        outputs = inputs.new_empty(len(inputs), H)
        summed = _buffer(inputs, H, sizes, keep)
        steps = _steps(sizes, inputs, summed, outputs)
        stats = _empty(steps)
        weight_t = _transpose(weight, sizes)
        h_t = h
        for t in _order(sizes, reverse):
            x, a, h_next = steps[t]
            h_t = _fit(h_t, h, sizes[t])
            if spec.form == "paper":
                torch.addmm(x, h_t, weight_t, out=a)
                y, *stats[t] = _layer_norm(a, (H,), gain, bias, eps)
            else:
                torch.mm(h_t, weight_t, out=a)
                y, *stats[t] = _layer_norm(a, (H,), gain, bias, eps)
                y.add_(x)
            if spec.nonlinearity == "tanh":
                torch.tanh(y, out=h_next)
            else:
                torch.clamp_min(y, 0, out=h_next)
            h_t = h_next
        if keep:
            ctx.spec, ctx.sizes = spec, sizes
            ctx.save_for_backward(h, weight, gain, bias, summed, outputs, *_stack(stats))
        return outputs, _last(outputs, sizes, reverse)

    @staticmethod
    @once_differentiable
    def backward(ctx, dy, dh_n):
        spec, sizes = ctx.spec, ctx.sizes
        reverse = spec.reverse
        h, weight, gain, bias, summed, outputs, mean, rstd = ctx.saved_tensors
        H = h.shape[1]
        dweight, dgain, dbias = _zeros((weight, gain, bias), ctx.needs_input_grad[2:])
        dinputs = torch.empty_like(summed)
        dh = _copy(dh_n)
        before = _before(outputs, h, sizes, reverse)
        chunks = _chunks(sizes, reverse)
        scratch = _scratch(summed, chunks, H, H, H)
        for chunk, rows in chunks:
            slopes, other, h_before = _cut(slice(rows.stop - rows.start), *scratch)
            y, a, dinput, stats = outputs[rows], summed[rows], dinputs[rows], _cut(rows, mean, rstd)
            if spec.nonlinearity == "tanh":
                torch.mul(y, y, out=slopes).neg_().add_(1)
            else:
                torch.sign(y, out=slopes)
            dnorms, dhiddens = (other, dinput) if spec.form == "paper" else (dinput, other)
            steps = _steps(
                sizes[chunk], dy[rows], slopes, dnorms, dhiddens, a, *stats, shared=(dh,)
            )
            for k in _order(steps, not reverse):
                dy_t, slope, dnorm, dhidden, a_t, *stats_t, dh_t = steps[k]
                dh_t.add_(dy_t)
                torch.mul(slope, dh_t, out=dnorm)
                dhidden.copy_(_norm_backward(dnorm, a_t, H, *stats_t, gain, bias))
                torch.mm(dhidden, weight, out=dh_t)
            if dweight is not None:
                dweight.addmm_(dhiddens.t(), torch.cat(before[chunk], out=h_before))
            _add_norm_gradients(gain, bias, dgain, dbias, dnorms, a, *stats)
        return dinputs, dh, dweight, dgain, dbias, *[None] * 3
