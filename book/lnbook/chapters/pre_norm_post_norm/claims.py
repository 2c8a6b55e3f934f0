"""Xiong et al. (2020), claim by claim, by the records."""

from __future__ import annotations

import numpy as np

from lnbook.chapters.pre_norm_post_norm.first_gradients import last_gradients
from lnbook.chapters.pre_norm_post_norm.runs import (
    DEPTHS,
    INITIALIZATIONS,
    RATES,
    RunKey,
    TransformerRuns,
)
from lnbook.chapters.pre_norm_post_norm.trained import stuck, trained_starts
from lnbook.figures.plots import labels
from lnbook.figures.table import Table

NOT = "not recorded"
SAME = 1.1  # lengths within this ratio are the same
LINEAR = 0.25  # how far from 1 an exponent may be
LIKE = 0.05  # nats: losses that are called comparable
DEPTH = 12


def deeper(runs: TransformerRuns, initialization: str, kind: str) -> np.ndarray:
    """Return the last gradient's length with most blocks by that with fewest, one a seed."""
    result = last_gradients(runs, initialization, kind)
    return result[:, -1] / result[:, 0]


def root(runs: TransformerRuns, initialization: str) -> np.ndarray:
    """Return pre-norm's, times the root of the depths: 1 if it falls as the inverse root."""
    return deeper(runs, initialization, "pre") * np.sqrt(DEPTHS[-1] / DEPTHS[0])


def longer(runs: TransformerRuns, initialization: str) -> np.ndarray:
    """Return post-norm's last gradient by pre-norm's, at 12 blocks."""
    post, pre = (last_gradients(runs, initialization, kind) for kind in ("post", "pre"))
    return (post / pre)[:, DEPTHS.index(DEPTH)]


def growth(runs: TransformerRuns, initialization: str) -> np.ndarray:
    """Return p where the variance of pre-norm's stream grows as depth to the power p."""
    var = np.square(runs.initial(initialization, "pre", DEPTH, "deviation"))
    half, whole = (var[:, depth] - var[:, 0] for depth in (DEPTH // 2, DEPTH))
    return np.log2(whole / half)


def slope(runs: TransformerRuns, initialization: str, kind: str) -> np.ndarray:
    """Return the gradient's length in the first block by that in the last, at 12 blocks."""
    result = runs.initial(initialization, kind, DEPTH, "gradient")
    return result[:, 0] / result[:, -1]


def _within(off: np.ndarray, margin: float) -> np.ndarray:
    """Return differences that are below 0 where the mean is within a margin of 0."""
    return np.sign(off.mean()) * off - margin


def _same(ratios: np.ndarray) -> np.ndarray:
    return _within(np.log(ratios), np.log(SAME))


def _longer(ratios: np.ndarray) -> np.ndarray:
    return -np.log(ratios)


#: Claim, measure, and from the measure to differences that are below 0 where the claim is true.
AT_START = {
    "Post-norm: the last block's gradient is the same at every depth": (
        lambda runs, name: deeper(runs, name, "post"),
        _same,
    ),
    "Pre-norm: the last block's gradient decreases as 1/√depth": (root, _same),
    "The last block's gradient is larger with post-norm": (longer, _longer),
    "Pre-norm: the residual stream's variance grows linearly": (
        growth,
        lambda p: _within(p - 1, LINEAR),
    ),
    "Post-norm: the gradient decays toward the input": (
        lambda runs, name: 1 / slope(runs, name, "post"),
        _longer,
    ),
    "Pre-norm: the gradient is the same in every block": (
        lambda runs, name: slope(runs, name, "pre"),
        _same,
    ),
}


def at_start(runs: TransformerRuns) -> Table:
    """Label the claims on the first gradient, for each initialization."""
    numbers, result = [], []
    for measure, differences in AT_START.values():
        values = [measure(runs, name) for name in INITIALIZATIONS.values()]
        numbers.append(",\N{NO-BREAK SPACE}".join(f"{v.mean():.2f}" for v in values))
        result += map(differences, values)
    badges, n = labels(result), len(INITIALIZATIONS)
    return Table(
        ["Before training", *INITIALIZATIONS],
        [
            [f"{claim} ({number})", *badges[n * k : n * k + n]]
            for k, (claim, number) in enumerate(zip(AT_START, numbers, strict=True))
        ],
        f"{len(result[0])} seeds. The numbers in parentheses are mean values, in the order of the "
        f"columns. Gradients within a factor of {SAME:g} count as equal, a power from "
        f"{1 - LINEAR:g} to {1 + LINEAR:g} as linear growth. The labels are corrected for all "
        f"{len(result)} comparisons.",
    )


def _post(runs: TransformerRuns, name: str, rate: float, warm_up: int) -> np.ndarray | None:
    return runs.loss(RunKey(name, "post", DEPTH, rate, warm_up))


def needs_warm_up(runs: TransformerRuns, name: str) -> str:
    """Count: at 1e-3 post-norm trains with warm-up and is stuck without."""
    pair = [_post(runs, name, 1e-3, k) for k in (0, 60)]
    return _count(pair, lambda without, warm: stuck(without) & ~stuck(warm))


def small_rate(runs: TransformerRuns, name: str) -> str:
    """Count: at 3e-4 it trains without warm-up, and ends higher than at 1e-3 with it."""
    pair = _post(runs, name, 3e-4, 0), _post(runs, name, 1e-3, 60)
    return _count(pair, lambda small, warm: ~stuck(small) & (small > warm))


def pre_needs_none(runs: TransformerRuns, name: str) -> str:
    """Count: at 1e-3 pre-norm ends alike with and without warm-up."""
    pair = [runs.loss(RunKey(name, "pre", DEPTH, 1e-3, k)) for k in (0, 60)]
    return _count(pair, lambda without, warm: np.abs(without - warm) < LIKE)


def wider(runs: TransformerRuns, name: str) -> str:
    """Count: at the highest rate pre-norm trains and post-norm is stuck, warm-up or not."""
    cells = [RunKey(name, k, DEPTH, RATES[-1], w) for k in ("post", "pre") for w in (0, 60)]
    return _count(
        [runs.loss(c) for c in cells],
        lambda *four: stuck(four[0]) & stuck(four[1]) & ~stuck(four[2]) & ~stuck(four[3]),
    )


def _count(losses, holds) -> str:
    """Return in how many of the seeds it holds: three are too few for a verdict."""
    if any(v is None for v in losses):
        return NOT
    result = holds(*losses)
    return f"{result.sum()} of {len(result)} seeds"


TRAINED = {
    "Post-norm needs warm-up: at 1e-3 it trains only with it": needs_warm_up,
    "At a smaller rate post-norm trains without warm-up, but more slowly": small_rate,
    "Pre-norm needs no warm-up: at 1e-3 both losses are equal": pre_needs_none,
    "Pre-norm trains at a rate, 3e-3, where post-norm does not": wider,
}


def trained(runs: TransformerRuns) -> Table:
    """Count seeds for the claims on training, for the initializations that were trained."""
    names = trained_starts(runs, 1e-3, DEPTH)
    rows = [[claim, *(judge(runs, key) for key in names.values())]
            for claim, judge in TRAINED.items()]  # fmt: skip
    return Table(
        ["Trained", *names],
        rows,
        "The number of seeds in which each statement is true (12 blocks, 600 updates). "
        f"Losses within {LIKE:g} nats count as equal.",
    )
