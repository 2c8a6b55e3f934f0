"""An LSTM and its gradient."""

from __future__ import annotations

import torch

from lnlib.nn.kernels.function.rows import (
    _add_norm_gradients,
    _affine,
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


class _LSTM(torch.autograd.Function):
    """Eqs. 20-22 and 29-31, forward and backward."""

    @staticmethod
    def forward(ctx, inputs, h, c, weight, gain_h, bias_h, gain_c, bias_c, spec, sizes, keep):
        form, eps, reverse = spec.form, spec.eps, spec.reverse
        H = h.shape[1]
        outputs = inputs.new_empty(len(inputs), H)
        hidden = None if form == "draw" else _buffer(inputs, 4 * H, sizes, keep)
        gates, cells, tanhs = (_buffer(inputs, w, sizes, keep) for w in (4 * H, H, H))
        carried = _buffer(inputs, H, sizes, keep) if form == "carried" else cells
        columns = [gates[:, a * H : b * H] for a, b in ((0, 2), (0, 1), (1, 2), (2, 3), (3, 4))]
        steps = _steps(sizes, inputs, hidden, gates, *columns, cells, carried, tanhs, outputs)
        stats_h, stats_c = _empty(steps), _empty(steps)
        weight_t = _transpose(weight, sizes)
        h_t, c_t = h, c
        for t in _order(sizes, reverse):
            x, a, gate, i_f, i, f, g, o, cell, c_next, tanh, h_next = steps[t]
            h_t, c_t = _fit(h_t, h, sizes[t]), _fit(c_t, c, sizes[t])
            if form == "draw":
                torch.addmm(x, h_t, weight_t, out=gate)
            elif form == "per_gate":
                torch.addmm(x, h_t, weight_t, out=a)
                y, *stats_h[t] = _layer_norm(a.view(-1, 4, H), (H,), None, None, eps)
                gate.copy_(_affine(y.view(-1, 4 * H), gain_h, bias_h))
            else:
                torch.mm(h_t, weight_t, out=a)
                y, *stats_h[t] = _layer_norm(a, (4 * H,), gain_h, bias_h, eps)
                torch.add(x, y, out=gate)
            i_f.sigmoid_()
            g.tanh_()
            o.sigmoid_()
            torch.mul(f, c_t, out=cell)
            cell.addcmul_(i, g)
            y, *stats_c[t] = _layer_norm(cell, (H,), gain_c, bias_c, eps)
            if form == "carried":
                c_next.copy_(y)
            torch.tanh(y, out=tanh)
            torch.mul(o, tanh, out=h_next)
            h_t, c_t = h_next, c_next
        h_n = _last(outputs, sizes, reverse)
        if not keep:
            return outputs, h_n, carried  # a sequence that has ended leaves its row alone
        ctx.spec, ctx.sizes = spec, sizes
        ctx.save_for_backward(
            *(h, c, weight, gain_h, bias_h, gain_c, bias_c),
            *(hidden, gates, cells, carried, tanhs, outputs),
            *_stack(stats_h),
            *_stack(stats_c),
        )
        return outputs, h_n, _last(carried, sizes, reverse)

    @staticmethod
    @once_differentiable
    def backward(ctx, dy, dh_n, dc_n):
        spec, sizes = ctx.spec, ctx.sizes
        form, reverse = spec.form, spec.reverse
        h, c, weight, gain_h, bias_h, gain_c, bias_c, *kept = ctx.saved_tensors
        hidden, gates, cells, carried, tanhs, outputs, mean_h, rstd_h, mean_c, rstd_c = kept
        H = h.shape[1]
        params = (weight, gain_h, bias_h, gain_c, bias_c)
        dweight, dgain_h, dbias_h, dgain_c, dbias_c = _zeros(params, ctx.needs_input_grad[3:])
        dinputs = torch.empty_like(gates)
        dh, dc = _copy(dh_n), _copy(dc_n)  # a row waits here until its sequence is reached
        h_before = _before(outputs, h, sizes, reverse)
        c_before = _before(carried, c, sizes, reverse)
        chunks = _chunks(sizes, reverse)
        scratch = _scratch(gates, chunks, 4 * H, 4 * H, H, H, H)
        for chunk, rows in chunks:
            slopes, other, slope_y, dcells, before = _cut(slice(rows.stop - rows.start), *scratch)
            i, f, g, o = gates[rows].chunk(4, 1)
            tanh, cell, dinput = tanhs[rows], cells[rows], dinputs[rows]
            slope_i, slope_f, slope_g, slope_o = slopes.chunk(4, 1)
            _sigmoid_slope(g, i, grad_input=slope_i)
            _sigmoid_slope(torch.cat(c_before[chunk], out=before), f, grad_input=slope_f)
            _tanh_slope(i, g, grad_input=slope_g)
            _sigmoid_slope(tanh, o, grad_input=slope_o)
            _tanh_slope(o, tanh, grad_input=slope_y)
            a = dinput if form == "draw" else hidden[rows]
            dgates = other if form == "per_gate" else dinput
            dhiddens = other if form in ("paper", "carried") else dinput
            slope_ifg, dgates_ifg = (s.view(-1, 4, H)[:, :3] for s in (slopes, dgates))
            steps = _steps(
                sizes[chunk],
                *(dy[rows], slope_ifg, slope_o, slope_y, f),
                *(dgates, dgates_ifg, dgates[:, 3 * H :], dcells, dhiddens),
                *(a, *_cut(rows, mean_h, rstd_h), cell, *_cut(rows, mean_c, rstd_c)),
                shared=(dh, dc),
            )
            for k in _order(steps, not reverse):
                dy_t, slope_ifg, slope_o, slope_y, f, *views = steps[k]
                dgate, dgate_ifg, dgate_o, dnorm, dhidden, a_t, mean, rstd, cell_t, *views = views
                *stats, dh_t, dc_t = views
                dh_t.add_(dy_t)
                torch.mul(slope_o, dh_t, out=dgate_o)
                if form == "carried":
                    torch.addcmul(dc_t, slope_y, dh_t, out=dnorm)
                    dcell = _norm_backward(dnorm, cell_t, H, *stats, gain_c, bias_c)
                else:
                    torch.mul(slope_y, dh_t, out=dnorm)
                    dcell = _norm_backward(dnorm, cell_t, H, *stats, gain_c, bias_c).add_(dc_t)
                torch.mul(slope_ifg, dcell.unsqueeze(1), out=dgate_ifg)
                torch.mul(dcell, f, out=dc_t)
                if form == "per_gate":
                    dgate, a_t = _affine(dgate, gain_h, None).view(-1, 4, H), a_t.view(-1, 4, H)
                    dgate = _norm_backward(dgate, a_t, H, mean, rstd, None, None)
                    dhidden.copy_(dgate.view(-1, 4 * H))
                elif form != "draw":
                    dgate = _norm_backward(dgate, a_t, 4 * H, mean, rstd, gain_h, bias_h)
                    dhidden.copy_(dgate)
                torch.mm(dhidden, weight, out=dh_t)
            if dweight is not None:
                dweight.addmm_(dhiddens.t(), torch.cat(h_before[chunk], out=before))
            if form != "draw":
                norm_h = (gain_h, bias_h, dgain_h, dbias_h)
                _add_norm_gradients(*norm_h, dgates, a, *_cut(rows, mean_h, rstd_h))
            norm_c = (gain_c, bias_c, dgain_c, dbias_c)
            _add_norm_gradients(*norm_c, dcells, cell, *_cut(rows, mean_c, rstd_c))
        return dinputs, dh, dc, dweight, dgain_h, dbias_h, dgain_c, dbias_c, *[None] * 3
