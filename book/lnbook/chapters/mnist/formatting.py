"""Names, units and axes, and the formatting of numbers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lnbook.chapters.mnist.runs import MNISTRuns
from lnbook.figures.plots import log_axis
from lnlab.comparison import limits, limits_name

NAMES = {"train_nll": "Training NLL", "test_nll": "Test NLL", "test_error": "Test error"}
UNITS = {"train_nll": "nats", "test_nll": "nats", "test_error": "%"}
TICKS = {
    "nats": [1e-6, 1e-5, 1e-4, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3],
    "%": [0.5, 1, 1.5, 2, 3, 5, 10, 20, 50],
}


def measure_axis(name: str, shown: Sequence[np.ndarray]) -> dict[str, Any]:
    """Return a logarithmic axis that contains all values, with the unit as its title."""
    low, high = min(np.nanmin(c) for c in shown), max(np.nanmax(c) for c in shown)
    ticks = TICKS[UNITS[name]]
    texts = [f"{t:.6f}".rstrip("0").rstrip(".") for t in ticks]
    return log_axis(ticks, np.log10([low / 1.15, high * 1.15]), title=UNITS[name], texts=texts)


def nats(value: float) -> str:
    """Format a negative log likelihood in nats."""
    return f"{value:.3f}" if value >= 0.01 else f"{value:.5f}"


def epoch_text(count: float) -> str:
    """Format a number of epochs."""
    return f"{count:.3g} epoch{'' if count == 1 else 's'}"


def _count(runs: MNISTRuns) -> int:
    return len({r["seed"] for r in runs.records})


def seeds(runs: MNISTRuns) -> str:
    """Format the number of seeds."""
    count = _count(runs)
    return f"{count} seed{'s' * (count != 1)}"


def bounds_of(runs: MNISTRuns) -> str:
    """Return a description of the bounds of a difference."""
    return limits_name(_count(runs))


def digits_of(name: str) -> int:
    """Return the number of digits of a mean."""
    return 2 if name == "test_error" else 4


def _signed(value: float, digits: int) -> str:
    return f"{value:+.{digits}f}".replace("-", "−")


def with_bounds(differences: np.ndarray, name: str) -> str:
    """Format a mean and its bounds: −0.08 [−0.09, −0.07]."""
    mean = _signed(differences.mean(), digits_of(name))
    if len(differences) < 2:
        return f"{mean} [one seed]"
    low, high = (_signed(v, digits_of(name)) for v in limits(differences))
    return f"{mean} [{low},\u00a0{high}]"  # no line break within it
