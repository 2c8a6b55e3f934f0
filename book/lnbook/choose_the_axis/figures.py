"""Choose the axis: which numbers share one mean, and what follows from it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import plotly.graph_objects as go

import lnlib
from lnbook.show.colors import COLORS, fade
from lnbook.show.diagrams import cubes
from lnbook.show.picture import Picture
from lnbook.show.plots import NORMS, cursor, label_ends
from lnbook.show.table import Table

#: Four examples (rows) of six features (columns): the table of the chapter.
TABLE = np.array(
    [
        [2.47, -2.92, 1.04, 4.77, 11.41, 7.69],
        [10.40, 10.66, 18.18, 21.06, 17.98, 19.56],
        [24.70, 20.35, 27.00, 24.64, 32.17, 33.55],
        [32.67, 31.92, 34.40, 42.46, 42.22, 41.09],
    ]
)

# More examples like them: a level for the whole example, a slope over the features, noise.
LEVELS = (0.0, 42.0)
SLOPE = np.linspace(-5.0, 5.0, 6)
NOISE = 3.0

#: Mean and variance of each feature over all the examples that :func:`examples` can give.
POPULATION = (
    np.mean(LEVELS) + SLOPE,
    np.full(6, (LEVELS[1] - LEVELS[0]) ** 2 / 12 + NOISE**2),
)

FEATURE = 4  # index of the feature that is followed, of example 1
FOLLOWED = float(TABLE[0, FEATURE])
BATCH, LAYER = NORMS["batch"][1], NORMS["layer"][1]


def examples(n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw ``n`` further examples like those of :data:`TABLE`, shape ``(n, 6)``."""
    level = rng.uniform(*LEVELS, size=(n, 1))
    return level + SLOPE + NOISE * rng.normal(size=(n, 6))


def layer_norm_of_followed() -> float:
    """Return what layer norm makes of the number that is followed."""
    return float(lnlib.layer_norm(TABLE[:1])[0, FEATURE])


# The company a batch gives.

BATCHES = 2000
SHOWN = 20  # of them, as points
SIZES = 16  # batch sizes on the horizontal axis, more where a live slider goes further


@cache
def outputs(batch_size: int) -> np.ndarray:
    """Return what batch norm makes of one number in many batches.

    Args:
        batch_size: Examples in a batch: example 1 of :data:`TABLE` and others, drawn anew.

    Returns:
        Shape ``(2000,)``: the output for :data:`FOLLOWED`, one a batch.
    """
    rng = np.random.default_rng(batch_size)
    others = examples(BATCHES * (batch_size - 1), rng)[:, FEATURE].reshape(-1, BATCHES)
    batches = np.vstack([np.full(BATCHES, FOLLOWED), others])  # (batch_size, batches)
    return lnlib.batch_norm(batches)[0]


@cache
def band(batch_size: int) -> tuple[float, float]:
    """Return between which outputs nine batches of ten lie."""
    low, high = np.quantile(outputs(batch_size), [0.05, 0.95])
    return float(low), float(high)


