"""Sketches with few lines and few words, to be drawn by hand on a blackboard."""

import html
from collections.abc import Iterable

import numpy as np

from lnbook.diagrams.svg import spans
from lnlib.norms import layer_norm

WIDTH = 480
EXAMPLES, UNITS = 4, 6  # size of the table
PAIR = (1.0, 5.0)  # the numbers to normalize by hand
DEPTH, FADING = 10, 0.66  # number of layers, and the factor per layer in the sketch
CAPTION, PICTURE = (0.2, 0.5), (0.9, 0.4)
ROWS = (
    "all weights × s", "all weights + one vector", "one unit’s weights × s",
    "all data × s", "all data + one vector", "one example × s",
)  # fmt: skip


def rows() -> str:
    """Return a table of examples and units, with a framed column and a framed row."""
    left, top, wide, high = 98, 34, 40, 34
    cells = [
        _rect(left + j * wide, top + i * high, wide, high, "cell")
        for i in range(EXAMPLES)
        for j in range(UNITS)
    ]
    column = _rect(left + 3 * wide, top, wide, EXAMPLES * high, "mark", "batch")
    row = _rect(left, top + high, UNITS * wide, high, "mark", "layer")
    end = left + UNITS * wide
    return _svg(
        top + EXAMPLES * high + 34,
        [
            *cells, column, row,
            _text(left + UNITS * wide / 2, 20, "units"),
            _text(left - 8, top + EXAMPLES * high / 2, "examples", "end small"),
            _text(end + 10, top + 1.5 * high, "layer norm:", "start bold", "layer"),
            _text(end + 10, top + 2.2 * high, f"{EXAMPLES} means", "start", "layer"),
            _text(left + 3.5 * wide, top + EXAMPLES * high + 22,
                  f"batch norm: {UNITS} means", "bold", "batch"),
        ],
    )  # fmt: skip


def pair() -> str:
    """Return the three steps of layer norm for two numbers, one per line."""
    a = np.array(PAIR)
    steps = {"a": a, "a − μ": a - a.mean(), "(a − μ) / σ": layer_norm(a, eps=0)}
    parts = []
    for k, (name, values) in enumerate(steps.items()):
        y = 34 + 62 * k
        parts += [_text(118, y, name, "end"), _line((140, y), (460, y))]
        parts.append(_line((_along(0), y - 8), (_along(0), y + 8)))
        parts.append(_text(_along(0), y + 22, "0", "small"))
        for value, tone in zip(values, ("first", "second"), strict=True):
            parts.append(_dot(_along(value), y, tone))
            parts.append(_text(_along(value), y - 17, f"{value:g}".replace("-", "−"), "bold"))
    mean = _along(a.mean())
    parts += [_line((mean, 24), (mean, 44), "dashed"), _text(mean, 56, "μ", "small")]
    return _svg(34 + 62 * 2 + 34, parts)


def _along(value: float) -> float:
    return 160 + 35 * (value + 2.5)


def table_1() -> str:
    """Return an empty Table 1 of the paper, for a class to fill in."""
    left, top, wide, high = 244, 34, 76, 32
    parts = [
        _text(left + (j + 0.5) * wide, 20, name, "bold", name)
        for j, name in enumerate(("batch", "weight", "layer"))
    ]
    for i, name in enumerate(ROWS):
        parts.append(_text(left - 8, top + (i + 0.5) * high, name, "end small"))
        parts += [_rect(left + j * wide, top + i * high, wide, high, "cell") for j in range(3)]
    return _svg(top + len(ROWS) * high + 6, parts)


def triangle() -> str:
    """Return a step of gradient descent orthogonal to the weights."""
    o, tip, end = (40, 140), (370, 140), (370, 30)
    return _svg(
        172,
        [
            '<path class="arc" d="M140 140A100 100 0 0 0 134.9 108.4M352 140V122H370"/>',
            _text(160, 122, "α"),
            _arrow(o, tip, "gray"), _arrow(tip, end, "sgd"), _arrow(o, end, "layer"),
            _text(220, 160, "W", "bold"),
            _text(384, 88, "−λ ∇L", "start", "sgd"),
            _text(258, 40, "W after the step: larger norm", "end bold", "layer"),
        ],
    )  # fmt: skip


