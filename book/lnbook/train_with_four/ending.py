"""Train with four examples at a time: where every norm ends."""

from __future__ import annotations

from lnbook.show.plots import NORMS
from lnbook.show.table import Table
from lnbook.train_with_four.runs import SIZES, Cell, Runs
from lnbook.train_with_four.words import epoch_text, seeds


def ending(runs: Runs) -> Table:
    """Tabulate where every norm ends at both batch sizes."""
    runs = runs.among(Cell(norm, size) for size in SIZES for norm in runs.norms)
    rows = []
    for size in SIZES:
        for norm in runs.norms:
            row = [f"{size}, {NORMS[norm][0]}"]
            for name, digits in (("test_error", 2), ("test_nll", 3), ("train_nll", 4)):
                values = runs.at(runs.last, Cell(norm, size), name)
                mean, low, high = (
                    f"{v:.{digits}f}" for v in (values.mean(), values.min(), values.max())
                )
                row.append(f"{mean} ({low}–{high})")
            rows.append(row)
    return Table(
        ["Batches of", "Test error, %", "Test NLL", "Training NLL"],
        rows,
        f"After {epoch_text(runs.last)}, {seeds(runs)} each: mean, and from lowest to highest.",
    )
