"""The final losses of the short runs, as a map and as curves."""

import numpy as np
import plotly.graph_objects as go

from lnbook.chapters.pre_norm_post_norm.runs import (
    BIGRAM,
    BIGRAM_LABEL,
    INITIALIZATION_NAMES,
    KINDS,
    RANDOM,
    RATES,
    STUCK,
    UNIGRAM,
    UNIGRAM_LABEL,
    WARM_UPS,
    RunKey,
    TransformerRuns,
)
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import add_line, band, label_ends, spread
from lnbook.figures.table import Table

MISSING = "not<br>recorded"
NEAR = 0.02  # nats: smaller differences of losses are not reported
REACH = 0.4  # nats from the bigram entropy to the end of the color scale
MAPPED = ("post", "pre", "sandwich", "none", "rms", "tanh", "qk", "no last")
KINDS_IN_TABLE = ("post", "pre", "none")  # these have a row in every map, recorded or not
CURVES = ("post", "pre", "none")


def trained_starts(
    runs: TransformerRuns, rate: float | None = None, depth: int = 12
) -> dict[str, str]:
    """Return the initializations with recorded runs, at one learning rate if it is given.

    Args:
        runs: The runs.
        rate: The learning rate.
        depth: The number of blocks.
    """
    known = {c[0] for c in runs.trained.groups if c.depth == depth and rate in (None, c.rate)}
    return {name: key for key, name in INITIALIZATION_NAMES.items() if key in known}


def at_best(runs: TransformerRuns) -> Table:
    """Return a table of the mean loss of each placement at the best rate and warm-up."""
    known = {(c.initialization, c.depth) for c in runs.trained.groups}
    ordered = sorted(known, key=lambda k: ([*INITIALIZATION_NAMES].index(k[0]), k[1]))
    return Table(
        ["Initialization", "blocks", "settings", *map(short, KINDS_IN_TABLE)],
        [[INITIALIZATION_NAMES[name], str(depth), *_row(runs, name, depth)]
         for name, depth in ordered],
        "Mean loss of the seeds after 600 updates, in nats. Each network has its best learning "
        "rate and warm-up among the settings with which every network of its row was trained; "
        "the third column counts these settings.",
    )  # fmt: skip


def _row(runs: TransformerRuns, initialization: str, depth: int) -> list[str]:
    """Return the number of common settings and a cell for each kind of the table."""
    grid = runs.grid(initialization, depth)
    ways = {kind: {key[1:] for key in grid if key[0] == kind} for kind in KINDS_IN_TABLE}
    common = set.intersection(*(options for options in ways.values() if options))
    cells = [str(len(common))]
    for kind in KINDS_IN_TABLE:
        if not ways[kind] or not common:
            cells.append("not recorded")
            continue
        losses = {way: grid[kind, *way] for way in sorted(common)}
        sound = {
            way: seed_losses.mean()
            for way, seed_losses in losses.items()
            if not exploded(seed_losses).any()
        }
        if not sound:
            cells.append("diverged at every rate")
        elif all(stuck(seed_losses).all() for seed_losses in losses.values()):
            cells.append("stuck at every rate")
        else:
            rate, warm_up = min(sound, key=sound.__getitem__)
            loss = sound[rate, warm_up]
            cells.append(f"{loss:.2f} at {rate:g}" + " with warm-up" * bool(warm_up))
    return cells


def draw_losses(runs: TransformerRuns, initialization: str, depth: int) -> list[go.Figure]:
    """Draw the loss over kind and learning rate, without warm-up and with it."""
    known = {*KINDS_IN_TABLE, *runs.kinds(initialization, depth)}
    kinds = [k for k in MAPPED if k in known]
    return [
        loss_map(
            {
                short(k): [runs.loss(RunKey(initialization, k, depth, r, warm_up)) for r in RATES]
                for k in kinds
            },
            warm_up,
            rows=len(MAPPED),
        )
        for warm_up in WARM_UPS
    ]


def loss_map(
    losses: dict[str, list[np.ndarray | None]], warm_up: int, rows: int | None = None
) -> go.Figure:
    """Draw a heat map of the final losses, with the bigram entropy at the center of the colors.

    Args:
        losses: Maps the label of each row to the losses of the seeds at each of :data:`RATES`, or
            ``None`` if not recorded.
        warm_up: Number of warm-up updates, for the title.
        rows: Height of the figure in rows; by default as many as there are.
    """
    z, text, hover = (
        [[of_cell(cell) for cell in row] for row in losses.values()]
        for of_cell in (_height, _text, _hover)
    )
    title = f"Warm-up of {warm_up} updates" if warm_up else "No warm-up"
    figure = go.Figure(
        go.Heatmap(
            name=f"{title}: loss minus the bigram entropy (nats)",
            z=z,
            x=[f"{rate:g}" for rate in RATES],
            y=list(losses),
            text=text,
            customdata=hover,
            texttemplate="%{text}",
            textfont={"size": 11},
            hovertemplate="%{y}, rate %{x}: %{customdata}<extra></extra>",
            coloraxis="coloraxis",
            xgap=3,
            ygap=3,
        )
    )
    figure.update_layout(
        title=title,
        height=110 + 36 * (rows or len(losses)),
        coloraxis={"cmin": -REACH, "cmax": REACH, "cmid": 0, "showscale": False},
        xaxis={"title": "learning rate", "type": "category", "showgrid": False, "zeroline": False},
        yaxis={"type": "category", "autorange": "reversed", "showgrid": False, "zeroline": False},
    )
    return figure


def _height(losses: np.ndarray | None) -> float:
    if losses is None:
        return np.nan
    return REACH if exploded(losses).any() else float(losses.mean()) - BIGRAM


