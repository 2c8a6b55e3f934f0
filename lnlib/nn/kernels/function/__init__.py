"""The recurrences with the gradient by hand: one ``autograd.Function`` a sequence, not one a step.

What is faster than in :mod:`.plain`:

- The loop forward writes into buffers of the whole sequence, and leaves autograd nothing to record.
- The loop backward does only what has to wait for the later step. The slopes of the gates need no
  gradient, so they come before it, and the gradients of ``weight_hh`` and of the norms, sums over
  all steps, after it: each for a chunk of steps at once.
- Where no gradient is wanted, the buffers hold one step.

float16 and bfloat16 are computed in float32. It runs on every device, with public operators alone.
It cannot be differentiated twice; :mod:`.plain` can.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from lnlib.nn.kernels.function.gru import _GRU
from lnlib.nn.kernels.function.lstm import _LSTM
from lnlib.nn.kernels.function.rnn import _RNN
from lnlib.nn.kernels.spec import Norm, Spec

FUNCTIONS = {"lstm": _LSTM, "gru": _GRU, "rnn": _RNN}


def run(
    spec: Spec,
    inputs: Tensor,
    batch_sizes: Sequence[int],
    state: Sequence[Tensor],
    weight_hh: Tensor,
    norms: Sequence[Norm],
) -> tuple[Tensor, ...]:
    """Return what :func:`.plain.run` does, computed in at least float32."""
    if spec.form == "draw":
        norms = ((None, None), *norms)
    tensors = (inputs, *state, weight_hh, *(p for norm in norms for p in norm))
    given = [t for t in tensors if t is not None]
    dtype = given[0].dtype
    for t in given[1:]:
        dtype = torch.promote_types(dtype, t.dtype)
    wide = torch.promote_types(dtype, torch.float32)
    # Whether to prepare a gradient: inside it cannot be known.
    keep = torch.is_grad_enabled() and any(t.requires_grad for t in given)
    tensors = [t if t is None else t.to(wide) for t in tensors]
    results = FUNCTIONS[spec.kind].apply(*tensors, spec, list(batch_sizes), keep)
    return tuple(r.to(dtype) for r in results)
