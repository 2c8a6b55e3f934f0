"""Layer-normalized recurrent networks, called as those of ``torch.nn`` are.

Ba, Kiros & Hinton (2016), arXiv:1607.06450: :class:`LayerNormRNN` is eq. 4, :class:`LayerNormLSTM`
eqs. 20-22, :class:`LayerNormGRU` eqs. 26-28; each has a ``…Cell`` that takes one step. Public code
has other networks under the same names: they are the other values of ``form``.

The arithmetic over time lives in :mod:`lnlib.nn.kernels`, once readable and several times fast.
"""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Sequence
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from lnlib.nn import kernels
from lnlib.nn.kernels.plain import Product
from lnlib.nn.norm import LayerNorm

State = Tensor | tuple[Tensor, Tensor]

# Options beyond torch.nn's and their defaults, which a repr leaves out.
_OURS = {
    "form": "paper", "eps": 1e-5, "gain": 1.0, "bias_init": "zeros", "recurrent_init": "uniform",
}  # fmt: skip


class _Recurrent(nn.Module):
    """What modules over time and cells of one step share: parameters, and the way through them.

    A subclass names its ``kind``, the number of ``gates``, and for each form the norms as
    ``name: gates that it spans``, and whether there is a bias ``b`` beside them.
    """

    kind: ClassVar[str]
    gates: ClassVar[int]
    forms: ClassVar[dict[str, tuple[dict[str, int], bool]]]

    def _set_up(
        self, input_size: int, hidden_size: int, form: str, eps: float, gain: float,
        bias_init: str, recurrent_init: str, implementation: str,
    ) -> None:  # fmt: skip
        """Check and keep what both kinds of module are told."""
        name = type(self).__name__
        for argument, size in (("input_size", input_size), ("hidden_size", hidden_size)):
            if not isinstance(size, int):
                raise TypeError(
                    f"{name}: {argument} must be an int, got {type(size).__name__}; "
                    "it is a number of units"
                )
            if size < 1:
                raise ValueError(f"{name}: {argument} must be at least 1, got {size}")
        for argument, value, choices in (
            ("form", form, self.forms),
            ("bias_init", bias_init, ("zeros", "uniform")),
            ("recurrent_init", recurrent_init, ("uniform", "orthogonal")),
            ("implementation", implementation, kernels.IMPLEMENTATIONS),
        ):
            if value not in choices:
                raise ValueError(
                    f"{name}: {argument} must be one of {', '.join(choices)}; got {value!r}"
                )
        if not eps >= 0:
            raise ValueError(f"{name}: eps must be >= 0, got {eps}; the usual one is 1e-5")
        self.input_size, self.hidden_size = input_size, hidden_size
        self.form, self.eps, self.gain = form, eps, gain
        self.bias_init, self.recurrent_init = bias_init, recurrent_init
        self.implementation = implementation

    def _add(self, suffix: str, inputs: int, bias: bool, **where) -> None:
        """Register the parameters of one layer in one direction."""
        H = self.hidden_size
        norms, has_b = self.forms[self.form]
        weight = torch.empty(self.gates * H, inputs, **where)
        self.register_parameter(f"weight_ih{suffix}", nn.Parameter(weight))
        weight = torch.empty(self.gates * H, H, **where)
        self.register_parameter(f"weight_hh{suffix}", nn.Parameter(weight))
        b = nn.Parameter(torch.empty(self.gates * H, **where)) if bias and has_b else None
        self.register_parameter(f"bias{suffix}", b)
        for name, span in norms.items():
            if self.form == "per_gate" and name == "s":  # each gate alone
                norm = nn.GroupNorm(span, span * H, self.eps, **where)
                if not bias:
                    norm.register_parameter("bias", None)
            else:
                norm = LayerNorm(span * H, self.eps, bias=bias, **where)
            self.add_module(f"layernorm_{name}{suffix}", norm)

    def reset_parameters(self) -> None:
        """Draw the weights as ``torch.nn`` does; gains become ``gain``, biases 0 unless drawn."""
        bound = 1 / math.sqrt(self.hidden_size)
        for name, parameter in self.named_parameters():
            if name.startswith("weight_hh") and self.recurrent_init == "orthogonal":
                for gate in parameter.data.chunk(self.gates):
                    nn.init.orthogonal_(gate)
            elif name.endswith(".weight"):
                nn.init.constant_(parameter, self.gain)
            elif name.startswith("weight_") or self.bias_init == "uniform":
                nn.init.uniform_(parameter, -bound, bound)
            else:
                nn.init.zeros_(parameter)

    def _run(
        self,
        suffix: str,
        data: Tensor,
        batch_sizes: Sequence[int],
        state: tuple[Tensor, ...],
        reverse: bool = False,
    ) -> tuple[Tensor, ...]:
        """Take one layer in one direction through time: outputs ``(N, H)``, then the state."""
        weights = {
            name.removesuffix(suffix): getattr(self, name).to(data.dtype)
            for name in (f"weight_ih{suffix}", f"weight_hh{suffix}")
        }
        b = getattr(self, f"bias{suffix}")
        b = None if b is None else b.to(data.dtype)
        norms = {
            name: tuple(None if p is None else p.to(data.dtype) for p in (norm.weight, norm.bias))
            for name in self.forms[self.form][0]
            for norm in [getattr(self, f"layernorm_{name}{suffix}")]
        }
        product = Product(
            weights["weight_ih"], b, tuple(norms[name] for name in ("i", "in") if name in norms)
        )
        return kernels.run(
            self.implementation, self.kind, data, batch_sizes, *state, weights["weight_hh"],
            *self._recurrent_norms(norms), **self._recurrent_options(), eps=self.eps,
            reverse=reverse, product=product,
        )  # fmt: skip

    def _recurrent_norms(self, norms) -> list:
        raise NotImplementedError

    def _recurrent_options(self) -> dict:
        return {"form": self.form}

    def extra_repr(self) -> str:
        """Return what ``torch.nn`` prints, and what differs from the defaults beyond it."""
        text = f"{self.input_size}, {self.hidden_size}"
        for name, default in self._defaults.items():
            if getattr(self, name) != default:
                value = getattr(self, name)
                text += f", {name}={value!r}"
        return text


