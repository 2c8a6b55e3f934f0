"""The attentive reader, and an LSTM with recurrent batch norm as a baseline."""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lnlab.experiments.attentive_reader import Settings
from lnlib.nn import LayerNormLSTM
from lnlib.nn.baselines import BatchNorm


class BatchNormLSTM(nn.Module):
    """An LSTM with recurrent batch norm, for sequences of different lengths.

    ::

        i, f, g, o = BN_h(W_hh h) + BN_i(W_ih x) + b
        c = sigmoid(f) c + sigmoid(i) tanh(g)
        h = sigmoid(o) tanh(BN_c(c))

    Cooijmans et al. (2016), eqs. 6-8. Each step has its own statistics: those of the batch in
    training mode, running averages in eval mode. Steps beyond the longest training sequence use the
    statistics of the last known step. As in their public code, a sequence that has ended keeps its
    state and still contributes to the statistics. ``BN_i`` and ``BN_h`` have no bias of their own.

    Args:
        input_size: Number of input features.
        hidden_size: Number of units H.
        steps: Length of the longest training sequence.
        eps: Added to the variance in every norm.
        gain: Initial value of the gains.
        momentum: Weight of the newest batch in the running averages, which start from the first.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        steps: int,
        *,
        eps: float = 1e-5,
        gain: float = 0.1,
        momentum: float = 0.1,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size = input_size, hidden_size
        self.eps, self.momentum = eps, momentum
        H = hidden_size
        self.weight_ih_l0 = nn.Parameter(torch.empty(4 * H, input_size))
        self.weight_hh_l0 = nn.Parameter(torch.empty(4 * H, H))
        self.bias_l0 = nn.Parameter(torch.zeros(4 * H))
        self.bias_c = nn.Parameter(torch.zeros(H))
        for place, features in (("i", 4 * H), ("h", 4 * H), ("c", H)):
            self.register_parameter(f"gain_{place}", nn.Parameter(torch.full((features,), gain)))
            self.register_buffer(f"mean_{place}", torch.zeros(steps, features))
            self.register_buffer(f"var_{place}", torch.ones(steps, features))
        self.register_buffer("known", torch.tensor(0))  # number of steps that have statistics

    def forward(self, x: Tensor, alive: Tensor, h0: Tensor | None = None) -> Tensor:
        """Map inputs ``(T, B, input_size)`` to outputs ``(T, B, H)``.

        Args:
            x: The inputs.
            alive: Whether each sequence has not ended yet, shape ``(T, B)``.
            h0: Initial hidden state, shape ``(B, H)``; zeros if not given.
        """
        known, all_alive = int(self.known), alive.all(1).tolist()
        from_inputs = self._normalize_inputs(F.linear(x, self.weight_ih_l0), known)
        h = c = x.new_zeros(x.shape[1], self.hidden_size)
        h = h if h0 is None else h0
        outputs = []
        for t, (gates, on) in enumerate(zip(from_inputs, alive[..., None].unbind(0), strict=True)):
            gates = gates + self._norm("h", t, known, F.linear(h, self.weight_hh_l0))
            i, f, g, o = gates.chunk(4, 1)
            new = f.sigmoid() * c + i.sigmoid() * g.tanh()
            c = new if all_alive[t] else torch.where(on, new, c)
            new = o.sigmoid() * self._norm("c", t, known, c, self.bias_c).tanh()
            h = new if all_alive[t] else torch.where(on, new, h)
            outputs.append(h)
        if self.training:
            self.known.fill_(max(known, len(x)))
        return torch.stack(outputs)

    def _normalize_inputs(self, x: Tensor, known: int) -> list[Tensor]:
        """Normalize the inputs of all steps in one call, with steps as further features."""
        T, B, GH = x.shape
        steps = range(T) if self.training else [max(0, min(t, known - 1)) for t in range(T)]
        parts = []
        # New steps have momentum 1, so that their averages start from this batch.
        for first, last in ((0, min(T, known)), (min(T, known), T)):
            if first < last:
                flat = x[first:last].transpose(0, 1).reshape(B, -1)
                mean, var = (v[list(steps[first:last])] for v in (self.mean_i, self.var_i))
                gain, bias = (v.repeat(last - first) for v in (self.gain_i, self.bias_l0))
                momentum = self.momentum if first < known else 1.0
                flat = F.batch_norm(
                    flat, mean.view(-1), var.view(-1), gain, bias, self.training, momentum, self.eps
                )
                if self.training:
                    self.mean_i[first:last], self.var_i[first:last] = mean, var
                parts += flat.view(B, -1, GH).unbind(1)
        return parts

    def _norm(self, place: str, t: int, known: int, x: Tensor, bias: Tensor | None = None):
        """Apply the norm ``i``, ``h`` or ``c`` at one step."""
        step = t if self.training else max(0, min(t, known - 1))
        return F.batch_norm(
            x, getattr(self, f"mean_{place}")[step], getattr(self, f"var_{place}")[step],
            getattr(self, f"gain_{place}"), bias, self.training,
            self.momentum if t < known else 1.0, self.eps,
        )  # fmt: skip


class Texts(NamedTuple):
    """A batch of padded texts.

    Attributes:
        words: Word indices, shape ``(T, B)``; values after the end of a text are ignored.
        lengths: Shape ``(B,)``.
    """

    words: Tensor
    lengths: Tensor

    @property
    def alive(self) -> Tensor:
        """Mask of the words that are not padding, shape ``(T, B)``."""
        positions = torch.arange(len(self.words), device=self.words.device)
        return positions[:, None] < self.lengths


class Encoder(nn.Module):
    """A unidirectional or bidirectional LSTM for padded texts.

    Args:
        make_lstm: Returns an LSTM.
        directions: 1 or 2.
        learned_initial_state: Whether the initial hidden state of each LSTM is a parameter, which
            is initialized with 0; the initial cell is 0.
    """

    def __init__(
        self,
        make_lstm: Callable[[], nn.Module],
        directions: int,
        *,
        learned_initial_state: bool = False,
    ) -> None:
        super().__init__()
        self.directions = nn.ModuleList(make_lstm() for _ in range(directions))
        self.h0 = nn.ParameterList(
            nn.Parameter(torch.zeros(lstm.hidden_size))
            for lstm in (self.directions if learned_initial_state else ())
        )

    def forward(self, x: Tensor, texts: Texts) -> tuple[Tensor, Tensor]:
        """Map word vectors ``(T, B, I)`` to outputs ``(T, B, D H)`` and last states ``(B, D H)``.

        The second LSTM reads each text from its own end, so that padding never precedes words.
        """
        last, columns = texts.lengths - 1, torch.arange(x.shape[1], device=x.device)
        outputs, states = [], []
        for k, lstm in enumerate(self.directions):
            read = _reverse(x, texts) if k else x
            h0 = self.h0[k].expand(x.shape[1], -1) if self.h0 else None
            if isinstance(lstm, BatchNormLSTM):
                output = lstm(read, texts.alive, h0)
            elif h0 is None:
                output, _ = lstm(read)
            else:
                output, _ = lstm(read, (h0[None].contiguous(), torch.zeros_like(h0)[None]))
            states.append(output[last, columns])
            outputs.append(_reverse(output, texts) if k else output)
        return torch.cat(outputs, 2), torch.cat(states, 1)


def _reverse(x: Tensor, texts: Texts) -> Tensor:
    """Return texts ``(T, B, I)`` in reverse order, with padding still at the end."""
    positions = torch.arange(len(x), device=x.device)[:, None]
    positions = torch.where(texts.alive, texts.lengths - 1 - positions, positions)
    return x[positions, torch.arange(x.shape[1], device=x.device)]


def dropout(x: Tensor, p: float, generator: torch.Generator | None) -> Tensor:
    """Apply dropout with a given generator: zero with probability p, else divide by 1 - p.

    Without a generator, as at inference, the input is returned unchanged.
    """
    if generator is None or p == 0:
        return x
    mask = torch.rand(x.shape, generator=generator, device=x.device) >= p
    return x * mask / (1 - p)


class Reader(nn.Module):
    """The attentive reader.

    ::

        m = tanh(W_ym y + W_um u + b [+ (W_dq y) . (W_dq u)])   y: outputs over the passage
        s = softmax(w_ms . m)                                   over the words of the passage
        g = tanh(W_rg (sum of s y) + W_ug u + b [+ W_md mean(y)])   u: last output over the query
        p = softmax(W_a g + b)                                  over the entities in the passage

    Hermann et al. (2015). The terms in brackets, dropout and the learned initial state are options
    that are off by default. They are from the public code of Cooijmans et al., which the paper ran
    with ``--use_dq_sims 1 --use_desc_skip_c_g 1 --learn_h0 1`` and dropout 0.5.

    With all options on, the differences from that code are:

    - only entities in the passage can be chosen; there, any word of the vocabulary;
    - initial weights depend on the seed of the run; there, all runs use NumPy's seed 123;
    - in batch norm, a text that has ended repeats its last state; there, texts are padded with
      their own words from the beginning;
    - the population statistics of batch norm are running averages; there, they are estimated after
      training, and its curves use the statistics of the validation batches;
    - the layer-normalized LSTM has one bias of the gates; there, one bias is added before and after
      the norm of the inputs, and each norm has its own.

    Args:
        settings: Norm and sizes.
        words: Number of words.
        entities: Number of entities, which are the first words.
        steps: Length of the longest training passage and of the longest training query.
    """

    def __init__(
        self, settings: Settings, words: int, entities: int, steps: tuple[int, int]
    ) -> None:
        super().__init__()
        H = settings.hidden
        both = H * (1 + settings.bidirectional)
        self.words = nn.Embedding(words, settings.word_size)
        self.passage, self.query = (
            Encoder(
                lambda n=n: lstm(settings, n),
                1 + settings.bidirectional,
                learned_initial_state=settings.learned_initial_state,
            )
            for n in steps
        )
        self.W_ym = nn.Linear(both, H)
        self.W_um = nn.Linear(both, H, bias=False)
        self.w_ms = nn.Linear(H, 1, bias=False)
        self.W_rg = nn.Linear(both, H)
        self.W_ug = nn.Linear(both, H, bias=False)
        self.W_a = nn.Linear(H, entities)
        self.dropout = settings.dropout
        self.W_dq = nn.Linear(both, both, bias=False) if settings.bilinear else None
        self.W_md = nn.Linear(both, H, bias=False) if settings.skip_mean else None
        self.norms = nn.ModuleDict()
        if settings.norm == "batch_everywhere":
            for place in ("ym", "um", "rg", "ug", *(["md"] if settings.skip_mean else [])):
                self.norms[place] = BatchNorm(H, settings.eps, settings.momentum)
                nn.init.constant_(self.norms[place].weight, settings.gain)

    def forward(
        self,
        passage: Texts,
        query: Texts,
        present: Tensor,
        generator: torch.Generator | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Return the entities' logits ``(B, E)`` and the attention ``(T, B)``.

        Args:
            passage: The passages.
            query: The queries.
            present: Whether each entity is in the passage, shape ``(B, E)``.
            generator: Generator for the dropout of word vectors and of g; ``None`` for no dropout.
        """
        vectors = [
            dropout(self.words(texts.words), self.dropout, generator) for texts in (passage, query)
        ]
        y, _ = self.passage(vectors[0], passage)
        _, u = self.query(vectors[1], query)
        m = self._linear("ym", y.flatten(0, 1)).unflatten(0, y.shape[:2]) + self._linear("um", u)
        if self.W_dq is not None:
            m = m + (self.W_dq(y) * self.W_dq(u)).sum(2, keepdim=True)
        scores = self.w_ms(m.tanh())[..., 0].masked_fill(~passage.alive, -math.inf)
        s = scores.softmax(0)
        r = torch.einsum("tb,tbh->bh", s, y)
        g = self._linear("rg", r) + self._linear("ug", u)
        if self.W_md is not None:
            mean = (y * passage.alive[..., None]).sum(0) / passage.lengths[:, None]
            g = g + self._linear("md", mean)
        g = dropout(g.tanh(), self.dropout, generator)
        return self.W_a(g).masked_fill(~present, -math.inf), s

    def _linear(self, place: str, x: Tensor) -> Tensor:
        x = getattr(self, f"W_{place}")(x)
        return self.norms[place](x) if self.norms else x


