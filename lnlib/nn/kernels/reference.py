"""The recurrences as plain loops in PyTorch operations: one step is one equation, autograd follows.

Every other file in this folder computes the same, faster; this one is what they are held to. It is
also the one that can be differentiated twice, run under ``vmap`` and on any device and dtype.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from lnlib.nn.functional import _affine
from lnlib.nn.kernels.spec import Norm, Spec

Step = Callable[..., tuple[Tensor, ...]]


class InputProduct(NamedTuple):
    """What the data are taken through before the loop: ``LN(weight x) + bias``.

    There is no norm, one, or two for a GRU: that of r and z, and that of n.
    """

    weight: Tensor
    bias: Tensor | None
    norms: tuple[Norm, ...]

    def inputs(self, data: Tensor, eps: float) -> Tensor:
        """Return what :func:`run` takes."""
        weight, b, norms = self
        if not norms:
            return F.linear(data, weight, b)
        if len(norms) == 1 and callable(norms[0]):
            parts = norms[0](F.linear(data, weight))
            return parts if b is None else parts + b
        if len(norms) == 1:
            gain, bias = norms[0]
            if b is not None:  # eq. 20 has b outside; there is no need for a second pass to add it
                bias = b if bias is None else bias + b
            norms = ((gain, bias),)
        # Eqs. 26 and 27 normalize r and z together, and n alone.
        H = len(weight) // 3
        weights = weight.split([2 * H, H]) if len(norms) == 2 else (weight,)
        parts = [
            normalize(F.linear(data, w), norm, eps) for w, norm in zip(weights, norms, strict=True)
        ]
        return torch.cat(parts, 1) if len(parts) > 1 else parts[0]


def run(
    spec: Spec,
    inputs: Tensor,
    batch_sizes: Sequence[int],
    state: Sequence[Tensor],
    weight_hh: Tensor,
    norms: Sequence[Norm],
) -> tuple[Tensor, ...]:
    """Run a recurrence over time; every implementation has this function.

    The sequences lie packed, one row a time step of one sequence: ``(N, ...)`` with the rows of
    step ``t`` together, ``batch_sizes[t]`` of them. Sequences that are shorter than others come
    last in every step, so that ``batch_sizes`` never grows. Equal lengths are the case of equal
    sizes.

    Args:
        spec: Which recurrence; G is its number of gates.
        inputs: The part that needs no loop, ``W_x x`` of all steps at once, already normalized and
            with its biases where the form has them there, ``(N, G H)``.
        batch_sizes: Sequences that are still running, for each step; their sum is N.
        state: ``h``, and for an LSTM ``c``, before the first step, each of shape ``(B, H)`` with
            ``B = batch_sizes[0]``.
        weight_hh: Shape ``(G H, H)``.
        norms: Gain and bias of the norm behind ``weight_hh``, if the form has one; then a GRU's of
            the candidate, or an LSTM's of the cell.

    Returns:
        The outputs ``(N, H)`` in the order of ``inputs``, and the last state of each sequence.
    """
    step = STEPS[spec.kind](spec, weight_hh, norms)
    # Split at once: the backward of inputs[t] would fill a whole sequence of zeros at every step.
    rows = inputs.split(list(batch_sizes))
    outputs: list[Tensor] = [inputs] * len(rows)
    state = tuple(state)
    for t in reversed(range(len(rows))) if spec.reverse else range(len(rows)):
        running = rows[t].shape[0]  # not len: an exported batch may be of any size
        new = step(rows[t], *(s[:running] for s in state))
        outputs[t] = new[0]  # the first of a state is its output
        # A sequence that has ended, or not begun in reverse, keeps its state.
        state = tuple(
            torch.cat((n, s[running:])) if running < s.shape[0] else n
            for n, s in zip(new, state, strict=True)
        )
    return torch.cat(outputs), *state


def lstm(spec: Spec, weight_hh: Tensor, norms: Sequence[Norm]) -> Step:
    """Return the step of an LSTM; gates i, f, g, o. Ba, Kiros & Hinton (2016), eqs. 20-22, 29-31.

    ::

        paper     gates = inputs + LN(W_h h)        c = s(f) c + s(i) tanh(g)
        carried   the same                          c = LN(s(f) c + s(i) tanh(g))
        per_gate  gates = LN(inputs + W_h h), each of the four alone
        draw      gates = inputs + W_h h
                  h = s(o) tanh(LN(c)); carried, where c is normalized already: s(o) tanh(c)
    """
    (*norm_h, norm_c), eps = norms, spec.eps

    def step(x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        hidden = h @ weight_hh.t()
        if spec.form == "per_gate":
            gates = normalize(x + hidden, *norm_h, eps, groups=4)
        elif spec.form == "draw":
            gates = x + hidden
        else:
            gates = x + normalize(hidden, *norm_h, eps)
        i, f, g, o = gates.chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        normalized = normalize(c, norm_c, eps)
        if spec.form == "carried":
            c = normalized
        return o.sigmoid() * normalized.tanh(), c

    return step


def gru(spec: Spec, weight_hh: Tensor, norms: Sequence[Norm]) -> Step:
    """Return the step of a GRU; gates r, z, then the candidate n. Eqs. 26-28.

    ::

        r, z = inputs[r, z] + LN(W_h h)
        n    = tanh(inputs[n] + s(r) LN(U h))
        h    = (1 - s(z)) h + s(z) n

    ``weight_hh`` is ``W_h`` and below it ``U``.
    """
    (norm_h, norm_hn), H, eps = norms, weight_hh.shape[1], spec.eps

    def step(x: Tensor, h: Tensor) -> tuple[Tensor]:
        # Not tensor_split, of which the older ONNX exporter makes a graph that does not run.
        x_gates, x_candidate = x.split([2 * H, H], 1)
        gates, candidate = (h @ weight_hh.t()).split([2 * H, H], 1)
        r, z = (x_gates + normalize(gates, norm_h, eps)).sigmoid().chunk(2, 1)
        n = (x_candidate + r * normalize(candidate, norm_hn, eps)).tanh()
        h = (1 - z) * h + z * n
        return (h,)

    return step


def rnn(spec: Spec, weight_hh: Tensor, norms: Sequence[Norm]) -> Step:
    """Return the step of a simple recurrent network. Eq. 4.

    ::

        paper  h = f(LN(inputs + W_h h))
        parts  h = f(inputs + LN(W_h h))
    """
    activate = {"tanh": torch.tanh, "relu": torch.relu}[spec.nonlinearity]
    (norm,), eps = norms, spec.eps

    def step(x: Tensor, h: Tensor) -> tuple[Tensor]:
        hidden = h @ weight_hh.t()
        if spec.form == "paper":
            h = activate(normalize(x + hidden, norm, eps))
        else:
            h = activate(x + normalize(hidden, norm, eps))
        return (h,)

    return step


STEPS = {"lstm": lstm, "gru": gru, "rnn": rnn}


def normalize(x: Tensor, norm: Norm, eps: float, groups: int = 1) -> Tensor:
    """Return LN(x) over the columns, or over each of the ``groups`` of them alone."""
    if callable(norm):
        return norm(x)
    if groups == 1:
        return F.layer_norm(x, x.shape[1:], *norm, eps)
    parts = F.layer_norm(x.unflatten(1, (groups, -1)), (x.shape[1] // groups,), eps=eps)
    return _affine(parts.flatten(1), *norm)