class _Sequence(_Recurrent):
    """A recurrent network over time: ``torch.nn.RNNBase``, normalized."""

    _defaults: ClassVar[dict] = {
        "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0,
        "bidirectional": False, **_OURS, "implementation": "auto",
    }  # fmt: skip
    states: ClassVar[int] = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        form: str = "paper",
        eps: float = 1e-5,
        gain: float = 1.0,
        bias_init: str = "zeros",
        recurrent_init: str = "uniform",
        implementation: str = "auto",
    ) -> None:
        super().__init__()
        name = type(self).__name__
        self._set_up(
            input_size, hidden_size, form, eps, gain, bias_init, recurrent_init, implementation
        )
        if (
            isinstance(dropout, bool)
            or not isinstance(dropout, numbers.Number)
            or (not 0 <= dropout <= 1)
        ):
            raise ValueError(
                f"{name}: dropout must be a probability from 0 to 1, got {dropout!r}; "
                "it is that of an output being zeroed between layers"
            )
        if num_layers < 1:
            raise ValueError(f"{name}: num_layers must be at least 1, got {num_layers}")
        if dropout > 0 and num_layers == 1:
            warnings.warn(
                f"{name}: dropout acts between layers, so dropout={dropout} does nothing with "
                "num_layers=1; add a layer or leave it out",
                stacklevel=2,
            )
        self.num_layers, self.bias, self.batch_first = num_layers, bias, batch_first
        self.dropout, self.bidirectional = float(dropout), bidirectional
        for layer in range(num_layers):
            inputs = input_size if layer == 0 else hidden_size * (1 + bidirectional)
            for suffix in self._suffixes(layer):
                self._add(suffix, inputs, bias, device=device, dtype=dtype)
        self.reset_parameters()

    def _suffixes(self, layer: int) -> list[str]:
        return [f"_l{layer}", f"_l{layer}_reverse"][: 1 + self.bidirectional]

    def forward(
        self, input: Tensor | PackedSequence, hx: State | None = None
    ) -> tuple[Tensor | PackedSequence, State]:
        """Run over a batch of sequences.

        Args:
            input: Shape ``(T, B, input_size)``; ``(B, T, input_size)`` if ``batch_first``;
                ``(T, input_size)`` for one sequence; or a ``PackedSequence``.
            hx: The state to start from, zeros if ``None``: ``h_0`` of shape
                ``(num_layers * directions, B, hidden_size)``, without B for one sequence; for an
                LSTM the pair ``(h_0, c_0)``.

        Returns:
            The outputs of the last layer, as ``input`` with ``directions * hidden_size`` features,
            and the last state, as ``hx``.

        Raises:
            ValueError: If ``input`` has another number of axes, or another dtype than the weights.
            RuntimeError: If a size does not fit.
        """
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        self._check_tensor(input, hx)
        one = input.dim() == 2
        if one:
            input = input.unsqueeze(1)
            hx = None if hx is None else _each(hx, lambda s: s.unsqueeze(1))
        elif self.batch_first:
            input = input.transpose(0, 1)
        T, B, _ = input.shape
        data, state = self._forward(input.flatten(0, 1), [B] * T, hx)
        output = data.unflatten(0, (T, B))
        if one:
            return output.squeeze(1), _each(state, lambda s: s.squeeze(1))
        return (output.transpose(0, 1) if self.batch_first else output), state

    def _forward_packed(
        self, packed: PackedSequence, hx: State | None
    ) -> tuple[PackedSequence, State]:
        data, batch_sizes, order, back = packed
        if data.dim() != 2:
            raise RuntimeError(
                f"{type(self).__name__}: a PackedSequence must hold 2 dimensions, (steps of all "
                f"sequences, features), got {data.dim()}; pack (T, B, input_size)"
            )
        if hx is not None and order is not None:
            hx = _each(hx, lambda s: s.index_select(1, order))
        data, state = self._forward(data, batch_sizes.tolist(), hx)
        if back is not None:
            state = _each(state, lambda s: s.index_select(1, back))
        return PackedSequence(data, batch_sizes, order, back), state

    def _forward(
        self, data: Tensor, batch_sizes: list[int], hx: State | None
    ) -> tuple[Tensor, State]:
        """Go through the layers; ``data`` is packed, ``(N, features)``."""
        self._check(data, batch_sizes, hx)
        if (dtype := _autocast(data)) is None:
            return self._layers(data, batch_sizes, hx)
        with torch.autocast(data.device.type, enabled=False):
            hx = None if hx is None else _each(hx, lambda s: s.to(dtype))
            return self._layers(data.to(dtype), batch_sizes, hx)

    def _layers(
        self, data: Tensor, batch_sizes: list[int], hx: State | None
    ) -> tuple[Tensor, State]:
        directions = 1 + self.bidirectional
        if hx is None:
            shape = (self.num_layers * directions, batch_sizes[0], self.hidden_size)
            start = (data.new_zeros(shape),) * self.states
        else:
            start = hx if self.states == 2 else (hx,)
        ends: list[tuple[Tensor, ...]] = []
        for layer in range(self.num_layers):
            outputs = []
            for direction, suffix in enumerate(self._suffixes(layer)):
                state = tuple(s[layer * directions + direction] for s in start)
                output, *end = self._run(suffix, data, batch_sizes, state, direction == 1)
                outputs.append(output)
                ends.append(tuple(end))
            data = outputs[0] if directions == 1 else torch.cat(outputs, 1)
            if layer < self.num_layers - 1:
                data = F.dropout(data, self.dropout, self.training)
        state = tuple(torch.stack(s) for s in zip(*ends, strict=True))
        return data, state if self.states == 2 else state[0]

    def _check_tensor(self, input: Tensor, hx: State | None) -> None:
        name = type(self).__name__
        if not isinstance(input, Tensor):
            raise TypeError(
                f"{name}: input must be a Tensor or a PackedSequence, got {type(input).__name__}; "
                "try torch.tensor(...)"
            )
        if input.dim() not in (2, 3):
            raise ValueError(
                f"{name}: input must be 2D or 3D, (T, features) or (T, B, features), got "
                f"{input.dim()}D; one axis is time"
            )
        for s in _tensors(name, hx, self.states):
            if s.dim() != input.dim():
                raise RuntimeError(
                    f"{name}: for {input.dim()}D input, hx must be {input.dim()}D too, got "
                    f"{s.dim()}D; it is (layers * directions, B, hidden_size), without B for one "
                    "sequence"
                )

    def _check(self, data: Tensor, batch_sizes: list[int], hx: State | None) -> None:
        name = type(self).__name__
        _check_data(self, self.weight_ih_l0, data)
        if not batch_sizes:
            raise RuntimeError(f"{name}: input must have at least one time step, got 0")
        layers = self.num_layers * (1 + self.bidirectional)
        expected = (layers, batch_sizes[0], self.hidden_size)
        _check_states(
            name, _tensors(name, hx, self.states), expected,
            "layers * directions, B, hidden_size", data.dtype, _autocast(data),
        )  # fmt: skip


