"""The residual stream of the book's transformer before its second block, as stored and rotated."""

from __future__ import annotations

from functools import cache

import numpy as np
import plotly.graph_objects as go
import torch

from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnlab import records
from lnlab.experiments.transformer import weights
from lnlib.nn.transformer import Transformer

LINE = "To be, or not to be, that is the question:"
SEEDS = 0, 1, 2
BITS = 4


@cache
def _model(seed: int) -> tuple[Transformer, torch.Tensor]:
    """Return the recorded model of a seed and the tokens of :data:`LINE`, of shape ``(1, T)``."""
    (record,) = (r for r in records.read_all("transformer", ablate=True) if r["seed"] == seed)
    model, characters = weights.restore(record)
    tokens = [characters.index(character) for character in LINE]
    return model.requires_grad_(False), torch.tensor([tokens])


@cache
def stream(seed: int = 0) -> np.ndarray:
    """Return the residual stream between the two blocks, of shape ``(T, 64)``, one row a token."""
    model, tokens = _model(seed)
    _, x, _ = model.stream(tokens)
    return x[0].double().numpy()


def gains(seed: int = 0) -> np.ndarray:
    """Return the gains of the norm that reads :func:`stream`, of shape ``(64,)``."""
    return _model(seed)[0].blocks[1].norm_a.weight.double().numpy()


def attention(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return the attention weights of the second block and the lengths of its values.

    Returns:
        Weights of shape ``(heads, T, T)``, one row a query, and the norm of each token's value,
        averaged over heads, of shape ``(T,)``.
    """
    block, x = _model(seed)[0].blocks[1], torch.from_numpy(stream(seed)).float()
    T, width = x.shape
    heads = block.qkv(block.norm_a(x)).view(T, 3, block.heads, width // block.heads)
    q, k, v = heads.permute(1, 2, 0, 3)
    logits = q @ k.mT / k.shape[-1] ** 0.5
    hidden = torch.ones(T, T, dtype=torch.bool).triu(1)
    weight = logits.masked_fill(hidden, -torch.inf).softmax(-1)
    return weight.double().numpy(), v.norm(dim=-1).mean(0).double().numpy()


def rotation(width: int) -> np.ndarray:
    """Return the Hadamard matrix over its root, which is orthogonal; ``width`` is a power of 2."""
    Q = np.ones((1, 1))
    while len(Q) < width:
        Q = np.block([[Q, Q], [Q, -Q]]) / np.sqrt(2)
    return Q


def error(x: np.ndarray, bits: int = BITS) -> np.ndarray:
    """Round each row to integers with one scale a row, and return the relative error of each.

    Args:
        x: Of shape ``(T, H)``.
        bits: The integers go from ``-(2**(bits - 1) - 1)`` to the same number above 0.
    """
    scale = np.abs(x).max(-1, keepdims=True) / (2 ** (bits - 1) - 1)
    rounded = np.round(x / scale) * scale
    return np.linalg.norm(rounded - x, axis=-1) / np.linalg.norm(x, axis=-1)


def ratio(x: np.ndarray) -> np.ndarray:
    """Return the largest absolute value of each row over their median."""
    size = np.abs(x)
    return size.max(-1) / np.median(size, -1)


def _basis(rotated: bool) -> np.ndarray:
    return stream() @ rotation(64) if rotated else stream()


def _name(character: str) -> str:
    return "the space" if character == " " else f"“{character}”"


def draw(position: int, rotated: bool) -> list[go.Figure]:
    """Draw the features of one character, and the rounding error of all characters."""
    x = _basis(rotated)[position]
    features = go.Figure()
    features.add_bar(
        x=np.arange(1, 65),
        y=x.round(2),
        marker={"color": COLORS["rms" if rotated else "layer"]},
        hovertemplate="feature %{x}: %{y:.1f}<extra></extra>",
    )
    features.update_layout(
        title=f"Features of {_name(LINE[position])}",
        height=300,
        showlegend=False,
        xaxis={"title": "feature", "tickvals": [1, 16, 32, 48, 64], "showgrid": False},
        yaxis={"range": [-90, 90]},
    )
    return [features, _errors(position, rotated)]


def _errors(position: int, rotated: bool) -> go.Figure:
    """Draw the rounding error over the line, as stored and rotated, and a point at a character."""
    figure = go.Figure()
    for name, turned, color in (("as trained", False, "layer"), ("rotated", True, "rms")):
        figure.add_scatter(
            x=np.arange(len(LINE)),
            y=(100 * error(_basis(turned))).round(2),
            mode="lines",
            line={"color": COLORS[color], "width": 2.5, "dash": "dash" if turned else "solid"},
            name=name,
            hovertemplate="%{y:.0f} %<extra></extra>",
        )
    figure.add_scatter(
        x=[position],
        y=[round(100 * float(error(_basis(rotated))[position]), 2)],
        mode="markers",
        marker={"color": COLORS["ink"], "size": 11},
        hoverinfo="skip",
        showlegend=False,
    )
    figure.update_layout(
        title=f"Error of rounding to {BITS} bits (%)",
        height=300,
        xaxis={
            "title": "character",
            "tickvals": list(range(len(LINE))),
            "ticktext": [character.replace(" ", "␣") for character in LINE],
            "tickangle": 0,
            "showgrid": False,
        },
        yaxis={"range": [0, 30]},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
    )
    return figure


def describe(position: int, rotated: bool) -> str:
    """Say how large the largest feature is, and what rounding costs."""
    x, of = _basis(rotated)[[position]], _name(LINE[position])
    before = "After the rotation, the" if rotated else "The"
    return (
        f"{before} largest of the 64 features of {of} is {ratio(x)[0]:.1f} times as large as the "
        f"median. Rounded to {BITS} bits, the features are off by {100 * error(x)[0]:.0f} %."
    )


STREAM = Picture(
    draw,
    describe,
    alt="Left: bars of the 64 features of one character in the residual stream. At spaces two of "
    "them are about twenty times as large as the others; after a rotation all have similar sizes. "
    "Right: the error of rounding to 4 bits over the characters of the line, with peaks at the "
    "spaces that disappear after the rotation.",
)
