"""Boxes and arrows on a grid, drawn from left to right, or from top to bottom on narrow screens."""

import html
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lnbook.diagrams.diagram import Diagram
from lnbook.diagrams.svg import Point, marked, polygon, spans, spoken, wire

#: Half the width and half the height of a box, by kind.
SIZES = {
    "end": (23, 14),
    "weight": (21, 19),
    "norm": (29, 18),
    "gate": (28, 18),
    "block": (28, 18),
    "sum": (13, 13),
    "times": (13, 13),
    "minus": (14, 14),
}
SIGNS = {"sum": "+", "times": "⊙", "minus": "1−"}
ROUND = {"weight": 5, "norm": 7, "gate": 18, "block": 5}
LANDSCAPE, PORTRAIT = (86, 60), (66, 61)  # pixels per column and per row
MARGIN = (34, 24)
NOTE = 5  # pixels added above and below a box with a second line


@dataclass(frozen=True)
class Box:
    """A box of a :class:`Flow`.

    Args:
        kind: A key of :data:`SIZES`.
        column: The position along the flow.
        row: The position across the flow.
        label: The text in the box, with mathematics as in :func:`lnbook.diagrams.svg.spans`.
        text: A line on what it does, with the equation between dollar signs.
        note: A second line in the box.
        tone: The name of the color, such as ``gate-f``. ``None``: the color of the text.
        wide: Half of its width, if it differs from that of its kind.
    """

    kind: str
    column: float
    row: float
    label: str = ""
    text: str = ""
    note: str = ""
    tone: str | None = None
    wide: float | None = None

    @property
    def half(self) -> Point:
        """Half the width and half the height."""
        wide, high = SIZES[self.kind]
        return self.wide or wide, high + NOTE * bool(self.note)


@dataclass(frozen=True)
class Wire:
    """An arrow between two boxes.

    Args:
        source: The name of a box.
        target: The name of a box.
        bend: ``""`` for a straight line, ``"hv"`` for along the row and then across, ``"vh"`` for
            the reverse, or a column: along the row to this column, across, and along again.
        tone: See :class:`Box`.
        start: A column at which it branches off a longer arrow, marked by a dot.
        over: Whether it crosses over another arrow.
        lit: Whether it is highlighted.
    """

    source: str
    target: str
    bend: str | float = ""
    tone: str | None = None
    start: float | None = None
    over: bool = False
    lit: bool = False