def steps() -> str:
    """Return a state that is multiplied by the same weights repeatedly, and its size per step."""
    parts, columns = [], (156, 236, 316, 432)
    for k, (x, name) in enumerate(zip(columns, ("a_1", "a_2", "a_3", "a_{200}"), strict=True)):
        parts += [
            f'<circle class="cell" cx="{x}" cy="38" r="22"/>',
            _text(x, 38, spans(name), raw=1),
        ]
        if k:
            parts.append(_arrow((columns[k - 1] + 24, 38), (x - 24, 38), "gray"))
            parts.append(_text((columns[k - 1] + x) / 2, 20, "× s" if k < 3 else "…", "small"))
    for y, name, tone, sizes in (
        (96, "no norm", "none", ("s", "s²", "s³", "s²⁰⁰")),
        (134, "layer norm", "layer", ("s", "s", "s", "s")),
    ):
        parts.append(_text(126, y, name, "end bold", tone))
        parts += [_text(x, y, size, "", tone) for x, size in zip(columns, sizes, strict=True)]
    return _svg(156, parts)


def layers() -> str:
    """Return the size of a signal in ten layers, with and without a norm."""
    parts = []
    for base, name, tone, keeps in (
        (78, "no norm", "none", FADING),
        (166, "layer norm", "layer", 1),
    ):
        parts.append(_text(126, base - 22, name, "end bold", tone))
        for k in range(DEPTH):
            high = 60 * keeps**k
            parts.append(_rect(140 + 33 * k, base - high, 22, high, "solid", tone))
        parts.append(_line((134, base), (466, base)))
    parts += [_text(151, 184, "1", "small"), _text(140 + 33 * 9 + 11, 184, str(DEPTH), "small")]
    return _svg(198, [*parts, _text(300, 184, "layer", "small")])


def above() -> str:
    """Return two numbers of a caption in front of those of its image; one exceeds its bound."""
    base, scale, parts = 176, 150, []
    for k, (c, p) in enumerate(zip(CAPTION, PICTURE, strict=True)):
        x = 108 + 130 * k
        parts.append(_rect(x, base - scale * p, 84, scale * p, "cell"))
        parts.append(
            _rect(x + 24, base - scale * min(c, p), 36, scale * min(c, p), "solid", "third")
        )
        if c > p:
            parts.append(_rect(x + 24, base - scale * c, 36, scale * (c - p), "solid", "positive"))
            parts.append(_text(x + 90, base - scale * c, f"{c - p:.1f} above", "start", "positive"))
        parts.append(_text(x + 42, base + 18, f"{c:g} of {p:g}", "small"))
    parts += [
        _line((98, base), (332, base)),
        _text(98, 60, "picture", "end"), _text(94, 158, "caption", "end bold", "third"),
    ]  # fmt: skip
    return _svg(206, parts)


def verdicts() -> str:
    """Return three labels of tests: intervals on either side of zero, and across it."""
    parts = [_line((170, 26), (170, 158), "dashed"), _text(170, 14, "no difference", "small")]
    for y, low, high, name, tone in (
        (54, 50, 140, "✓ supported", "holds"),
        (94, 90, 250, "≈ undecided", "open"),
        (134, 196, 280, "✗ contradicted", "fails"),
    ):
        parts += [_line((low, y), (high, y), "bar", tone), _dot((low + high) / 2, y, tone)]
        parts.append(_text(300, y, name, "start bold", tone))
    parts += [_text(90, 176, "as claimed", "small"), _text(250, 176, "the other way", "small")]
    return _svg(192, parts)


