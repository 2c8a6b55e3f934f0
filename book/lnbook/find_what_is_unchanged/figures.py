"""Find what leaves the output unchanged: one small layer, the whole table, digits, and eps."""

from __future__ import annotations

from functools import cache

import numpy as np
import plotly.graph_objects as go

from lnbook.show.colors import COLORS
from lnbook.show.picture import Picture
from lnbook.show.plots import NORMS, cursor, label_ends
from lnbook.show.table import FAILS, HOLDS, Table
from lnlib import invariance, norm

#: Below this a change is rounding: the exact invariances stay under 1e-12.
ROUNDING = 1e-9

#: From the name of a transformation to what the reader sees of it.
NAMES = {
    "weight_matrix_rescaling": "weight matrix re-scaling",
    "weight_matrix_recentering": "weight matrix re-centering",
    "weight_vector_rescaling": "weight vector re-scaling",
    "dataset_rescaling": "dataset re-scaling",
    "dataset_recentering": "dataset re-centering",
    "single_case_rescaling": "single training case re-scaling",
    "negative_rescaling": "negative factor",
    "input_bias": "bias before the norm",
    "feature_shift": "one feature shifted",
    "unit_permutation": "units reordered",
}
#: The same in a menu, where a long name would be cut.
MENU = {
    "weight_matrix_rescaling": "weight matrix × s",
    "weight_matrix_recentering": "weight matrix + s",
    "weight_vector_rescaling": "weight vector × s",
    "dataset_rescaling": "dataset × s",
    "dataset_recentering": "dataset + s",
    "single_case_rescaling": "single case × s",
    "negative_rescaling": "weight matrix × −s",
    "input_bias": "bias before the norm",
    "feature_shift": "one feature + s",
}
LABELS = {
    "batch": "batch norm",
    "weight": "weight norm",
    "layer": "layer norm",
    "none": "no norm",
    "rms": "RMS norm",
    "group": "group norm",
    "instance": "instance norm",
}


def options(names: dict[str, str], keys: tuple[str, ...]) -> dict[str, str]:
    """Return what a choice wants: from what the reader sees to the name."""
    return {names[key]: key for key in keys}


# One small layer.

CASES, FEATURES, UNITS = 4, 3, 4
STRENGTHS = (0.5, 2.0, 3.0)
#: Where the sliders stop; not at 1, where nothing changes.
TRIED = tuple(s / 4 for s in (1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12))
HEIGHT = 360
#: Whose lines a norm forgets: those of a case or those of a unit.
COMMON = {"batch": "unit", "weight": "unit", "none": "unit", "layer": "case", "rms": "case"}


@cache
def small() -> tuple[np.ndarray, invariance.Layer]:
    """Return four cases of three features, and a layer of four units without gain and bias."""
    rng = np.random.default_rng(381)
    X = rng.normal(size=(CASES, FEATURES)) + 0.5
    W = rng.normal(size=(UNITS, FEATURES))
    return X.round(1), invariance.Layer(W.round(1), np.ones(UNITS), np.zeros(UNITS))