@dataclass(frozen=True)
class Flow:
    """Boxes by name, and the arrows between them.

    Args:
        boxes: In the order in which the arrow keys select them; boxes without text are skipped.
        wires: In drawing order.
        description: One sentence about the whole diagram.
    """

    boxes: Mapping[str, Box]
    wires: Sequence[Wire]
    description: str

    def __post_init__(self) -> None:
        """Raise a ``ValueError`` if an arrow would not run along rows and columns."""
        for w in self.wires:
            for (u, v), (x, y) in itertools.pairwise(self.points(w)):
                if u != x and v != y:
                    raise ValueError(
                        f"Flow: the wire from {w.source!r} to {w.target!r} must run along rows and "
                        f"columns, got a part from {(u, v)} to {(x, y)}; give it a bend"
                    )

    def diagram(self, title: str) -> Diagram:
        """Return the diagram, with the title of its card."""
        return Diagram("ln-diagram-flow", title, self.body(), self.description)

    def body(self) -> str:
        """Return the drawing, the sentence, and a line for every box."""
        parts = [(name, box) for name, box in self.boxes.items() if box.text]
        lines = "".join(
            f'<li data-part="{name}"{_toned(box)}>{marked(box.text)}</li>' for name, box in parts
        )
        return (
            f'{self.draw()}<div class="ln-diagram-lines">'
            f'<p class="ln-diagram-said" role="status">{marked(self.description)}</p>'
            f'<ol class="ln-diagram-parts">{lines}</ol></div>'
            '<p class="ln-diagram-hint">To see what a box does, point at it or tap it, or press'
            " Tab and the arrow keys.</p>"
        )

    def draw(self) -> str:
        """Return an ``<svg>`` for both orientations: left to right, or top to bottom if narrow.

        The boxes are the same in both, and the style sheet positions them; it shows the arrows of
        one orientation. The drawing is cropped to the height of that orientation.
        """
        (width, height), (narrow, tall) = self._size(_landscape), self._size(_portrait)
        wires = "".join(
            f'<g class="wires {name}">{self._wires(to_point)}</g>'
            for name, to_point in (("ln-diagram-wide", _landscape), ("ln-diagram-tall", _portrait))
        )
        boxes = "".join(
            self._box(name, box, style=f"--c:{box.column:g};--r:{box.row:g}")
            for name, box in self.boxes.items()
        )
        return (
            f'<svg viewBox="0 0 {width:g} {tall:g}" preserveAspectRatio="xMinYMin slice"'
            f' style="--wide: {width:g}px; --flat: {width:g} / {height:g};'
            f' --upright: {narrow:g} / {tall:g}" role="img"'
            f' aria-label="{html.escape(spoken(self.description))}">{wires}{boxes}</svg>'
        )

    def upright(self) -> str:
        """Return an ``<svg>`` drawn from top to bottom at every width."""
        width, height = self._size(_portrait)
        boxes = "".join(
            self._box(name, box, _portrait(box.column, box.row)) for name, box in self.boxes.items()
        )
        return (
            f'<svg viewBox="0 0 {width:g} {height:g}" style="--wide: {width:g}px" role="img"'
            f' aria-label="{html.escape(spoken(self.description))}">'
            f'<g class="wires">{self._wires(_portrait)}</g>{boxes}</svg>'
        )

    def _size(self, to_point) -> Point:
        """Return the width and the height of the drawing."""
        edges = [
            [
                coordinate + max(half, margin)
                for coordinate, half, margin in zip(
                    to_point(b.column, b.row), b.half, MARGIN, strict=True
                )
            ]
            for b in self.boxes.values()
        ]
        return tuple(map(max, zip(*edges, strict=True)))

    def _wires(self, to_point) -> str:
        return "".join(self._wire(w, to_point) for w in self.wires)

    def _wire(self, w: Wire, to_point) -> str:
        points = [to_point(*p) for p in self.points(w)]
        points[-1] = _border(self.boxes[w.target], points[-2], points[-1])
        head, points[-1] = _head(points[-2], points[-1], 12 if w.lit else 8)
        path, lit = wire(points), ' class="lit"' * w.lit
        tone = f' style="--tone: var(--{w.tone})"' if w.tone else ""
        (x, y), *_ = points
        return (
            (f'<path class="bridge" d="{path}"/>' if w.over else "")
            + f'<g{lit} data-to="{w.target}"{tone}>'
            + (f'<path class="glow" d="{path}"/>' if w.lit else "")
            + f'<path d="{path}"/><path d="{head}"/>'
            + (f'<circle cx="{x:g}" cy="{y:g}" r="3.5"/>' if w.start is not None else "")
            + "</g>"
        )

    def points(self, w: Wire) -> list[Point]:
        """Return the corners of an arrow, in columns and rows."""
        source, target = self.boxes[w.source], self.boxes[w.target]
        first, last = (source.column, source.row), (target.column, target.row)
        if w.start is not None:
            first = (w.start, source.row)
        if w.bend == "":
            corners = []
        elif w.bend == "hv":
            corners = [(last[0], first[1])]
        elif w.bend == "vh":
            corners = [(first[0], last[1])]
        else:
            corners = [(w.bend, first[1]), (w.bend, last[1])]
        corners = [first, *corners, last]
        return [p for k, p in enumerate(corners) if k == 0 or p != corners[k - 1]]

    def _box(self, name: str, box: Box, center: Point = (0, 0), style: str = "") -> str:
        (x, y), (a, b) = center, box.half
        if box.kind in SIGNS:
            shape = f'<circle cx="{x:g}" cy="{y:g}" r="{a}"/>'
        elif box.kind == "end":
            size = f'width="{2 * a:g}" height="{2 * b:g}"'
            shape = f'<rect class="ground" x="{x - a:g}" y="{y - b:g}" {size}/>'
        else:
            shape = (
                f'<rect x="{x - a:g}" y="{y - b:g}" width="{2 * a:g}" height="{2 * b}"'
                f' rx="{ROUND[box.kind]}"/>'
            )
        up = 8 if box.note else 0
        label = spans(box.label or SIGNS.get(box.kind, ""))
        text = f'<text x="{x:g}" y="{y - up:g}">{label}</text>'
        if box.note:
            text += f'<text class="note" x="{x:g}" y="{y + 11:g}">{spans(box.note)}</text>'
        part = f' data-part="{name}"' if box.text else ""
        return f'<g class="box {box.kind}"{part}{_toned(box, style)}>{shape}{text}</g>'


def _landscape(column: float, row: float) -> Point:
    return MARGIN[0] + column * LANDSCAPE[0], MARGIN[1] + row * LANDSCAPE[1]


def _portrait(column: float, row: float) -> Point:
    return MARGIN[0] + row * PORTRAIT[0], MARGIN[1] + column * PORTRAIT[1]


def _border(box: Box, before: Point, center: Point) -> Point:
    """Return where an arrow meets the box that it ends at, with room for the arrowhead."""
    (u, v), (x, y) = before, center
    a, b = box.half
    if u == x:
        return x, y - (b if v < y else -b)
    return x - (a if u < x else -a), y


def _head(before: Point, tip: Point, size: float) -> tuple[str, Point]:
    """Return an arrowhead, and the point within it where the line ends."""
    (u, v), (x, y) = before, tip
    length = abs(x - u) + abs(y - v)  # the segment is parallel to an axis
    dx, dy = (x - u) / length * size, (y - v) / length * size
    left = (x - dx + 0.55 * dy, y - dy - 0.55 * dx)
    right = (x - dx - 0.55 * dy, y - dy + 0.55 * dx)
    return polygon([left, tip, right]), (x - 0.7 * dx, y - 0.7 * dy)


def _toned(box: Box, style: str = "") -> str:
    """Add the color of a box, if it has one, to a style."""
    whole = ";".join(filter(None, (style, box.tone and f"--tone:var(--{box.tone})")))
    return f' style="{whole}"' if whole else ""
