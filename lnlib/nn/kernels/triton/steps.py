"""One time step of the recurrences and its gradient as Triton kernels, one program per row.

Every tensor is one step's slice of a sequence, ``(B, ...)``, and is written in place. ``product``
holds ``W_h h``, and afterwards its normalized numbers. ``rstd`` has a column for each norm, that of
the cell last; all arithmetic is in its dtype, float32 or float64. A row at or past ``running`` is
not in the sequence and keeps its state. With ``TRITON_INTERPRET=1`` set before the import the
kernels run on a CPU, slowly.
"""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from lnlib.nn.kernels.spec import Spec
from lnlib.nn.kernels.triton.arithmetic import launch
from lnlib.nn.kernels.triton.gru import _gru_backward, _gru_forward
from lnlib.nn.kernels.triton.lstm import _lstm_backward, _lstm_forward
from lnlib.nn.kernels.triton.rnn import _rnn_backward, _rnn_forward

PER_WARP = 128  # numbers of each row, of which a thread takes four
KERNELS = {
    ("lstm", "forward"): _lstm_forward,
    ("lstm", "backward"): _lstm_backward,
    ("gru", "forward"): _gru_forward,
    ("gru", "backward"): _gru_backward,
    ("rnn", "forward"): _rnn_forward,
    ("rnn", "backward"): _rnn_backward,
}


class Weights(NamedTuple):
    """What all steps share; gains and biases are always there and as wide as the cell."""

    weight: Tensor  # (parts H, H)
    gain: Tensor  # (parts H,)
    bias: Tensor
    gain_c: Tensor | None  # (H,), for an LSTM alone
    bias_c: Tensor | None


def take(
    direction: str, spec: Spec, w: Weights, running: Tensor | None, tensors: dict[str, Tensor]
) -> None:
    """Take one time step in a ``direction``, ``forward`` or ``backward``.

    Forward writes the new state and what the backward step needs; backward the gradients of the
    step, and in ``dh`` what does not come back through the product.
    """
    kernel = KERNELS[spec.kind, direction]
    named = w._asdict() | tensors
    pointers = [named[name] for name in kernel.arg_names if name in named]
    pointers.append(pointers[0] if running is None else running)  # without, one that is not read
    options = {"FORM": spec.form, "EPS": spec.eps, "MASKED": running is not None}
    if spec.kind == "rnn":
        options["RELU"] = spec.nonlinearity == "relu"
    launch(kernel, len(pointers[0]), w.weight.shape[1], PER_WARP, *pointers, **options)
