"""A cube of (batch, channel, position) that shows which cells share a mean, for each norm.

The cube is pulled apart along the batch axis, so that every cell is visible: four examples, each a
slab of channels and positions.
"""

import html
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lnbook.diagrams.svg import Point, polygon

SHAPE = (4, 6, 4)  # examples, channels, positions
AXES = ("example", "channel", "position")
START = (1, 2, 1)  # the initially selected cell, counted from 0


@dataclass(frozen=True)
class Norm:
    """A norm, and how the diagram describes it.

    Args:
        over: The axes that its statistics run over.
        members: Description of a normalization set; placeholders stand for the position of a cell.
        tone: The name of its color.
        groups: The number of groups of neighboring channels; 0 if there are none.
        centers: Whether it subtracts a mean. RMS norm does not.
    """

    over: tuple[int, ...]
    members: str
    tone: str
    groups: int = 0
    centers: bool = True


#: Names as in PyTorch, for C channels and T positions. The first is the norm of transformers.
NORMS = {
    "LayerNorm(C)": Norm((1,), "position {position} of example {example}", "layer"),
    "RMSNorm(C)": Norm((1,), "position {position} of example {example}", "rms", centers=False),
    "BatchNorm": Norm((0, 2), "channel {channel} in every example", "batch"),
    "InstanceNorm": Norm((2,), "channel {channel} of example {example}", "instance"),
    "GroupNorm(2, C)": Norm(
        (2,), "channels {first} to {last} of example {example}", "group", groups=2
    ),
    "LayerNorm([C, T])": Norm((1, 2), "example {example}", "layer"),
}
START_NORM = next(iter(NORMS))


def normalization_sets(
    shape: tuple[int, ...], over: tuple[int, ...], *, groups: int = 0
) -> np.ndarray:
    """Return, for each cell, the number of the normalization set it belongs to.

    Args:
        shape: The shape of the tensor; axis 1 contains the channels.
        over: The axes that the mean runs over.
        groups: The number of groups of neighboring channels; 0 if there are none.

    Returns:
        Integers from 1 up, of the given shape; equal for cells that share their statistics.

    Example:
        >>> normalization_sets((2, 3), (0,))
        array([[1, 2, 3],
               [1, 2, 3]])
    """
    indices = np.indices(shape)
    if groups:  # replace the channel by its group
        indices[1] = indices[1] * groups // shape[1]
    keys = np.stack([key.ravel() for axis, key in enumerate(indices) if axis not in over])
    _, numbers = np.unique(keys, axis=1, return_inverse=True)
    return numbers.reshape(shape) + 1


def sets(name: str) -> np.ndarray:
    """Return the number of each cell's normalization set, for a norm of :data:`NORMS`."""
    norm = NORMS[name]
    return normalization_sets(SHAPE, norm.over, groups=norm.groups)


def sentence(name: str) -> str:
    """Return the sentence about a norm, with placeholders for the position of the selected cell."""
    norm, numbers = NORMS[name], sets(name)
    means = int(numbers.max())
    what = "root mean square" if not norm.centers else "mean"
    alone = len({*np.nonzero(numbers == 1)[0]}) == 1  # of one example
    others = "do not matter" if alone else "matter"
    return (
        f"{name}: {'' if norm.centers else 'no mean, only '}the {what} of {numbers.size // means} "
        f"numbers, those of {norm.members}; other examples {others}. "
        f"{means}{' means' * norm.centers} in total."
    ).replace("those of position", "those at position")


def describe(name: str = START_NORM, cell: Sequence[int] = START) -> str:
    """Describe which numbers share a mean with a cell.

    Args:
        name: A key of :data:`NORMS`.
        cell: Example, channel and position, counted from 0.
    """
    size = SHAPE[1] // (NORMS[name].groups or 1)
    first = cell[1] // size * size + 1
    position = {axis: k + 1 for axis, k in zip(AXES, cell, strict=True)}
    return sentence(name).format(**position, first=first, last=first + size - 1)


