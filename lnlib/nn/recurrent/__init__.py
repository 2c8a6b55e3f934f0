"""Layer-normalized recurrent networks, called as those of ``torch.nn`` are.

Ba, Kiros & Hinton (2016), arXiv:1607.06450: :class:`LayerNormRNN` is eq. 4, :class:`LayerNormLSTM`
eqs. 20-22, :class:`LayerNormGRU` eqs. 26-28; each has a ``…Cell`` that takes one step. Public code
has other networks under the same names: they are the other values of ``form``.

The arithmetic over time lives in :mod:`lnlib.nn.kernels`, once readable and several times fast.
"""

from lnlib.nn.recurrent._arguments import State
from lnlib.nn.recurrent.networks import (
    LayerNormGRU,
    LayerNormGRUCell,
    LayerNormLSTM,
    LayerNormLSTMCell,
    LayerNormRNN,
    LayerNormRNNCell,
)

__all__ = [
    "LayerNormGRU",
    "LayerNormGRUCell",
    "LayerNormLSTM",
    "LayerNormLSTMCell",
    "LayerNormRNN",
    "LayerNormRNNCell",
    "State",
]
