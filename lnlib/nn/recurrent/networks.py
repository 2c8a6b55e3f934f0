"""The paper's networks."""

from typing import ClassVar

import torch  # noqa: F401, the examples need it

from lnlib.nn.recurrent._arguments import _check_nonlinearity
from lnlib.nn.recurrent.base import _RecurrentBase, _RNNBase, _RNNCellBase


class _LSTM(_RecurrentBase):
    kind = "lstm"


class _GRU(_RecurrentBase):
    kind = "gru"


class _RNN(_RecurrentBase):
    kind = "rnn"


class LayerNormLSTM(_LSTM, _RNNBase):
    """Run a layer-normalized LSTM; call it as ``torch.nn.LSTM``.

    ::

        i, f, g, o = LN_i(W_ih x) + LN_h(W_hh h) + b        eq. 20
        c = sigmoid(f) c + sigmoid(i) tanh(g)               eq. 21
        h = sigmoid(o) tanh(LN_c(c))                        eq. 22

    Ba, Kiros & Hinton (2016). ``LN_i`` and ``LN_h`` run over all four gates together. What others
    call by the same name is a ``form``:

    - ``"paper"``: the equations.
    - ``"draw"``: eqs. 29-31, ``LN_c`` alone.
    - ``"carried"``: the normalized cell ``LN_c(c)`` is what the next step sees, as in PyTorch's
      ``benchmarks/fastrnns``; see :func:`lnlib.nn.from_fastrnns`.
    - ``"per_gate"``: each gate normalized alone, after the sum ``W_ih x + W_hh h + b``.

    With one set of weights they compute different things.

    Sequences that begin with blank inputs, all 0, such as images from their first row: where biases
    and state are 0 too, every norm sees equal numbers. Its slope there is ``1 / sqrt(eps)``, by
    which the gradient of the biases grows at each such step. ``bias_init="uniform"`` cures it.

    Args:
        input_size: Features of the input.
        hidden_size: H.
        num_layers: Layers, each fed with the outputs of the one below.
        bias: Whether there is anything that is added: ``b``, and the norms' biases.
        batch_first: Input and output are ``(B, T, features)``; the states are not.
        dropout: Probability of zeroing an output between layers, in training.
        bidirectional: Run a second network from the last step to the first.
        proj_size: 0; there is no projection.
        device: Of the parameters.
        dtype: Of the parameters.
        form: One of the four.
        eps: Inside the root of every norm, in squared units of the summed inputs.
        gain: What every gain starts at.
        bias_init: ``"zeros"``, as the paper, or ``"uniform"``, all that is added drawn as
            ``torch.nn`` draws its biases.
        recurrent_init: ``"uniform"``, as ``torch.nn``, or ``"orthogonal"``, gate by gate, as the
            authors' code.
        implementation: Who computes: see :mod:`lnlib.nn.kernels`.

    Parameters, for layer 0, with ``_reverse`` at the end for the other direction:

    - ``weight_ih_l0`` of shape ``(4H, input_size)`` and ``weight_hh_l0`` of shape ``(4H, H)``; the
      gates lie one below the other in the order i, f, g, o.
    - ``bias_l0`` of shape ``(4H,)``.
    - ``layernorm_i_l0``, ``layernorm_h_l0`` (4H) and ``layernorm_c_l0`` (H), each with the gain as
      ``weight``, and a ``bias``; ``per_gate`` has ``layernorm_s_l0`` (4H) for the first two.

    The norms are modules. One that has hooks, is parametrized or pruned, has other settings than
    it was built with, or was replaced by another module that keeps the shape, is called: once with
    all steps of all sequences if it normalizes the input part, at every time step otherwise. Its
    layer then runs in plain PyTorch operations, which is slower. Setting ``eps`` of the network
    sets that of all its norms, and costs nothing.

    Raises:
        ValueError: If a value is none of those it can be.

    Example:
        >>> lstm = LayerNormLSTM(10, 20, num_layers=2)
        >>> output, (h_n, c_n) = lstm(torch.ones(5, 3, 10))
        >>> output.shape, h_n.shape
        (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """


