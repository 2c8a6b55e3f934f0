"""Figures on which numbers share a mean, and on the consequences."""

from functools import cache

import numpy as np
import plotly.graph_objects as go

import lnlib
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS, fade
from lnbook.figures.plots import NORMS, add_line, add_points, cursor, label_ends
from lnbook.figures.table import Table
from lnlab.analysis import running_statistics

# The table of the chapter, and the number in it that the figures follow.

#: Four examples (rows) of six features (columns): the table of the chapter.
TABLE = np.array(
    [
        [2.47, -2.92, 1.04, 4.77, 11.41, 7.69],
        [10.40, 10.66, 18.18, 21.06, 17.98, 19.56],
        [24.70, 20.35, 27.00, 24.64, 32.17, 33.55],
        [32.67, 31.92, 34.40, 42.46, 42.22, 41.09],
    ]
)

# More examples of the same kind: an offset per example, a slope over the features, noise.
LEVELS = (0.0, 42.0)
SLOPE = np.linspace(-5.0, 5.0, 6)
NOISE = 3.0

#: Mean and variance of each feature over the distribution of :func:`examples`.
POPULATION = (
    np.mean(LEVELS) + SLOPE,
    np.full(6, (LEVELS[1] - LEVELS[0]) ** 2 / 12 + NOISE**2),
)

FEATURE = 4  # index of the followed feature of example 1
FOLLOWED = float(TABLE[0, FEATURE])
BATCH, LAYER = NORMS["batch"][1], NORMS["layer"][1]  # their colors


