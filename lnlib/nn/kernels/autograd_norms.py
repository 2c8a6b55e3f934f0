"""Steps and the rows that belong to them; the norm, its gradients, and what they need."""

from collections.abc import Sequence

import torch
from torch import Tensor

# Rows of a chunk: enough for an efficient product, few enough to stay in the cache.
CHUNK = 1024

_layer_norm = torch.native_layer_norm
_layer_norm_backward = torch.ops.aten.native_layer_norm_backward.default
_sigmoid_slope = torch.ops.aten.sigmoid_backward.grad_input  # (dy, y) -> dy y (1 - y)
_tanh_slope = torch.ops.aten.tanh_backward.grad_input  # (dy, y) -> dy (1 - y^2)
_DX = [True, False, False]


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
    needs_grad = [p is not None and n for p, n in zip(params, needed, strict=False)]
    return [torch.zeros_like(p) if w else None for p, w in zip(params, needs_grad, strict=True)]


def _norm_backward(dy, x, features, mean, rstd, gain, bias) -> Tensor:
    return _layer_norm_backward(dy, x, [features], mean, rstd, gain, bias, _DX)[0]


def _add_norm_gradients(gain, bias, dgain, dbias, dy, x, mean, rstd) -> None:
    """Add ``sum(dy * x_hat)`` and ``sum(dy)`` over the rows, for each group of columns alone."""
    needs_grad = [False, dgain is not None, dbias is not None]
    if not any(needs_grad):
        return
    groups = mean.shape[1]
    features = x.shape[1] // groups
    for k in range(groups):
        columns = slice(k * features, (k + 1) * features)
        norm = [p if p is None else p[columns] for p in (gain, bias)]
        stats = [s.reshape(len(x), groups)[:, k : k + 1].contiguous() for s in (mean, rstd)]
        arguments = (dy[:, columns], x[:, columns], [features], *stats, *norm)
        _, *sums = _layer_norm_backward(*arguments, needs_grad)
        for total, part in zip((dgain, dbias), sums, strict=True):
            if total is not None:
                total[columns].add_(part)