class LayerNormGRU(_GRU, _RNNBase):
    """Run a layer-normalized GRU; call it as ``torch.nn.GRU``.

    ::

        r, z = LN_i(W_ih x) + LN_h(W_hh h)                        eq. 26
        n = tanh(LN_in(W_in x) + sigmoid(r) LN_hn(W_hn h))        eq. 27
        h = (1 - sigmoid(z)) h + sigmoid(z) n                     eq. 28

    Ba, Kiros & Hinton (2016). ``LN_i`` and ``LN_h`` run over r and z together. As in the paper, z
    opens the gate to the new; in ``torch.nn.GRU`` it opens it to the old, so weights that are
    moved between the two change the sign of z's rows.

    Sequences that begin with blank inputs need ``bias_init="uniform"``: see :class:`LayerNormLSTM`.

    It takes the arguments of :class:`LayerNormLSTM`. ``form`` is ``"paper"``, and ``bias`` is
    whether the norms have biases: the equations have no other.

    Parameters, for layer 0, with ``_reverse`` at the end for the other direction:

    - ``weight_ih_l0`` of shape ``(3H, input_size)`` and ``weight_hh_l0`` of shape ``(3H, H)``; the
      gates lie one below the other in the order r, z, n.
    - ``layernorm_i_l0``, ``layernorm_h_l0`` (2H), ``layernorm_in_l0``, ``layernorm_hn_l0`` (H),
      each with a ``weight``, the gain, and a ``bias``.

    A norm that was changed is called, as in :class:`LayerNormLSTM`.

    Raises:
        ValueError: If a value is none of those it can be.

    Example:
        >>> output, h_n = LayerNormGRU(10, 20, batch_first=True)(torch.ones(3, 5, 10))
        >>> output.shape, h_n.shape
        (torch.Size([3, 5, 20]), torch.Size([1, 3, 20]))
    """


class LayerNormRNN(_RNN, _RNNBase):
    """Run a layer-normalized simple recurrent network; call it as ``torch.nn.RNN``.

    ::

        h = tanh(LN_s(W_ih x + W_hh h))        eq. 4

    Ba, Kiros & Hinton (2016). With ``form="parts"`` the two parts are normalized and then added,
    ``tanh(LN_i(W_ih x) + LN_h(W_hh h) + b)``, as eq. 20 does for an LSTM: another network.

    Sequences that begin with blank inputs need ``bias_init="uniform"``: see :class:`LayerNormLSTM`.

    It takes the arguments of :class:`LayerNormLSTM`, with ``nonlinearity`` before ``bias``:

    - ``nonlinearity``: ``"tanh"`` or ``"relu"``.
    - ``form``: ``"paper"`` or ``"parts"``; ``"paper"`` has no ``b``.

    Parameters, for layer 0, with ``_reverse`` at the end for the other direction:

    - ``weight_ih_l0`` of shape ``(H, input_size)``, ``weight_hh_l0`` of shape ``(H, H)``.
    - ``layernorm_s_l0`` (H); in parts ``layernorm_i_l0``, ``layernorm_h_l0`` (H) and ``bias_l0``.

    A norm that was changed is called, as in :class:`LayerNormLSTM`.

    Raises:
        ValueError: If a value is none of those it can be.

    Example:
        >>> output, h_n = LayerNormRNN(10, 20)(torch.ones(5, 10))
        >>> output.shape, h_n.shape
        (torch.Size([5, 20]), torch.Size([1, 20]))
    """

    _defaults: ClassVar[dict] = {"nonlinearity": "tanh", **_RNNBase._defaults}

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        *args,
        **kwargs,
    ) -> None:
        _check_nonlinearity("LayerNormRNN", nonlinearity)
        super().__init__(input_size, hidden_size, num_layers, *args, **kwargs)
        self.nonlinearity = nonlinearity


class LayerNormLSTMCell(_LSTM, _RNNCellBase):
    """Take one step of :class:`LayerNormLSTM`; call it as ``torch.nn.LSTMCell``.

    It takes the arguments of :class:`LayerNormLSTM`, except those for layers, directions and
    implementation.

    Example:
        >>> h, c = LayerNormLSTMCell(10, 20)(torch.ones(3, 10))
        >>> h.shape
        torch.Size([3, 20])
    """


class LayerNormGRUCell(_GRU, _RNNCellBase):
    """Take one step of :class:`LayerNormGRU`; call it as ``torch.nn.GRUCell``.

    It takes the arguments of :class:`LayerNormGRU`, except those for layers, directions and
    implementation.

    Example:
        >>> LayerNormGRUCell(10, 20)(torch.ones(3, 10)).shape
        torch.Size([3, 20])
    """


class LayerNormRNNCell(_RNN, _RNNCellBase):
    """Take one step of :class:`LayerNormRNN`; call it as ``torch.nn.RNNCell``.

    It takes the arguments of :class:`LayerNormRNN`, except those for layers, directions and
    implementation.

    Example:
        >>> LayerNormRNNCell(10, 20)(torch.ones(3, 10)).shape
        torch.Size([3, 20])
    """

    _defaults: ClassVar[dict] = {"nonlinearity": "tanh", **_RNNCellBase._defaults}

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        *args,
        **kwargs,
    ) -> None:
        _check_nonlinearity("LayerNormRNNCell", nonlinearity)
        super().__init__(input_size, hidden_size, bias, *args, **kwargs)
        self.nonlinearity = nonlinearity
