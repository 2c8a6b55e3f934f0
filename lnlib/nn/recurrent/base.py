"""Base classes of the recurrent modules and cells: parameters, layers, directions, time steps."""

import math
import numbers
import warnings
from collections.abc import Sequence
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from lnlib.nn import _calls, kernels
from lnlib.nn.kernels.reference import InputProduct
from lnlib.nn.kernels.spec import Spec
from lnlib.nn.norm import LayerNorm
from lnlib.nn.recurrent._arguments import State, _autocast, _check_data, _check_states, _tensors
from lnlib.nn.recurrent._norms import caller, is_as_built
from lnlib.norms._arguments import check_eps
from lnlib.registry import CELLS, Form

# Defaults of the options that torch.nn does not have; a repr shows other values alone.
_EXTRA_DEFAULTS = {
    "form": "paper", "eps": 1e-5, "gain": 1.0, "bias_init": "zeros", "recurrent_init": "uniform",
}  # fmt: skip


class _RecurrentBase(nn.Module):
    """Base of modules over time and of cells: their parameters, and a layer's steps through time.

    A subclass names its ``kind`` (``rnn``, ``lstm`` or ``gru``); :data:`lnlib.registry.CELLS`
    has the number of its gates and states, and its forms with their norms.
    """

    kind: ClassVar[str]
    gates: ClassVar[int]
    states: ClassVar[int]
    forms: ClassVar[dict[str, Form]]
    nonlinearity: str = "tanh"

    def __init_subclass__(cls) -> None:
        """Set what the registry knows of the cell."""
        if hasattr(cls, "kind"):
            cls.gates, cls.states, forms = CELLS[cls.kind]
            cls.forms = {name: form for name, form in forms.items() if form.norm == "layer"}

    def _check_and_store(
        self, input_size: int, hidden_size: int, form: str, eps: float, gain: float,
        bias_init: str, recurrent_init: str, implementation: str = "plain", num_layers: int = 1,
        **switches: bool,
    ) -> None:  # fmt: skip
        """Check and store the arguments of networks and cells; ``switches`` must be bools."""
        name = type(self).__name__
        sizes = {"input_size": input_size, "hidden_size": hidden_size, "num_layers": num_layers}
        for argument, size in sizes.items():
            if not isinstance(size, int):
                raise TypeError(
                    f"{name}: {argument} must be an int, got {type(size).__name__}; "
                    "it is a number of units or layers"
                )
            if size < 1:
                raise ValueError(f"{name}: {argument} must be at least 1, got {size}")
        for argument, value in switches.items():
            if not isinstance(value, bool):
                raise TypeError(f"{name}: {argument} must be True or False, got {value!r}")
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
        self.input_size, self.hidden_size = input_size, hidden_size
        self.form, self.eps, self.gain = form, eps, gain
        self.bias_init, self.recurrent_init = bias_init, recurrent_init
        self.implementation = implementation

    def _add_layer(self, suffix: str, inputs: int, bias: bool, **factory_kwargs) -> None:
        """Register the parameters of one layer in one direction, named with ``suffix``."""
        H = self.hidden_size
        form = self.forms[self.form]
        weight = torch.empty(self.gates * H, inputs, **factory_kwargs)
        self.register_parameter(f"weight_ih{suffix}", nn.Parameter(weight))
        weight = torch.empty(self.gates * H, H, **factory_kwargs)
        self.register_parameter(f"weight_hh{suffix}", nn.Parameter(weight))
        has_bias = bias and form.bias
        b = nn.Parameter(torch.empty(self.gates * H, **factory_kwargs)) if has_bias else None
        self.register_parameter(f"bias{suffix}", b)
        for name, span in form.norms.items():
            if self._is_grouped(name):
                norm = nn.GroupNorm(span, span * H, self.eps, **factory_kwargs)
                if not bias:
                    norm.register_parameter("bias", None)
            else:
                norm = LayerNorm(span * H, self.eps, bias=bias, **factory_kwargs)
            self.add_module(f"layernorm_{name}{suffix}", norm)

    def reset_parameters(self) -> None:
        """Initialize the parameters, by default as ``torch.nn`` does but with biases of 0."""
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

    def _run_layer(
        self, suffix: str, data: Tensor, batch_sizes: Sequence[int], state: tuple[Tensor, ...],
        reverse: bool = False,
    ) -> tuple[Tensor, ...]:  # fmt: skip
        """Run one layer in one direction over packed data.

        Args:
            suffix: Of the names of its parameters.
            data: Shape ``(N, features)``, the steps of all sequences.
            batch_sizes: Number of sequences at each time step; they add up to N.
            state: One or two tensors of shape ``(B, H)``.
            reverse: Whether time runs backward.

        Returns:
            The outputs, shape ``(N, H)``, then the last state.
        """
        if (dtype := _autocast(data)) is not None:
            with torch.autocast(data.device.type, enabled=False):
                state = tuple(s.to(dtype) for s in state)
                return self._run_layer(suffix, data.to(dtype), batch_sizes, state, reverse)
        H, GH = self.hidden_size, self.gates * self.hidden_size

        def checked(
            owner: nn.Module, name: str, shape: tuple[int, ...], prefix: str = ""
        ) -> Tensor | None:
            p = getattr(owner, name)
            if p is None:
                return None
            if p.shape != shape:  # kernels would read past the end of it
                raise RuntimeError(
                    f"{type(self).__name__}: {prefix}{name} must be of shape {shape}, got "
                    f"{tuple(p.shape)}; for other sizes build another module"
                )
            return p if p.dtype == data.dtype else p.to(data.dtype)

        weight_ih = checked(self, "weight_ih" + suffix, (GH, data.shape[1]))
        weight_hh = checked(self, "weight_hh" + suffix, (GH, H))
        b = checked(self, "bias" + suffix, (GH,))
        norms = {}
        for key, span in self.forms[self.form].norms.items():
            norm = getattr(self, norm_name := f"layernorm_{key}{suffix}")
            groups = self.gates if self._is_grouped(key) else 1
            if is_as_built(norm, span * H, groups, self.eps):
                norms[key] = tuple(
                    checked(norm, n, (span * H,), norm_name + ".") for n in ("weight", "bias")
                )
            else:
                is_cast = data.dtype != getattr(self, "weight_hh" + suffix).dtype
                norms[key] = caller(norm, f"{type(self).__name__}: {norm_name}", is_cast)
        implementation = "plain" if any(map(callable, norms.values())) else self.implementation
        input_norms = [norms.pop(key) for key in ("i", "in") if key in norms]
        spec = Spec(self.kind, self.form, self.nonlinearity, self.eps, reverse)
        return kernels.run(
            implementation, spec, data, batch_sizes, state, weight_hh, [*norms.values()],
            InputProduct(weight_ih, b, tuple(input_norms)),
        )  # fmt: skip

    @property
    def eps(self) -> float:
        """Added to the variance by the norms; setting it sets it in every norm."""
        return self._eps

    @eps.setter
    def eps(self, eps: float) -> None:
        check_eps(type(self).__name__, eps)
        self._eps = eps
        for name, norm in self.named_children():
            if name.startswith("layernorm_") and hasattr(norm, "eps"):
                norm.eps = eps

    def _is_grouped(self, key: str) -> bool:
        return self.form == "per_gate" and key == "s"  # each gate alone

    def extra_repr(self) -> str:
        """Return the sizes, and the options that differ from their defaults."""
        text = f"{self.input_size}, {self.hidden_size}"
        for name, default in self._defaults.items():
            if (value := getattr(self, name)) != default:
                text += f", {name}={value!r}"
        return text


