"""A GRU and its gradient."""

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
    _sigmoid_slope,
    _stack,
    _steps,
    _tanh_slope,
    _transpose,
    _zeros,
)
from lnlib.nn.kernels.once import once_differentiable


class _GRU(torch.autograd.Function):
    """Eqs. 26-28, forward and backward."""

    @staticmethod
    def forward(ctx, inputs, h, weight, gain_h, bias_h, gain_n, bias_n, spec, sizes, keep):
        eps, reverse = spec.eps, spec.reverse
        H = h.shape[1]
        outputs = inputs.new_empty(len(inputs), H)
        # Two products, not one: each norm wants its summed inputs contiguous.
        hidden_h, hidden_n, gates = (_buffer(inputs, k * H, sizes, keep) for k in (2, 1, 3))
        columns = [gates[:, a * H : b * H] for a, b in ((0, 2), (0, 1), (1, 2), (2, 3))]
        x = inputs.split((2 * H, H), 1)
        steps = _steps(sizes, *x, hidden_h, hidden_n, *columns, outputs)
        stats_h, stats_n = _empty(steps), _empty(steps)
        weight_h, weight_n = (_transpose(w, sizes) for w in weight.split((2 * H, H)))
        h_t = h
        for t in _order(sizes, reverse):
            x_h, x_n, a_h, a_n, r_z, r, z, n, h_next = steps[t]
            h_t = _fit(h_t, h, sizes[t])
            torch.mm(h_t, weight_h, out=a_h)
            y, *stats_h[t] = _layer_norm(a_h, (2 * H,), gain_h, bias_h, eps)
            torch.add(x_h, y, out=r_z)
            r_z.sigmoid_()
            torch.mm(h_t, weight_n, out=a_n)
            y, *stats_n[t] = _layer_norm(a_n, (H,), gain_n, bias_n, eps)
            torch.addcmul(x_n, r, y, out=n)
            n.tanh_()
            torch.lerp(h_t, n, z, out=h_next)
            h_t = h_next
        if keep:
            ctx.spec, ctx.sizes = spec, sizes
            ctx.save_for_backward(
                *(h, weight, gain_h, bias_h, gain_n, bias_n),
                *(hidden_h, hidden_n, gates, outputs, *_stack(stats_h), *_stack(stats_n)),
            )
        return outputs, _last(outputs, sizes, reverse)

    @staticmethod
    @once_differentiable
    def backward(ctx, dy, dh_n):
        spec, sizes = ctx.spec, ctx.sizes
        eps, reverse = spec.eps, spec.reverse
        h, weight, gain_h, bias_h, gain_n, bias_n, *kept = ctx.saved_tensors
        hidden_h, hidden_n, gates, outputs, mean_h, rstd_h, mean_n, rstd_n = kept
        H = h.shape[1]
        params = (weight, gain_h, bias_h, gain_n, bias_n)
        dweight, dgain_h, dbias_h, dgain_n, dbias_n = _zeros(params, ctx.needs_input_grad[2:])
        dinputs = torch.empty_like(gates)
        dh = _copy(dh_n)
        before = _before(outputs, h, sizes, reverse)
        weight_h, weight_n = weight.split((2 * H, H))
        chunks = _chunks(sizes, reverse)
        scratch = _scratch(gates, chunks, 3 * H, H, H, H, 2 * H, H)
        for chunk, rows in chunks:
            cut = _cut(slice(rows.stop - rows.start), *scratch)
            slopes, rests, dnorms, h_before, da_h, da_n = cut
            r, z, n = gates[rows].chunk(3, 1)
            a_h, a_n, dinput = hidden_h[rows], hidden_n[rows], dinputs[rows]
            stats_h, stats_n = _cut(rows, mean_h, rstd_h), _cut(rows, mean_n, rstd_n)
            torch.cat(before[chunk], out=h_before)
            y = _layer_norm(a_n, (H,), gain_n, bias_n, eps)[0]
            slope_r, slope_z, slope_n = slopes.chunk(3, 1)
            _sigmoid_slope(y, r, grad_input=slope_r)
            _sigmoid_slope(torch.sub(n, h_before, out=rests), z, grad_input=slope_z)
            _tanh_slope(z, n, grad_input=slope_n)
            torch.sub(1, z, out=rests)
            slope_zn, dinput_zn = (s.view(-1, 3, H)[:, 1:] for s in (slopes, dinput))
            dinput_r, _, dinput_n = dinput.chunk(3, 1)
            steps = _steps(
                sizes[chunk],
                *(dy[rows], slope_r, slope_zn, r, rests),
                *(dinput[:, : 2 * H], dinput_r, dinput_zn, dinput_n, dnorms, da_h, da_n),
                *(a_h, *stats_h, a_n, *stats_n),
                shared=(dh,),
            )
            for k in _order(steps, not reverse):
                dy_t, slope_r, slope_zn, r, rest, dgate, dgate_r, dgate_zn, *views = steps[k]
                dgate_n, dnorm, da_h_t, da_n_t, a_h_t, mean, rstd, a_n_t, *stats, dh_t = views
                dh_t.add_(dy_t)
                torch.mul(slope_zn, dh_t.unsqueeze(1), out=dgate_zn)
                torch.mul(slope_r, dgate_n, out=dgate_r)
                torch.mul(r, dgate_n, out=dnorm)
                da_h_t.copy_(_norm_backward(dgate, a_h_t, 2 * H, mean, rstd, gain_h, bias_h))
                da_n_t.copy_(_norm_backward(dnorm, a_n_t, H, *stats, gain_n, bias_n))
                dh_t.mul_(rest)
                dh_t.addmm_(da_h_t, weight_h)
                dh_t.addmm_(da_n_t, weight_n)
            if dweight is not None:
                dweight[: 2 * H].addmm_(da_h.t(), h_before)
                dweight[2 * H :].addmm_(da_n.t(), h_before)
            dgate = dinput[:, : 2 * H]
            _add_norm_gradients(gain_h, bias_h, dgain_h, dbias_h, dgate, a_h, *stats_h)
            _add_norm_gradients(gain_n, bias_n, dgain_n, dbias_n, dnorms, a_n, *stats_n)
        return dinputs, dh, dweight, dgain_h, dbias_h, dgain_n, dbias_n, *[None] * 3
