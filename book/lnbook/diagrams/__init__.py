"""Diagrams drawn by us, where a picture says more than a formula: inline SVG, made by Python.

=================  ===========================================================================
``cube()``         which numbers share a mean in a tensor (batch, channel, position), norm by norm
``lstm() gru()``   one step of a layer-normalized cell, each norm where it sits
``residual()``     a residual block, with the norm before, behind, or both
``residual_stream()``  the residual stream through all blocks, as wide as it was measured
``board()``        a sketch for a blackboard
=================  ===========================================================================

``svg.py`` has what they are drawn with, ``flow.py`` boxes and wires; ``diagrams.css`` the look, in
the colors of the book; ``diagrams.js`` answers to pointer and keyboard. Without it all of a
diagram is there at once, as it is in print.
"""

from __future__ import annotations

import functools
import html
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lnbook.diagrams import boards, cells, cubes, residual_streams, residuals
from lnbook.diagrams.svg import spoken
from lnbook.display import bundle
from lnbook.widgets.base import WidgetFiles, anywidget_class, box

__all__ = ["WEB", "Diagram", "board", "cube", "gru", "lstm", "residual", "residual_stream"]

WEB = WidgetFiles(Path(__file__).parent, ("diagrams.js",), element="ln-diagram")
_ids = itertools.count(1)


class Diagram:
    """A picture that explains itself, the same in a notebook and in the built book.

    Args:
        kind: A class of ``diagrams.css``, by which ``diagrams.js`` knows it.
        title: Heads the card.
        body: HTML of what stands in it; ``{id}`` is replaced by an id of its own.
        description: One sentence; the text of the diagram.
    """

    def __init__(self, kind: str, title: str, body: str, description: str) -> None:
        self.kind, self.title, self.body, self.description = kind, title, body, description

    def to_html(self) -> str:
        """Return one ``<div>``."""
        uid = f"diagram-{next(_ids)}"
        return (
            f'<div class="ln-diagram {self.kind}" id="{uid}" data-address="{uid}" role="group"'
            f' aria-labelledby="{uid}-title"><p class="ln-diagram-title" id="{uid}-title">'
            f"{html.escape(self.title)}</p>{self.body.replace('{id}', uid)}</div>"
        )

    def widget(self) -> Any:
        """Return the widget of a live notebook."""
        import ipywidgets

        try:
            shown = _widget_class()(html=self.to_html())
        except ImportError:  # it does not answer, but everything is there
            shown = ipywidgets.HTML(f"<style>{_style()}</style>{self.to_html()}")
        return box([shown])

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict:
        return bundle(self)

    def __repr__(self) -> str:
        return f"{self.title}. {spoken(self.description)}"


def _style() -> str:
    return WEB.whole_style()


@functools.cache
def _widget_class() -> type:
    import traitlets

    esm = WEB.source() + (
        "\nexport default { render({ model, el }) {\n"
        '  el.innerHTML = model.get("html");\n'
        "  lnDiagram(el.firstElementChild);\n"
        "} };\n"
    )
    return anywidget_class(WEB.name, esm, _style(), html=traitlets.Unicode())


def cube() -> Diagram:
    """Draw a tensor (batch, channel, position) and, norm by norm, which numbers share a mean.

    Example:
        >>> cube()
        Which numbers share a mean. LayerNorm(C): the mean of 6 numbers, those at position 2 of
        example 2; other examples do not matter. 16 means in total.
    """
    return Diagram("ln-diagram-cube", "Which numbers share a mean", cubes.body(), cubes.describe())


def lstm() -> Diagram:
    """Draw one step of the paper's layer-normalized LSTM, eqs. 20-22."""
    return Diagram(
        "ln-diagram-flow",
        "One step of the layer-normalized LSTM, eqs. 20-22",
        cells.LSTM.body(),
        cells.LSTM.description,
    )


def gru() -> Diagram:
    """Draw one step of the paper's layer-normalized GRU, eqs. 26-28."""
    return Diagram(
        "ln-diagram-flow",
        "One step of the layer-normalized GRU, eqs. 26-28",
        cells.GRU.body(),
        cells.GRU.description,
    )


def residual(
    block: Sequence[str] = ("block",),
    *,
    norm: str = "LN",
    forms: Sequence[str] | Mapping[str, str] = ("pre", "post", "sandwich"),
    title: str = "Where the norm is applied in a residual block",
) -> Diagram:
    """Draw residual blocks side by side; the wire that passes the block by is lit.

    Args:
        block: The boxes of the block, from the first to the last, such as ``("attention",)`` or
            ``("linear", "ReLU")``.
        norm: What is written on the norm.
        forms: Of ``pre`` (norm, block, sum), ``post`` (block, sum, norm), ``sandwich`` (norm,
            block, norm, sum) and ``inner`` (the norm after the first box of the block); or from
            these to a heading.
        title: Heads the card.

    Raises:
        ValueError: If a form is unknown, or ``inner`` has a block of one box.

    Example:
        >>> residual(("attention",), forms=("pre", "post"))
        Where the norm is applied in a residual block. No norm on the highlighted residual path:
        Pre-norm. A norm on it: Post-norm.
    """
    titles = forms if isinstance(forms, Mapping) else dict.fromkeys(forms)
    panels = residuals.panels(block, norm, titles)
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
    """Draw the residual stream as a band, with the norms on it or on branches.

    Args:
        states: From a place, ``pre``, ``post``, ``sandwich`` or ``none``, to what is known of it
            for each option of the second choice; the first of both is shown first.
        gauge: The scale below the diagram.
        title: Heads the card.
        starts: What the second choice is called.
        bars: What the bars are.
        hint: What the drawing means.
    """
    body = residual_streams.body(states, gauge, starts=starts, bars=bars, hint=hint)
    text = next(iter(next(iter(states.values())).values())).description
    return Diagram("ln-diagram-residual-stream", title, body, text)


def board(name: str) -> Diagram:
    """Draw a sketch for a blackboard.

    Args:
        name: One of ``boards.BOARDS``, such as ``"rows"``.

    Raises:
        ValueError: If there is no such sketch.

    Example:
        >>> board("rows")
        Who shares a mean. Batch norm takes a mean down each column, layer norm along each row.
    """
    if name not in boards.BOARDS:
        raise ValueError(f"board: name must be one of {', '.join(boards.BOARDS)}, got {name!r}")
    title, draw, text, alt = boards.BOARDS[name]
    body = draw().replace("{alt}", html.escape(alt)) + f'<p class="ln-diagram-said">{text}</p>'
    return Diagram("ln-diagram-board", title, body, text)
