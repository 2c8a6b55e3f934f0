"""Diagrams as inline SVG, generated in Python.

=================  ===========================================================================
``cube()``         which numbers share a mean in a tensor (batch, channel, position), norm by norm
``lstm() gru()``   one step of a layer-normalized cell, with its norms
``residual()``     a residual block, with the norm before it, after it, or both
``residual_stream()``  the residual stream through all blocks, its width showing its measured std
``board()``        a sketch for a blackboard
=================  ===========================================================================

``diagram.py`` has their class, ``svg.py`` has helpers for drawing, ``flow.py`` draws boxes and
arrows. ``diagrams.css`` contains the styles, with the colors of the book. ``diagrams.js`` handles
pointer and keyboard; without it, a diagram shows everything at once, as in print.
"""

import html
from collections.abc import Mapping, Sequence

from lnbook.diagrams import boards, cells, cubes, residual_streams, residuals
from lnbook.diagrams.diagram import WEB, Diagram

__all__ = ["WEB", "Diagram", "board", "cube", "gru", "lstm", "residual", "residual_stream"]


def cube() -> Diagram:
    """Return a diagram of a tensor (batch, channel, position) and of which numbers share a mean.

    Example:
        >>> cube()
        Which numbers share a mean. LayerNorm(C): the mean of 6 numbers, those at position 2 of
        example 2; other examples do not matter. 16 means in total.
    """
    return Diagram("ln-diagram-cube", "Which numbers share a mean", cubes.body(), cubes.describe())


def lstm() -> Diagram:
    """Return a diagram of one step of the paper's layer-normalized LSTM, eqs. 20–22."""
    return cells.LSTM.diagram("One step of the layer-normalized LSTM, eqs. 20–22")


def gru() -> Diagram:
    """Return a diagram of one step of the paper's layer-normalized GRU, eqs. 26–28."""
    return cells.GRU.diagram("One step of the layer-normalized GRU, eqs. 26–28")


def residual(
    block: Sequence[str] = ("block",),
    *,
    forms: Sequence[str] | Mapping[str, str] = ("pre", "post", "sandwich"),
    title: str = "Where the norm is applied in a residual block",
) -> Diagram:
    """Return residual blocks side by side, with the residual path highlighted.

    Args:
        block: The sublayers of the block in order, such as ``("attention",)`` or ``("linear",
            "ReLU")``.
        forms: Some of ``pre`` (norm, block, sum), ``post`` (block, sum, norm), ``sandwich`` (norm,
            block, norm, sum) and ``inner`` (the norm after the first box of the block), or a
            mapping from these to headings.
        title: The title of the card.

    Raises:
        ValueError: If a form is unknown, or if ``inner`` is used with a block of one box.

    Example:
        >>> residual(("attention",), forms=("pre", "post"))
        Where the norm is applied in a residual block. No norm on the highlighted residual path:
        Pre-norm. A norm on it: Post-norm.
    """
    titles = forms if isinstance(forms, Mapping) else dict.fromkeys(forms)
    panels = residuals.panels(block, titles)
    return Diagram("ln-diagram-residual", title, residuals.body(panels), residuals.describe(panels))


def residual_stream(
    states: Mapping[str, Mapping[str, residual_streams.State]],
    gauge: residual_streams.Gauge,
    *,
    title: str,
    starts: str,
    bars: str,
    hint: str,
) -> Diagram:
    """Return a diagram of the residual stream as a band, with the norms on it or on branches.

    Args:
        states: Maps each placement (``pre``, ``post``, ``sandwich`` or ``none``) to a state for
            each option of the second choice. The first state of the first placement is shown first.
        gauge: The scale below the diagram.
        title: The title of the card.
        starts: The label of the second choice.
        bars: The label of the bars.
        hint: How to read the diagram.
    """
    body = residual_streams.body(states, gauge, starts=starts, bars=bars, hint=hint)
    text = next(iter(next(iter(states.values())).values())).description
    return Diagram("ln-diagram-residual-stream", title, body, text)


def board(name: str) -> Diagram:
    """Return a sketch for a blackboard.

    Args:
        name: A key of ``boards.BOARDS``, such as ``"rows"``.

    Raises:
        ValueError: If there is no such sketch.

    Example:
        >>> board("rows")
        Which numbers share a mean. Batch norm computes a mean down each column, layer norm along
        each row.
    """
    if name not in boards.BOARDS:
        raise ValueError(f"board: name must be one of {', '.join(boards.BOARDS)}, got {name!r}")
    title, draw, text, alt = boards.BOARDS[name]
    body = draw().replace("{alt}", html.escape(alt)) + f'<p class="ln-diagram-said">{text}</p>'
    return Diagram("ln-diagram-board", title, body, text)