def _text(losses: np.ndarray | None) -> str:
    if losses is None:
        return MISSING
    if exploded(losses).any():
        return "diverged"
    count = stuck(losses).sum()
    if 0 < count < len(losses):  # no run has the mean of both groups
        return f"{count} of {len(losses)}<br>stuck"
    return f"{losses.mean():.2f}"


def _hover(losses: np.ndarray | None) -> str:
    if losses is None:
        return "not recorded"
    if gone := int(exploded(losses).sum()):
        return f"diverged in {gone} of {len(losses)} seeds"
    low, high = losses.min(), losses.max()
    return f"{losses.mean():.3f} nats, {len(losses)} seeds from {low:.3f} to {high:.3f}"


def short(kind: str) -> str:
    """Return the label of a kind in a context in which most kinds are variants of pre-norm."""
    return KINDS[kind][0].removeprefix("pre, ")


def stuck(losses: np.ndarray) -> np.ndarray:
    """Return, for each loss, whether it is at or above the unigram entropy, without exploding."""
    return (losses > UNIGRAM - STUCK) & ~exploded(losses)


def exploded(losses: np.ndarray) -> np.ndarray:
    """Return, for each loss, whether it is NaN or above that of uniform guesses."""
    return ~(losses < RANDOM)


def describe_losses(runs: TransformerRuns, initialization: str, depth: int) -> str:
    """Describe which groups of runs are stuck, and where the lowest loss is."""
    cells = {
        c: runs.loss(c)
        for c in runs.trained.groups
        if (c.initialization, c.depth) == (initialization, depth)
    }
    name = f"{INITIALIZATION_NAMES[initialization]}, {depth} blocks"
    if not cells:
        return f"{name}: not recorded."
    gone = sorted(c for c in cells if exploded(cells[c]).any())
    means = {c: losses.mean() for c, losses in cells.items() if c not in gone}
    lowest = min(means.values())
    best = sorted(c for c in means if means[c] < lowest + NEAR)
    bad = sorted(c for c in cells if stuck(cells[c]).all())
    some = sorted(c for c in means if stuck(cells[c]).any() and c not in bad)
    text = (
        f"{name}: the lowest loss is {lowest:.2f} nats, reached within {NEAR:g} by "
        f"{_listed(best, ' and by ')}. Stuck at the unigram entropy: {_listed(bad) or 'none'}."
    )
    text += f" Stuck in some seeds: {_listed(some)}." if some else ""
    return f"{text} Diverged: {_listed(gone)}." if gone else text


def _listed(cells: list[RunKey], between: str = "; ") -> str:
    texts = []
    for kind in dict.fromkeys(c.kind for c in cells):
        of_kind = [c for c in cells if c.kind == kind]
        if len(of_kind) == len(RATES) * len(WARM_UPS):
            texts.append(f"{short(kind)} at every rate, with and without warm-up")
            continue
        for warm_up in WARM_UPS:
            if rates := " and ".join(f"{c.rate:g}" for c in of_kind if c.warm_up == warm_up):
                texts.append(f"{short(kind)} at {rates} {'with' if warm_up else 'without'} warm-up")
    return between.join(texts)


LOSSES = Picture(
    draw_losses,
    describe_losses,
    alt="Two heat maps of the loss after 600 updates, without warm-up and with it: a row for each "
    "norm and placement, a column for each learning rate. Red is a loss above the bigram entropy, "
    'teal one below it; "diverged" is a loss above that of random characters.',
)


def draw_curves(
    runs: TransformerRuns, rate: float, warm_up: int, initialization: str
) -> list[go.Figure]:
    """Draw the validation loss of 12 blocks over the updates, with unigram and bigram entropy."""
    figure, updates = go.Figure(), runs.updates
    for kind in CURVES:
        cell = RunKey(initialization, kind, 12, rate, warm_up)
        if runs.has(cell):
            curves = np.minimum(runs.trained.curves(cell, "val_nll"), TOP)
            hover = "after %{x} updates: %{y:.3f} nats"
            band(figure, updates, spread(curves), KINDS[kind], hover)
    for label, value in ((UNIGRAM_LABEL, UNIGRAM), (BIGRAM_LABEL, BIGRAM)):
        add_line(
            figure,
            [updates[0], updates[-1]],
            [value, value],
            (label, COLORS["gray"], "dot"),
            f"{label} entropy: %{{y:.3f}} nats<extra></extra>",
            width=1.5,
        )
    figure.update_layout(
        title="Validation loss",
        height=360,
        xaxis={"title": "updates", "range": [-8, updates[-1] + 8], "zeroline": False},
        yaxis={"title": "nats per character", "range": [2.1, TOP], "zeroline": False},
    )
    return [label_ends(figure)]


TOP = 4.4


def describe_curves(runs: TransformerRuns, rate: float, warm_up: int, initialization: str) -> str:
    """Describe the final loss of each kind."""
    texts = []
    for kind in CURVES:
        losses = runs.loss(RunKey(initialization, kind, 12, rate, warm_up))
        if losses is not None:
            texts.append(f"{KINDS[kind][0]} {losses.mean():.2f}")
    with_it = f"with {warm_up} updates of warm-up" if warm_up else "without warm-up"
    start = f"{INITIALIZATION_NAMES[initialization]}, 12 blocks, rate {rate:g}, {with_it}"
    return f"{start}: {', '.join(texts)} nats." if texts else f"{start}: not recorded."


CURVE = Picture(
    draw_curves,
    describe_curves,
    alt="Curves of the validation loss over 600 updates for post-norm, pre-norm, and no norm, with "
    "two dotted lines: the unigram and the bigram entropy. Bands: three seeds.",
)
