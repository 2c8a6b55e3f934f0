"""Diagram of the residual stream: a band through all blocks, with norms on it or on branches.

Each block reads from the band and adds to it. The caller passes the width of the band, the heights
of the bars and the positions of the marks; the placement determines where the norms are.
"""

import base64
import gzip
import html
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lnbook.diagrams.svg import Point, format_point, marked, wire

#: The name of each placement of a block's norms.
PLACEMENTS = {
    "pre": "Pre-norm",
    "post": "Post-norm",
    "sandwich": "Sandwich",
    "none": "No norm",
}


@dataclass(frozen=True)
class State:
    """The content of the diagram for one selection.

    Args:
        description: The sentence. A number can refer to its mark, as in ``[1.00](last-std)``.
        widths: Std of the stream before the first block and after each block. ``None``: unknown.
        bars: One for each block, on a logarithmic scale that spans :data:`BARS`.
        marks: Maps two labels to a number on the gauge; ``None`` stands for unknown.
    """

    description: str
    widths: Sequence[float] | None = None
    bars: Sequence[float] | None = None
    marks: Mapping[str, float | None] | None = None


@dataclass(frozen=True)
class Gauge:
    """The scale below the diagram.

    Args:
        title: The quantity on the scale.
        low: The left end.
        high: The right end.
        lines: Maps the labels of reference lines to numbers.
    """

    title: str
    low: float
    high: float
    lines: Mapping[str, float]


@dataclass(frozen=True)
class Layout:
    """Positions and sizes in pixels, along the stream and across it."""

    portrait: bool
    size: Point
    step: float  # distance between blocks
    start: float  # where the first block begins
    stream: float  # center line of the stream, across
    box: float  # the middle of the boxes
    half: Point  # half the size of a box, along and across
    norm: float  # position of the norms on the branches
    wide: float  # width of the stream for a std of 1
    foot: float  # lower end of the bars
    high: float  # length of a bar at the high end of the scale
    gauge: tuple[float, float, float]  # left end, right end, and position across

    def to_point(self, along: float, across: float) -> Point:
        """Return the pixel position of a point."""
        return (across, along) if self.portrait else (along, across)

    def rect(self, along: float, across: float, long: float, wide: float) -> list[float]:
        """Return x, y, width and height of a rectangle around a point."""
        x, y = self.to_point(along - long / 2, across - wide / 2)
        return [round(v, 1) for v in (x, y, *self.to_point(long, wide))]


WIDE = Layout(False, (720, 446), 49, 70, 172, 54, (11, 14), 108, 22, 332, 64, (150, 640, 396))
TALL = Layout(
    True, (360, 722), 42, 58, 152, 40, (9, 16), 92, 18, 212, 96, (30, 330, 664)
)  # fmt: skip
#: The labels of the numbers in the drawing, in the order of the texts of :func:`_shape`.
MARKS = ("first-loss", "second-loss", "first-std", "last-std", "first-bar", "last-bar")
BARS = (1e-4, 20)  # ends of the bars' scale
TICKS = (1e-3, 0.1, 10)  # ticks of the bars' scale
FORK, JOIN, BEHIND = 0.14, 0.78, 0.94  # fractions of a step
LEAST = 1.6  # pixels: minimum width of the stream
WIDEST = 100  # pixels: a wider stream would cover the norms on the branches


def _length(layout: Layout, value: float) -> float:
    """Return the length of a bar in pixels, clipped to the scale."""
    low, high = map(math.log10, BARS)
    share = (math.log10(max(value, BARS[0])) - low) / (high - low)
    return max(1, layout.high * min(share, 1))


def number(value: float) -> str:
    """Format a std: two decimals, or more if these would be 0.

    Example:
        >>> [number(v) for v in (1.0, 0.014, 0.00123)]
        ['1.00', '0.01', '0.001']
    """
    return f"{value:.2f}" if value >= 0.005 else f"{value:.1g}"


