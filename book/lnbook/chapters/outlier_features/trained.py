"""The residual stream of a trained transformer before its second block, as trained and rotated."""

import re
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
import torch
from scipy.linalg import hadamard
from torch import nn

from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import add_line, add_points

LINE = "To be, or not to be, that is the question:"
WORDS = list(re.finditer(r"\S+", LINE))
BITS = 4


ALT = (
    "Left: bars of the 64 features of one character in the residual stream. At spaces two of them "
    "are about twenty times as large as the median; after a rotation all have similar magnitudes. "
    "Right: the error of rounding to 4 bits over the characters of the line, with peaks at the "
    "spaces that disappear after the rotation."
)


def rotation(width: int) -> np.ndarray:
    """Return the Hadamard matrix divided by √width, which is orthogonal; width is a power of 2."""
    return hadamard(width) / np.sqrt(width)


def error(x: np.ndarray, bits: int = BITS) -> np.ndarray:
    """Round each row to integers with one scale per row, and return the relative error per row.

    Args:
        x: Vectors, shape ``(T, H)``.
        bits: Number of bits of the signed integers, whose range is symmetric.
    """
    scale = np.abs(x).max(-1, keepdims=True) / (2 ** (bits - 1) - 1)
    rounded = np.round(x / scale) * scale
    return np.linalg.norm(rounded - x, axis=-1) / np.linalg.norm(x, axis=-1)


def ratio(x: np.ndarray) -> np.ndarray:
    """Return the largest absolute value of each row over their median."""
    size = np.abs(x)
    return size.max(-1) / np.median(size, -1)


def _name(character: str) -> str:
    return "the space" if character == " " else f"“{character}”"


class TrainedTransformers:
    """The behavior of the recorded transformers on :data:`LINE`.

    Args:
        models: Pairs of a model with two blocks and its characters, one per seed, from
            :func:`lnlab.experiments.transformer.weights.restore`.

    Attributes:
        picture: The features of one character and the rounding errors of all, for the first model.
    """

    def __init__(self, models: Sequence[tuple[nn.Module, str]]) -> None:
        self.models = models
        self._streams = [self._read(*pair) for pair in models]
        self.picture = Picture(self._draw, self._describe, alt=ALT)

    @staticmethod
    @torch.no_grad()
    def _read(model: nn.Module, characters: str) -> np.ndarray:
        tokens = torch.tensor([[characters.index(character) for character in LINE]])
        _, x, _ = model.stream(tokens)
        return x[0].double().numpy()

    def stream(self, k: int = 0) -> np.ndarray:
        """Return the residual stream between the blocks of model ``k``, ``(T, H)``."""
        return self._streams[k]

    def gains(self, k: int = 0) -> np.ndarray:
        """Return the gains of the first norm that reads :meth:`stream`, ``(H,)``."""
        return self.models[k][0].blocks[1].norm_a.weight.detach().double().numpy()

    @torch.no_grad()
    def attention(self, k: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Return the attention weights of the second block and the norms of its values.

        Returns:
            Weights of shape ``(heads, T, T)``, one row per query, and the norm of each token's
            value, averaged over heads, of shape ``(T,)``.
        """
        block, x = self.models[k][0].blocks[1], torch.from_numpy(self.stream(k)).float()
        T, width = x.shape
        heads = block.qkv(block.norm_a(x)).view(T, 3, block.heads, width // block.heads)
        query, key, value = heads.permute(1, 2, 0, 3)
        logits = query @ key.mT / key.shape[-1] ** 0.5
        later = torch.ones(T, T, dtype=torch.bool).triu(1)
        weights = logits.masked_fill(later, -torch.inf).softmax(-1)
        return weights.double().numpy(), value.norm(dim=-1).mean(0).double().numpy()

    def _basis(self, rotated: bool) -> np.ndarray:
        x = self.stream()
        return x @ rotation(x.shape[1]) if rotated else x

    def _draw(self, position: int, rotated: bool) -> list[go.Figure]:
        """Draw the features of one character, and the rounding error of all characters."""
        x = self._basis(rotated)[position]
        features = go.Figure()
        features.add_bar(
            x=np.arange(1, 65),
            y=x.round(2),
            marker={"color": COLORS["second" if rotated else "first"]},
            hovertemplate="feature %{x}: %{y:.1f}<extra></extra>",
        )
        features.update_layout(
            title=f"Features of {_name(LINE[position])}",
            height=300,
            showlegend=False,
            xaxis={"title": "feature", "tickvals": [1, 16, 32, 48, 64], "showgrid": False},
            yaxis={"title": "value", "range": [-90, 90]},
        )
        return [features, self._errors(position, rotated)]

    def _errors(self, position: int, rotated: bool) -> go.Figure:
        """Draw the rounding error over the text in both bases, with a point at one character."""
        figure = go.Figure()
        for name, turned, color in (("as trained", False, "first"), ("rotated", True, "second")):
            add_line(
                figure,
                np.arange(len(LINE)),
                (100 * error(self._basis(turned))).round(2),
                (name, COLORS[color], "dash" if turned else "solid"),
                "%{y:.0f}%<extra></extra>",
            )
        add_points(
            figure,
            [position],
            [round(100 * float(error(self._basis(rotated))[position]), 2)],
            (None, COLORS["ink"], "circle"),
            size=11,
        )
        figure.update_layout(
            title=f"Error of rounding to {BITS} bits (%)",
            height=300,
            xaxis={
                "title": "character",
                "tickvals": [(word.start() + word.end() - 1) / 2 for word in WORDS],
                "ticktext": [word[0] for word in WORDS],
                "tickangle": 0,
                "showgrid": False,
            },
            yaxis={"range": [0, 30]},
            legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        )
        return figure

    def _describe(self, position: int, rotated: bool) -> str:
        """Describe the size of the largest feature, and the rounding error."""
        x, character = self._basis(rotated)[[position]], _name(LINE[position])
        before = "After the rotation, the" if rotated else "The"
        return (
            f"{before} largest of the 64 features of {character} is {ratio(x)[0]:.1f} times as "
            f"large as the median. Rounded to {BITS} bits, the features are off by "
            f"{100 * error(x)[0]:.0f}%."
        )