def draw_batch_size(batch_size: int) -> list[go.Figure]:
    """Draw one number's outputs in 20 batches of one size, and their band at every size."""
    layer, places = layer_norm_of_followed(), np.arange(1, SHOWN + 1)
    points = go.Figure()
    points.add_scatter(
        x=places,
        y=outputs(batch_size)[:SHOWN].round(2),  # as the page says them, and fewer bytes
        mode="markers",
        name="batch norm",
        marker={"color": BATCH, "size": 8},
        hovertemplate="batch %{x}: %{y:.2f}<extra>batch norm</extra>",
    )
    _layer_line(points, places, layer)
    _all_data(points, places, whole_population())
    points.update_layout(
        title=f"One number in {SHOWN} batches of {batch_size}",
        xaxis={"title": "batch", "range": [0, SHOWN + 1], "zeroline": False},
        yaxis=_output_axis(),
    )
    sizes = np.arange(1, max(SIZES, batch_size) + 1)
    low, high = np.transpose([band(size) for size in sizes])
    bands = go.Figure()
    bands.add_scatter(
        x=np.r_[sizes, sizes[::-1]],
        y=np.r_[high, low[::-1]].round(2),
        fill="toself",
        fillcolor=fade(BATCH),
        mode="lines",
        line={"width": 1, "color": BATCH},
        name="batch norm",
        hoverinfo="skip",
    )
    _layer_line(bands, sizes, layer)
    _all_data(bands, sizes, whole_population())
    bands.update_layout(
        title="Nine of ten batches, at every size",
        xaxis={"title": "batch size", "range": [0.5, sizes[-1] + 0.5], "zeroline": False},
        yaxis=_output_axis(),
        shapes=[cursor(batch_size)],
    )
    return [label_ends(points), label_ends(bands)]


def describe_batch_size(batch_size: int) -> str:
    """Say between which values the output lies, and that layer norm's does not move."""
    always = f"Layer norm makes it {_number(layer_norm_of_followed())} in every batch."
    if batch_size == 1:
        return f"Alone in its batch, {FOLLOWED} becomes 0 under batch norm. {always}"
    low, high = band(batch_size)
    return (
        f"In nine of ten batches of {batch_size}, batch norm makes {FOLLOWED} something from "
        f"{_number(low)} to {_number(high)}. {always}"
    )


BATCH_SIZE = Picture(
    draw_batch_size,
    describe_batch_size,
    alt="Left: the output for one number in 20 random batches, scattered points for batch norm "
    "and a flat line for layer norm. Right: the band that holds nine of ten outputs of batch "
    "norm, over the batch size, and layer norm's flat line.",
)


def whole_population() -> float:
    """Return what eq. 2 makes of the number: mean and variance over all the data."""
    mean, var = POPULATION
    given = {"mean": mean, "var": var}
    return float(lnlib.batch_norm(TABLE[:1], **given)[0, FEATURE])


def _layer_line(figure: go.Figure, x: np.ndarray, layer: float) -> None:
    figure.add_scatter(
        x=x[[0, -1]],
        y=[layer, layer],
        mode="lines",
        name="layer norm",
        line={"color": LAYER, "width": 2.5},
        hovertemplate="%{y:.2f}<extra>layer norm</extra>",
    )


def _all_data(figure: go.Figure, x: np.ndarray, value: float) -> None:
    figure.add_scatter(
        x=x[[0, -1]],
        y=[value, value],
        mode="lines",
        name="all data",
        line={"color": COLORS["gray"], "dash": "dot", "width": 2},
        hovertemplate="%{y:.2f}<extra>all data</extra>",
    )


def _output_axis() -> dict:
    return {"title": "output", "range": [-2.2, 2.2], "dtick": 1}


# Training and test time.

STREAM = 40  # batches


@dataclass(frozen=True)
class Stream:
    """A training run as batch norm sees it: one feature, one batch after the other.

    Attributes:
        batch_mean: Mean of each batch, shape ``(40,)``.
        running_mean: Running mean before the first batch and after each, shape ``(41,)``.
        running_var: Running variance, likewise.
        train: Output for :data:`FOLLOWED` with the statistics of its batch, shape ``(40,)``.
        test: Output for it with the running statistics, shape ``(41,)``.
    """

    batch_mean: np.ndarray
    running_mean: np.ndarray
    running_var: np.ndarray
    train: np.ndarray
    test: np.ndarray


def batches(batch_size: int) -> np.ndarray:
    """Return the stream of batches of the followed feature, shape ``(40, batch_size)``."""
    rng = np.random.default_rng([STREAM, batch_size])
    return examples(STREAM * batch_size, rng)[:, FEATURE].reshape(STREAM, batch_size)