def _shape(
    layout: Layout, placement: str, state: State, blocks: int, gauge: Gauge
) -> dict[str, Any]:
    """Return everything that depends on the state: outline, rectangles, circles and texts."""
    widths = state.widths if state.widths is not None else [0] * (blocks + 1)
    half = [max(LEAST, min(layout.wide * w, WIDEST)) / 2 for w in widths]
    rects = [*_locks(layout, placement, half), *_bars(layout, state.bars or [0] * blocks)]
    circles, texts = _marks(layout, gauge, state)
    return {
        "outline": _outline(layout, half),
        "rects": rects,
        "circles": circles,
        "texts": texts + _ends(layout, state, half),
    }


def _outline(layout: Layout, half: Sequence[float]) -> str:
    """Return the outline of the stream, whose width after each block is proportional to its std."""
    joins = [layout.start + (k + JOIN) * layout.step for k in range(len(half) - 1)]
    middle = [layout.start - 30, *joins, layout.start + (len(half) - 1) * layout.step + 34]
    half_widths = [half[0], *half[1:], half[-1]]
    banks = []
    for side in (-1, 1):
        bank = []
        for along, before, after in zip(
            middle,
            [half_widths[0], *half_widths[:-1]],
            [*half_widths[:-1], half_widths[-1]],
            strict=True,
        ):
            bank.append(layout.to_point(along - 6, layout.stream + side * before))
            bank.append(layout.to_point(along + 6, layout.stream + side * after))
        banks.append(bank)
    return f"M{'L'.join(map(format_point, banks[0] + banks[1][::-1]))}Z"


def _locks(layout: Layout, placement: str, half: Sequence[float]) -> list[list[float]]:
    """Return x, y, width, height and opacity of two norms per block and of the final norm."""
    results = []
    for k in range(len(half) - 1):
        begin = layout.start + k * layout.step
        on_branch = [
            layout.rect(begin + part * layout.step, layout.norm, 15, 7) for part in (FORK, JOIN)
        ]
        across = layout.rect(
            begin + BEHIND * layout.step, layout.stream, 7, 2 * max(half[k + 1], 9) + 10
        )
        first = across if placement == "post" else on_branch[0]
        results += [
            [*first, int(placement != "none")],
            [*on_branch[1], int(placement == "sandwich")],
        ]
    end = layout.start + (len(half) - 1) * layout.step + 14
    last = layout.rect(end, layout.stream, 7, 2 * max(half[-1], 9) + 10)
    return [*results, [*last, int(placement in ("pre", "sandwich"))]]


def _bars(layout: Layout, bars: Sequence[float]) -> list[list[float]]:
    results = []
    for k, value in enumerate(bars):
        along, height = layout.start + (k + 0.46) * layout.step, _length(layout, value)
        sign = 1 if layout.portrait else -1
        results.append([*layout.rect(along, layout.foot + sign * height / 2, 17, height), 1])
    return results


def _ends(layout: Layout, state: State, half: Sequence[float]) -> list[list]:
    """Return the first and the last width and bar as texts; empty if unknown."""
    blocks, texts = len(half) - 1, []
    ends = (layout.start - 24, layout.start + blocks * layout.step + 30)
    known = state.widths is not None
    for k, along in zip((0, -1), ends, strict=True):
        value = number(state.widths[k]) if known else ""
        if layout.portrait:
            x, y = layout.stream + half[k] + 22, along + 4
        else:
            x, y = along, layout.stream + half[k] + 17
        texts.append([round(x, 1), round(y, 1), value])
    for k in (0, blocks - 1):
        along = layout.start + (k + 0.46) * layout.step
        height = _length(layout, state.bars[k]) if state.bars is not None else 0
        value = number(state.bars[k]) if state.bars is not None else ""
        across = layout.foot + (height + 20 if layout.portrait else -height - 9)
        x, y = layout.to_point(along, across)
        texts.append([round(x, 1), round(y, 1), value])
    return texts