def _each(state: State, function) -> State:
    return tuple(map(function, state)) if isinstance(state, (tuple, list)) else function(state)


class _OneStep(_Recurrent):
    """One step of a recurrent network: ``torch.nn.RNNCellBase``, normalized."""

    _defaults: ClassVar[dict] = dict(_OURS)
    states: ClassVar[int] = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        form: str = "paper",
        eps: float = 1e-5,
        gain: float = 1.0,
        bias_init: str = "zeros",
        recurrent_init: str = "uniform",
    ) -> None:
        super().__init__()
        self._set_up(input_size, hidden_size, form, eps, gain, bias_init, recurrent_init, "plain")
        self._add("", input_size, bias, device=device, dtype=dtype)
        self.reset_parameters()

    def forward(self, input: Tensor, hx: State | None = None) -> State:
        """Take one step.

        Args:
            input: Shape ``(B, input_size)``, or ``(input_size,)`` for one sequence.
            hx: The state before it, zeros if ``None``: shape ``(B, hidden_size)``, without B for
                one sequence; for an LSTM the pair ``(h, c)``.

        Returns:
            The state after it, as ``hx``.

        Raises:
            ValueError: If ``input`` or ``hx`` has another number of axes, or ``input`` another
                dtype than the weights.
            RuntimeError: If a size does not fit.
        """
        name = type(self).__name__
        if not isinstance(input, Tensor) or input.dim() not in (1, 2):
            got = f"{input.dim()}D" if isinstance(input, Tensor) else type(input).__name__
            raise (ValueError if isinstance(input, Tensor) else TypeError)(
                f"{name}: input must be a Tensor of 1D or 2D, (features) or (B, features), got "
                f"{got}; a cell takes one time step"
            )
        state = _tensors(name, hx, self.states)
        one = input.dim() == 1
        if any(s.dim() != input.dim() for s in state):
            raise ValueError(
                f"{name}: for {input.dim()}D input, hx must be {input.dim()}D too, got "
                f"{state[0].dim()}D; it is (B, hidden_size), without B for one sequence"
            )
        if one:
            input, state = input.unsqueeze(0), tuple(s.unsqueeze(0) for s in state)
        _check_data(self, self.weight_ih, input)
        expected = (len(input), self.hidden_size)
        _check_states(name, state, expected, "B, hidden_size", input.dtype, _autocast(input))
        if not state:
            state = (input.new_zeros(expected),) * self.states
        if (dtype := _autocast(input)) is None:
            _, *state = self._run("", input, [len(input)], state)
        else:
            with torch.autocast(input.device.type, enabled=False):
                state = tuple(s.to(dtype) for s in state)
                _, *state = self._run("", input.to(dtype), [len(input)], state)
        state = tuple(s.squeeze(0) for s in state) if one else tuple(state)
        return state if self.states == 2 else state[0]