def lstm(settings: Settings, steps: int) -> nn.Module:
    """Return an LSTM with the norm of the settings."""
    sizes = settings.word_size, settings.hidden
    if settings.norm == "none":
        return nn.LSTM(*sizes)
    options = {"eps": settings.eps, "gain": settings.gain}
    if settings.norm == "layer":
        return LayerNormLSTM(*sizes, **options)
    return BatchNormLSTM(*sizes, steps, **options, momentum=settings.momentum)


def model(
    settings: Settings,
    words: int,
    entities: int,
    steps: tuple[int, int],
    *,
    generator: torch.Generator,
) -> Reader:
    """Build the reader, with the same initial weights for all norms.

    Args:
        settings: Norm, sizes and initialization.
        words: As for :class:`Reader`.
        entities: As for :class:`Reader`.
        steps: As for :class:`Reader`.
        generator: Generator for the initial weights; biases are initialized with 0.
    """
    reader = Reader(settings, words, entities, steps)
    if settings.start == "orthogonal_tied":
        _orthogonal_tied(reader, generator)
        return reader
    bound, H = 1 / math.sqrt(settings.hidden), settings.hidden
    with torch.no_grad():
        reader.words.weight.uniform_(-settings.word_scale, settings.word_scale, generator=generator)
        for name, parameter in reader.named_parameters():
            if "weight_ih" in name or "weight_hh" in name:
                parameter.uniform_(-bound, bound, generator=generator)
                if settings.start == "chosen":
                    if "weight_ih" in name:
                        parameter.mul_(settings.input_scale)
                    else:
                        for square in parameter.split(H):
                            nn.init.orthogonal_(square, generator=generator)
            elif "bias" in name:
                parameter.zero_()
            elif name.startswith(("W_", "w_")):
                width = math.sqrt(3 / parameter.shape[1])
                parameter.uniform_(-width, width, generator=generator)
    return reader