@cache
def stream(momentum: float, batch_size: int) -> Stream:
    """Follow one feature through 40 batches.

    Args:
        momentum: Weight of the latest batch in the running statistics.
        batch_size: Examples in a batch, at least 2: of one, there is no unbiased variance.

    Returns:
        Statistics and outputs; running mean and variance start from 0 and 1, as in PyTorch.
    """
    mean, var, followed = np.zeros(1), np.ones(1), np.array([[FOLLOWED]])
    running, test, train, means = [(mean, var)], [], [], []
    for batch in batches(batch_size):
        x = batch[:, None].copy()  # (batch_size, 1 feature)
        batch_mean, batch_var = lnlib.batch_statistics(x, ddof=1)
        mean = lnlib.update_running(mean, batch_mean, momentum)
        var = lnlib.update_running(var, batch_var, momentum)
        running.append((mean, var))
        means.append(batch_mean)
        x[0] = FOLLOWED  # example 1 takes a place in this batch
        train.append(lnlib.batch_norm(x)[0])
    test = [lnlib.batch_norm(followed, mean=mean, var=var)[0] for mean, var in running]
    all_means, all_vars = zip(*running, strict=True)
    return Stream(*(np.concatenate(a) for a in (means, all_means, all_vars, train, test)))


def draw_running(momentum: float, batch_size: int, seen: int) -> list[go.Figure]:
    """Draw the running mean, and one number's outputs in training and at test time."""
    run, steps = stream(momentum, batch_size), np.arange(STREAM + 1)
    mean = _running_panel(run.batch_mean, run.running_mean, POPULATION[0][FEATURE], seen)
    mean.update_layout(
        title=f"Mean of feature {FEATURE + 1}", yaxis={"title": "mean", "range": [-4, 50]}
    )
    output = _running_panel(run.train, run.test, whole_population(), seen)
    _layer_line(output, steps, layer_norm_of_followed())
    output.update_layout(
        title=f"Output for the {FOLLOWED} of example 1",
        yaxis={"title": "output", "range": [-4.5, 12.5]},
    )
    return [label_ends(mean), label_ends(output)]


def _running_panel(each: np.ndarray, running: np.ndarray, whole: float, seen: int) -> go.Figure:
    steps = np.arange(STREAM + 1)
    figure = go.Figure()
    figure.add_scatter(
        x=steps[1:],
        y=each.round(2),
        mode="markers",
        name="in training",
        marker={"color": BATCH, "size": 5},
        hovertemplate="batch %{x}: %{y:.2f}<extra>in training</extra>",
    )
    figure.add_scatter(
        x=steps,
        y=running.round(2),
        mode="lines",
        name="at test time",
        line={"color": COLORS["kept"], "width": 2.5},
        hovertemplate="after batch %{x}: %{y:.2f}<extra>at test time</extra>",
    )
    _all_data(figure, steps, whole)
    figure.add_scatter(
        x=[seen],
        y=[running[seen]],
        mode="markers",
        showlegend=False,
        marker={"color": COLORS["kept"], "size": 11},
        hoverinfo="skip",
    )
    figure.update_layout(
        height=340,
        xaxis={"title": "batches seen", "range": [-2, STREAM + 2], "zeroline": False},
        shapes=[cursor(seen)],
    )
    return figure


def describe_running(momentum: float, batch_size: int, seen: int) -> str:
    """Say how far the running mean has come, and what both times make of the number."""
    run = stream(momentum, batch_size)
    after = f"After {seen} batches of {batch_size}" if seen else "Before the first batch"
    if seen == 1:
        after = f"After 1 batch of {batch_size}"
    low, high = np.quantile(run.train, [0.05, 0.95])
    return (
        f"{after}, the running mean is {_number(run.running_mean[seen])} (all data: "
        f"{_number(POPULATION[0][FEATURE])}), and at test time {FOLLOWED} becomes "
        f"{_number(run.test[seen])}. In training it becomes something from {_number(low)} to "
        f"{_number(high)} in nine of ten batches."
    )


