"""Comparisons at other learning rates."""

from lnbook.chapters.mnist.formatting import (
    bounds_of,
    epoch_text,
    seeds,
    with_bounds,
)
from lnbook.chapters.mnist.runs import MNISTRuns, RunKey
from lnbook.figures.plots import NORMS, labels
from lnbook.figures.table import Table


def rate_stops(runs: MNISTRuns) -> list[float]:
    """Return the epochs at which the whole sweep was measured, from a quarter of an epoch on."""
    epochs = runs.rate_sweep.common()
    first = epochs[(epochs > 0) & (epochs < 1)]
    return [*first[4::5].tolist(), *epochs[epochs >= 1].tolist()]


def best_rate(runs: MNISTRuns, norm: str, epoch: float) -> float:
    """Return the learning rate of the lowest mean training NLL at batch size 4.

    The choice is based on training examples only, never on the test examples.
    """
    return min(
        runs.swept_rates, key=lambda r: runs.at(epoch, RunKey(norm, 4, r), "train_nll").mean()
    )


def rates(runs: MNISTRuns) -> Table:
    """Return a table that compares layer norm at each learning rate, and each norm at its best."""
    runs = runs.rate_sweep
    end = rate_stops(runs)[-1]
    lines = [(f"batch norm, both at {r:g}", "batch", (r, r)) for r in runs.swept_rates]
    for norm in (n for n in ("batch", "none") if n in runs.swept_norms):
        best = tuple(best_rate(runs, n, end) for n in ("layer", norm))
        lines.append((f"{NORMS[norm][0]}, each at its best: {best[0]:g}, {best[1]:g}", norm, best))
    columns = [[text for text, *_ in lines]]
    for name in ("train_nll", "test_error"):
        results = [
            runs.difference(end, RunKey("layer", 4, of_layer), RunKey(norm, 4, of_other), name)
            for _, norm, (of_layer, of_other) in lines
        ]
        columns += [labels(results), [with_bounds(d, name) for d in results]]
    return Table(
        [
            "Layer norm compared with",
            "Lower training NLL",
            "Difference, nats",
            "Lower test error",
            "Difference, points",
        ],
        [*zip(*columns, strict=True)],
        f"With batches of 4 after {epoch_text(end)}: mean difference of {seeds(runs)}, "
        f"{bounds_of(runs)}. The best rate is that of the lowest training NLL.",
    )