def _orthogonal_tied(reader: Reader, generator: torch.Generator) -> None:
    """Initialize as the public code, which sets the same seed before drawing each matrix.

    Therefore matrices of the same shape are equal: all gates of both LSTMs, for inputs and states,
    are the same orthogonal matrix times 0.05. Other matrices are uniform in
    +-sqrt(6 / (inputs + outputs + 1)).
    """
    drawn: dict[tuple[int, ...], Tensor] = {}

    def uniform(shape: tuple[int, ...]) -> Tensor:
        if shape not in drawn:
            bound = math.sqrt(6 / (sum(shape) + 1))
            drawn[shape] = torch.empty(shape).uniform_(-bound, bound, generator=generator)
        return drawn[shape]

    orthogonal: dict[int, Tensor] = {}

    def square(parameter: Tensor) -> Tensor:
        shape = tuple(parameter.shape)
        if shape[0] != shape[1]:
            return uniform(shape)
        if shape[0] not in orthogonal:
            orthogonal[shape[0]] = 0.05 * nn.init.orthogonal_(
                torch.empty(shape), generator=generator
            )
        return orthogonal[shape[0]]

    with torch.no_grad():
        for name, parameter in reader.named_parameters():
            if "weight_ih" in name or "weight_hh" in name:
                for gate in parameter.chunk(4):
                    gate.copy_(square(gate))
            elif "bias" in name:
                parameter.zero_()
            elif name in ("W_ym.weight", "W_dq.weight"):
                parameter.copy_(square(parameter))
            elif name == "w_ms.weight":
                bound = 1 / math.sqrt(parameter.shape[1])
                parameter.uniform_(-bound, bound, generator=generator)
            elif name.startswith("W_") or name == "words.weight":
                parameter.copy_(uniform(tuple(parameter.shape)))