# Geometry: from cells to points in the drawing.

ALONG = {  # one step along each axis, in pixels
    "example": (152.0, -31.0),
    "channel": (20.0, 8.6),
    "position": (0.0, 26.0),
}
DEEP = 0.115  # thickness of a slab, as a fraction of the distance between examples
ORIGIN = (44.0, 116.0)
SIZE = (652, 310)


def corner(example: float, channel: float, position: float) -> Point:
    """Return the point at which a corner of a cell is drawn."""
    x, y = ORIGIN
    for count, (dx, dy) in zip((example, channel, position), ALONG.values(), strict=True):
        x, y = x + count * dx, y + count * dy
    return x, y


def cell_path(i: int, c: int, p: int) -> str:
    """Return the visible faces of a cell: its front, and its top and side at the slab's edges."""

    def face(*points: tuple[float, float, float]) -> str:
        return polygon([corner(*point) for point in points])

    path = face((i, c, p), (i, c + 1, p), (i, c + 1, p + 1), (i, c, p + 1))
    if p == 0:
        path += face((i, c, 0), (i + DEEP, c, 0), (i + DEEP, c + 1, 0), (i, c + 1, 0))
    if c == SHAPE[1] - 1:
        path += face((i, c + 1, p), (i + DEEP, c + 1, p), (i + DEEP, c + 1, p + 1),
                     (i, c + 1, p + 1))  # fmt: skip
    return path


def slab(i: int) -> list[str]:
    """Return the cells of an example, as paths."""
    paths = (cell_path(i, c, p) for c, p in np.ndindex(SHAPE[1:]))
    return [f'<path class="ln-diagram-cell" d="{path}"/>' for path in paths]


def light() -> str:
    """Return highlights on the slabs' tops and shadows on their sides."""
    N, C, P = SHAPE
    top = [(0, 0, 0), (DEEP, 0, 0), (DEEP, C, 0), (0, C, 0)]
    side = [(0, C, 0), (DEEP, C, 0), (DEEP, C, P), (0, C, P)]
    faces = {
        name: "".join(polygon([corner(i + j, c, p) for j, c, p in face]) for i in range(N))
        for name, face in (("top", top), ("side", side))
    }
    return "".join(f'<path class="ln-diagram-{name}" d="{d}"/>' for name, d in faces.items())


def beam(i: int, c: int) -> str:
    """Return the path that joins a channel of an example with the same channel of the next one."""
    P, ends = SHAPE[2], (i + DEEP, i + 1)
    top = [(ends[0], c, 0), (ends[1], c, 0), (ends[1], c + 1, 0), (ends[0], c + 1, 0)]
    side = [(i, c + 1, p) for i, p in zip((*ends, *ends[::-1]), (0, 0, P, P), strict=True)]
    return "".join(polygon([corner(*point) for point in face]) for face in (top, side))


def drawing(name: str, cell: tuple[int, int, int] = START, *, large: bool = False) -> str:
    """Return an ``<svg>`` of the cube, with the normalization set of a cell highlighted.

    Args:
        name: The name of the norm.
        cell: The selected cell.
        large: Whether to draw the large cube, with axis names and the slabs that small cubes reuse.
    """
    numbers = sets(name)
    lit = numbers == numbers[cell]
    joined = bool(lit.any((1, 2)).all())  # the mean runs over examples
    parts = []
    for i in reversed(range(SHAPE[0])):  # the last example is at the back
        if i < SHAPE[0] - 1:
            parts.append(f'<path class="beam" d="{beam(i, cell[1]) if joined else ""}"/>')
        cells = f'<g id="{{id}}-{i}">{"".join(slab(i))}</g>'
        parts.append(cells if large else f'<use href="#{{id}}-{i}"/>')
    outline = "".join(cell_path(*map(int, index)) for index in np.argwhere(lit))
    parts.append(f'<path class="ln-diagram-cell lit" d="{outline}"/>')
    parts.append(f'<g id="{{id}}-light">{light()}</g>' if large else '<use href="#{id}-light"/>')
    parts.append(f'<path class="mark" d="{cell_path(*cell)}"/>')
    parts.append(_axis_labels() if large else "")
    size = " ".join(map(str, SIZE))
    return f'<svg viewBox="0 0 {size}" aria-hidden="true">{"".join(parts)}</svg>'


