"""Helpers of the diagrams: coordinates, lines with rounded corners, and simple mathematics."""

import html
import itertools
import re
from collections.abc import Callable, Sequence

Point = tuple[float, float]

SUB = re.compile(r"_\{([^}]*)\}|_(\w)")
LINKED = re.compile(r"\[([^]]+)\]\(([\w-]+)\)")  # a text and the mark that it refers to
LINK = r"""<span data-lights='[data-mark="\2"]' tabindex="0">\1</span>"""
LETTER = re.compile(r"(?<![A-Za-z])[A-Za-z](?![A-Za-z])")  # a single letter is a variable


def short(value: float) -> str:
    """Format a coordinate with at most one decimal."""
    return f"{round(value, 1) + 0.0:g}"


def format_point(point: Point) -> str:
    """Format a point of a path."""
    return " ".join(map(short, point))


def polygon(points: Sequence[Point]) -> str:
    """Return the path of a closed polygon.

    Example:
        >>> polygon([(0, 0), (4, 0), (4, 2.25)])
        'M0 0l4 0 0 2.2z'
    """
    steps = [(x - u, y - v) for (u, v), (x, y) in itertools.pairwise(points)]
    return f"M{format_point(points[0])}l{' '.join(map(format_point, steps))}z"


def wire(points: Sequence[Point], radius: float = 9) -> str:
    """Return the path of a line along the axes with rounded corners.

    Example:
        >>> wire([(0, 0), (20, 0), (20, 30)], radius=5)
        'M0 0H15Q20 0 20 5V30'
    """
    path = [f"M{format_point(points[0])}"]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        path.append(_along(before, _towards(corner, before, radius)))
        path.append(f"Q{format_point(corner)} {format_point(_towards(corner, after, radius))}")
    return "".join([*path, _along(points[-2], points[-1])])


def _along(start: Point, end: Point) -> str:
    """Return a straight segment of a path, parallel to an axis."""
    return f"H{short(end[0])}" if start[1] == end[1] else f"V{short(end[1])}"


def _towards(start: Point, end: Point, distance: float) -> Point:
    """Move from a point toward another, at most halfway."""
    (x, y), (u, v) = start, end
    length = abs(u - x) + abs(v - y)  # the segment is parallel to an axis
    share = min(distance / length, 0.5) if length else 0
    return x + share * (u - x), y + share * (v - y)


def _format_math(text: str, letter: Callable[[str], str], sub: Callable[[str], str]) -> str:
    """Format mathematics: single letters are variables, ``_x`` and ``_{t-1}`` are subscripts."""
    parts, end = [], 0

    def plain(piece: str) -> str:
        ends = [0, *(i for m in LETTER.finditer(piece) for i in m.span()), len(piece)]
        pieces = [html.escape(piece[i:j]) for i, j in itertools.pairwise(ends)]
        return "".join(letter(p) if k % 2 else p for k, p in enumerate(pieces))

    for result in SUB.finditer(text):
        parts += [plain(text[end : result.start()]), sub(html.escape(result[1] or result[2]))]
        end = result.end()
    return "".join([*parts, plain(text[end:])])


def spans(text: str) -> str:
    """Format mathematics for an SVG ``<text>``.

    Example:
        >>> spans("W_h")
        '<tspan class="v">W</tspan><tspan class="s v" dy="0.3em">h</tspan>'
    """
    done = _format_math(
        text,
        lambda letter: f'<tspan class="v">{letter}</tspan>',
        lambda sub: f'<tspan class="{_slope(sub)}" dy="0.3em">{sub}</tspan>\0',
    )
    # Text after a subscript is moved back up, by 0.3 of the smaller font size.
    done = re.sub(r"\0<tspan", '<tspan dy="-0.24em"', done)
    return re.sub(r"\0([^<]+)", r'<tspan dy="-0.24em">\1</tspan>', done).replace("\0", "")


def _slope(sub: str) -> str:
    """Return a subscript in italics if it is a variable."""
    return "s v" if LETTER.match(sub) else "s"


def marked(text: str) -> str:
    """Format a sentence as HTML, with mathematics between dollar signs.

    ``[1.00](last-std)`` is highlighted together with the part of the drawing that has
    ``data-mark="last-std"``.

    Example:
        >>> marked("The norm of $W_x x_t$, alone")
        'The norm of <i>W</i><sub><i>x</i></sub> <i>x</i><sub><i>t</i></sub>, alone'
    """
    pieces = text.split("$")
    return "".join(
        _format_math(p, "<i>{}</i>".format, _sub) if k % 2 else LINKED.sub(LINK, html.escape(p))
        for k, p in enumerate(pieces)
    )


def _sub(sub: str) -> str:
    return f"<sub>{f'<i>{sub}</i>' if LETTER.match(sub) else sub}</sub>"


def spoken(text: str) -> str:
    """Return a sentence for screen readers: without dollar signs, marks and underscores.

    Example:
        >>> spoken("The norm of $W_x x_{t−1}$")
        'The norm of W x x t−1'
    """
    plain = LINKED.sub(r"\1", text).replace("$", "")
    return SUB.sub(lambda match: f" {match[1] or match[2]}", plain)