def before_and_after(
    name: str, transformation: str, strength: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return summed inputs before and after, then outputs before and after, each (case, unit).

    Args:
        name: A norm, one of :data:`COMMON`.
        transformation: One of :data:`lnlib.invariance.TRANSFORMS`.
        strength: Its factor or shift.
    """
    X, layer = small()
    new_X, (new,), order = invariance.transform(transformation, X, (layer,), strength=strength)
    a, new_a = X @ layer.W.T, new_X @ new.W.T
    if new.input_bias is not None:
        new_a = new_a + new.input_bias
    y = invariance.output(name, X, (layer,))
    return a[:, order], new_a, y[:, order], invariance.output(name, new_X, (new,))


def draw_change(
    name: str, transformation: str, strength: float, reveal: bool = True
) -> list[go.Figure]:
    """Draw the changed weights and data, then summed inputs and outputs, after over before."""
    a, new_a, y, new_y = before_and_after(name, transformation, strength)
    *_, far_a, _, far_y = before_and_after(name, transformation, max(STRENGTHS))
    common = COMMON[name]
    stays = np.abs(new_y - y).max() < ROUNDING
    return [
        _changed(transformation, strength),
        _against(a, new_a, far_a, common, f"Summed inputs, a line for each {common}", "first"),
        _against(
            y,
            new_y if reveal else None,
            far_y,
            common,
            "Outputs: on the dots, unchanged" if reveal else "Outputs: what is your prediction?",
            "holds" if stays else "fails",
        ),
    ]


def describe_change(name: str, transformation: str, strength: float, reveal: bool = True) -> str:
    """Say by how much summed inputs and outputs change, and what Table 1 says."""
    a, new_a, y, new_y = before_and_after(name, transformation, strength)
    moved, changed = np.abs(new_a - a).max(), np.abs(new_y - y).max()
    head = f"{NAMES[transformation]}, {LABELS[name]}: "
    head = head[0].upper() + head[1:] + f"the summed inputs change by up to {_say(moved)}"
    if not reveal:
        return f"{head}. Does any output change? Predict, then reveal."
    verdict = "no output changes" if changed < ROUNDING else f"the outputs by up to {_say(changed)}"
    table = ""
    if name in invariance.TABLE_1 and transformation in invariance.TABLE_1[name]:
        said = "Invariant" if invariance.TABLE_1[name][transformation] else "No"
        table = f". Table 1 says: {said}"
    return f"{head}, {verdict}{table}."


CHANGE = Picture(
    draw_change,
    describe_change,
    alt="A table of weights and data with a frame around what has changed. Beside it, in a lane "
    "for each case or each unit, the summed inputs after over before, and the outputs after over "
    "before or a question mark.",
)


def _changed(transformation: str, strength: float) -> go.Figure:
    """Draw the weights of the units above the data, and a frame around what has changed."""
    X, layer = small()
    new_X, (new,), order = invariance.transform(transformation, X, (layer,), strength=strength)
    bias = new.input_bias is not None
    z = np.full((UNITS + 1 + CASES, FEATURES + bias), None)
    z[:UNITS, :FEATURES], z[UNITS + 1 :, :FEATURES] = new.W, new_X
    moved = np.zeros(z.shape, dtype=bool)
    moved[:UNITS, :FEATURES] = new.W != layer.W
    moved[UNITS + 1 :, :FEATURES] = new_X != X
    if bias:
        z[:UNITS, FEATURES] = new.input_bias
        moved[:UNITS, FEATURES] = True
    rows, columns = (np.flatnonzero(moved.any(axis)) for axis in (1, 0))
    names = [f"unit {i + 1}" for i in order] + [""] + [f"case {i + 1}" for i in range(CASES)]
    figure = go.Figure(
        go.Heatmap(
            z=z,
            text=[["" if v is None else _cell(v) for v in row] for row in z],
            texttemplate="%{text}",
            coloraxis="coloraxis",
            hovertemplate="%{text}<extra></extra>",
            hoverongaps=False,
            xgap=2,
            ygap=2,
        )
    )
    figure.update_layout(
        title="Weights, then data; in the frame: what changed",
        height=HEIGHT,
        coloraxis={"cmin": -4, "cmax": 4, "cmid": 0, "showscale": False},
        xaxis={
            "tickvals": list(range(z.shape[1])),
            "ticktext": [str(i + 1) for i in range(FEATURES)] + ["bias"] * bias,
            "title": "feature",
            "showgrid": False,
            "zeroline": False,
        },
        yaxis={
            "tickvals": [i for i in range(len(names)) if names[i]],
            "ticktext": [n for n in names if n],
            "range": [len(z) - 0.4, -0.6],
            "showgrid": False,
            "zeroline": False,
        },
    )
    if moved.any():  # a factor of 1 changes nothing
        figure.add_shape(
            type="rect",
            x0=columns[0] - 0.49,
            x1=columns[-1] + 0.49,
            y0=rows[0] - 0.49,
            y1=rows[-1] + 0.49,
            line={"width": 3, "color": COLORS["ink"]},
        )
    return figure


def _cell(value: float) -> str:
    # Rounding first turns -0.0 into 0.0.
    return f"{round(value, 1) + 0.0:.1f}".replace("-", "−")


def _against(
    before: np.ndarray,
    after: np.ndarray | None,
    far: np.ndarray,
    common: str,
    title: str,
    thing: str,
) -> go.Figure:
    """Draw after over before, a lane with its line for each case, or for each unit.

    Args:
        before: Shape ``(cases, units)``.
        after: As ``before``; ``None`` leaves the lanes empty, with a question mark.
        far: ``after`` at the greatest strength, for the axes.
        common: ``case`` or ``unit``.
        title: Of the panel.
        thing: Whose color lines and points have.
    """
    known = before if after is None else after
    wide = 1.15 * np.abs(before).max()
    high = 1.15 * max(np.abs(before).max(), np.abs(far).max(), np.abs(known).max())
    if common == "unit":
        before, known = before.T, known.T
    figure, lanes = go.Figure(), len(before)
    for i, (x, y) in enumerate(zip(before, known, strict=True)):
        at, axis = np.argsort(x), "y" if i == 0 else f"y{i + 1}"
        figure.add_scatter(
            x=[-wide, wide],
            y=[-wide, wide],
            yaxis=axis,
            mode="lines",
            line={"color": COLORS["gray"], "dash": "dot", "width": 2},
            hoverinfo="skip",
        )
        if after is not None:
            figure.add_scatter(
                x=x[at],
                y=y[at],
                yaxis=axis,
                mode="lines+markers",
                name=f"{common} {i + 1}",
                line={"color": COLORS[thing], "width": 2},
                marker={"color": COLORS[thing], "size": 8},
                hovertemplate=f"{common} {i + 1}: %{{x:.2f}} → %{{y:.2f}}<extra></extra>",
            )
        top = 1 - i / lanes
        figure.update_layout(
            {
                f"yaxis{'' if i == 0 else i + 1}": {
                    "domain": [top - 0.92 / lanes, top],
                    "range": [-high, high],
                    "tickvals": [0],
                    "ticktext": [f"{common} {i + 1}"],
                    "zeroline": False,
                }
            }
        )
    figure.update_layout(
        title=title,
        height=HEIGHT,
        showlegend=False,
        xaxis={"title": "before", "range": [-wide, wide], "anchor": f"y{lanes}"},
    )
    if after is None:
        figure.add_annotation(
            text="?", xref="paper", yref="paper", x=0.5, y=0.5, showarrow=False, font={"size": 64}
        )
    return figure


# The whole table.

#: The six transformations of Table 1.
PAPERS = invariance.TRANSFORMS[:6]

#: How a transformation is written where there is little room.
SHORT = {
    "weight_matrix_rescaling": "W · s",
    "weight_matrix_recentering": "W + 1sᵀ",
    "weight_vector_rescaling": "w₁ · s",
    "dataset_rescaling": "data · s",
    "dataset_recentering": "data + s",
    "single_case_rescaling": "case · s",
    "negative_rescaling": "W · (−s)",
    "input_bias": "a + b",
    "feature_shift": "x₁ + s",
    "unit_permutation": "reordered",
}
DEPTHS = {"one layer": (12,), "three layers, tanh": (12, 16, 8)}


@cache
def sample(kind: str) -> np.ndarray:
    """Return 16 cases of 8 features, ``random`` or ``adversarial``."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(16, 8))
    if kind == "adversarial":  # tied features, scales from 0.01 to 100, far from 0; one tiny case
        X[:, 1:] += 0.9 * X[:, :-1]
        X = (X + 5) * np.logspace(-2, 2, 8)
        X[-1] *= 1e-3
    return X


def changes(X: np.ndarray, depth: tuple[int, ...], eps: float, strength: float) -> np.ndarray:
    """Measure every transformation under every norm, shape (10, 7).

    Args:
        X: Data, a case a row.
        depth: Units of each layer; tanh stands behind each if there are several.
        eps: Inside the root of every norm that has one.
        strength: Factor or shift.
    """
    found = np.empty((len(invariance.TRANSFORMS), len(invariance.NORMS)))
    for j, name in enumerate(invariance.NORMS):
        layers = invariance.network([X.shape[1], *depth], np.random.default_rng(1), norm=name)
        for i, transformation in enumerate(invariance.TRANSFORMS):
            found[i, j] = invariance.measure(
                name,
                transformation,
                X=X,
                layers=layers,
                strength=strength,
                eps=eps,
                activation="tanh" if len(depth) > 1 else "identity",
            )
    return found


@cache
def _found(kind: str, depth: str, eps: float, strength: float, digits: bytes) -> np.ndarray:
    X = np.frombuffer(digits).reshape(-1, 64) if kind == "digits" else sample(kind)
    return changes(X, DEPTHS[depth], eps, strength)


def draw_table(digits: np.ndarray, data: str, depth: str, eps: float, strength: float) -> go.Figure:
    """Draw the largest change of the output: transformations down, norms across."""
    found = _found(data, depth, eps, strength, digits.tobytes())
    size = np.clip(1 + np.log10(np.maximum(found, ROUNDING)) / 9, 0.15, 0.8)
    z = np.where(found < ROUNDING, 0, size)
    figure = go.Figure(
        go.Heatmap(
            x=list(range(7)),
            y=list(range(10)),
            z=z,
            text=[[_short(v) for v in row] for row in found],
            texttemplate="%{text}",
            textfont={"size": 10},
            coloraxis="coloraxis",
            hovertemplate="%{text}<extra></extra>",
            xgap=2,
            ygap=2,
        )
    )
    figure.update_layout(
        title="Largest change of an output; framed: Table 1",
        height=440,
        coloraxis={"cmin": -1, "cmax": 1, "cmid": 0, "showscale": False},
        xaxis={
            "tickvals": list(range(7)),
            "ticktext": ["batch", "weight", "layer", "none", "RMS", "group", "inst."],
            "tickangle": -45,
            "side": "top",
            "showgrid": False,
            "zeroline": False,
        },
        yaxis={
            "tickvals": list(range(10)),
            "ticktext": list(SHORT.values()),
            "range": [9.55, -0.55],
            "showgrid": False,
            "zeroline": False,
        },
        shapes=[
            {"type": "rect", "x0": -0.5, "x1": 2.5, "y0": -0.5, "y1": 5.5,
             "line": {"width": 3, "color": COLORS["ink"]}}
        ],
    )  # fmt: skip
    return figure


def describe_table(digits: np.ndarray, data: str, depth: str, eps: float, strength: float) -> str:
    """Say how many cells of Table 1 hold, and how far the invariant and the other cells are."""
    found = _found(data, depth, eps, strength, digits.tobytes())[:6, :3]
    invariant = np.array([[t[name] for t in invariance.TABLE_1.values()] for name in PAPERS])
    held = (found < ROUNDING) == invariant
    worst, least = found[invariant].max(), found[~invariant].min()
    ten = "no output changes" if worst < ROUNDING else f"outputs change by up to {_short(worst)}"
    return (
        f"{held.sum()} of the 18 cells are as Table 1 says: where it says invariant, {ten}; "
        f"where it says no, by {_short(least)} or more."
    )


TABLE = Picture(
    draw_table,
    describe_table,
    alt="A table of ten transformations by seven norms. Each cell holds the largest change of an "
    "output and is red, the fuller the larger, where that is not 0.",
)


def verdicts() -> Table:
    """Tabulate the verdicts of Table 1, each as measured on random data."""
    found = changes(sample("random"), (12,), 0.0, 3.0)
    rows = [
        [NAMES[name], *(HOLDS if v < ROUNDING else FAILS for v in found[i, :3])]
        for i, name in enumerate(PAPERS)
    ]
    return Table(
        ["Does the output stay?", "batch norm", "weight norm", "layer norm"],
        [[row[0][0].upper() + row[0][1:], *row[1:]] for row in rows],
        "Table 1, measured: 16 random cases, 12 units, strength 3, eps 0.",
    )


# Digits: contrast and brightness.

#: From the norm to label, color, dash.
READERS = {
    "none": NORMS["none"],
    "batch": NORMS["batch"],
    "kept": ("batch norm, in use", COLORS["kept"], "longdash"),
    "layer": NORMS["layer"],
    "equal": ("layer norm, equal sums", COLORS["variant"], "dashdot"),
}
AMOUNTS = {
    "contrast": (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0),
    "brightness": (-1.0, -0.5, -0.25, 0.0, 0.5, 1.0, 2.0),
}
#: Places among them where the slider stops.
PLACES = tuple(i / 4 for i in range(25))


def features(kind: str, X: np.ndarray, W: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return ReLU of the normalized summed inputs, and a column of ones, shape ``(N, H + 1)``.

    Args:
        kind: One of :data:`READERS`.
        X: Images, shape ``(N, D)``.
        W: Weights, shape ``(H, D)``; for ``equal`` the mean of each row is taken away.
        kept: Training images: their statistics are what ``kept`` uses.
    """
    if kind == "equal":
        W = W - W.mean(axis=1, keepdims=True)
    a, of_training = X @ W.T, kept @ W.T
    h = {
        "none": lambda: a,
        "batch": lambda: norm.batch_norm(a, eps=0),
        "kept": lambda: norm.batch_norm(a, mean=of_training.mean(0), var=of_training.var(0), eps=0),
        "layer": lambda: norm.layer_norm(a, eps=0),
        "equal": lambda: norm.layer_norm(a, eps=0),
    }[kind]()
    return np.column_stack([np.maximum(h, 0), np.ones(len(X))])


def altered(X: np.ndarray, change: str, amount: float) -> np.ndarray:
    """Return images with another contrast, ``amount * X``, or brightness, ``X + amount``."""
    return amount * X if change == "contrast" else X + amount


class Readers:
    """Five networks that read digits: fixed random weights, a norm, ReLU, a fitted readout.

    Args:
        W: Weights of the layer, shape ``(H, D)``.
        readouts: From the names of :data:`READERS` to weights of the ten outputs, (H + 1, 10).
        kept: Training images.
        X: Test images.
        y: Their classes.
    """

    def __init__(
        self,
        W: np.ndarray,
        readouts: dict[str, np.ndarray],
        kept: np.ndarray,
        X: np.ndarray,
        y: np.ndarray,
    ):
        self.W, self.readouts, self.kept, self.X, self.y = W, readouts, kept, X, y
        self._errors: dict[tuple[str, str, float], float] = {}

    def predict(self, kind: str, X: np.ndarray) -> np.ndarray:
        """Return the class of each image."""
        return (features(kind, X, self.W, self.kept) @ self.readouts[kind]).argmax(axis=1)

    def error(self, kind: str, change: str, amount: float) -> float:
        """Return the share of test images that are misread, in percent."""
        key = kind, change, amount
        if key not in self._errors:
            found = self.predict(kind, altered(self.X, change, amount))
            self._errors[key] = 100 * float((found != self.y).mean())
        return self._errors[key]

    def draw(self, change: str, place: float) -> list[go.Figure]:
        """Draw one digit, and the test error of each network over all amounts."""
        amounts = AMOUNTS[change]
        ticks = [0, (len(amounts) - 1) // 2, len(amounts) - 1]
        figure = go.Figure()
        for kind, (label, color, dash) in READERS.items():
            figure.add_scatter(
                x=PLACES,
                y=[self.error(kind, change, amount_at(change, p)) for p in PLACES],
                mode="lines",
                name=label,
                line={"color": color, "dash": dash, "width": 5 if kind == "batch" else 2},
                hovertemplate=f"{label}: %{{y:.1f}}%<extra></extra>",
            )
        figure.update_layout(
            title=f"Test error in percent, over {change}",
            height=400,
            xaxis={
                "title": change,
                "tickvals": ticks,
                "ticktext": [amount_text(change, i) for i in ticks],
                "zeroline": False,
            },
            yaxis={"range": [0, 100], "ticksuffix": "%"},
            shapes=[cursor(place)],
        )
        return [self._digit(change, amount_at(change, place)), label_ends(figure)]

    def _digit(self, change: str, amount: float) -> go.Figure:
        shown = np.clip(altered(self.X[1], change, amount), 0, 1).reshape(8, 8)
        figure = go.Figure(
            go.Heatmap(
                z=shown,  # as a camera shows it in both themes: 0 is black, more is whiter
                zmin=0,
                zmax=1,
                colorscale=[[0, "rgb(20, 20, 20)"], [1, "rgb(255, 255, 255)"]],
                autocolorscale=False,
                showscale=False,
                hovertemplate="%{z:.2f}<extra></extra>",
            )
        )
        figure.update_layout(
            title="A test image, cut at black and white",
            height=400,
            xaxis={"visible": False, "constrain": "domain"},
            yaxis={"visible": False, "autorange": "reversed", "scaleanchor": "x"},
        )
        return figure

    def describe(self, change: str, place: float) -> str:
        """Say the test errors."""
        said = [
            f"{READERS[kind][0]} {self.error(kind, change, amount_at(change, place)):.1f}%"
            for kind in READERS
        ]
        return f"At {change} {amount_text(change, place)}, misread: {', '.join(said)}."


CONTRAST = Picture(
    Readers.draw,
    Readers.describe,
    alt="Left, a handwritten digit at the chosen contrast or brightness. Right, the test errors "
    "of five networks over all contrasts or brightnesses.",
)


def amount_at(change: str, place: float) -> float:
    """Return the amount at a place, between two amounts too: a contrast in the same ratio."""
    amounts, at = np.array(AMOUNTS[change]), np.arange(len(AMOUNTS[change]))
    if change == "contrast" and place % 1:
        return float(np.exp(np.interp(place, at, np.log(amounts))))
    return float(np.interp(place, at, amounts))


def amount_text(change: str, place: float) -> str:
    """Write an amount as its axis does."""
    amount = amount_at(change, place)
    if change == "contrast":
        return f"×{amount:.3g}"
    return f"{amount:+.3g}".replace("-", "−") if amount else "0"


def place_text(place: float) -> str:
    """Write a place among the amounts: 0 is the image as it came."""
    return f"{place - 3:+g}".replace("-", "−") if place != 3 else "0"


# Where it ends: eps, and a bias before the norm.

EPS = {"0": 0.0, "1e-5": 1e-5, "1e-3": 1e-3}
SCALES = tuple(float(10.0**e) for e in (-3, -2, -1, -0.5, 0, 0.5, 1, 2, 3))
_CURVE = 10.0 ** np.linspace(-3, 3, 37)


def scale_text(scale: float) -> str:
    """Write a factor in few digits."""
    return f"{scale:,.0f}" if scale >= 10 else f"{scale:.3g}"


def scaled(a: np.ndarray, scale: float, eps: float, bias: np.ndarray | float = 0.0) -> np.ndarray:
    """Return layer norm of ``scale * a + bias``: a case, re-scaled, that meets a bias."""
    return norm.layer_norm(scale * a + bias, eps=eps)


def draw_scale(a: np.ndarray, bias: np.ndarray, scale: float, before: bool) -> list[go.Figure]:
    """Draw the largest change of an output over the factor, and the outputs at one factor.

    Args:
        a: Summed inputs of one case, shape ``(H,)``.
        bias: Added before the norm if ``before``.
        scale: The factor of the right panel.
        before: Whether there is a bias before the norm.
    """
    things = ("first", "solid", "circle-open"), ("second", "dash", "diamond"), ("third", "dot", "x")
    looks = dict(zip(EPS, things, strict=True))
    b = bias if before else 0.0
    curve, outputs = go.Figure(), go.Figure()
    at = np.arange(1, len(a) + 1)
    for label, eps in EPS.items():
        thing, dash, symbol = looks[label]
        color = COLORS[thing]
        start = scaled(a, 1.0, eps, b)
        curve.add_scatter(
            x=_CURVE,
            y=[np.abs(scaled(a, s, eps, b) - start).max() for s in _CURVE],
            mode="lines",
            name=f"eps {label}",
            line={"color": color, "dash": dash, "width": 2},
            hovertemplate=f"eps {label}: %{{y:.2g}}<extra></extra>",
        )
        outputs.add_scatter(
            x=at,
            y=scaled(a, scale, eps, b),
            mode="markers",
            name=f"eps {label}",
            marker={"color": color, "symbol": symbol, "size": 8, "opacity": 0.85},
            hovertemplate=f"eps {label}, unit %{{x}}: %{{y:.3f}}<extra></extra>",
        )
    curve.update_layout(
        title="Largest change of an output",
        height=340,
        xaxis={
            "type": "log",
            "title": "factor",
            "range": [-3.1, 3.1],
            "tickvals": [0.001, 0.01, 0.1, 1, 10, 100, 1000],
            "ticktext": ["10⁻³", "0.01", "0.1", "1", "10", "100", "10³"],
        },
        yaxis={"range": [-0.1, 4]},
        shapes=[cursor(scale)],
    )
    outputs.update_layout(
        title=f"Outputs at factor {scale_text(scale)}",
        height=340,
        xaxis={"title": "unit", "tick0": 1, "dtick": 3, "range": [0.4, len(a) + 0.6]},
        yaxis={"range": [-2.6, 2.6]},
    )
    return [label_ends(curve), outputs]


def describe_scale(a: np.ndarray, bias: np.ndarray, scale: float, before: bool) -> str:
    """Say the largest change for each eps."""
    b = bias if before else 0.0
    said = [
        f"{_say(np.abs(scaled(a, scale, eps, b) - scaled(a, 1.0, eps, b)).max())} with eps {label}"
        for label, eps in EPS.items()
    ]
    where = "a bias before the norm" if before else "no bias before the norm"
    return f"At factor {scale_text(scale)}, {where}, outputs change by up to {', '.join(said)}."


SCALE = Picture(
    draw_scale,
    describe_scale,
    alt="Left, the largest change of an output over the factor, one curve for each eps. Right, "
    "the outputs of twelve units at the chosen factor.",
)


# Words.


def _say(value: float) -> str:
    if value < ROUNDING:
        return "0"
    return f"{value:.2f}" if value >= 0.005 else _short(value)


def _short(value: float) -> str:
    """Write a change in few signs."""
    if value < ROUNDING:
        return "0"
    if value < 0.01:
        return f"{value:.0e}".replace("e-0", "e−").replace("e-", "e−")
    if value < 9.95:
        return f"{value:.2f}" if value < 0.995 else f"{value:.1f}"
    return f"{value:.0f}"
