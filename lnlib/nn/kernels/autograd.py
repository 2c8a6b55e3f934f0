"""The recurrences with the gradient by hand: one ``autograd.Function`` a sequence, not one a step.

What is faster than in :mod:`.reference`:

- The loop forward writes into buffers of the whole sequence, and leaves autograd nothing to record.
- The loop backward does only what has to wait for the later step. The slopes of the gates need no
  gradient, so they come before it, and the gradients of ``weight_hh`` and of the norms, sums over
  all steps, after it: each for a chunk of steps at once.
- Where no gradient is wanted, the buffers hold one step.

float16 and bfloat16 are computed in float32. It runs on every device, with public operators alone.
It cannot be differentiated twice; :mod:`.reference` can.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from lnlib.nn.functional import _affine
from lnlib.nn.kernels.autograd_norms import (
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
from lnlib.nn.kernels.once_differentiable import once_differentiable
from lnlib.nn.kernels.spec import Norm, Spec


def run(
    spec: Spec,
    inputs: Tensor,
    batch_sizes: Sequence[int],
    state: Sequence[Tensor],
    weight_hh: Tensor,
    norms: Sequence[Norm],
) -> tuple[Tensor, ...]:
    """Return what :func:`.reference.run` does, computed in at least float32."""
    if spec.form == "draw":
        norms = ((None, None), *norms)
    tensors = (inputs, *state, weight_hh, *(p for norm in norms for p in norm))
    present = [t for t in tensors if t is not None]
    dtype = present[0].dtype
    for t in present[1:]:
        dtype = torch.promote_types(dtype, t.dtype)
    wide = torch.promote_types(dtype, torch.float32)
    # Whether to prepare a gradient: inside it cannot be known.
    keep = torch.is_grad_enabled() and any(t.requires_grad for t in present)
    tensors = [t if t is None else t.to(wide) for t in tensors]
    results = _FUNCTIONS[spec.kind].apply(*tensors, spec, list(batch_sizes), keep)
    return tuple(r.to(dtype) for r in results)


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
        h, c, weight, gain_h, bias_h, gain_c, bias_c, *saved = ctx.saved_tensors
        hidden, gates, cells, carried, tanhs, outputs, mean_h, rstd_h, mean_c, rstd_c = saved
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
            slopes, spare, slope_y, dcells, before = _cut(slice(rows.stop - rows.start), *scratch)
            i, f, g, o = gates[rows].chunk(4, 1)
            tanh, cell, dinput = tanhs[rows], cells[rows], dinputs[rows]
            slope_i, slope_f, slope_g, slope_o = slopes.chunk(4, 1)
            _sigmoid_slope(g, i, grad_input=slope_i)
            _sigmoid_slope(torch.cat(c_before[chunk], out=before), f, grad_input=slope_f)
            _tanh_slope(i, g, grad_input=slope_g)
            _sigmoid_slope(tanh, o, grad_input=slope_o)
            _tanh_slope(o, tanh, grad_input=slope_y)
            a = dinput if form == "draw" else hidden[rows]
            dgates = spare if form == "per_gate" else dinput
            dhiddens = spare if form in ("paper", "carried") else dinput
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
        h, weight, gain_h, bias_h, gain_n, bias_n, *saved = ctx.saved_tensors
        hidden_h, hidden_n, gates, outputs, mean_h, rstd_h, mean_n, rstd_n = saved
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
            slopes, spare, h_before = _cut(slice(rows.stop - rows.start), *scratch)
            y, a, dinput, stats = outputs[rows], summed[rows], dinputs[rows], _cut(rows, mean, rstd)
            if spec.nonlinearity == "tanh":
                torch.mul(y, y, out=slopes).neg_().add_(1)
            else:
                torch.sign(y, out=slopes)
            dnorms, dhiddens = (spare, dinput) if spec.form == "paper" else (dinput, spare)
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


_FUNCTIONS = {"lstm": _LSTM, "gru": _GRU, "rnn": _RNN}
