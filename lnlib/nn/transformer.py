"""A small decoder-only transformer: every norm, placement and initialization of the book."""

import math
from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lnlib._former_keywords import accept_former_keywords
from lnlib.nn.adaptive import DynamicTanh
from lnlib.nn.norm import LayerNorm
from lnlib.norms._arguments import check_eps

NORMS: dict[str, Callable[[int, float], nn.Module]] = {
    "none": lambda width, eps: nn.Identity(),
    "layer": lambda width, eps: LayerNorm(width, eps),
    "rms": lambda width, eps: nn.RMSNorm(width, eps),
    "tanh": lambda width, eps: DynamicTanh(width),
}
PLACEMENTS = (
    "pre",
    "post",
    "sandwich",
    "mix_ln",
    "deepnorm",
    "ln_scaling",
    "layer_scale",
    "rezero",
)
INITIALIZATIONS = ("normal", "xavier", "pytorch", "gpt2")
GPT2_STD, GPT2_WIDTH = 0.02, 768  # of GPT-2 small


class Transformer(nn.Module):
    """Predict the next token from those before it; norm, placement and initialization are choices.

    A stream of ``width`` features a token passes ``depth`` blocks, each of attention and a
    feed-forward network with residual connections (:mod:`lnlib.transformer` has the equations)::

        pre          x + f(N(x))             and a final norm before the output
        post         N(x + f(x))             as Vaswani et al. (2017) published it
        sandwich     x + N_out(f(N(x)))      and a final norm
        mix_ln       post in the first quarter of the blocks, pre in the others (Mix-LN)
        deepnorm     N(α x + f(x))           with α = (2 depth)^(1/4)
        ln_scaling   x + f(N(x) / √l)        in block l = 1, 2, ... (LayerNorm scaling)
        layer_scale  x + g ∘ f(N(x))         with a learned vector g (LayerScale)
        rezero       x + s f(x)              with a learned number s, and no norm at all (ReZero)

    DeepNorm's matrices start (8 depth)^(-1/4) times as large, except for those of queries and keys;
    g starts at 0.1 in networks of up to 18 blocks, at 1e-5 of up to 24 and at 1e-6 of more (CaiT),
    and s at 0.

    Args:
        vocabulary: Number of tokens.
        depth: Blocks.
        width: Features of a token in the stream.
        heads: Of attention; they share the width.
        length: Most tokens of a text; each position has an embedding.
        norm: ``layer``, ``rms``, ``tanh`` (dynamic tanh) or ``none``.
        placement: One of the names above.
        last_norm: Whether there is a final norm. ``None``: unless the stream is normalized at the
            end, as with ``post`` and ``deepnorm``, or nowhere, as with ``rezero``.
        qk_norm: Norm of each query and key of a head: ``none``, ``layer`` or ``rms``.
        initialization: Of the matrices. ``normal``: N(0, 0.02²) at any width; ``gpt2``: N(0, s²)
            with s = 0.02 √(768 / width), at which a matrix magnifies as GPT-2 small's does at its
            width of 768, and embeddings N(0, 0.02²); ``xavier``: uniform, and embeddings
            N(0, 1/width); ``pytorch``: as the layers of ``torch.nn`` start. Biases start at 0,
            except with ``pytorch``.
        residual_scaling: Whether the two matrices of a block that write into the residual stream
            are multiplied by 1/√(2 depth) at initialization, as in GPT-2 (Radford et al., 2019,
            section 2.3).
        eps: Inside the root of every norm.

    Shape:
        Input ``(B, T)``, integers below ``vocabulary``, T at most ``length``. Output
        ``(B, T, vocabulary)``, logits.

    Raises:
        ValueError: If a setting is none of these, or ``heads`` do not divide ``width``.

    Example:
        >>> import torch
        >>> model = Transformer(65, depth=2, width=32, norm="rms", placement="sandwich")
        >>> model(torch.zeros(3, 8, dtype=torch.long)).shape
        torch.Size([3, 8, 65])
    """

    @accept_former_keywords(place="placement")
    def __init__(
        self,
        vocabulary: int,
        *,
        depth: int = 6,
        width: int = 64,
        heads: int = 4,
        length: int = 64,
        norm: str = "layer",
        placement: str = "pre",
        last_norm: bool | None = None,
        qk_norm: str = "none",
        initialization: str = "normal",
        residual_scaling: bool = False,
        eps: float = 1e-5,
    ) -> None:
        super().__init__()
        _check_choice("norm", norm, NORMS)
        _check_choice("placement", placement, PLACEMENTS)
        _check_choice("qk_norm", qk_norm, ("none", "layer", "rms"))
        _check_choice("initialization", initialization, INITIALIZATIONS)
        check_eps("Transformer", eps)
        if heads < 1 or width % heads:
            raise ValueError(f"Transformer: heads must divide width {width}, got {heads}")
        self.length, self.placement = length, placement
        self.token = nn.Embedding(vocabulary, width)
        self.position = nn.Embedding(length, width)
        self.blocks = nn.ModuleList(
            Block(width, heads, norm, placement, qk_norm, eps, number=i, depth=depth)
            for i in range(1, depth + 1)
        )
        has_last = placement not in ("post", "deepnorm") if last_norm is None else last_norm
        has_last &= placement != "rezero"
        self.last_norm = NORMS[norm if has_last else "none"](width, eps)
        self.output = nn.Linear(width, vocabulary)
        _initialize(self, initialization, width)
        if residual_scaling:
            for block in self.blocks:
                for layer in (block.merge, block.contract):
                    layer.weight.data /= math.sqrt(2 * depth)
        if placement == "deepnorm":
            for block in self.blocks:
                values = block.qkv.weight.data[2 * width :]
                for weight in (values, block.merge.weight.data, block.expand.weight.data,
                               block.contract.weight.data):  # fmt: skip
                    weight *= (8 * depth) ** -0.25

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the logits of each next token."""
        *_, x = self.stream(tokens)
        return self.output(self.last_norm(x))

    def stream(self, tokens: Tensor) -> Iterator[Tensor]:
        """Yield the residual stream ``(B, T, width)``: embeddings, then after each block."""
        T = tokens.shape[-1]
        if not 1 <= T <= self.length:
            raise ValueError(
                f"Transformer: a text must have from 1 to {self.length} tokens, got {T}; pass its "
                f"last {self.length}"
            )
        x = self.token(tokens) + self.position.weight[:T]
        yield x
        for block in self.blocks:
            x = block(x)
            yield x


class Block(nn.Module):
    """Attention and a feed-forward network of four times the width, each with norms around it.

    The arguments are those of :class:`Transformer`, and the ``number`` of the block, from 1.
    """

    def __init__(
        self, width: int, heads: int, norm: str, placement: str, qk_norm: str, eps: float,
        number: int = 1, depth: int = 1,
    ) -> None:  # fmt: skip
        super().__init__()
        if placement == "mix_ln":
            placement = "post" if 4 * number <= depth else "pre"
        norm = "none" if placement == "rezero" else norm
        self.placement, self.heads, self.number = placement, heads, number
        self.skip_factor = (2 * depth) ** 0.25 if placement == "deepnorm" else 1.0
        if placement in ("layer_scale", "rezero"):
            initial_scale = torch.zeros(()) if placement == "rezero" else _layer_scale(width, depth)
            self.gain_a, self.gain_f = (nn.Parameter(initial_scale.clone()) for _ in range(2))
        self.qkv = nn.Linear(width, 3 * width)
        self.merge = nn.Linear(width, width)
        self.norm_q, self.norm_k = (NORMS[qk_norm](width // heads, eps) for _ in range(2))
        self.expand, self.contract = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm_a, self.norm_f = (NORMS[norm](width, eps) for _ in range(2))
        if placement == "sandwich":
            self.norm_a_out, self.norm_f_out = (NORMS[norm](width, eps) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        """Return the stream after the block, of the shape of ``x``: ``(B, T, width)``."""
        if self.placement in ("post", "deepnorm"):
            x = self.norm_a(self.skip_factor * x + self.attention(x))
            return self.norm_f(self.skip_factor * x + self.feed_forward(x))
        if self.placement == "sandwich":
            x = x + self.norm_a_out(self.attention(self.norm_a(x)))
            return x + self.norm_f_out(self.feed_forward(self.norm_f(x)))
        if self.placement in ("layer_scale", "rezero"):
            x = x + self.gain_a * self.attention(self.norm_a(x))
            return x + self.gain_f * self.feed_forward(self.norm_f(x))
        factor = self.number**-0.5 if self.placement == "ln_scaling" else 1.0
        x = x + self.attention(factor * self.norm_a(x))
        return x + self.feed_forward(factor * self.norm_f(x))

    def attention(self, x: Tensor) -> Tensor:
        """Return what each token has read of those before it and of itself."""
        B, T, width = x.shape
        heads = self.qkv(x).view(B, T, 3, self.heads, width // self.heads)
        q, k, v = heads.permute(2, 0, 3, 1, 4)
        read = F.scaled_dot_product_attention(self.norm_q(q), self.norm_k(k), v, is_causal=True)
        return self.merge(read.transpose(1, 2).reshape(B, T, width))

    def feed_forward(self, x: Tensor) -> Tensor:
        """Return what the two layers make of each token by itself."""
        return self.contract(F.gelu(self.expand(x)))


def _layer_scale(width: int, depth: int) -> Tensor:
    """Return the initial gain of LayerScale, as Touvron et al. (2021) choose it by the depth."""
    return torch.full((width,), 0.1 if depth <= 18 else 1e-5 if depth <= 24 else 1e-6)


def _initialize(model: Transformer, initialization: str, width: int) -> None:
    """Draw the matrices anew, unless they are to start as ``torch.nn`` starts them."""
    if initialization == "pytorch":
        return
    embedding = width**-0.5 if initialization == "xavier" else GPT2_STD
    std = GPT2_STD * math.sqrt(GPT2_WIDTH / width) if initialization == "gpt2" else GPT2_STD
    for module in model.modules():
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, 0, embedding)
        elif isinstance(module, nn.Linear):
            if initialization == "xavier":
                nn.init.xavier_uniform_(module.weight)
            else:
                nn.init.normal_(module.weight, 0, std)
            nn.init.zeros_(module.bias)


def _check_choice(name: str, value: str, known) -> None:
    if value not in known:
        raise ValueError(f"Transformer: {name} must be one of {', '.join(known)}; got {value!r}")
