"""Which numbers of a tensor share one mean."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import plotly.graph_objects as go

from lnbook.diagrams import cubes
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS, fade


@dataclass(frozen=True)
class Rule:
    """Which numbers of a tensor share their statistics.

    Args:
        over: Axes the statistics run over.
        members: Who they are, with the cell's place to be filled in. Empty if nobody.
        groups: Into how many groups of neighbors the channels are cut. 0 if they are not.
        centers: Whether there is a mean. RMS norm has none.
    """

    over: tuple[int, ...]
    members: str
    groups: int = 0
    centers: bool = True


@dataclass(frozen=True)
class Tensor:
    """A small tensor, the names of its axes, which one is the channels, and norms for it."""

    shape: tuple[int, ...]
    axes: tuple[str, ...]
    channels: int
    rules: dict[str, Rule]


TENSORS = {
    "table": Tensor(
        (4, 6),
        ("example", "feature"),
        1,
        {
            "batch norm": Rule((0,), "feature {feature} of every example"),
            "layer norm": Rule((1,), "every feature of example {example}"),
            "RMS norm": Rule((1,), "every feature of example {example}", centers=False),
            "group norm, 2 groups": Rule(
                (), "features {first} to {last} of example {example}", groups=2
            ),
            "instance norm": Rule((), ""),
        },
    ),
    "sequence": Tensor(
        (2, 4, 6),
        ("example", "step", "channel"),
        2,
        {
            "layer norm": Rule((2,), "every channel at step {step} of example {example}"),
            "layer norm over steps too": Rule((1, 2), "all of example {example}"),
            "batch norm": Rule((0, 1), "channel {channel} at every step of every example"),
            "batch norm, a step at a time": Rule(
                (0,), "channel {channel} at step {step} of every example"
            ),
            "group norm, 2 groups": Rule(
                (1,), "channels {first} to {last} at every step of example {example}", groups=2
            ),
            "instance norm": Rule((1,), "channel {channel} at every step of example {example}"),
            "RMS norm": Rule(
                (2,), "every channel at step {step} of example {example}", centers=False
            ),
        },
    ),
}


@cache
def normalization_sets(kind: str, norm: str) -> np.ndarray:
    """Number the normalization sets of a norm, and say in which each cell is.

    Args:
        kind: A key of :data:`TENSORS`.
        norm: A key of its ``rules``.

    Returns:
        Integers from 1 up, of the tensor's shape; equal where cells share their statistics.
    """
    tensor = TENSORS[kind]
    rule = tensor.rules[norm]
    return cubes.normalization_sets(
        tensor.shape, rule.over, channels=tensor.channels, groups=rule.groups
    )


def draw_normalization_set(kind: str, norm: str, **place: int) -> list[go.Figure]:
    """Draw the tensor, each cell with the number of its mean.

    Args:
        kind: A key of :data:`TENSORS`.
        norm: A key of its ``rules``.
        **place: Of the chosen cell: for each axis a number from 1.

    Returns:
        A panel an example; for the table one panel. The cells that share the chosen one's
        statistics are filled, the chosen one is framed.
    """
    tensor = TENSORS[kind]
    numbers = normalization_sets(kind, norm)
    chosen = tuple(place[axis] - 1 for axis in tensor.axes)
    filled = np.where(numbers == numbers[chosen], 1.0, 0.0)
    if kind == "table":
        figures = [_cells(numbers, filled, chosen, tensor.axes, "Which mean each number uses")]
        return [_tinted(figure, norm) for figure in figures]
    figures = [
        _cells(
            numbers[i],
            filled[i],
            chosen[1:] if i == chosen[0] else None,
            tensor.axes[1:],
            f"Example {i + 1}",
        )
        for i in range(tensor.shape[0])
    ]
    return [_tinted(figure, norm) for figure in figures]


def _tinted(figure: go.Figure, norm: str) -> go.Figure:
    """Fill what shares a mean in the color of the norm, the rest with a little gray."""
    lit = COLORS[norm.split()[0].lower()]
    scale = [[0, fade(COLORS["gray"], 0.15)], [1, fade(lit, 0.5)]]
    figure.update_layout(coloraxis={"colorscale": scale, "autocolorscale": False})
    return figure


def describe_normalization_set(kind: str, norm: str, **place: int) -> str:
    """Say how many means there are, over how many numbers, and the chosen cell's set."""
    tensor, numbers = TENSORS[kind], normalization_sets(kind, norm)
    rule, count = tensor.rules[norm], int(numbers.max())
    each = numbers.size // count
    what = "mean" if rule.centers else "root mean square"
    size = tensor.shape[tensor.channels] // max(rule.groups, 1)
    first = (place[tensor.axes[tensor.channels]] - 1) // size * size + 1
    others = rule.members.format(**place, first=first, last=first + size - 1)
    chosen = numbers[tuple(place[axis] - 1 for axis in tensor.axes)]
    return (
        f"For {tensor.shape}: {'' if rule.centers else 'no mean, but '}{count} {what}s, each over "
        f"{each} number{'s' * (each > 1)}. The framed cell uses {what} {chosen}, as "
        f"{'do' if others.startswith('channels') else 'does'} {others}."
        if others
        else f"For {tensor.shape}: {count} means, each over 1 number. The framed cell uses "
        f"{what} {chosen}, and no other cell does: it is its own mean, and becomes 0."
    )


NORMALIZATION_SET = Picture(
    draw_normalization_set,
    describe_normalization_set,
    alt="Two tables, one an example, time steps by channels. Each cell holds the number of the "
    "mean it uses; the cells that share the framed cell's mean are filled.",
)


def _cells(
    numbers: np.ndarray,
    filled: np.ndarray,
    chosen: tuple[int, ...] | None,
    axes: tuple[str, ...],
    title: str,
) -> go.Figure:
    """Draw a slice of two axes."""
    rows, columns = numbers.shape
    figure = _heatmap(np.arange(1, columns + 1), np.arange(1, rows + 1), numbers, filled, title)
    figure.update_layout(
        height=48 * rows + 70,
        xaxis={"title": f"{axes[1]} →", "side": "top", "tickvals": list(range(1, columns + 1)),
               "showgrid": False, "zeroline": False},
        yaxis={"title": f"← {axes[0]}", "range": [rows + 0.5, 0.5],
               "tickvals": list(range(1, rows + 1)), "showgrid": False, "zeroline": False},
    )  # fmt: skip
    if chosen:
        _frame(figure, chosen[1] + 1, chosen[0] + 1)
    return figure


def _heatmap(
    x: np.ndarray, y: np.ndarray, numbers: np.ndarray, filled: np.ndarray, title: str
) -> go.Figure:
    text = [["" if n is None else str(n) for n in row] for row in numbers]
    figure = go.Figure(
        go.Heatmap(
            x=x,
            y=y,
            z=filled,
            text=text,
            texttemplate="%{text}",
            coloraxis="coloraxis",
            hovertemplate="mean %{text}<extra></extra>",
            hoverongaps=False,
            xgap=2,
            ygap=2,
        )
    )
    figure.update_layout(
        title=title,
        coloraxis={"cmin": 0, "cmax": 1, "showscale": False},
    )
    return figure


def _frame(figure: go.Figure, x: float, y: float) -> None:
    figure.update_layout(
        shapes=[
            {"type": "rect", "x0": x - 0.48, "x1": x + 0.48, "y0": y - 0.48, "y1": y + 0.48,
             "line": {"width": 3, "color": COLORS["ink"]}}
        ]
    )  # fmt: skip