# The paper's networks.


class _LSTM(_Recurrent):
    kind, gates, states = "lstm", 4, 2
    forms: ClassVar = {
        "paper": ({"i": 4, "h": 4, "c": 1}, True),
        "carried": ({"i": 4, "h": 4, "c": 1}, True),
        "per_gate": ({"s": 4, "c": 1}, True),
        "draw": ({"c": 1}, True),
    }

    def _recurrent_norms(self, norms) -> list:
        return [norms.get("h", norms.get("s")), norms["c"]]


class _GRU(_Recurrent):
    kind, gates = "gru", 3
    forms: ClassVar = {"paper": ({"i": 2, "h": 2, "in": 1, "hn": 1}, False)}

    def _recurrent_norms(self, norms) -> list:
        return [norms["h"], norms["hn"]]

    def _recurrent_options(self) -> dict:
        return {}


class _RNN(_Recurrent):
    kind, gates = "rnn", 1
    forms: ClassVar = {"paper": ({"s": 1}, False), "parts": ({"i": 1, "h": 1}, True)}

    def _recurrent_norms(self, norms) -> list:
        return [norms.get("s", norms.get("h"))]

    def _recurrent_options(self) -> dict:
        return {"form": self.form, "nonlinearity": self.nonlinearity}


class LayerNormLSTM(_LSTM, _Sequence):
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
        device: Of the parameters.
        dtype: Of the parameters.
        form: One of the four.
        eps: Inside the root of every norm, in squared units of the summed inputs.
        gain: What every gain starts at.
        bias_init: ``"zeros"``, as the paper, or ``"uniform"``, all that is added drawn as
            ``torch.nn`` draws its biases: see below.
        recurrent_init: ``"uniform"``, as ``torch.nn``, or ``"orthogonal"``, gate by gate, as the
            authors' code.
        implementation: Who computes: see :mod:`lnlib.nn.kernels`.

    Parameters, for layer 0, with ``_reverse`` at the end for the other direction:

    - ``weight_ih_l0`` of shape ``(4H, input_size)`` and ``weight_hh_l0`` of shape ``(4H, H)``; the
      gates lie one below the other in the order i, f, g, o.
    - ``bias_l0`` of shape ``(4H,)``.
    - ``layernorm_i_l0``, ``layernorm_h_l0`` (4H) and ``layernorm_c_l0`` (H), each with the gain as
      ``weight``, and a ``bias``; ``per_gate`` has ``layernorm_s_l0`` (4H) for the first two.

    Raises:
        ValueError: If a value is none of those it can be.

    Example:
        >>> lstm = LayerNormLSTM(10, 20, num_layers=2)
        >>> output, (h_n, c_n) = lstm(torch.ones(5, 3, 10))
        >>> output.shape, h_n.shape
        (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """

    def __init__(self, *args, **kwargs) -> None:
        if kwargs.pop("proj_size", 0):
            raise ValueError(
                "LayerNormLSTM: proj_size must be 0, the paper's network has no projection; "
                "put a torch.nn.Linear behind the outputs"
            )
        super().__init__(*args, **kwargs)


class LayerNormGRU(_GRU, _Sequence):
    """Run a layer-normalized GRU; call it as ``torch.nn.GRU``.

    ::

        r, z = LN_i(W_ih x) + LN_h(W_hh h)                        eq. 26
        n = tanh(LN_in(W_in x) + sigmoid(r) LN_hn(W_hn h))        eq. 27
        h = (1 - sigmoid(z)) h + sigmoid(z) n                     eq. 28

    Ba, Kiros & Hinton (2016). ``LN_i`` and ``LN_h`` run over r and z together. As in the paper, z
    opens the gate to the new; in ``torch.nn.GRU`` it opens it to the old, so weights that are
    moved between the two change the sign of z's rows.

    Sequences that begin with blank inputs need ``bias_init="uniform"``: see :class:`LayerNormLSTM`.

    Args:
        input_size: Features of the input.
        hidden_size: H.
        num_layers: Layers, each fed with the outputs of the one below.
        bias: Whether the norms have biases; the equations have no other.
        batch_first: Input and output are ``(B, T, features)``; the states are not.
        dropout: Probability of zeroing an output between layers, in training.
        bidirectional: Run a second network from the last step to the first.
        device: Of the parameters.
        dtype: Of the parameters.
        form: ``"paper"``.
        eps: Inside the root of every norm, in squared units of the summed inputs.
        gain: What every gain starts at.
        bias_init: ``"zeros"``, as the paper, or ``"uniform"``, all that is added drawn as
            ``torch.nn`` draws its biases: see below.
        recurrent_init: ``"uniform"`` or ``"orthogonal"``, gate by gate.
        implementation: Who computes: see :mod:`lnlib.nn.kernels`.

    Parameters, for layer 0, with ``_reverse`` at the end for the other direction:

    - ``weight_ih_l0`` of shape ``(3H, input_size)`` and ``weight_hh_l0`` of shape ``(3H, H)``; the
      gates lie one below the other in the order r, z, n.
    - ``layernorm_i_l0``, ``layernorm_h_l0`` (2H), ``layernorm_in_l0``, ``layernorm_hn_l0`` (H),
      each with a ``weight``, the gain, and a ``bias``.

    Raises:
        ValueError: If a value is none of those it can be.

    Example:
        >>> output, h_n = LayerNormGRU(10, 20, batch_first=True)(torch.ones(3, 5, 10))
        >>> output.shape, h_n.shape
        (torch.Size([3, 5, 20]), torch.Size([1, 3, 20]))
    """


class LayerNormRNN(_RNN, _Sequence):
    """Run a layer-normalized simple recurrent network; call it as ``torch.nn.RNN``.

    ::

        h = tanh(LN_s(W_ih x + W_hh h))        eq. 4

    Ba, Kiros & Hinton (2016). With ``form="parts"`` the two parts are normalized and then added,
    ``tanh(LN_i(W_ih x) + LN_h(W_hh h) + b)``, as eq. 20 does for an LSTM: another network.

    Sequences that begin with blank inputs need ``bias_init="uniform"``: see :class:`LayerNormLSTM`.

    Args:
        input_size: Features of the input.
        hidden_size: H.
        num_layers: Layers, each fed with the outputs of the one below.
        nonlinearity: ``"tanh"`` or ``"relu"``.
        bias: Whether there is anything that is added: ``b`` in parts, and the norms' biases.
        batch_first: Input and output are ``(B, T, features)``; the states are not.
        dropout: Probability of zeroing an output between layers, in training.
        bidirectional: Run a second network from the last step to the first.
        device: Of the parameters.
        dtype: Of the parameters.
        form: ``"paper"`` or ``"parts"``.
        eps: Inside the root of every norm, in squared units of the summed inputs.
        gain: What every gain starts at.
        bias_init: ``"zeros"``, as the paper, or ``"uniform"``, all that is added drawn as
            ``torch.nn`` draws its biases: see below.
        recurrent_init: ``"uniform"`` or ``"orthogonal"``.
        implementation: Who computes: see :mod:`lnlib.nn.kernels`.

    Parameters, for layer 0, with ``_reverse`` at the end for the other direction:

    - ``weight_ih_l0`` of shape ``(H, input_size)``, ``weight_hh_l0`` of shape ``(H, H)``.
    - ``layernorm_s_l0`` (H); in parts ``layernorm_i_l0``, ``layernorm_h_l0`` (H) and ``bias_l0``.

    Raises:
        ValueError: If a value is none of those it can be.

    Example:
        >>> output, h_n = LayerNormRNN(10, 20)(torch.ones(5, 10))
        >>> output.shape, h_n.shape
        (torch.Size([5, 20]), torch.Size([1, 20]))
    """

    _defaults: ClassVar[dict] = {"nonlinearity": "tanh", **_Sequence._defaults}

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


class LayerNormLSTMCell(_LSTM, _OneStep):
    """Take one step of :class:`LayerNormLSTM`; call it as ``torch.nn.LSTMCell``.

    Args:
        input_size: Features of the input.
        hidden_size: H.
        bias: Whether there is anything that is added.
        device: Of the parameters.
        dtype: Of the parameters.
        form: As for :class:`LayerNormLSTM`, and so are the rest.
        eps: Inside the root of every norm.
        gain: What every gain starts at.
        bias_init: ``"zeros"`` or ``"uniform"``.
        recurrent_init: ``"uniform"`` or ``"orthogonal"``.

    Example:
        >>> h, c = LayerNormLSTMCell(10, 20)(torch.ones(3, 10))
        >>> h.shape
        torch.Size([3, 20])
    """


class LayerNormGRUCell(_GRU, _OneStep):
    """Take one step of :class:`LayerNormGRU`; call it as ``torch.nn.GRUCell``.

    Args:
        input_size: Features of the input.
        hidden_size: H.
        bias: Whether the norms have biases.
        device: Of the parameters.
        dtype: Of the parameters.
        form: ``"paper"``.
        eps: Inside the root of every norm.
        gain: What every gain starts at.
        bias_init: ``"zeros"`` or ``"uniform"``.
        recurrent_init: ``"uniform"`` or ``"orthogonal"``.

    Example:
        >>> LayerNormGRUCell(10, 20)(torch.ones(3, 10)).shape
        torch.Size([3, 20])
    """


class LayerNormRNNCell(_RNN, _OneStep):
    """Take one step of :class:`LayerNormRNN`; call it as ``torch.nn.RNNCell``.

    Args:
        input_size: Features of the input.
        hidden_size: H.
        bias: Whether there is anything that is added.
        nonlinearity: ``"tanh"`` or ``"relu"``.
        device: Of the parameters.
        dtype: Of the parameters.
        form: ``"paper"`` or ``"parts"``.
        eps: Inside the root of every norm.
        gain: What every gain starts at.
        bias_init: ``"zeros"`` or ``"uniform"``.
        recurrent_init: ``"uniform"`` or ``"orthogonal"``.

    Example:
        >>> LayerNormRNNCell(10, 20)(torch.ones(3, 10)).shape
        torch.Size([3, 20])
    """

    _defaults: ClassVar[dict] = {"nonlinearity": "tanh", **_OneStep._defaults}

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


# The public door.


def _check_nonlinearity(name: str, nonlinearity: str) -> None:
    if nonlinearity not in ("tanh", "relu"):
        raise ValueError(f"{name}: nonlinearity must be 'tanh' or 'relu', got {nonlinearity!r}")


def _autocast(data: Tensor) -> torch.dtype | None:
    """Return the dtype that autocast asks for, if it is on."""
    kind = data.device.type
    if torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind):
        return torch.get_autocast_dtype(kind)
    return None


def _tensors(name: str, hx: State | None, states: int) -> tuple[Tensor, ...]:
    """Return the tensors of ``hx``; refuse what is none."""
    if hx is None:
        return ()
    both = hx if states == 2 else (hx,)
    if not (
        isinstance(both, (tuple, list))
        and len(both) == states
        and all(isinstance(s, Tensor) for s in both)
    ):
        expected = "a pair of Tensors (h, c)" if states == 2 else "a Tensor h"
        raise TypeError(
            f"{name}: hx must be {expected}, got {type(hx).__name__}; "
            "leave it out to start from zeros"
        )
    return tuple(both)


def _check_data(module: _Recurrent, weight: Tensor, data: Tensor) -> None:
    name = type(module).__name__
    cast = _autocast(data) is not None and data.is_floating_point()
    if data.dtype != weight.dtype and not cast:
        raise ValueError(
            f"{name}: input is {data.dtype}, the weights are {weight.dtype}; "
            f"try input.to({weight.dtype}), or module.to({data.dtype})"
        )
    if data.shape[-1] != module.input_size:
        raise RuntimeError(
            f"{name}: the last axis of input must be input_size {module.input_size}, got "
            f"{data.shape[-1]}; the first axes are time and batch"
        )


def _check_states(
    name: str,
    state: tuple[Tensor, ...],
    expected: tuple[int, ...],
    axes: str,
    dtype: torch.dtype,
    autocast: torch.dtype | None,
) -> None:
    for letter, s in zip("hc", state, strict=False):
        if tuple(s.shape) != expected:
            raise RuntimeError(
                f"{name}: {letter} of hx must be of shape {expected}, {axes}; got {tuple(s.shape)}"
            )
        if s.dtype != dtype and autocast is None:
            raise RuntimeError(
                f"{name}: {letter} of hx is {s.dtype}, input is {dtype}; try hx.to({dtype})"
            )