def _axis_labels() -> str:
    """Return the names of the axes and the indices along them."""
    N, C, P = SHAPE
    tilt = np.degrees(np.arctan2(*ALONG["channel"][::-1]))
    texts = []

    def add_text(
        x: float, y: float, text: str | int, kind: str = "number", turn: float = 0
    ) -> None:
        turned = f' transform="rotate({turn:.0f} {x:.0f} {y:.0f})"' if turn else ""
        texts.append(f'<text class="{kind}" x="{x:.0f}" y="{y:.0f}"{turned}>{text}</text>')

    for i in range(N):
        x, y = corner(i, 0, 0)
        add_text(x + 86, y - 4, f"example {i + 1}", "axis")
    for c in range(C):
        x, y = corner(0, c + 0.5, P)
        add_text(x - 4, y + 14, c + 1)
    for p in range(P):
        x, y = corner(0, 0, p + 0.5)
        add_text(x - 9, y - 4, p + 1)
    x, y = corner(0, C / 2, P)
    add_text(x - 17, y + 40, "channel →", "axis", tilt)
    x, y = corner(0, 0, P / 2)
    add_text(x - 24, y - 4, "← position", "axis", -90)
    return "".join(texts)


def _breakable(name: str) -> str:
    """Allow a line break in a name only before its parenthesis."""
    return name.replace("(", "<wbr/>(").replace(", ", ",\N{NO-BREAK SPACE}")


def body() -> str:
    """Return the small cubes of all norms, the large cube, and the sentence."""
    start, checked = START_NORM, ' checked="checked"'
    norms = "".join(
        f'<label class="ln-diagram-norm" style="--tone: var(--{norm.tone})">'
        f'<input type="radio" name="{{id}}-norm"{checked * (name == start)} autocomplete="off"/>'
        f"{drawing(name)}<b>{_breakable(name)}</b>"
        f'<span class="ln-diagram-says">{html.escape(describe(name).partition(": ")[2])}</span>'
        "</label>"
        for name, norm in NORMS.items()
    )
    data = {
        "shape": SHAPE,
        "sets": [sets(name).ravel().tolist() for name in NORMS],
        "says": [sentence(name) for name in NORMS],
        "groups": [norm.groups or 1 for norm in NORMS.values()],
        "start": START,
        "beams": [[beam(i, c) for c in range(SHAPE[1])] for i in reversed(range(SHAPE[0] - 1))],
    }
    label = (
        "A tensor of 4 examples, 6 channels, and 4 positions. Arrow keys choose another cell, left "
        "and right along the channels, up and down along the positions, Page Up and Page Down "
        "along the examples."
    )
    return (
        f'<div class="ln-diagram-norms" role="radiogroup" aria-label="Norm">{norms}</div>'
        f'<div class="ln-diagram-large" style="--tone: var(--{NORMS[start].tone})"'
        f' role="application" tabindex="0" aria-label="{label}" aria-describedby="{{id}}-said">'
        f"{drawing(start, large=True)}</div>"
        f'<p class="ln-diagram-said" id="{{id}}-said" role="status">{html.escape(describe())}</p>'
        '<p class="ln-diagram-hint">Choose a norm. Point at a cell or tap it, or use the Tab and '
        "arrow keys.</p>"
        f'<script type="application/json" class="ln-diagram-data">'
        f"{json.dumps(data, separators=(',', ':'))}</script>"
    )
