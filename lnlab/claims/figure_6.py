"""Table of the final values of the book's runs for figure 6, for which the paper has no numbers.

Network, training examples and batch sizes are those of the paper.
"""

import numpy as np

from lnlab.claims.feedforward import RATE, by_seed
from lnlab.claims.finding import Record, Records
from lnlab.experiments._task import curve

NORMS = {"batch": "batch norm", "layer": "layer norm", "none": "no normalization"}
SIZES = (128, 4)
MISSING = "not recorded"
_CURVES = {
    "train_nll": ("training NLL, nats", 1, ".4f"),
    "test_nll": ("test NLL, nats", 1, ".4f"),
    "test_error": ("test error, %", 100, ".2f"),
}


def table(records: Records) -> list[list[str]]:
    """Return the rows of the table, starting with its header.

    Cells have the mean and standard deviation over the seeds that all norms have, at the end of the
    longest runs that all norms have.

    Args:
        records: The records of a folder.
    """
    header = ["at the end of training: mean ± standard deviation", *NORMS.values()]
    return [header, *(row for size in SIZES for row in _rows(records, size))]


def _rows(records: Records, size: int) -> list[list[str]]:
    by_epochs: dict[int, dict[str, list[Record]]] = {}
    for run in records.select("mnist", batch_size=size, learning_rate=RATE, data="mnist"):
        by_norm = by_epochs.setdefault(run["settings"]["epochs"], {})
        by_norm.setdefault(run["settings"]["norm"], []).append(run)
    complete = [epochs for epochs, by_norm in by_epochs.items() if by_norm.keys() >= NORMS.keys()]
    if not complete:
        return [[f"batches of {size}", *(MISSING for _ in NORMS)]]
    runs = {norm: by_seed(by_epochs[max(complete)][norm]) for norm in NORMS}
    seeds = sorted(set.intersection(*(set(runs[norm]) for norm in NORMS)))
    rows = []
    for name, (what, factor, form) in _CURVES.items():
        cells = []
        for norm in NORMS:
            ends = np.array([factor * curve(runs[norm][seed], name)[-1] for seed in seeds])
            spread = f" ± {ends.std(ddof=1):{form}}" if len(ends) > 1 else ""
            cells.append(f"{ends.mean():{form}}{spread}")
        label = f"batches of {size}, {max(complete)} epochs, {len(seeds)} seeds"
        rows.append([f"{label}: {what}", *cells])
    return rows
