"""Put the norm in a transformer: Xiong et al. (2020), claim by claim, by the records."""

from __future__ import annotations

import numpy as np

from lnbook.place_the_norm.runs import (
    DEPTHS,
    INITIALIZATION_NAMES,
    INITIALIZATIONS,
    RATES,
    Cell,
    Runs,
)
from lnbook.place_the_norm.start import last_gradients
from lnbook.place_the_norm.trained import stuck
from lnbook.show.table import FAILS, HOLDS, OPEN, Table

NOT = "not recorded"
SAME, OTHER = 1.1, 1.25  # lengths within the first ratio are the same, beyond the second are not
LINEAR = 0.25  # how far from 1 an exponent may be
LIKE = 0.05  # nats: losses that are called comparable
DEPTH = 12


def _ratio(values: np.ndarray) -> float:
    return float(values.max() / values.min())


def flat(runs: Runs, initialization: str) -> float:
    """Return how far post-norm's last gradient varies over the depths, as a ratio."""
    return _ratio(last_gradients(runs, initialization, "post").mean(0))


def root(runs: Runs, initialization: str) -> float:
    """Return the same of pre-norm's times the root of the depth: 1 if it falls as its inverse."""
    return _ratio(last_gradients(runs, initialization, "pre").mean(0) * np.sqrt(DEPTHS))


def longer(runs: Runs, initialization: str) -> float:
    """Return how much longer post-norm's last gradient is than pre-norm's, at 12 blocks."""
    post, pre = (last_gradients(runs, initialization, k).mean(0) for k in ("post", "pre"))
    return float((post / pre)[DEPTHS.index(DEPTH)])


def growth(runs: Runs, initialization: str) -> float:
    """Return p where the variance of pre-norm's stream grows as depth to the power p."""
    var = np.square(runs.start(initialization, "pre", DEPTH, "deviation")).mean(0)
    half, whole = var[[DEPTH // 2, DEPTH]] - var[0]
    return float(np.log2(whole / half))


def slope(runs: Runs, initialization: str, kind: str) -> float:
    """Return the gradient's length in the first block by that in the last, at 12 blocks."""
    found = runs.start(initialization, kind, DEPTH, "gradient").mean(0)
    return float(found[0] / found[-1])


def _same(ratio: float) -> str:
    ratio = max(ratio, 1 / ratio)
    return HOLDS if ratio < SAME else FAILS if ratio > OTHER else OPEN


def _longer(ratio: float) -> str:
    return HOLDS if ratio > OTHER else FAILS if ratio < SAME else OPEN


#: Claim, measure, and the verdict on the measure.
AT_START = {
    "Post-norm: the last gradient is the same at every depth": (flat, _same),
    "Pre-norm: it falls as the inverse root of the depth": (root, _same),
    "Post-norm's is the longer one": (longer, _longer),
    "Pre-norm: the stream's variance grows linearly": (
        growth,
        lambda p: HOLDS if abs(p - 1) < LINEAR else FAILS,
    ),
    "Post-norm: the gradient decays towards the input": (
        lambda runs, name: 1 / slope(runs, name, "post"),
        _longer,
    ),
    "Pre-norm: it is the same in every block": (
        lambda runs, name: slope(runs, name, "pre"),
        _same,
    ),
}


def at_start(runs: Runs) -> Table:
    """Judge the claims on the first gradient, for each initialization."""
    rows = []
    for claim, (measure, judge) in AT_START.items():
        values = [measure(runs, name) for name in INITIALIZATIONS.values()]
        numbers = ",\N{NO-BREAK SPACE}".join(f"{v:.2f}" for v in values)
        rows.append([f"{claim} ({numbers})", *map(judge, values)])
    return Table(
        ["Before training", *INITIALIZATIONS],
        rows,
        f"Means of ten seeds; in brackets what was measured, in the order of the columns. Lengths "
        f"within a ratio of {SAME:g} count as the same, beyond {OTHER:g} as different; a power "
        f"from {1 - LINEAR:g} to {1 + LINEAR:g} counts as linear.",
    )


def _post(runs: Runs, name: str, rate: float, warm_up: int) -> np.ndarray | None:
    return runs.loss(Cell(name, "post", DEPTH, rate, warm_up))


def needs_warm_up(runs: Runs, name: str) -> str:
    """Judge: at 1e-3 post-norm trains with warm-up and is stuck without."""
    pair = [_post(runs, name, 1e-3, k) for k in (0, 60)]
    return _count(pair, lambda without, warm: stuck(without) & ~stuck(warm))


def small_rate(runs: Runs, name: str) -> str:
    """Judge: at 3e-4 it trains without warm-up, and ends higher than at 1e-3 with it."""
    pair = _post(runs, name, 3e-4, 0), _post(runs, name, 1e-3, 60)
    return _count(pair, lambda small, warm: ~stuck(small) & (small > warm))


def pre_needs_none(runs: Runs, name: str) -> str:
    """Judge: at 1e-3 pre-norm ends alike with and without warm-up."""
    pair = [runs.loss(Cell(name, "pre", DEPTH, 1e-3, k)) for k in (0, 60)]
    return _count(pair, lambda without, warm: np.abs(without - warm) < LIKE)


def wider(runs: Runs, name: str) -> str:
    """Judge: at the highest rate pre-norm trains and post-norm is stuck, warm-up or not."""
    cells = [Cell(name, k, DEPTH, RATES[-1], w) for k in ("post", "pre") for w in (0, 60)]
    return _count(
        [runs.loss(c) for c in cells],
        lambda *four: stuck(four[0]) & stuck(four[1]) & ~stuck(four[2]) & ~stuck(four[3]),
    )


def _count(losses, holds) -> str:
    """Return in how many of the seeds it holds: three are too few for a verdict."""
    if any(v is None for v in losses):
        return NOT
    found = holds(*losses)
    return f"{found.sum()} of {len(found)} seeds"


TRAINED = {
    "Post-norm needs warm-up: at 1e-3 it trains with, not without": needs_warm_up,
    "At a smaller rate it trains without, and more slowly": small_rate,
    "Pre-norm needs none: at 1e-3 it ends alike": pre_needs_none,
    "Pre-norm trains at a rate, 3e-3, where post-norm does not": wider,
}


def trained(runs: Runs) -> Table:
    """Judge the claims on training, for the initializations that were trained."""
    names = {text: key for key, text in INITIALIZATION_NAMES.items() if runs.kinds(key, DEPTH)}
    rows = [[claim, *(judge(runs, key) for key in names.values())]
            for claim, judge in TRAINED.items()]  # fmt: skip
    return Table(
        ["Trained", *names],
        rows,
        "12 blocks, 600 updates: in how many of the seeds each statement is true. "
        f"Losses within {LIKE:g} nats count as alike.",
    )
