"""One step of a recurrent network in NumPy: plain, normalized, and the gradient by hand.

Ba, Kiros & Hinton (2016), arXiv:1607.06450, eq. 4 and the appendix. Each cell takes a ``form``:

============  =========================  ====================================================
``rnn_step``  ``plain``                  h = f(W_x x + W_h h + b)
              ``paper``                  h = f(LN(W_x x + W_h h))                      eq. 4
              ``parts``                  h = f(LN(W_x x) + LN(W_h h) + b)
``lstm_step`` ``plain``                  no norm                                       eqs. 17-19
              ``paper``                  LN(W_x x) + LN(W_h h) + b; tanh(LN(c))        eqs. 20-22
              ``draw``                   tanh(LN(c)) alone                             eqs. 29-31
              ``carried``                as ``paper``, but LN(c) is what is carried on
              ``per_gate``               LN of each gate alone, after the sum; tanh(LN(c))
``gru_step``  ``plain``                  no norm                                       eqs. 23-25
              ``paper``                  LN of r and z jointly, and of the candidate   eqs. 26-28
all three     ``batch``                  batch norm where ``paper`` of an LSTM or GRU, or
                                         ``parts`` of an RNN, has layer norm
============  =========================  ====================================================

``carried`` and ``per_gate`` are not the paper's; public code has them under the same name.

Parameters come as a dict of arrays, ``H`` the number of units, ``I`` of inputs, ``G`` the number
of gates (RNN 1; LSTM 4: i, f, g, o; GRU 3: r, z, then the candidate n):

- ``W_ih`` of shape ``(G H, I)`` and ``W_hh`` of shape ``(G H, H)``, which must be there.
- ``b`` of shape ``(G H,)``; zeros if it is missing. Eq. 4 and eqs. 26-28 have none.
- a ``gain_`` and a ``bias_`` for each norm, ones and zeros if missing: ``_i`` of the input's part,
  ``_h`` of the hidden state's part, ``_s`` of their sum, ``_c`` of the cell; for a GRU ``_i`` and
  ``_h`` span r and z, ``_in`` and ``_hn`` the candidate.

Mistakes raise ``ValueError`` or ``TypeError``; arguments are never written over.
"""

from lnlib.cells._shared import Params
from lnlib.cells.batch_norm import BatchNormAtStep, RecurrentBatchNorm
from lnlib.cells.gru import gru_step, gru_step_backward
from lnlib.cells.lstm import lstm_step, lstm_step_backward
from lnlib.cells.rnn import rnn_step, rnn_step_backward

__all__ = [
    "BatchNormAtStep",
    "Params",
    "RecurrentBatchNorm",
    "gru_step",
    "gru_step_backward",
    "lstm_step",
    "lstm_step_backward",
    "rnn_step",
    "rnn_step_backward",
]
