"""A stack of transformer blocks before the first update, for every scheme of the page."""

import itertools
import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from lnlib.nn.transformer import Block, Transformer

WIDTH, HEADS, LENGTH, BATCH, VOCABULARY, SEEDS = 64, 4, 32, 4, 65, 3
SCHEMES = {
    "pre-norm": "pre",
    "post-norm": "post",
    "residual scaling 1/√(2N)": "scaled",
    "ReZero": "rezero",
    "LayerScale": "layerscale",
    "DeepNorm": "deepnorm",
    "Mix-LN": "mix",
    "LayerNorm scaling": "lns",
    "sandwich (Peri-LN)": "sandwich",
    "output norm only": "output",
    "HybridNorm": "hybrid",
}
NAMES = {key: name for name, key in SCHEMES.items()}
# Names in the library, if they differ; the last two schemes have blocks of their own.
PLACEMENTS = {
    "scaled": "pre",
    "layerscale": "layer_scale",
    "mix": "mix_ln",
    "lns": "ln_scaling",
    "output": "pre",
    "hybrid": "pre",
}


@dataclass(frozen=True)
class Profile:
    """Measurements of a stack before the first update, as means over the seeds.

    Args:
        variance: Variance of the residual stream over the features of a token, before the first
            block and after each block, ``(N + 1,)``.
        share: Share of each block in the residual stream after it: the squared sine of the angle
            between the stream before and after the block, ``(N,)``.
        gradient: Norm of the gradient of the weight matrices of each block, ``(N,)``.
    """

    variance: np.ndarray
    share: np.ndarray
    gradient: np.ndarray

    @property
    def in_output(self) -> np.ndarray:
        """Shares of the embedding and of each block in the residual stream after the last block."""
        return output_shares(self.share)


def output_shares(share: np.ndarray) -> np.ndarray:
    """Return the shares of the input and of each block in the final stream, ``(N + 1,)``.

    Each later block multiplies the shares of the earlier ones by ``1 - share``.

    Args:
        share: Share of each block in the stream directly after it, ``(N,)``.
    """
    remaining = np.cumprod(np.append(1, 1 - share[::-1]))[::-1]  # from after each block to the last
    return np.append(1, share) * remaining


def norm(x: Tensor) -> Tensor:
    """Return layer norm of the features, without gain and bias."""
    return F.layer_norm(x, x.shape[-1:])


def output_norm(block: Block, x: Tensor) -> Tensor:
    """Return the stream after a block that normalizes only the output of each sublayer."""
    x = x + norm(block.attention(x))
    return x + norm(block.feed_forward(x))


def hybrid_norm(block: Block, x: Tensor) -> Tensor:
    """Return the stream after a HybridNorm block: norms of queries, keys, values, and of x."""
    B, T, width = x.shape
    heads = block.qkv(x).view(B, T, 3, block.heads, width // block.heads).permute(2, 0, 3, 1, 4)
    read = F.scaled_dot_product_attention(*(norm(part) for part in heads), is_causal=True)
    y = norm(x + block.merge(read.transpose(1, 2).reshape(B, T, width)))
    return y + block.feed_forward(y)


BLOCKS = {"output": output_norm, "hybrid": hybrid_norm}


def initial(scheme: str, blocks: int, seed: int) -> Transformer:
    """Return a transformer with Xavier initialization and the factors of the scheme."""
    torch.manual_seed(seed)
    return Transformer(
        VOCABULARY,
        depth=blocks,
        width=WIDTH,
        heads=HEADS,
        length=LENGTH,
        placement=PLACEMENTS.get(scheme, scheme),
        initialization="xavier",
        residual_scaling=scheme == "scaled",
    )


def measure(scheme: str, blocks: int, seed: int) -> Profile:
    """Return the profile of one seed; tokens and targets are drawn at random."""
    with torch.random.fork_rng(devices=[]):
        model = initial(scheme, blocks, seed)
        tokens = torch.randint(VOCABULARY, (BATCH, LENGTH + 1))
    x = model.token(tokens[:, :-1]) + model.position.weight
    stream = [x, *(x := BLOCKS.get(scheme, Block.forward)(block, x) for block in model.blocks)]
    output = model.output(model.last_norm(x))
    F.cross_entropy(output.flatten(0, 1), tokens[:, 1:].flatten()).backward()
    centered = [(x - x.mean(-1, keepdim=True)).detach().double() for x in stream]
    pairs = itertools.pairwise(centered)
    return Profile(
        np.array([x.square().mean().item() for x in centered]),
        np.array([_new(before, after) for before, after in pairs]),
        np.array([_norm([p.grad for p in b.parameters() if p.ndim > 1]) for b in model.blocks]),
    )


def _new(before: Tensor, after: Tensor) -> float:
    """Return the squared sine of the angle between the vectors of a token, averaged over tokens."""
    if torch.equal(before, after):
        return 0.0  # without rounding errors
    unit = F.normalize(before, dim=-1)
    rest = after - (after * unit).sum(-1, keepdim=True) * unit
    return (rest.square().sum(-1) / after.square().sum(-1)).mean().item()


def _norm(gradients: list[Tensor]) -> float:
    return math.sqrt(sum(gradient.double().square().sum().item() for gradient in gradients))


@cache
def profile(scheme: str, blocks: int) -> Profile:
    """Return the mean profile of :data:`SEEDS` seeds."""
    profiles = [measure(scheme, blocks, seed) for seed in range(SEEDS)]
    parts = ("variance", "share", "gradient")
    return Profile(
        *(
            np.mean([getattr(seed_profile, part) for seed_profile in profiles], axis=0)
            for part in parts
        )
    )