RUNNING = Picture(
    draw_running,
    describe_running,
    alt="Two panels over the batches seen: the mean of a feature, and the output for one number. "
    "Points use each batch's own statistics, a line the running ones, a dotted line all data.",
)


# One example: groups of channels, and the root mean square.

CHANNELS = np.array([-3.0, -1.5, -2.0, -2.5, 0.5, 1.0, 0.0, 2.5, 3.0, 5.0, 4.0, 6.5])


def draw_groups(groups: int, shift: float) -> list[go.Figure]:
    """Draw one example of 12 channels, its group norm and its RMS norm."""
    x = CHANNELS[None] + shift
    size = len(CHANNELS) // groups
    means = x.reshape(groups, size).mean(1)
    group_title = f"Group norm, {groups} group{'s' * (groups > 1)}"
    shown = [
        (f"Input and its {groups} mean{'s' * (groups > 1)}", x[0]),
        (group_title, lnlib.group_norm(x, groups)[0]),
        ("RMS norm", lnlib.rms_norm(x)[0]),
    ]
    figures = []
    for k, (title, values) in enumerate(shown):
        figure = go.Figure(
            go.Bar(
                x=np.arange(1, len(CHANNELS) + 1),
                y=values.round(3),
                marker=_stripes(groups) if k < 2 else {"color": COLORS["rms"]},
                hovertemplate="channel %{x}: %{y:.2f}<extra></extra>",
                showlegend=False,
            )
        )
        if k == 0:  # a step at each group's mean
            edges = np.arange(groups) * size + 0.5
            figure.add_scatter(
                x=np.column_stack([edges, edges + size, np.full(groups, np.nan)]).ravel(),
                y=np.column_stack([means, means, np.full(groups, np.nan)]).ravel(),
                mode="lines",
                line={"color": COLORS["ink"], "width": 3},
                hovertemplate="mean %{y:.2f}<extra></extra>",
                showlegend=False,
            )
        figure.update_layout(
            title=title,
            height=260,
            bargap=0.15,
            xaxis={"title": "channel", "tickvals": [1, 4, 8, 12], "showgrid": False,
                   "zeroline": False},
            yaxis={"range": [-4, 18] if k == 0 else [-2.4, 2.8]},
        )  # fmt: skip
        figures.append(figure)
    return figures


def describe_groups(groups: int, shift: float) -> str:
    """Say the means, and what a shift does to each norm."""
    x = CHANNELS[None] + shift
    size = len(CHANNELS) // groups
    means = ", ".join(_number(m, 1) for m in x.reshape(groups, size).mean(1))
    outputs_are = {1: "that is layer norm", 12: "each number is its own mean, and all become 0"}
    note = f": {outputs_are[groups]}" if groups in outputs_are else ""
    moved = np.abs(lnlib.group_norm(x, groups) - lnlib.group_norm(CHANNELS[None], groups)).max()
    rms = lnlib.rms_norm(x)[0]
    change = "Nothing is added"
    if shift:
        still = "does not change" if moved < 1e-9 else f"changes by {moved:.2g}"
        change = f"With {shift:g} added, group norm's output {still}"
    return (
        f"{groups} group{'s' * (groups > 1)} of {size} channel{'s' * (size > 1)}{note}. "
        f"Mean{'s' * (groups > 1)}: {means}. {change}; RMS norm's output runs from "
        f"{_number(rms.min())} to {_number(rms.max())}."
    )


GROUPS = Picture(
    draw_groups,
    describe_groups,
    alt="Three bar charts over twelve channels: the input with a line at the mean of each group, "
    "its group norm, and its RMS norm. Every second group is hatched.",
)


