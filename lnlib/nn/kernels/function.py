"""The recurrences with the gradient by hand: one ``autograd.Function`` a sequence, not one a step.

Signatures, forms and results are those of :mod:`.plain`, where they are documented. What is faster:

- The loop forward writes into buffers of the whole sequence, and leaves autograd nothing to record.
- The loop backward does only what has to wait for the later step. The slopes of the gates need no
  gradient, so they come before it, and the gradients of ``weight_hh`` and of the norms, sums over
  all steps, after it: each for a chunk of steps at once.
- Where no gradient is wanted, the buffers hold one step.

float16 and bfloat16 are computed in float32. It runs on every device, with public operators alone.
It cannot be differentiated twice; :mod:`.plain` can.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps

import torch
from torch import Tensor

from lnlib.nn.kernels.plain import Norm

# Rows of a chunk: enough for an efficient product, few enough to stay in the cache.
CHUNK = 1024

_layer_norm = torch.native_layer_norm
_layer_norm_backward = torch.ops.aten.native_layer_norm_backward.default
_sigmoid_slope = torch.ops.aten.sigmoid_backward.grad_input  # (dy, y) -> dy y (1 - y)
_tanh_slope = torch.ops.aten.tanh_backward.grad_input  # (dy, y) -> dy (1 - y^2)
_DX = [True, False, False]


def lstm(
    inputs: Tensor,
    batch_sizes: Sequence[int],
    h: Tensor,
    c: Tensor,
    weight_hh: Tensor,
    norm_h: Norm | None,
    norm_c: Norm,
    *,
    form: str = "paper",
    eps: float = 1e-5,
    reverse: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return what :func:`.plain.lstm` does."""
    tensors = (inputs, h, c, weight_hh, *(norm_h or (None, None)), *norm_c)
    return _apply(_LSTM, tensors, batch_sizes, eps, reverse, form)


def gru(
    inputs: Tensor,
    batch_sizes: Sequence[int],
    h: Tensor,
    weight_hh: Tensor,
    norm_h: Norm,
    norm_hn: Norm,
    *,
    eps: float = 1e-5,
    reverse: bool = False,
) -> tuple[Tensor, Tensor]:
    """Return what :func:`.plain.gru` does."""
    return _apply(
        _GRU, (inputs, h, weight_hh, *norm_h, *norm_hn), batch_sizes, eps, reverse, "paper"
    )


def rnn(
    inputs: Tensor,
    batch_sizes: Sequence[int],
    h: Tensor,
    weight_hh: Tensor,
    norm: Norm,
    *,
    form: str = "paper",
    nonlinearity: str = "tanh",
    eps: float = 1e-5,
    reverse: bool = False,
) -> tuple[Tensor, Tensor]:
    """Return what :func:`.plain.rnn` does."""
    tensors = (inputs, h, weight_hh, *norm)
    return _apply(_RNN, tensors, batch_sizes, eps, reverse, (form, nonlinearity))


def _apply(function, tensors, batch_sizes, eps, reverse, form) -> tuple[Tensor, ...]:
    """Call the function in at least float32, and say whether it has to prepare a gradient."""
    given = [t for t in tensors if t is not None]
    dtype = given[0].dtype
    for t in given[1:]:
        dtype = torch.promote_types(dtype, t.dtype)
    wide = torch.promote_types(dtype, torch.float32)
    keep = torch.is_grad_enabled() and any(t.requires_grad for t in given)
    tensors = [t if t is None else t.to(wide) for t in tensors]
    results = function.apply(*tensors, list(batch_sizes), eps, reverse, form, keep)
    return tuple(r.to(dtype) for r in results)


def once_differentiable(backward: Callable) -> Callable:
    """Refuse a second derivative of what ``backward`` returns.

    PyTorch's decorator of this name refuses only where ``dy`` itself needs a gradient. Behind
    ``output.sum()`` it does not, and the second derivative would come out wrong in silence. Here
    the refusal lies on the way to every saved tensor. One of them has to be an output: behind it
    stand the inputs that are not saved themselves.
    """

    @wraps(backward)
    def first(ctx, *dys: Tensor) -> tuple[Tensor | None, ...]:
        with torch.no_grad():
            gradients = backward(ctx, *dys)
        if not torch.is_grad_enabled():  # as it is with create_graph=True
            return gradients
        history = [t for t in ctx.saved_tensors if t is not None and t.requires_grad]
        return _Refusal.apply(len(history), *history, *gradients)

    return first