class _RNNBase(_RecurrentBase):
    """A recurrent network over time, as ``torch.nn.RNNBase``, with layer norm."""

    _defaults: ClassVar[dict] = {
        "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0,
        "bidirectional": False, **_EXTRA_DEFAULTS, "implementation": "auto",
    }  # fmt: skip

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
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
        self._check_and_store(
            input_size, hidden_size, form, eps, gain, bias_init, recurrent_init, implementation,
            num_layers, bias=bias, batch_first=batch_first, bidirectional=bidirectional,
        )  # fmt: skip
        if isinstance(proj_size, bool) or not isinstance(proj_size, int) or proj_size != 0:
            raise ValueError(
                f"{name}: proj_size must be 0, got {proj_size!r}; the paper's networks have no "
                "projection; apply a torch.nn.Linear to the outputs instead"
            )
        is_number = isinstance(dropout, numbers.Number) and not isinstance(dropout, bool)
        if not (is_number and 0 <= dropout <= 1):
            raise ValueError(
                f"{name}: dropout must be a probability from 0 to 1, got {dropout!r}; "
                "it is the probability that an output is zeroed between layers"
            )
        if dropout > 0 and num_layers == 1:
            warnings.warn(
                f"{name}: dropout acts between layers, so dropout={dropout} does nothing with "
                "num_layers=1; add a layer or leave it out",
                stacklevel=2,
            )
        self.num_layers, self.bias, self.batch_first = num_layers, bias, batch_first
        self.dropout, self.bidirectional, self.proj_size = float(dropout), bidirectional, 0
        for layer in range(num_layers):
            inputs = input_size if layer == 0 else hidden_size * (1 + bidirectional)
            for suffix in self._suffixes(layer):
                self._add_layer(suffix, inputs, bias, device=device, dtype=dtype)
        self.reset_parameters()

    @property
    def mode(self) -> str:
        """The name that ``torch.nn`` uses: ``LSTM``, ``GRU``, ``RNN_TANH`` or ``RNN_RELU``."""
        return {"rnn": f"RNN_{self.nonlinearity.upper()}"}.get(self.kind, self.kind.upper())

    @property
    def all_weights(self) -> list[list[nn.Parameter]]:
        """The parameters of each layer in each direction, those of its norms last."""
        return [self._weights(s) for layer in range(self.num_layers) for s in self._suffixes(layer)]

    def _weights(self, suffix: str) -> list[nn.Parameter]:
        own = [getattr(self, name + suffix) for name in ("weight_ih", "weight_hh", "bias")]
        norms = (getattr(self, f"layernorm_{p}{suffix}") for p in self.forms[self.form].norms)
        return [p for p in own if p is not None] + [p for n in norms for p in n.parameters()]

    def flatten_parameters(self) -> None:
        """Do nothing; ``torch.nn`` arranges weights for cuDNN, which has no layer norm."""

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
        if _calls.is_transformed(self, input):
            return self._transformed(input, hx)
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        self._check_tensor(input, hx)
        is_unbatched = input.dim() == 2
        if is_unbatched:
            input = input.unsqueeze(1)
            hx = None if hx is None else _map_state(hx, lambda s: s.unsqueeze(1))
        elif self.batch_first:
            input = input.transpose(0, 1)
        T, B, _ = input.shape
        data, state = self._forward(input.flatten(0, 1), [B] * T, hx)
        output = data.unflatten(0, (T, B))
        if is_unbatched:
            return output.squeeze(1), _map_state(state, lambda s: s.squeeze(1))
        return (output.transpose(0, 1) if self.batch_first else output), state

    def _transformed(self, input: Tensor | PackedSequence, hx: State | None) -> Any:
        """Return a node of a ``torch.fx`` graph, or outputs with per-example gradients."""
        if isinstance(input, PackedSequence) or (isinstance(input, Tensor) and input.dim() != 3):
            raise TypeError(
                f"{type(self).__name__}: per-example gradients need a 3-D batch of sequences of "
                "equal length; pad the sequences, or call the module once per example"
            )
        batch = 0 if self.batch_first else 1
        return _calls.call(self, input, hx, in_dims=(batch, 1), out_dims=(batch, 1))

    def _forward_packed(
        self, packed: PackedSequence, hx: State | None
    ) -> tuple[PackedSequence, State]:
        data, batch_sizes, sorted_indices, unsorted_indices = packed
        if data.dim() != 2:
            raise RuntimeError(
                f"{type(self).__name__}: a PackedSequence must have 2 dimensions, (steps of all "
                f"sequences, features), got {data.dim()}; pack a (T, B, input_size) tensor"
            )
        sizes = batch_sizes.tolist()
        if sizes != sorted(sizes, reverse=True) or sizes[-1:] < [1] or sum(sizes) != len(data):
            raise RuntimeError(
                f"{type(self).__name__}: batch_sizes of a PackedSequence must never increase, be "
                f"at least 1, and add up to its {len(data)} rows, got {sizes}; pack with "
                "torch.nn.utils.rnn.pack_sequence"
            )
        for which, indices in (("sorted", sorted_indices), ("unsorted", unsorted_indices)):
            if indices is not None and len(indices) != sizes[0]:
                raise RuntimeError(
                    f"{type(self).__name__}: {which}_indices of a PackedSequence must be one for "
                    f"each of its {sizes[0]} sequences, got {len(indices)}; pack with "
                    "torch.nn.utils.rnn.pack_sequence"
                )
        data, state = self._forward(data, sizes, hx, sorted_indices)
        if unsorted_indices is not None:
            state = _map_state(state, lambda s: s.index_select(1, unsorted_indices))
        return PackedSequence(data, batch_sizes, sorted_indices, unsorted_indices), state

    def _forward(
        self, data: Tensor, batch_sizes: list[int], hx: State | None,
        sorted_indices: Tensor | None = None,
    ) -> tuple[Tensor, State]:  # fmt: skip
        """Run all layers over packed data ``(N, features)``; ``hx`` is in the batch's order."""
        self._check_sizes(data, batch_sizes, hx)
        if hx is not None and sorted_indices is not None:
            hx = _map_state(hx, lambda s: s.index_select(1, sorted_indices))
        directions = 1 + self.bidirectional
        if hx is None:
            shape = (self.num_layers * directions, batch_sizes[0], self.hidden_size)
            initial_states = (data.new_zeros(shape),) * self.states
        else:
            initial_states = hx if self.states == 2 else (hx,)
        final_states: list[tuple[Tensor, ...]] = []
        for layer in range(self.num_layers):
            outputs = []
            for direction, suffix in enumerate(self._suffixes(layer)):
                state = tuple(s[layer * directions + direction] for s in initial_states)
                output, *end = self._run_layer(suffix, data, batch_sizes, state, direction == 1)
                outputs.append(output)
                final_states.append(tuple(end))
            data = outputs[0] if directions == 1 else torch.cat(outputs, 1)
            if layer < self.num_layers - 1:
                data = F.dropout(data, self.dropout, self.training)
        state = tuple(torch.stack(s) for s in zip(*final_states, strict=True))
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

    def _check_sizes(self, data: Tensor, batch_sizes: list[int], hx: State | None) -> None:
        name = type(self).__name__
        _check_data(self, self.weight_ih_l0, data)
        if not batch_sizes:
            raise RuntimeError(f"{name}: input must have at least one time step, got 0")
        expected = (self.num_layers * (1 + self.bidirectional), batch_sizes[0], self.hidden_size)
        _check_states(
            name, _tensors(name, hx, self.states), expected,
            "layers * directions, B, hidden_size", data,
        )  # fmt: skip


