"""The recurrences of :mod:`.reference` on a GPU, one Triton kernel and one product per time step.

A time step is two kernels forward and two backward: the product by ``W_h``, from the library, and
one Triton kernel for all that is left of the step, the norms, the gates and the cell
(:mod:`.triton.steps`). The gradient of ``W_h`` is one product after the loop. Sequences of
different lengths run as one rectangle, in which a row that has ended keeps its state.

Each kernel is started from Python. For short steps that costs more than the arithmetic;
``torch.compile(module, mode="reduce-overhead")`` records the operations of :mod:`.reference`
as CUDA graphs instead.

float16 and bfloat16: statistics, gates and the cell are computed in float32, and the cell is
carried in float32; the products, ``h`` and what backward needs have the short dtype.
Autocast does the same to float32 weights.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from lnlib.nn.kernels import autograd
from lnlib.nn.kernels.once_differentiable import once_differentiable
from lnlib.nn.kernels.spec import Norm, Spec
from lnlib.nn.kernels.triton import steps
from lnlib.nn.kernels.triton.arithmetic import triton
from lnlib.nn.kernels.triton.steps import Weights

MAX_HIDDEN = 4096  # units of a row that one program of a Triton kernel can hold in its registers
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)

Named = dict[str, Tensor]


def available() -> bool:
    """Return whether PyTorch sees a CUDA GPU and Triton is installed."""
    return torch.cuda.is_available() and triton is not None


def supports(inputs: Tensor, *others: Tensor) -> bool:
    """Return whether tensors like these can run here: floats, all on one GPU."""
    return (
        inputs.is_cuda
        and inputs.numel() > 0
        and inputs.dtype in FLOATS
        and all(t.device == inputs.device for t in others)
    )


def run(
    spec: Spec,
    inputs: Tensor,
    batch_sizes: Sequence[int],
    state: Sequence[Tensor],
    weight_hh: Tensor,
    norms: Sequence[Norm],
) -> tuple[Tensor, ...]:
    """Run a recurrence as :func:`.reference.run` does; same arguments, same results.

    The sequences are laid out as a rectangle that is walked forwards. More than ``MAX_HIDDEN``
    units do not fit into a kernel and run by :mod:`.autograd`.
    """
    if state[0].shape[1] > MAX_HIDDEN:
        return autograd.run(spec, inputs, batch_sizes, state, weight_hh, norms)
    h, c = state if len(state) == 2 else (*state, None)
    *norms, norm_c = norms if spec.kind == "lstm" else (*norms, None)
    reverse, spec = spec.reverse, replace(spec, reverse=False)
    T, B, H = len(batch_sizes), batch_sizes[0], h.shape[1]
    present = [t for t in (inputs, h, c, weight_hh) if t is not None]
    result = functools.reduce(torch.promote_types, [t.dtype for t in present])
    dtype = result
    if torch.is_autocast_enabled(inputs.device.type) and result != torch.float64:
        dtype = torch.get_autocast_dtype(inputs.device.type)
    wide = torch.promote_types(dtype, torch.float32)

    x, rows, running = inputs, None, None
    if batch_sizes[-1] < B:
        sizes = torch.tensor(batch_sizes)
        rows = (torch.arange(B) < sizes[:, None]).flatten().nonzero()[:, 0].to(x.device)
        running = (sizes.flip(0) if reverse else sizes).to(x.device, torch.int32)
        x = x.new_zeros(T * B, x.shape[1]).index_copy(0, rows, x)
    x = x.unflatten(0, (T, B))
    x = (x.flip(0) if reverse else x).contiguous()

    # The gates of an LSTM have one gain and bias, which without a norm are not read.
    widths = [H * spec.parts] if spec.kind == "lstm" else [H * n for n in spec.norms]
    norms = norms or [(None, None)]
    norms = [_fill(norm, n, x, wide) for norm, n in zip(norms, widths, strict=True)]
    gain, bias = (torch.cat(part) for part in zip(*norms, strict=True))
    gain_c, bias_c = (None, None) if norm_c is None else _fill(norm_c, H, x, wide)
    w = Weights(weight_hh.to(dtype).contiguous(), gain, bias, gain_c, bias_c)
    c = None if c is None else c.to(wide)
    tensors = (x, h.to(dtype), c, *w)
    differentiable = [t for t in tensors if t is not None and t.requires_grad]
    keep = torch.is_grad_enabled() and bool(differentiable)
    # Empty, with the history of all: through it a second derivative finds its refusal.
    history = torch.cat([t.reshape(-1)[:0].to(wide) for t in differentiable]) if keep else None
    with torch.cuda.device_of(x), torch.autocast(x.device.type, enabled=False):
        outputs, *last = _Sequence.apply(spec, keep, running, history, *tensors)
    outputs = (outputs.flip(0) if reverse else outputs).flatten(0, 1)
    outputs = outputs if rows is None else outputs.index_select(0, rows)
    return tuple(t.to(result) for t in (outputs, *last))


def _fill(norm: Norm, width: int, like: Tensor, dtype: torch.dtype) -> list[Tensor]:
    """Return the gain and the bias, ones and zeros where there is none."""
    gain, bias = norm
    return [
        like.new_ones(width, dtype=dtype) if gain is None else gain.to(dtype).contiguous(),
        like.new_zeros(width, dtype=dtype) if bias is None else bias.to(dtype).contiguous(),
    ]


class _Sequence(torch.autograd.Function):
    """The walk over time and back, with what the steps have in common taken out of the loops."""

    @staticmethod
    def forward(ctx, spec, keep, running, history, x, h, c, *weights):
        w = Weights(*weights)
        (T, B, _), H, dtype, wide = x.shape, h.shape[1], w.weight.dtype, w.gain.dtype
        states = {"h": x.new_empty(T + 1, B, H, dtype=dtype)}
        states["h"][0] = h
        widths = {"x_hat": (x.shape[2], dtype), "rstd": (spec.statistics, wide)}
        if spec.kind != "rnn":
            widths["gates"] = (x.shape[2], dtype)
        if c is not None:
            states["c"] = x.new_empty(T + 1, B, H, dtype=wide)
            states["c"][0] = c
            widths["cell_hat"] = (H, wide)
        # Without a backward pass every step writes over the one before.
        saved = {
            name: x.new_empty(T if keep else 1, B, n, dtype=d).expand(T, -1, -1)
            for name, (n, d) in widths.items()
        }
        _forward_steps(spec, w, x, running, states, saved)
        if keep:
            ctx.spec, ctx.x_dtype = spec, x.dtype
            ctx.names = tuple(states), tuple(saved)
            ctx.save_for_backward(running, history, *weights, *states.values(), *saved.values())
        # Copies, so that in-place changes by the caller do not reach what is saved for backward.
        return states["h"][1:].clone(), *(state[T].clone() for state in states.values())

    @staticmethod
    @once_differentiable
    def backward(ctx, d_out, *d_last):
        spec, needs = ctx.spec, ctx.needs_input_grad[4:]
        running, _, *tensors = ctx.saved_tensors
        w, tensors = Weights(*tensors[:5]), iter(tensors[5:])
        states, saved = (dict(zip(names, tensors, strict=False)) for names in ctx.names)
        h, x_hat = states["h"][:-1], saved["x_hat"]
        # The steps take memory as it lies: every tensor has to be contiguous.
        d_states = [d.clone(memory_format=torch.contiguous_format) for d in d_last]
        grads = {"d_gates": torch.empty_like(x_hat)}
        grads["d_product"] = torch.empty_like(x_hat) if spec.norms else grads["d_gates"]
        if "c" in states:
            grads["d_cell"] = torch.empty_like(saved["cell_hat"])
        with torch.autocast(h.device.type, enabled=False):
            d_out = d_out.contiguous()
            _backward_steps(spec, w, d_out, running, states, saved, d_states, grads)
            dx = grads["d_product" if spec.of_sum else "d_gates"].to(ctx.x_dtype)
            dw = dgain = dbias = dgain_c = dbias_c = dc = None
            if needs[3]:
                dw = grads["d_product"].flatten(0, 1).t() @ h.flatten(0, 1)
            if needs[4] or needs[5]:
                d = grads["d_gates"].to(w.gain.dtype)
                if spec.kind == "gru":  # r scales the candidate's norm
                    H = h.shape[2]
                    r = saved["gates"][..., :H]
                    d = torch.cat((d[..., : 2 * H], d[..., 2 * H :] * r), -1)
                dgain, dbias = (d * x_hat).sum((0, 1)), d.sum((0, 1))
            if "c" in states:
                dc = d_states[1]
                if needs[6] or needs[7]:
                    d = grads["d_cell"]
                    dgain_c, dbias_c = (d * saved["cell_hat"]).sum((0, 1)), d.sum((0, 1))
        return (*[None] * 4, dx, d_states[0], dc, dw, dgain, dbias, dgain_c, dbias_c)


def _forward_steps(
    spec: Spec, w: Weights, x: Tensor, running: Tensor | None, states: Named, saved: Named
) -> None:
    """Fill ``states`` (T + 1 of each, the first given) and ``saved`` (T of each)."""
    weight_t = w.weight.t()
    for t in range(len(x)):
        now = {name: tensor[t] for name, tensor in saved.items()} | {"x": x[t]}
        now["product"] = now["x_hat"]  # which overwrites it
        torch.mm(states["h"][t], weight_t, out=now["product"])
        for name, state in states.items():
            now |= {f"{name}_prev": state[t], name: state[t + 1]}
        steps.take("forward", spec, w, _at(running, t), now)


def _backward_steps(
    spec: Spec,
    w: Weights,
    d_out: Tensor,
    running: Tensor | None,
    states: Named,
    saved: Named,
    d_states: list[Tensor],
    grads: Named,
) -> None:
    """Fill ``grads`` (T of each); ``d_states`` is of the last states, then of the first."""
    tensors = saved | grads | {"d_out": d_out}
    for name, state in states.items():
        tensors |= {f"{name}_prev": state[:-1], name: state[1:]}
    names = steps.KERNELS[spec.kind, "backward"].arg_names
    tensors = {name: tensor for name, tensor in tensors.items() if name in names}
    d_state = dict(zip(("dh", "dc"), d_states, strict=False))
    for t in reversed(range(len(d_out))):
        now = {name: tensor[t] for name, tensor in tensors.items()} | d_state
        steps.take("backward", spec, w, _at(running, t), now)
        d_states[0].addmm_(now["d_product"], w.weight)


def _at(running: Tensor | None, t: int) -> Tensor | None:
    return None if running is None else running[t]