class _Refusal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, skip, *tensors):
        return tensors[skip:]

    @staticmethod
    def backward(ctx, *_):
        raise RuntimeError(
            "lnlib.nn: a fast recurrence is once_differentiable; for a second derivative, take "
            'implementation="plain"'
        )


class _LSTM(torch.autograd.Function):
    """Eqs. 20-22 and 29-31, forward and backward."""

    @staticmethod
    def forward(ctx, inputs, h, c, weight, gain_h, bias_h, gain_c, bias_c, *settings):
        sizes, eps, reverse, form, keep = settings
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
        ctx.settings = settings
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
        sizes, _, reverse, form, _ = ctx.settings
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
        return dinputs, dh, dc, dweight, dgain_h, dbias_h, dgain_c, dbias_c, *[None] * 5


class _GRU(torch.autograd.Function):
    """Eqs. 26-28, forward and backward."""

    @staticmethod
    def forward(ctx, inputs, h, weight, gain_h, bias_h, gain_n, bias_n, *settings):
        sizes, eps, reverse, _, keep = settings
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
            ctx.settings = settings
            ctx.save_for_backward(
                *(h, weight, gain_h, bias_h, gain_n, bias_n),
                *(hidden_h, hidden_n, gates, outputs, *_stack(stats_h), *_stack(stats_n)),
            )
        return outputs, _last(outputs, sizes, reverse)

    @staticmethod
    @once_differentiable
    def backward(ctx, dy, dh_n):
        sizes, eps, reverse, _, _ = ctx.settings
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
        return dinputs, dh, dweight, dgain_h, dbias_h, dgain_n, dbias_n, *[None] * 5


class _RNN(torch.autograd.Function):
    """Eq. 4, forward and backward."""

    @staticmethod
    def forward(ctx, inputs, h, weight, gain, bias, *settings):
        sizes, eps, reverse, (form, nonlinearity), keep = settings
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
            if form == "paper":
                torch.addmm(x, h_t, weight_t, out=a)
                y, *stats[t] = _layer_norm(a, (H,), gain, bias, eps)
            else:
                torch.mm(h_t, weight_t, out=a)
                y, *stats[t] = _layer_norm(a, (H,), gain, bias, eps)
                y.add_(x)
            if nonlinearity == "tanh":
                torch.tanh(y, out=h_next)
            else:
                torch.clamp_min(y, 0, out=h_next)
            h_t = h_next
        if keep:
            ctx.settings = settings
            ctx.save_for_backward(h, weight, gain, bias, summed, outputs, *_stack(stats))
        return outputs, _last(outputs, sizes, reverse)

    @staticmethod
    @once_differentiable
    def backward(ctx, dy, dh_n):
        sizes, _, reverse, (form, nonlinearity), _ = ctx.settings
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
            if nonlinearity == "tanh":
                torch.mul(y, y, out=slopes).neg_().add_(1)
            else:
                torch.sign(y, out=slopes)
            dnorms, dhiddens = (other, dinput) if form == "paper" else (dinput, other)
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
        return dinputs, dh, dweight, dgain, dbias, *[None] * 5


# Steps, and the rows that belong to them.


def _order(steps: Sequence, reverse: bool) -> range:
    return range(len(steps))[::-1] if reverse else range(len(steps))


def _buffer(like: Tensor, width: int, sizes: list[int], keep: bool) -> Tensor:
    """Make room for all steps, or for the largest of them, which the others then share."""
    return like.new_empty(sum(sizes) if keep else sizes[0], width)


def _steps(sizes: list[int], *buffers: Tensor | None, shared: Sequence[Tensor] = ()) -> list[tuple]:
    """Return for each step its rows of every buffer, then its rows of those the steps share."""
    total = sum(sizes)
    columns = []
    for b in (*buffers, *shared):
        if b is None:
            columns.append([None] * len(sizes))
        elif len(columns) < len(buffers) and len(b) == total:
            columns.append(b.split(sizes))
        else:
            views = {n: b[:n] for n in set(sizes)}
            columns.append([views[n] for n in sizes])
    return list(zip(*columns, strict=True))