def _stripes(groups: int) -> dict:
    """Hatch every second group."""
    size = len(CHANNELS) // groups
    hatched = ["/" if i // size % 2 else "" for i in range(len(CHANNELS))]
    ground = fade(COLORS["group"], 0.3)
    return {
        "color": COLORS["group"],
        "pattern": {"shape": hatched, "size": 6, "bgcolor": ground},
    }


# Tensors: which cells share one mean.


@dataclass(frozen=True)
class Rule:
    """Which numbers of a tensor share their statistics.

    Args:
        over: Axes the statistics run over.
        company: Who that is, with the cell's place to be filled in. Empty if nobody.
        groups: Into how many groups of neighbors the channels are cut. 0 if they are not.
        centers: Whether there is a mean. RMS norm has none.
    """

    over: tuple[int, ...]
    company: str
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
def company(kind: str, norm: str) -> np.ndarray:
    """Number the means of a norm, and say which one each cell uses.

    Args:
        kind: A key of :data:`TENSORS`.
        norm: A key of its ``rules``.

    Returns:
        Integers from 1 up, of the tensor's shape; equal where cells share their statistics.
    """
    tensor = TENSORS[kind]
    rule = tensor.rules[norm]
    return cubes.company(tensor.shape, rule.over, channels=tensor.channels, groups=rule.groups)


def draw_company(kind: str, norm: str, **place: int) -> list[go.Figure]:
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
    numbers = company(kind, norm)
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


def describe_company(kind: str, norm: str, **place: int) -> str:
    """Say how many means there are, over how many numbers, and the chosen cell's company."""
    tensor, numbers = TENSORS[kind], company(kind, norm)
    rule, count = tensor.rules[norm], int(numbers.max())
    each = numbers.size // count
    what = "mean" if rule.centers else "root mean square"
    size = tensor.shape[tensor.channels] // max(rule.groups, 1)
    first = (place[tensor.axes[tensor.channels]] - 1) // size * size + 1
    others = rule.company.format(**place, first=first, last=first + size - 1)
    chosen = numbers[tuple(place[axis] - 1 for axis in tensor.axes)]
    return (
        f"For {tensor.shape}: {'' if rule.centers else 'no mean, but '}{count} {what}s, each over "
        f"{each} number{'s' * (each > 1)}. The framed cell uses {what} {chosen}, as "
        f"{'do' if others.startswith('channels') else 'does'} {others}."
        if others
        else f"For {tensor.shape}: {count} means, each over 1 number. The framed cell uses "
        f"{what} {chosen}, and no other cell does: it is its own mean, and becomes 0."
    )


COMPANY = Picture(
    draw_company,
    describe_company,
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


# The chapter in one table.


#: Number of means for ``(N, C)`` and ``(N, C, ...)``; RMS norm's are mean squares.
MEANS = {
    "batch norm": "C",
    "layer norm": "N",
    "RMS norm": "N",
    "group norm": "N × groups",
    "instance norm": "N × C",
}


def summary() -> Table:
    """Put the norms side by side."""
    rows = {
        "batch norm": ["a channel of all examples", "yes, in training", "yes", "each channel"],
        "layer norm": ["an example", "no", "no", "each number of an example"],
        "RMS norm": ["no mean; as layer norm", "no", "no", "the same, but no bias"],
        "group norm": ["a group of channels of an example", "no", "no", "each channel"],
        "instance norm": ["a channel of an example", "no", "no", "each channel, or none"],
    }
    means = MEANS | {"RMS norm": f"none; {MEANS['RMS norm']} mean squares"}
    return Table(
        ["norm", "one mean for", "means", "depends on the batch", "running statistics",
         "gain and bias for"],
        [[name, who, means[name], *rest] for name, (who, *rest) in rows.items()],
        "Five norms of a tensor (N, C, …): N examples of C channels, with whatever follows.",
    )  # fmt: skip


def _number(value: float, digits: int = 2) -> str:
    # Rounding first turns -0.00 into 0.00; a true minus reads better in a sentence.
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")
