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
from lnlib.nn.kernels.triton.arithmetic import triton
from lnlib.nn.kernels.triton.gru import _gru_backward, _gru_forward
from lnlib.nn.kernels.triton.lstm import _lstm_backward, _lstm_forward
from lnlib.nn.kernels.triton.rnn import _rnn_backward, _rnn_forward

# What is in the dtype of the arithmetic, however short that of the inputs and weights is.
WIDE = ("rstd", "c", "c_prev", "cell_hat", "dc", "d_cell")


class Weights(NamedTuple):
    """What all steps share; gains and biases are always there and as wide as the cell."""

    weight: Tensor  # (parts H, H)
    gain: Tensor  # (parts H,)
    bias: Tensor
    gain_c: Tensor | None  # (H,), for an LSTM alone
    bias_c: Tensor | None


# What the kernels are compiled for besides their pointers: H, the power of two that covers it, the
# form's name, eps, and whether rows may have ended.


def lstm_forward(spec, w, x, product, h_prev, h, c_prev, c, gates, cell_hat, rstd, running) -> None:
    """Write ``h``, ``c`` and what the backward step needs."""
    pointers = (x, product, h_prev, h, c_prev, c, gates, cell_hat, rstd, *w[1:])
    _launch(_lstm_forward, spec, w, pointers, running)


def lstm_backward(
    spec, w, d_out, dh, dc, x_hat, gates, c_prev, cell_hat, rstd, d_gates, d_product, d_cell,
    running,
) -> None:  # fmt: skip
    """Write the gradients of one step; in ``dh`` what does not come back through the product."""
    pointers = (d_out, dh, dc, x_hat, gates, c_prev, cell_hat, rstd, d_gates, d_product, d_cell)
    _launch(_lstm_backward, spec, w, (*pointers, w.gain, w.gain_c, w.bias_c), running)


def gru_forward(spec, w, x, product, h_prev, h, gates, rstd, running) -> None:
    """Write ``h`` and what the backward step needs."""
    pointers = (x, product, h_prev, h, gates, rstd, w.gain, w.bias)
    _launch(_gru_forward, spec, w, pointers, running)


def gru_backward(
    spec, w, d_out, dh, x_hat, gates, h_prev, rstd, d_gates, d_product, running
) -> None:
    """Write the gradients of one step; in ``dh`` what does not come back through the product."""
    pointers = (d_out, dh, x_hat, gates, h_prev, rstd, d_gates, d_product, w.gain, w.bias)
    _launch(_gru_backward, spec, w, pointers, running)


def rnn_forward(spec, w, x, product, h_prev, h, rstd, running) -> None:
    """Write ``h`` and what the backward step needs."""
    pointers = (x, product, h_prev, h, rstd, w.gain, w.bias)
    _launch(_rnn_forward, spec, w, pointers, running, RELU=spec.nonlinearity == "relu")


def rnn_backward(spec, w, d_out, dh, x_hat, h, rstd, d_gates, d_product, running) -> None:
    """Write the gradients of one step; in ``dh`` what does not come back through the product."""
    pointers = (d_out, dh, x_hat, h, rstd, d_gates, d_product, w.gain)
    _launch(_rnn_backward, spec, w, pointers, running, RELU=spec.nonlinearity == "relu")


def _launch(
    kernel, spec: Spec, w: Weights, pointers: tuple[Tensor, ...], running: Tensor | None, **options
) -> None:
    rows, H = len(pointers[0]), w.weight.shape[1]
    block = triton.next_power_of_2(H)
    kernel[(rows,)](
        *pointers,
        # A pointer that is not read.
        pointers[0] if running is None else running,
        H=H,
        BLOCK=block,
        FORM=spec.form,
        EPS=spec.eps,
        MASKED=running is not None,
        **_compiled_with(block),
        **options,
    )


def _compiled_with(block: int) -> dict[str, int | bool]:
    """Return the options of the compiler."""
    return {
        # A power of two: four numbers of each row a thread, and 128 to 1024 threads.
        "num_warps": min(32, max(4, block // 128)),
        # Said, or Triton 3.9 warns that its default will change.
        "enable_fp_fusion": True,
    }