def _marks(layout: Layout, gauge: Gauge, state: State) -> tuple[list[list], list[list]]:
    left, right, y = layout.gauge
    circles, texts = [], []
    for k, (label, value) in enumerate((state.marks or {"": None, " ": None}).items()):
        share = 0 if value is None else (value - gauge.low) / (gauge.high - gauge.low)
        x = left + min(max(share, 0), 1) * (right - left)
        circles.append([round(x, 1), y, int(value is not None)])
        inside = min(max(x, left + 34), right - 34)
        text = "" if value is None else f"{label} {value:.2f}"
        texts.append([round(inside, 1), y + (-16 if k == 0 else 20), text])
    if not state.marks:
        texts[0] = [(left + right) / 2, y - 16, "not recorded"]
    return circles, texts


def draw(layout: Layout, placement: str, state: State, blocks: int, gauge: Gauge, bars: str) -> str:
    """Return the ``<svg>`` of a state."""
    shape = _shape(layout, placement, state, blocks, gauge)
    still = []
    for k in range(blocks):
        begin = layout.start + k * layout.step
        fork, join = begin + FORK * layout.step, begin + JOIN * layout.step
        middle = (fork + join) / 2
        ways = [
            [(fork, layout.stream), (fork, layout.box), (middle - layout.half[0], layout.box)],
            [(middle + layout.half[0], layout.box), (join, layout.box), (join, layout.stream)],
        ]
        still += [
            f'<path class="way" d="{wire([layout.to_point(*p) for p in way], 6)}"/>' for way in ways
        ]
        x, y, w, h = layout.rect(middle, layout.box, *(2 * v for v in layout.half))
        still.append(f'<rect class="block" x="{x}" y="{y}" width="{w}" height="{h}" rx="4"/>')
        u, v = layout.to_point(middle, layout.box)
        still.append(f'<text x="{u:g}" y="{v:g}">{k + 1}</text>')
    still.append(_labels(layout, blocks, gauge, bars))
    rects = "".join(
        f'<rect class="{"bar" if k > 2 * blocks else "norm"}" x="{x}" y="{y}" width="{w}"'
        f' height="{h}" opacity="{o}" rx="2"/>'
        for k, (x, y, w, h, o) in enumerate(shape["rects"])
    )
    circles = "".join(
        f'<circle class="{"open" if k == 0 else "full"}" cx="{x}" cy="{y}" r="7" opacity="{o}"/>'
        for k, (x, y, o) in enumerate(shape["circles"])
    )
    texts = "".join(
        f'<text class="value" data-mark="{mark}" x="{x}" y="{y}">{html.escape(text)}</text>'
        for mark, (x, y, text) in zip(MARKS, shape["texts"], strict=True)
    )
    size = " ".join(map(str, layout.size))
    return (
        f'<svg viewBox="0 0 {size}" aria-hidden="true">'
        f'<path class="stream" d="{shape["outline"]}"/>'
        f"{''.join(still)}{rects}{circles}{texts}</svg>"
    )


