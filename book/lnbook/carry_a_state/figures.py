"""Carry a state: sizes, gradients, scales, padding and long sequences, in numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import plotly.graph_objects as go

from lnbook.show.colors import COLORS
from lnbook.show.picture import Picture
from lnbook.show.plots import NORMS, cursor, label_ends
from lnlib import cells, norm

HIDDEN, INPUTS, SEQUENCES, STEPS = 32, 8, 16, 200

#: From the form of :func:`lnlib.cells.rnn_step` to label, color, dash.
LOOKS = {
    "plain": NORMS["none"],
    "paper": ("layer norm, sum", *NORMS["layer"][1:]),
    "parts": ("layer norm, parts", COLORS["variant"], "dashdot"),
    "batch": NORMS["batch"],
}
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@cache
def weights() -> tuple[np.ndarray, np.ndarray]:
    """Return W_ih ``(32, 8)`` and an orthogonal W_hh ``(32, 32)``, which keeps every length."""
    rng = np.random.default_rng(0)
    W_ih = rng.normal(size=(HIDDEN, INPUTS)) / np.sqrt(INPUTS)
    W_hh, _ = np.linalg.qr(rng.normal(size=(HIDDEN, HIDDEN)))
    return W_ih, W_hh


def parameters(form: str, scale: float = 1.0, gain: float = 1.0) -> dict[str, np.ndarray]:
    """Return the parameters of a network.

    Args:
        form: Of :func:`lnlib.cells.rnn_step`.
        scale: W_hh is multiplied by it: the factor by which a length grows in W_hh h.
        gain: Of every norm.
    """
    W_ih, W_hh = weights()
    places = {"plain": "", "paper": "s"}.get(form, "ih")
    gains = {f"gain_{place}": np.full(HIDDEN, float(gain)) for place in places}
    return {"W_ih": W_ih, "W_hh": scale * W_hh} | gains


# Forward and back.


@dataclass(frozen=True)
class Carried:
    """What became of 16 sequences of 200 steps.

    Attributes:
        summed: Root mean square of W_ih x + W_hh h before any norm, one a step, ``(200,)``.
        gradient: Length of the gradient in the state after step 200 - k, k from 0, of a loss
            that reads the last state alone; as a multiple of its length there, ``(200,)``.
    """

    summed: np.ndarray
    gradient: np.ndarray


@cache
def carry(
    form: str, scale: float, nonlinearity: str, inputs: str, gain: float = 1.0, eps: float = 1e-5
) -> Carried:
    """Run a network forward over 200 steps, and the gradient of the last state back.

    Args:
        form: Of :func:`lnlib.cells.rnn_step`.
        scale: Of W_hh.
        nonlinearity: ``tanh``, ``relu`` or ``identity``.
        inputs: ``"every"``: random inputs at every step; ``"first"``: zeros after the first.
        gain: Of every norm.
        eps: Inside the root of every norm.
    """
    rng = np.random.default_rng(1)
    x = rng.normal(size=(STEPS, SEQUENCES, INPUTS))
    gradient = rng.normal(size=(SEQUENCES, HIDDEN))
    if inputs == "first":
        x[1:] = 0
    params = parameters(form, scale, gain)
    options = {"form": form, "nonlinearity": nonlinearity, "eps": eps}
    states, summed = [np.zeros((SEQUENCES, HIDDEN))], []
    for step in x:
        a = step @ params["W_ih"].T + states[-1] @ params["W_hh"].T
        summed.append(np.sqrt((a**2).mean()))
        states.append(cells.rnn_step(step, states[-1], params, **options))
    lengths = [np.linalg.norm(gradient)]
    for t in range(STEPS - 1, 0, -1):
        _, gradient, _ = cells.rnn_step_backward(gradient, x[t], states[t], params, **options)
        lengths.append(np.linalg.norm(gradient))
    return Carried(np.array(summed), np.array(lengths) / lengths[0])


_SHOWN = np.r_[1:5, 5:201:5]  # steps that are drawn
_WIDE = 12  # powers of ten above and below 1


def draw_forward(scale: float, nonlinearity: str, inputs: str) -> go.Figure:
    """Draw the size of the summed inputs over the steps."""
    figure = go.Figure()
    for form in ("plain", "paper", "batch"):
        run = carry(form, scale, nonlinearity, inputs)
        _curve(figure, form, _SHOWN, run.summed[_SHOWN - 1], "step")
    _logarithmic(figure, "step", "Root mean square of the summed inputs")
    return label_ends(figure)


def describe_forward(scale: float, nonlinearity: str, inputs: str) -> str:
    """Say how large the summed inputs are at the end."""
    ends = {
        form: say(carry(form, scale, nonlinearity, inputs).summed[-1])
        for form in ("plain", "paper", "batch")
    }
    return (
        f"At step {STEPS}, the summed inputs have size {ends['plain']} with no norm, "
        f"{ends['paper']} with layer norm and {ends['batch']} with batch norm."
    )


FORWARD = Picture(
    draw_forward,
    describe_forward,
    alt="One logarithmic line plot over 200 steps: the size of the summed inputs with no norm, "
    "with layer norm and with batch norm.",
)


def draw_backward(scale: float, nonlinearity: str, inputs: str, gain: float) -> go.Figure:
    """Draw the length of the gradient over the steps it has come back."""
    figure, back = go.Figure(), np.r_[0, _SHOWN[:-1]]
    for form in LOOKS:
        run = carry(form, scale, nonlinearity, inputs, 1.0 if form == "plain" else gain)
        _curve(figure, form, back, run.gradient[back], "steps back")
    _logarithmic(figure, "steps back from the last", "Length of the gradient, 1 at the last state")
    return label_ends(figure)


def describe_backward(scale: float, nonlinearity: str, inputs: str, gain: float) -> str:
    """Say what is left of the gradient after fifty steps."""
    left = {
        form: say(
            carry(form, scale, nonlinearity, inputs, 1.0 if form == "plain" else gain).gradient[50]
        )
        for form in LOOKS
    }
    return (
        f"Fifty steps back, a gradient of length 1 has length {left['plain']} with no norm, "
        f"{left['paper']} with layer norm of the sum (eq. 4), {left['parts']} with layer norm of "
        f"the parts and {left['batch']} with batch norm."
    )


BACKWARD = Picture(
    draw_backward,
    describe_backward,
    alt="One logarithmic line plot over the steps back from the last state: the length of its "
    "gradient with no norm, with layer norm of the sum and of the parts, and with batch norm.",
)


def _curve(figure: go.Figure, form: str, x: np.ndarray, y: np.ndarray, along: str) -> None:
    label, color, dash = LOOKS[form]
    figure.add_scatter(
        x=x,
        # Three digits over 24 powers of ten; below the smallest float there is nothing to draw.
        y=[float(f"{v:.3g}") if v > 0 else np.nan for v in y],
        mode="lines",
        name=label,
        line={"color": color, "dash": dash, "width": 2.5},
        hovertemplate=f"{along} %{{x}}: %{{y:.2g}}<extra>{label}</extra>",
    )


def _logarithmic(figure: go.Figure, along: str, title: str) -> None:
    powers = np.arange(-_WIDE, _WIDE + 1, 4)
    figure.update_layout(
        title=title,
        height=360,
        xaxis={"title": along, "range": [-3, STEPS + 3], "zeroline": False},
        yaxis={
            "type": "log",
            "range": [-_WIDE - 0.5, _WIDE + 0.5],
            "tickvals": 10.0**powers,
            "ticktext": [_power(p) for p in powers],
            "zeroline": False,
        },
    )


# Re-scaling.

SCALES = [0.001, 0.01, 0.1, 0.5, 1, 2, 10, 100, 1000]
_FINE = 10 ** np.linspace(-3, 3, 37)
_FOLLOWED = 16  # units that are drawn
MATRICES = {"both matrices": "both", "W_hh alone": "hidden", "W_ih alone": "input"}
SCALED_STEPS = 20


@cache
def rescaled(form: str, delta: float, matrix: str, eps: float) -> np.ndarray:
    """Return the state after 20 steps, from a state that is not zero, ``(16, 32)``.

    Args:
        form: Of :func:`lnlib.cells.rnn_step`, with tanh.
        delta: Factor of the weights.
        matrix: ``"both"``, ``"hidden"`` or ``"input"``: whose.
        eps: Inside the root of every norm.
    """
    rng = np.random.default_rng(2)
    params = parameters(form)
    if matrix != "input":
        params["W_hh"] = delta * params["W_hh"]
    if matrix != "hidden":
        params["W_ih"] = delta * params["W_ih"]
    h = rng.normal(size=(SEQUENCES, HIDDEN))
    for x in rng.normal(size=(SCALED_STEPS, SEQUENCES, INPUTS)):
        h = cells.rnn_step(x, h, params, form=form, eps=eps)
    return h


def change(form: str, delta: float, matrix: str, eps: float) -> float:
    """Return the largest change of the state when weights are multiplied by ``delta``."""
    before, after = (rescaled(form, d, matrix, eps) for d in (1.0, delta))
    return float(np.abs(after - before).max())


def draw_rescaled(delta: float, matrix: str, eps: float) -> list[go.Figure]:
    """Draw the change over the factor, and the units of one sequence before and after."""
    changes, units = go.Figure(), go.Figure()
    units.add_scatter(
        x=[-1, 1],
        y=[-1, 1],
        mode="lines",
        line={"color": COLORS["gray"], "width": 1},
        hoverinfo="skip",
        showlegend=False,
    )
    for form, symbol in (("plain", "x"), ("paper", "circle"), ("parts", "diamond")):
        label, color, dash = LOOKS[form]
        changes.add_scatter(
            x=_FINE,
            y=[round(change(form, float(d), matrix, eps), 3) for d in _FINE],
            mode="lines",
            name=label,
            line={"color": color, "dash": dash, "width": 2.5},
            hovertemplate=f"times %{{x:.3g}}: %{{y:.3f}}<extra>{label}</extra>",
        )
        before, after = (rescaled(form, d, matrix, eps)[0, :_FOLLOWED] for d in (1.0, delta))
        units.add_scatter(
            x=before.round(3),
            y=after.round(3),
            mode="markers",
            name=label,
            marker={"color": color, "symbol": symbol, "size": 8, "opacity": 0.8},
            hovertemplate=f"%{{x:.2f}} becomes %{{y:.2f}}<extra>{label}</extra>",
        )
    exponents = np.arange(-2, 3, 2)
    changes.update_layout(
        title=f"Largest change of the state after {SCALED_STEPS} steps",
        height=340,
        xaxis={
            "type": "log",
            "title": "weights multiplied by",
            "range": [-3.1, 3.1],
            "tickvals": 10.0**exponents,
            "ticktext": [_power(e) for e in exponents],
            "zeroline": False,
        },
        yaxis={"title": "change", "range": [-0.06, 2.06]},
        shapes=[cursor(delta)],
    )
    units.update_layout(
        title=f"{_FOLLOWED} units of one sequence",
        height=340,
        xaxis={"title": "state before", "range": [-1.08, 1.08], "dtick": 0.5},
        yaxis={"title": "state after", "range": [-1.08, 1.08], "dtick": 0.5},
    )
    return [label_ends(changes), units]


def describe_rescaled(delta: float, matrix: str, eps: float) -> str:
    """Say how much each network changes."""
    whose = {"both": "both weight matrices", "hidden": "W_hh", "input": "W_ih"}[matrix]
    if delta == 1:
        return "The weights are multiplied by 1: nothing changes; move the factor."
    found = [change(form, delta, matrix, eps) for form in ("plain", "paper", "parts")]
    plain, paper, parts = (_change(value) for value in found)
    return (
        f"With {whose} multiplied by {delta:g}, some state changes by {plain} with no norm, by "
        f"{paper} with layer norm of the sum and by {parts} with layer norm of the parts."
    )


RESCALED = Picture(
    draw_rescaled,
    describe_rescaled,
    alt="Left, the largest change of the state over the factor of the weights, for no norm, layer "
    "norm of the sum and of the parts. Right, sixteen units after over before; what lies on the "
    "diagonal has not changed.",
)


def _change(value: float) -> str:
    return "0.00" if value < 1e-12 else say(value)


# Padding.

LENGTHS = (8, 6, 5, 3, 2)
PADDED = {
    "layer norm": "layer",
    "batch norm, counted": "counted",
    "batch norm, left out": "left out",
}


def padded_run(norm: str, value: float) -> np.ndarray:
    """Run five sequences of unequal length, filled up with one value.

    Args:
        norm: ``"layer"``, ``"counted"`` or ``"left out"``: a value of :data:`PADDED`.
        value: Of every number of the padding.

    Returns:
        States ``(5, 8, 32)``, sequence by step; NaN where a sequence was not carried on.
    """
    x = np.random.default_rng(3).normal(size=(len(LENGTHS), max(LENGTHS), INPUTS))
    for row, length in enumerate(LENGTHS):
        x[row, length:] = value
    form = "paper" if norm == "layer" else "batch"
    h, states = np.zeros((len(LENGTHS), HIDDEN)), np.full((*x.shape[:2], HIDDEN), np.nan)
    for t in range(x.shape[1]):
        on = rows(t) if norm == "left out" else len(LENGTHS)
        h = cells.rnn_step(x[:on, t], h[:on], parameters(form), form=form)
        states[:on, t] = h
    return states


def rows(t: int) -> int:
    """Return how many sequences have a step ``t``, counted from 0."""
    return sum(length > t for length in LENGTHS)


def padding_change(norm: str, value: float) -> np.ndarray:
    """Return by how much a state differs from what it is without any padding, at most.

    Shape ``(5, 8)``; NaN where there is padding. Without padding each step has the sequences that
    reach it, and no others.
    """
    reference = padded_run("layer" if norm == "layer" else "left out", 0.0)
    changed = np.abs(padded_run(norm, value) - reference).max(-1)
    steps = np.arange(max(LENGTHS))
    return np.where(steps < np.array(LENGTHS)[:, None], changed, np.nan)


def draw_padding(norm: str, value: float) -> list[go.Figure]:
    """Draw the change of every state, and who shares a mean at each step."""
    changed, steps = padding_change(norm, value), np.arange(1, max(LENGTHS) + 1)
    table = go.Figure(
        go.Heatmap(
            x=steps,
            y=np.arange(1, len(LENGTHS) + 1),
            z=changed.round(2),
            text=[["pad" if np.isnan(v) else f"{v:.2f}" for v in row] for row in changed],
            texttemplate="%{text}",
            coloraxis="coloraxis",
            hovertemplate="sequence %{y}, step %{x}: %{text}<extra></extra>",
            hoverongaps=False,
            xgap=2,
            ygap=2,
        )
    )
    edge = np.repeat(LENGTHS, 2) + 0.5  # stairs between the sequences and their padding
    table.add_scatter(
        x=[edge[0], *edge],
        y=[0.5, *np.repeat(np.arange(len(LENGTHS) + 1) + 0.5, 2)[1:-1]],
        mode="lines",
        line={"color": COLORS["gray"], "width": 2},
        hoverinfo="skip",
        showlegend=False,
    )
    bare = {"showgrid": False, "zeroline": False}
    table.update_layout(
        title="Change of the state, largest of 32 units",
        height=320,
        coloraxis={"cmin": -2, "cmax": 2, "cmid": 0, "showscale": False},
        xaxis={
            "title": "step →",
            "side": "top",
            "range": [0.5, len(steps) + 0.55],
            "tickvals": list(steps),
            **bare,
        },
        yaxis={"title": "← sequence", "range": [len(LENGTHS) + 0.5, 0.5], "dtick": 1, **bare},
    )
    real = np.array([1 if norm == "layer" else rows(t) for t in range(len(steps))])
    filled = len(LENGTHS) - real if norm == "counted" else np.zeros_like(real)
    company = go.Figure()
    for counts, name, color in ((real, "sequences", "first"), (filled, "padding", "gray")):
        company.add_bar(
            x=steps,
            y=counts,
            name=name,
            marker={"color": COLORS[color]},
            hovertemplate=f"step %{{x}}: %{{y}}<extra>{name}</extra>",
        )
    company.update_layout(
        title="Rows that share a mean",
        height=320,
        barmode="stack",
        bargap=0.2,
        xaxis={"title": "step", "tickvals": list(steps), **bare},
        yaxis={"title": "rows", "range": [0, 5.4], "dtick": 1},
    )
    return [table, company]


def describe_padding(norm: str, value: float) -> str:
    """Say how far the padding reaches."""
    largest = np.nanmax(padding_change(norm, value))
    if norm == "layer":
        return (
            f"Padding of {value:g} changes no state by more than {largest:.2f}: every row is its "
            "own company, whoever else is there."
        )
    if norm == "counted":
        moved = np.nanmax(padding_change(norm, value), axis=0) > 0.005
        first = int(np.argmax(moved)) + 1
        return (
            f"Padding of {value:g} changes states by up to {largest:.2f}, from step {first} on: "
            f"after step {first - 1} the shortest sequence has ended, and its padding shares "
            "the mean."
        )
    alone = int(np.argmax([rows(t) == 1 for t in range(max(LENGTHS))])) + 1
    size = np.abs(padded_run(norm, value)[0, alone - 1 :]).max()
    return (
        f"With the padding left out no state changes, but from step {alone} on one sequence is "
        f"left: its own mean is all there is, and its state is {size:.2f} in every unit."
    )


PADDING = Picture(
    draw_padding,
    describe_padding,
    alt="Left, a table of five sequences by eight steps: by how much each state differs from what "
    "it is without padding. Right, bars: how many rows share a mean at each step.",
)


# Longer than any sequence in training.

LONG, TRAINED_ON, BATCHES = 60, 64, 30
LENGTHS_TRAINED = [5, 10, 20, 40]


@dataclass(frozen=True)
class Longer:
    """Recurrent batch norm at test time, over the 60 steps of sequences it has not seen.

    Attributes:
        data: Deviation of the input's part W_ih x over the test data, root mean square over the
            units, one a step, ``(60,)``.
        kept: The same from the statistics kept, by ``"each step"`` and ``"shared"``.
        size: Root mean square of the input's part after its norm, likewise, and for ``"layer"``.
    """

    data: np.ndarray
    kept: dict[str, np.ndarray]
    size: dict[str, np.ndarray]


def sequences(inputs: str, steps: int, rng: np.random.Generator) -> np.ndarray:
    """Draw 64 sequences, ``(steps, 64, 8)``.

    Args:
        inputs: ``"steady"``: every step alike; ``"walk"``: each step adds to the one before.
        steps: How long they are.
        rng: Where the numbers come from.
    """
    x = rng.normal(size=(steps, TRAINED_ON, INPUTS))
    return x if inputs == "steady" else x.cumsum(axis=0)


@cache
def longer(trained: int, inputs: str) -> Longer:
    """Train statistics on 30 batches of short sequences, then go on to 60 steps.

    Args:
        trained: Steps of the sequences in training.
        inputs: See :func:`sequences`.
    """
    rng = np.random.default_rng(4)
    params = parameters("batch")
    kinds = {
        "each step": cells.RecurrentBatchNorm(),
        "shared": cells.RecurrentBatchNorm(shared=True),
    }
    for _ in range(BATCHES):
        x = sequences(inputs, trained, rng)
        for statistics in kinds.values():
            h = np.zeros((TRAINED_ON, HIDDEN))
            for t in range(trained):
                h = cells.rnn_step(x[t], h, params, form="batch", batch_norm=statistics.at(t))
    part = sequences(inputs, LONG, rng) @ params["W_ih"].T  # (steps, sequences, units)
    kept, size = {}, {"layer": _size(norm.layer_norm(part))}
    for kind, statistics in kinds.items():
        means = np.stack([statistics.mean("i", t) for t in range(LONG)])[:, None]
        variances = np.stack([statistics.var("i", t) for t in range(LONG)])[:, None]
        kept[kind] = np.sqrt(variances.mean((1, 2)))
        size[kind] = _size((part - means) / np.sqrt(variances + 1e-5))
    return Longer(np.sqrt(part.var(axis=1).mean(-1)), kept, size)


def _size(a: np.ndarray) -> np.ndarray:
    return np.sqrt((a**2).mean((1, 2)))


_KINDS = {
    "each step": ("batch norm, by step", NORMS["batch"][1], "dash"),
    "shared": ("batch norm, shared", COLORS["kept"], "longdash"),
    "layer": NORMS["layer"],
}


def draw_longer(trained: int, inputs: str) -> list[go.Figure]:
    """Draw the deviations kept and the data's, and what comes out of the norm."""
    run, steps = longer(trained, inputs), np.arange(1, LONG + 1)
    kept, size = go.Figure(), go.Figure()
    kept.add_scatter(
        x=steps,
        y=run.data.round(3),
        mode="lines",
        name="test data",
        line={"color": COLORS["gray"], "dash": "dot", "width": 2.5},
        hovertemplate="step %{x}: %{y:.2f}<extra>test data</extra>",
    )
    for figure, lines in ((kept, run.kept), (size, run.size)):
        for kind, values in lines.items():
            label, color, dash = _KINDS[kind]
            figure.add_scatter(
                x=steps,
                y=values.round(3),
                mode="lines",
                name=label,
                line={"color": color, "dash": dash, "width": 2.5},
                hovertemplate=f"step %{{x}}: %{{y:.2f}}<extra>{label}</extra>",
            )
    for figure, title, top in (
        (kept, "Deviation of W_ih x", 9.0),
        (size, "Size after the norm", 4.2),
    ):
        figure.update_layout(
            title=title,
            height=380,
            xaxis={"title": "step", "range": [0, LONG + 1], "zeroline": False},
            yaxis={"range": [0, top]},
            shapes=[cursor(trained + 0.5)],
            annotations=[
                {"x": trained + 0.5, "y": 1, "yref": "paper", "yanchor": "top", "xanchor": "left",
                 "xshift": 4, "text": "training ends", "showarrow": False}
            ],
        )  # fmt: skip
    return [label_ends(kept), label_ends(size)]