def examples(n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw ``n`` more examples like those of :data:`TABLE`, shape ``(n, 6)``."""
    level = rng.uniform(*LEVELS, size=(n, 1))
    return level + SLOPE + NOISE * rng.normal(size=(n, 6))


def layer_norm_of_followed() -> float:
    """Return the output of layer norm for the followed number."""
    return float(lnlib.layer_norm(TABLE[:1])[0, FEATURE])


def whole_population() -> float:
    """Return the output of eq. 2 for the number, with mean and variance of the distribution."""
    mean, var = POPULATION
    statistics = {"mean": mean, "var": var}
    return float(lnlib.batch_norm(TABLE[:1], **statistics)[0, FEATURE])


def layer_line(figure: go.Figure, x: np.ndarray, layer: float) -> None:
    """Add a horizontal line at the output of layer norm."""
    add_line(figure, x[[0, -1]], [layer, layer], ("layer norm", LAYER, "solid"), "%{y:.2f}")


def all_data_line(figure: go.Figure, x: np.ndarray, value: float) -> None:
    """Add a horizontal line at the output with the statistics of all data."""
    add_line(
        figure, x[[0, -1]], [value, value], ("all data", COLORS["gray"], "dot"), "%{y:.2f}", width=2
    )


def number(value: float, digits: int = 2) -> str:
    """Format a number with a minus sign (−)."""
    # Rounding first turns -0.00 into 0.00.
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")


# The output of batch norm for one number in many random batches of several sizes.

BATCHES = 2000
SHOWN = 20  # number of outputs drawn as points
SIZES = 16  # largest batch size on the horizontal axis, unless a live slider goes further


@cache
def outputs(batch_size: int) -> np.ndarray:
    """Return the output of batch norm for one number in many batches.

    Args:
        batch_size: Number of examples in a batch: example 1 of :data:`TABLE` and random ones.

    Returns:
        Shape ``(2000,)``: the output for :data:`FOLLOWED`, one per batch.
    """
    rng = np.random.default_rng(batch_size)
    others = examples(BATCHES * (batch_size - 1), rng)[:, FEATURE].reshape(-1, BATCHES)
    batches = np.vstack([np.full(BATCHES, FOLLOWED), others])  # (batch_size, batches)
    return lnlib.batch_norm(batches)[0]


@cache
def band(batch_size: int) -> tuple[float, float]:
    """Return the 5% and the 95% quantile of the outputs."""
    low, high = np.quantile(outputs(batch_size), [0.05, 0.95])
    return float(low), float(high)


def draw_batch_size(batch_size: int) -> list[go.Figure]:
    """Draw outputs for one number in 20 batches of one size, and their band at every size."""
    layer, indices = layer_norm_of_followed(), np.arange(1, SHOWN + 1)
    points = go.Figure()
    add_points(
        points,
        indices,
        outputs(batch_size)[:SHOWN].round(2),  # as in the text, and fewer bytes
        ("batch norm", BATCH, "circle"),
        "batch %{x}: %{y:.2f}",
        size=8,
    )
    layer_line(points, indices, layer)
    all_data_line(points, indices, whole_population())
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
    layer_line(bands, sizes, layer)
    all_data_line(bands, sizes, whole_population())
    bands.update_layout(
        title="Middle 90% of the outputs, by batch size",
        xaxis={"title": "batch size", "range": [0.5, sizes[-1] + 0.5], "zeroline": False},
        yaxis=_output_axis(),
        shapes=[cursor(batch_size)],
    )
    return [label_ends(points), label_ends(bands)]


def describe_batch_size(batch_size: int) -> str:
    """Describe the range of the output, and that layer norm's output is always the same."""
    always = f"Layer norm's output is {number(layer_norm_of_followed())} in every batch."
    if batch_size == 1:
        return f"In a batch of one, {FOLLOWED} becomes 0 under batch norm. {always}"
    low, high = band(batch_size)
    return (
        f"In nine out of ten batches of {batch_size}, batch norm's output for {FOLLOWED} lies "
        f"between {number(low)} and {number(high)}. {always}"
    )


BATCH_SIZE = Picture(
    draw_batch_size,
    describe_batch_size,
    alt="Left: the output for one number in 20 random batches, scattered points for batch norm "
    "and a flat line for layer norm. Right: the range of the middle 90% of batch norm's outputs "
    "over the batch size, and the flat line of layer norm.",
)


def _output_axis() -> dict:
    return {"title": "output", "range": [-2.2, 2.2], "dtick": 1}


# One example of twelve channels under group norm and RMS norm.

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
                name="value",
                hovertemplate="channel %{x}: %{y:.2f}<extra></extra>",
                showlegend=False,
            )
        )
        if k == 0:  # a line at each group's mean
            edges = np.arange(groups) * size + 0.5
            figure.add_scatter(
                x=np.column_stack([edges, edges + size, np.full(groups, np.nan)]).ravel(),
                y=np.column_stack([means, means, np.full(groups, np.nan)]).ravel(),
                mode="lines",
                line={"color": COLORS["ink"], "width": 3},
                name="mean of the group",
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
    """Describe the means of the groups, and the effect of a shift on each norm."""
    x = CHANNELS[None] + shift
    size = len(CHANNELS) // groups
    means = x.reshape(groups, size).mean(1)
    text = ", ".join(number(m, 1) for m in means)
    if groups > 4:
        text = f"from {number(means.min(), 1)} to {number(means.max(), 1)}"
    outputs_are = {1: "this is layer norm", 12: "each number is its own mean, and all become 0"}
    note = f": {outputs_are[groups]}" if groups in outputs_are else ""
    moved = np.abs(lnlib.group_norm(x, groups) - lnlib.group_norm(CHANNELS[None], groups)).max()
    rms = lnlib.rms_norm(x)[0]
    change = "No shift"
    if shift:
        still = "does not change" if moved < 1e-9 else f"changes by {moved:.2g}"
        change = f"With {shift:g} added, group norm's output {still}"
    return (
        f"{groups} group{'s' * (groups > 1)} of {size} channel{'s' * (size > 1)}{note}. "
        f"Mean{'s' * (groups > 1)}: {text}. {change}; RMS norm's outputs range from "
        f"{number(rms.min())} to {number(rms.max())}."
    )


GROUPS = Picture(
    draw_groups,
    describe_groups,
    alt="Three bar charts over twelve channels: the input with a line at the mean of each group, "
    "the output of group norm, and the output of RMS norm. Every second group is hatched.",
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


# Batch norm in training and at inference: running statistics.

STREAM = 40  # batches


def batches(batch_size: int) -> np.ndarray:
    """Return the stream of batches of the followed feature, shape ``(40, batch_size)``."""
    rng = np.random.default_rng([STREAM, batch_size])
    return examples(STREAM * batch_size, rng)[:, FEATURE].reshape(STREAM, batch_size)


@cache
def stream(momentum: float, batch_size: int) -> running_statistics.RunningStatistics:
    """Follow one feature through 40 batches.

    Args:
        momentum: Weight of the newest batch in the running statistics.
        batch_size: Number of examples in a batch, at least 2 for an unbiased variance.

    Returns:
        Statistics and outputs; running mean and variance start from 0 and 1, as in PyTorch.
    """
    return running_statistics.follow(FOLLOWED, batches(batch_size), momentum)


def draw_running(momentum: float, batch_size: int, seen: int) -> list[go.Figure]:
    """Draw the running mean, and outputs for one number in training and at inference."""
    run, steps = stream(momentum, batch_size), np.arange(STREAM + 1)
    mean = _running_panel(run.batch_mean, run.running_mean, POPULATION[0][FEATURE], seen)
    mean.update_layout(
        title=f"Mean of feature {FEATURE + 1}", yaxis={"title": "mean", "range": [-4, 50]}
    )
    output = _running_panel(run.train, run.test, whole_population(), seen)
    layer_line(output, steps, layer_norm_of_followed())
    output.update_layout(
        title=f"Output for the {FOLLOWED} of example 1",
        yaxis={"title": "output", "range": [-4.5, 12.5]},
    )
    return [label_ends(mean), label_ends(output)]


def _running_panel(
    per_batch: np.ndarray, over_time: np.ndarray, whole: float, seen: int
) -> go.Figure:
    steps = np.arange(STREAM + 1)
    figure = go.Figure()
    add_points(
        figure,
        steps[1:],
        per_batch.round(2),
        ("in training", BATCH, "circle"),
        "batch %{x}: %{y:.2f}",
        size=5,
    )
    add_line(
        figure,
        steps,
        over_time.round(2),
        ("at inference", COLORS["kept"], "solid"),
        "after batch %{x}: %{y:.2f}",
    )
    all_data_line(figure, steps, whole)
    add_points(figure, [seen], [over_time[seen]], (None, COLORS["kept"], "circle"), size=11)
    figure.update_layout(
        height=340,
        xaxis={"title": "batches seen", "range": [-2, STREAM + 2], "zeroline": False},
        shapes=[cursor(seen)],
    )
    return figure


def describe_running(momentum: float, batch_size: int, seen: int) -> str:
    """Describe the running mean, and the output in training and at inference."""
    run = stream(momentum, batch_size)
    after = f"After {seen} batches of {batch_size}" if seen else "Before the first batch"
    if seen == 1:
        after = f"After 1 batch of {batch_size}"
    low, high = np.quantile(run.train, [0.05, 0.95])
    return (
        f"{after}, the running mean is {number(run.running_mean[seen])} (all data: "
        f"{number(POPULATION[0][FEATURE])}), and at inference {FOLLOWED} becomes "
        f"{number(run.test[seen])}. In training, the output lies between {number(low)} and "
        f"{number(high)} in nine out of ten batches."
    )


RUNNING = Picture(
    draw_running,
    describe_running,
    alt="Two panels over the batches seen: the mean of a feature, and the output for one number. "
    "Points use the statistics of each batch, a solid line the running statistics, and a dotted "
    "line those of all data.",
)


# A table of the normalization modules of PyTorch.

#: Number of means for N examples, C channels, T positions and G groups, by the names in the
#: diagram of the cube; for RMSNorm, the number of root mean squares.
MEANS = {
    "LayerNorm(C)": "N × T",
    "RMSNorm(C)": "N × T",
    "BatchNorm": "C",
    "InstanceNorm": "N × C",
    "GroupNorm(G, C)": "N × G",
    "LayerNorm([C, T])": "N",
}


def summary() -> Table:
    """Return a table that compares the modules."""
    rows = {
        "LayerNorm(C)": ["example and position", "no", "C gains, C biases"],
        "RMSNorm(C)": ["example and position", "no", "C gains"],
        "BatchNorm": ["channel", "yes", "C gains, C biases"],
        "InstanceNorm": ["example and channel", "no", "none by default"],
        "GroupNorm(G, C)": ["example and group of channels", "no", "C gains, C biases"],
        "LayerNorm([C, T])": ["example", "no", "C × T gains, C × T biases"],
    }
    return Table(
        ["module", "one mean per", "means", "running statistics", "learns"],
        [[name, per, MEANS[name], *rest] for name, (per, *rest) in rows.items()],
        "PyTorch's modules with default arguments, for N examples of C channels and T positions, "
        "with G groups. RMSNorm computes root mean squares instead of means. Only BatchNorm "
        "depends on the rest of the batch, in training.",
    )
