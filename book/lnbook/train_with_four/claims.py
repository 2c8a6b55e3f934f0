"""Train with four examples at a time: what is said of figure 6, judged by the runs."""

from __future__ import annotations

import numpy as np

from lnbook.show.plots import NORMS, verdict
from lnbook.show.table import Table
from lnbook.train_with_four.runs import SIZES, Cell, Runs
from lnbook.train_with_four.words import (
    bounds_of,
    digits_of,
    epoch_text,
    seeds,
    with_bounds,
)


def claims(runs: Runs) -> Table:
    """Judge what is said of figure 6 by the recorded runs: layer norm against batch norm.

    Each claim is a difference that is below 0 in a run where it is true.
    """
    runs = runs.among(Cell(norm, size) for norm in ("layer", "batch") for size in SIZES)
    end = runs.last

    def below(text: str, size: int, name: str, epoch: float = end) -> list[str]:
        cells = Cell("layer", size), Cell("batch", size)
        layer, batch = (
            runs.at(epoch, Cell(norm, size), name).mean() for norm in ("layer", "batch")
        )
        d = runs.difference(epoch, *cells, name)
        digits = digits_of(name)
        return [
            text,
            verdict(d),
            with_bounds(d, name),
            f"{layer:.{digits}f} against {batch:.{digits}f}",
        ]

    def steadier(text: str, name: str) -> list[str]:
        layer, batch = (
            abs(runs.difference(end, Cell(norm, 4), Cell(norm, 128), name))
            for norm in ("layer", "batch")
        )
        d, digits = layer - batch, digits_of(name)
        by = f"by {layer.mean():.{digits}f} against {batch.mean():.{digits}f}"
        return [text, verdict(d), with_bounds(d, name), by]

    after = f"after {epoch_text(end)}"
    rows = [
        below("Batches of 4: lower training NLL after 1 epoch", 4, "train_nll", 1),
        below(f"Batches of 4: lower training NLL {after}", 4, "train_nll"),
        below(f"Batches of 4: lower test error {after}", 4, "test_error"),
        steadier("From 128 to 4 the training NLL changes less", "train_nll"),
        steadier("From 128 to 4 the test error changes less", "test_error"),
        below("Batches of 128: lower training NLL after 1 epoch", 128, "train_nll", 1),
        below(f"Batches of 128: lower training NLL {after}", 128, "train_nll"),
        below(f"Batches of 128: lower test error {after}", 128, "test_error"),
    ]
    return Table(
        [
            "Layer norm against batch norm",
            "Verdict",
            f"Mean difference, {bounds_of(runs)}",
            "Means",
        ],
        rows,
        f"Claims about figure 6 on {seeds(runs)}, paired: layer norm minus batch norm, "
        "NLL in nats, test error in percentage points.",
    )


def ending(runs: Runs) -> Table:
    """Tabulate where every norm ends at both batch sizes, and judge layer norm against each."""
    runs = runs.among(Cell(norm, size) for size in SIZES for norm in runs.norms)
    rows = []
    for size in SIZES:
        for norm in runs.norms:
            row = [f"{size}, {NORMS[norm][0]}"]
            for name, digits in (("test_error", 2), ("test_nll", 3), ("train_nll", 4)):
                values = runs.at(runs.last, Cell(norm, size), name)
                mean, low, high = (f"{v:.{digits}f}" for v in _mean_and_range(values))
                row.append(f"{mean} ({low}–{high})")
                if name == "test_nll":
                    continue
                d = runs.difference(runs.last, Cell("layer", size), Cell(norm, size), name)
                row.append("–" if norm == "layer" else verdict(d))
            rows.append(row)
    return Table(
        [
            "Batches of",
            "Test error, %",
            "layer norm’s lower?",
            "Test NLL",
            "Training NLL",
            "layer norm’s lower?",
        ],
        rows,
        f"After {epoch_text(runs.last)}, {seeds(runs)} each: mean, and from lowest to highest.",
    )


def _mean_and_range(values: np.ndarray) -> tuple[float, float, float]:
    return values.mean(), values.min(), values.max()