def describe_longer(trained: int, inputs: str) -> str:
    """Say how large the normalized inputs are at the first step and at the last."""
    size = longer(trained, inputs).size
    first, last = ({kind: say(size[kind][t]) for kind in size} for t in (0, -1))
    return (
        f"Trained on {trained} steps, the norm puts out size {first['each step']} at step 1 and "
        f"{last['each step']} at step {LONG} with statistics for each step, {first['shared']} and "
        f"{last['shared']} with shared ones; layer norm {first['layer']} and {last['layer']}."
    )


LONGER = Picture(
    draw_longer,
    describe_longer,
    alt="Left, the deviation of the input's part over 60 steps: of the test data, as kept for each "
    "step, and as shared by all. Right, the size after the norm, which should be 1.",
)


# Words.


def say(value: float) -> str:
    """Write a positive number in two digits, a large or small one with a power of ten."""
    if value == 0:
        return "0"
    if 0.0095 <= value < 999.5:
        return f"{value:.2f}" if value < 9.95 else f"{value:.0f}"
    mantissa, exponent = f"{value:.0e}".split("e")
    power = _power(int(exponent))
    return power if mantissa == "1" else f"{mantissa}·{power}"


def _power(exponent: int) -> str:
    return "1" if exponent == 0 else "10" + str(int(exponent)).translate(SUPERSCRIPT)