def _chunks(sizes: list[int], reverse: bool) -> list[tuple[slice, slice]]:
    """Return the steps and the rows of each chunk, in the order of the backward pass."""
    length = CHUNK // sizes[0] if 0 < sizes[0] < CHUNK else 1
    starts = range(0, len(sizes), length)
    chunks, row = [], 0
    for start in starts:
        rows = sum(sizes[start : start + length])
        chunks.append((slice(start, start + length), slice(row, row + rows)))
        row += rows
    return chunks if reverse else chunks[::-1]


def _scratch(like: Tensor, chunks: list[tuple[slice, slice]], *widths: int) -> list[Tensor]:
    """Make room that all chunks share; fresh memory for each costs more than the work in it."""
    rows = max(rows.stop - rows.start for _, rows in chunks)
    return [like.new_empty(rows, width) for width in widths]


def _transpose(weight: Tensor, sizes: list[int]) -> Tensor:
    """Lay the transpose out in memory where the products gain more by it than the copy costs."""
    # Measured: up to twice as fast at a batch of 16, no faster at 128; the copy costs 5-20 steps.
    return weight.t().contiguous() if len(sizes) > 16 and sizes[0] <= 64 else weight.t()


def _fit(state: Tensor, initial: Tensor, running: int) -> Tensor:
    """Drop the rows of sequences that have ended; in reverse, add those that begin."""
    if running <= len(state):
        return state if running == len(state) else state[:running]
    return torch.cat((state, initial[len(state) : running]))


def _before(states: Tensor, initial: Tensor, sizes: list[int], reverse: bool) -> list[Tensor]:
    """Return the state that each step began with."""
    before, state, rows = [initial] * len(sizes), initial, states.split(sizes)
    for t in _order(sizes, reverse):
        before[t] = _fit(state, initial, sizes[t])
        state = rows[t]
    return before


def _last(states: Tensor, sizes: list[int], reverse: bool) -> Tensor:
    """Return the last state of each sequence: in reverse, all end together at the first step."""
    if reverse:
        return states[: sizes[0]].clone()
    if sizes[0] == sizes[-1]:
        return states[len(states) - sizes[0] :].clone()
    ends = zip(states.split(sizes), [*sizes[1:], 0], strict=True)
    return torch.cat([rows[n:] for rows, n in ends if n < len(rows)][::-1])


# The norm, its gradients, and what they need.


def _empty(steps: list) -> list:
    return [()] * len(steps)


def _stack(stats: list[Sequence[Tensor]]) -> tuple[Tensor | None, Tensor | None]:
    """Join the mean and the rstd of all steps."""
    mean, rstd = (torch.cat(s) for s in zip(*stats, strict=True)) if stats[0] else (None, None)
    return mean, rstd


def _cut(rows: slice, *tensors: Tensor | None) -> list[Tensor | None]:
    return [t if t is None else t[rows] for t in tensors]


def _copy(gradient: Tensor) -> Tensor:
    return gradient.clone(memory_format=torch.contiguous_format)


def _zeros(params: Sequence[Tensor | None], needed: Sequence[bool]) -> list[Tensor | None]:
    """Return room for the gradients that are wanted."""
    wanted = [p is not None and n for p, n in zip(params, needed, strict=False)]
    return [torch.zeros_like(p) if w else None for p, w in zip(params, wanted, strict=True)]


def _affine(x_hat: Tensor, gain: Tensor | None, bias: Tensor | None) -> Tensor:
    y = x_hat if gain is None else x_hat * gain
    return y if bias is None else y + bias


def _norm_backward(dy, x, features, mean, rstd, gain, bias) -> Tensor:
    return _layer_norm_backward(dy, x, [features], mean, rstd, gain, bias, _DX)[0]


def _add_norm_gradients(gain, bias, dgain, dbias, dy, x, mean, rstd) -> None:
    """Add ``sum(dy * x_hat)`` and ``sum(dy)`` over the rows, for each group of columns alone."""
    wanted = [False, dgain is not None, dbias is not None]
    if not any(wanted):
        return
    groups = mean.shape[1]
    features = x.shape[1] // groups
    for k in range(groups):
        columns = slice(k * features, (k + 1) * features)
        norm = [p if p is None else p[columns] for p in (gain, bias)]
        stats = [s.reshape(len(x), groups)[:, k : k + 1].contiguous() for s in (mean, rstd)]
        given = (dy[:, columns], x[:, columns], [features], *stats, *norm)
        _, *sums = _layer_norm_backward(*given, wanted)
        for total, part in zip((dgain, dbias), sums, strict=True):
            if total is not None:
                total[columns].add_(part)