# Maps a name to the heading, the drawing, the sentence below it, and the alt text.
BOARDS = {
    "layers": (
        "Ten layers, one signal", layers,
        "Without a norm, each layer makes the signal smaller. With layer norm, it keeps its scale.",
        "Ten bars that shrink toward 0 from layer 1 to 10; below them ten bars of equal height.",
    ),
    "pair": (
        "Layer norm of (1, 5)", pair,
        "Subtract the mean, then divide by the standard deviation: (1, 5) becomes (−2, 2) and then "
        "(−1, 1).",
        "Three lines of numbers: 1 and 5 with their mean μ; −2 and 2 around 0; −1 and 1 around 0.",
    ),
    "rows": (
        "Which numbers share a mean", rows,
        "Batch norm computes a mean down each column, layer norm along each row.",
        "A table of four examples by six units; one column and one row are framed.",
    ),
    "table-1": (
        "Table 1, to fill in: outputs that do not change", table_1,
        "Six changes of weights or data, and three norms. In which cells does no output change?",
        "An empty grid: a row for each of six changes; columns for batch, weight, and layer norm.",
    ),
    "triangle": (
        "One step under a norm", triangle,
        "The step is orthogonal to the weights W. It turns them by the angle α and increases their "
        "norm.",
        "A right triangle: the long arrow W, at its tip the step upward, and the new W from "
        "start to end.",
    ),
    "steps": (
        "The same weights at every step", steps,
        "Without a norm, the state is multiplied by s at every step; with layer norm, the factor s "
        "occurs only once.",
        "Four states a in a row, with arrows labeled times s between them; below each state, its "
        "scale in both networks.",
    ),
    "above": (
        "A caption that exceeds its picture", above,
        "The caption’s first number is below that of the picture and has no penalty. Its second "
        "number is above: the square of the difference is the penalty.",
        "Two wide bars for the numbers of the picture, each with a narrow bar for the caption in "
        "front of it.",
    ),
    "verdicts": (
        "Three labels of a test", verdicts,
        "A bar is the 95% interval of the differences between paired runs of ten seeds or more. If "
        "the bar lies on one side of the line, the claim is supported or contradicted; if it "
        "crosses the line, the claim is undecided.",
        "A dashed line at no difference; one bar to the left of it, one across it, and one to the "
        "right of it.",
    ),
}  # fmt: skip


# Drawing helpers.


def _svg(height: float, parts: Iterable[str]) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:g}" role="img" aria-label="{{alt}}">'
        + "".join(parts)
        + "</svg>"
    )


def _tone(name: str) -> str:
    return f' style="--tone: var(--ln-{name})"' if name else ""


def _text(
    x: float, y: float, text: str, css_class: str = "", tone: str = "", raw: bool = False
) -> str:
    css_class = f"{css_class} toned" if tone else css_class
    shown = text if raw else html.escape(text)
    return f'<text x="{x:g}" y="{y:g}" class="{css_class}"{_tone(tone)}>{shown}</text>'


def _rect(x: float, y: float, wide: float, high: float, css_class: str, tone: str = "") -> str:
    return (
        f'<rect class="{css_class}" x="{x:g}" y="{y:.4g}" width="{wide:g}" height="{high:.4g}"'
        f"{_tone(tone)}/>"
    )


def _line(
    start: tuple[float, float], end: tuple[float, float], css_class: str = "", tone: str = ""
) -> str:
    (x, y), (u, v) = start, end
    return f'<path class="line {css_class}" d="M{x:g} {y:g}L{u:g} {v:g}"{_tone(tone)}/>'


def _arrow(start: tuple[float, float], end: tuple[float, float], tone: str) -> str:
    a, b = np.array(start, float), np.array(end, float)
    along = (b - a) / np.hypot(*(b - a))
    across = np.array([-along[1], along[0]])
    corners = (b, b - 13 * along + 6 * across, b - 13 * along - 6 * across)
    head = " ".join(f"{x:.4g},{y:.4g}" for x, y in corners)
    shaft = _line(start, tuple(b - 10 * along), "arrow", tone)
    return f'{shaft}<polygon class="solid" points="{head}"{_tone(tone)}/>'


def _dot(x: float, y: float, tone: str) -> str:
    return f'<circle class="solid" cx="{x:g}" cy="{y:g}" r="7"{_tone(tone)}/>'
