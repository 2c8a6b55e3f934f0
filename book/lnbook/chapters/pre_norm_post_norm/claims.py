"""The claims of Xiong et al. (2020), evaluated with the recorded runs."""

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
SAME = 1.1  # norms within this ratio count as equal
LINEAR = 0.25  # maximum distance of an exponent from 1
LIKE = 0.05  # nats: losses within this difference count as comparable
DEPTH = 12


def deeper(runs: TransformerRuns, initialization: str, kind: str) -> np.ndarray:
    """Return the norm of the last gradient at the largest depth over that at the smallest."""
    result = last_gradients(runs, initialization, kind)
    return result[:, -1] / result[:, 0]


def root(runs: TransformerRuns, initialization: str) -> np.ndarray:
    """Return the same ratio for pre-norm times the root of the ratio of the depths; expected: 1."""
    return deeper(runs, initialization, "pre") * np.sqrt(DEPTHS[-1] / DEPTHS[0])


def longer(runs: TransformerRuns, initialization: str) -> np.ndarray:
    """Return the last gradient of post-norm over that of pre-norm, with 12 blocks."""
    post, pre = (last_gradients(runs, initialization, kind) for kind in ("post", "pre"))
    return (post / pre)[:, DEPTHS.index(DEPTH)]


def growth(runs: TransformerRuns, initialization: str) -> np.ndarray:
    """Return the exponent p with which the variance of pre-norm's stream grows with depth."""
    var = np.square(runs.initial(initialization, "pre", DEPTH, "deviation"))
    half, whole = (var[:, depth] - var[:, 0] for depth in (DEPTH // 2, DEPTH))
    return np.log2(whole / half)


def slope(runs: TransformerRuns, initialization: str, kind: str) -> np.ndarray:
    """Return the norm of the gradient in the first block over that in the last, with 12 blocks."""
    result = runs.initial(initialization, kind, DEPTH, "gradient")
    return result[:, 0] / result[:, -1]


def _within(off: np.ndarray, margin: float) -> np.ndarray:
    """Return differences that are negative if the mean is within ``margin`` of 0."""
    return np.sign(off.mean()) * off - margin


def _same(ratios: np.ndarray) -> np.ndarray:
    return _within(np.log(ratios), np.log(SAME))


def _longer(ratios: np.ndarray) -> np.ndarray:
    return -np.log(ratios)


#: Claim, measure, and a function from the measure to differences that are negative if it holds.
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
    """Return a table with labels of the claims on the first gradient, for each initialization."""
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
    """Count seeds for which post-norm needs warm-up at learning rate 1e-3."""
    pair = [_post(runs, name, 1e-3, k) for k in (0, 60)]
    return _count(pair, lambda without, warm: stuck(without) & ~stuck(warm))


def small_rate(runs: TransformerRuns, name: str) -> str:
    """Count seeds for which post-norm at 3e-4 needs no warm-up, but ends above that at 1e-3."""
    pair = _post(runs, name, 3e-4, 0), _post(runs, name, 1e-3, 60)
    return _count(pair, lambda small, warm: ~stuck(small) & (small > warm))


def pre_needs_none(runs: TransformerRuns, name: str) -> str:
    """Count seeds for which pre-norm at 1e-3 ends at the same loss with and without warm-up."""
    pair = [runs.loss(RunKey(name, "pre", DEPTH, 1e-3, k)) for k in (0, 60)]
    return _count(pair, lambda without, warm: np.abs(without - warm) < LIKE)


def wider(runs: TransformerRuns, name: str) -> str:
    """Count seeds for which, at the highest rate, pre-norm trains and post-norm does not."""
    cells = [RunKey(name, k, DEPTH, RATES[-1], w) for k in ("post", "pre") for w in (0, 60)]
    return _count(
        [runs.loss(c) for c in cells],
        lambda *four: stuck(four[0]) & stuck(four[1]) & ~stuck(four[2]) & ~stuck(four[3]),
    )


def _count(losses, holds) -> str:
    """Return the number of seeds for which it holds; three are too few for a verdict."""
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
    """Return a table of seed counts for the claims on training, by initialization."""
    names = trained_starts(runs, 1e-3, DEPTH)
    rows = [[claim, *(judge(runs, key) for key in names.values())]
            for claim, judge in TRAINED.items()]  # fmt: skip
    return Table(
        ["Trained", *names],
        rows,
        "The number of seeds in which each statement is true (12 blocks, 600 updates). "
        f"Losses within {LIKE:g} nats count as equal.",
    )