def _labels(layout: Layout, blocks: int, gauge: Gauge, bars: str) -> str:
    """Return the titles and the gauge."""
    left, right, y = layout.gauge
    end = layout.start + blocks * layout.step
    texts = []

    def add_text(x: float, y: float, text: str, kind: str = "") -> None:
        texts.append(f'<text class="word {kind}" x="{x:g}" y="{y:g}">{html.escape(text)}</text>')

    first, last = layout.start, end
    if layout.portrait:
        add_text(layout.box, 9, "block")
        add_text(layout.stream, 9, "stream")
        add_text((layout.foot + 350) / 2, 9, bars)
        line = [(layout.foot, first), (layout.foot, last)]
    else:
        add_text(first - 66, layout.box, "blocks", "left")
        add_text(first - 66, layout.stream - 20, "stream", "left")
        for k, word in enumerate(bars.split()):  # next to the first bar, there is room for one line
            add_text(first - 66, layout.foot - 26 + 17 * k, word, "left")
        line = [(first, layout.foot), (last, layout.foot)]
    texts.append(f'<path class="axis" d="{wire(line)}"/>')
    for tick in TICKS:
        across = layout.foot + (1 if layout.portrait else -1) * _length(layout, tick)
        ends = [layout.to_point(first, across), layout.to_point(last, across)]
        texts.append(f'<path class="axis scale" d="{wire(ends)}"/>')
        add_text(
            *layout.to_point(last + 12, across), f"{tick:g}", "" if layout.portrait else "left"
        )
    texts.append(f'<path class="axis" d="M{left} {y}H{right}"/>')
    for label, value in gauge.lines.items():
        x = left + (value - gauge.low) / (gauge.high - gauge.low) * (right - left)
        texts.append(f'<path class="axis tick" d="M{x:.1f} {y - 11}v22"/>')
        # Long labels stay within the drawing.
        label_text = f"{label} {value:.2f}"
        label_width = 3.6 * len(label_text)
        add_text(min(max(x, label_width), layout.size[0] - label_width), y + 42, label_text)
    if layout.portrait:
        add_text((left + right) / 2, y - 40, gauge.title)
    else:
        add_text(first - 66, y, gauge.title, "left")
    return "".join(texts)


def body(
    states: Mapping[str, Mapping[str, State]],
    gauge: Gauge,
    *,
    starts: str,
    bars: str,
    hint: str,
) -> str:
    """Return the choices, the drawings, one of which is shown, and the sentence.

    Args:
        states: Maps a key of :data:`PLACEMENTS` to a state for each start. The first of both is
            shown first.
        gauge: The scale at the bottom.
        starts: The label of the second choice.
        bars: The label of the bars.
        hint: How to read the drawing.
    """
    placement, (start, state) = next(iter(states)), next(iter(next(iter(states.values())).items()))
    blocks = next(
        len(s.bars) for by_start in states.values() for s in by_start.values() if s.bars is not None
    )
    chips = _chips("Placement of the norm", "place", {p: PLACEMENTS[p] for p in states})
    chips += _chips(starts, "start", {name: name for name in states[placement]})
    drawings = "".join(
        f'<div class="{name}">{draw(layout, placement, state, blocks, gauge, bars)}</div>'
        for name, layout in (("ln-diagram-wide", WIDE), ("ln-diagram-tall", TALL))
    )
    data = {
        f"{p}|{name}": {
            "said": marked(s.description),
            "shapes": [_shape(layout, p, s, blocks, gauge) for layout in (WIDE, TALL)],
        }
        for p, by_start in states.items()
        for name, s in by_start.items()
    }
    rest = "".join(
        f"<li>{marked(by_start[start].description)}</li>"
        for p, by_start in states.items()
        if p != placement
    )
    return (
        f'{chips}{drawings}<p class="ln-diagram-said" role="status">{marked(state.description)}</p>'
        f'<ul class="ln-diagram-other">{rest}</ul><p class="ln-diagram-hint">{marked(hint)}</p>'
        f'<script type="text/plain" class="ln-diagram-data">{_packed(data)}</script>'
    )


def _packed(data: Any) -> str:
    """Return data as JSON, gzipped, in base64; the same bytes in every build."""
    raw = json.dumps(data, separators=(",", ":")).encode()
    return base64.b64encode(gzip.compress(raw, 9, mtime=0)).decode()


def _chips(legend: str, name: str, options: Mapping[str, str]) -> str:
    checked = ' checked="checked"'
    return (
        f'<div class="ln-diagram-chips" role="radiogroup" aria-label="{html.escape(legend)}">'
        f"<b>{html.escape(legend)}</b>"
        + "".join(
            f'<label><input type="radio" name="{{id}}-{name}" value="{html.escape(key)}"'
            f'{checked * (k == 0)} autocomplete="off"/><span>{html.escape(text)}</span></label>'
            for k, (key, text) in enumerate(options.items())
        )
        + "</div>"
    )