def _map_state(state: State, function) -> State:
    return tuple(map(function, state)) if isinstance(state, (tuple, list)) else function(state)


class _RNNCellBase(_RecurrentBase):
    """One step of a recurrent network, as ``torch.nn.RNNCellBase``, with layer norm."""

    _defaults: ClassVar[dict] = dict(_EXTRA_DEFAULTS)

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
        self._check_and_store(
            input_size, hidden_size, form, eps, gain, bias_init, recurrent_init, bias=bias
        )
        self._add_layer("", input_size, bias, device=device, dtype=dtype)
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
        if _calls.is_transformed(self, input):
            return _calls.call(self, input, hx)
        name = type(self).__name__
        if not isinstance(input, Tensor) or input.dim() not in (1, 2):
            got = f"{input.dim()}D" if isinstance(input, Tensor) else type(input).__name__
            raise (ValueError if isinstance(input, Tensor) else TypeError)(
                f"{name}: input must be a Tensor of 1D or 2D, (features) or (B, features), got "
                f"{got}; a cell takes one time step"
            )
        state = _tensors(name, hx, self.states)
        is_unbatched = input.dim() == 1
        if any(s.dim() != input.dim() for s in state):
            raise ValueError(
                f"{name}: for {input.dim()}D input, hx must be {input.dim()}D too, got "
                f"{state[0].dim()}D; it is (B, hidden_size), without B for one sequence"
            )
        if is_unbatched:
            input, state = input.unsqueeze(0), tuple(s.unsqueeze(0) for s in state)
        _check_data(self, self.weight_ih, input)
        expected = (len(input), self.hidden_size)
        _check_states(name, state, expected, "B, hidden_size", input)
        if not state:
            state = (input.new_zeros(expected),) * self.states
        _, *state = self._run_layer("", input, [len(input)], state)
        state = tuple(s.squeeze(0) for s in state) if is_unbatched else tuple(state)
        return state if self.states == 2 else state[0]
