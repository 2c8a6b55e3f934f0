"""Table of the recorded runs: settings, seeds, training time, devices and versions."""

from collections.abc import Iterable
from typing import Any

from lnbook.chapters.mnist.runs import FIGURE_6_SIZES, RATE, MNISTRuns, RunKey
from lnbook.figures.plots import NORMS
from lnbook.figures.table import Table, day


def provenance_table(runs: MNISTRuns) -> Table:
    """Return a table of the runs behind each part of the chapter, and their provenance."""

    def part(cell: RunKey) -> str:
        if cell.rate != RATE:
            return "Learning rates"
        return "Figure 6" if cell.batch_size in FIGURE_6_SIZES else "Batch sizes"

    rows = []
    for name in ("Figure 6", "Learning rates", "Batch sizes"):
        cells = [c for c in runs.groups if part(c) == name]
        records = [r for c in cells for r in runs.groups[c]]
        if not records:
            continue
        hours = sum(r["provenance"]["wall_s"] for r in records) / 3600
        rows.append(
            [
                name,
                f"{len(records)}",
                _list(NORMS[n][0] for n in NORMS if any(c.norm == n for c in cells)),
                _list(f"{s}" for s in sorted({c.batch_size for c in cells})),
                _list(f"{r:g}" for r in sorted({c.rate for c in cells})),
                _list(f"{s}" for s in sorted({r["seed"] for r in records})),
                _list(f"{e}" for e in sorted({r["settings"]["epochs"] for r in records})),
                f"{hours:.1f} h",
            ]
        )
    made = [r["provenance"] for r in runs.records]
    threads = (f"{m['device']}, {m['threads']} thread{'s' * (m['threads'] > 1)}" for m in made)
    languages = " or ".join(_languages(made))
    return Table(
        ["Part", "Runs", "Norms", "Batch sizes", "Rates", "Seeds", "Epochs", "Total time"],
        rows,
        f"Made on {_list(sorted(set(threads)))}; training step in {languages}; "
        f"PyTorch {_list(sorted({m['torch'] for m in made}))}; "
        f"{_list(map(day, sorted({m['date'][:10] for m in made})))}.",
        folded=True,
    )


def _languages(made: Iterable[dict[str, Any]]) -> list[str]:
    """Return how the training steps are written: C++ or PyTorch."""
    return sorted({"C++" if m.get("step") == "compiled" else "PyTorch" for m in made})


def _list(values: Iterable[str]) -> str:
    return ", ".join(values)
