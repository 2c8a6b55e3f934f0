"""The recorded runs of every scheme: 12 blocks from Xavier initialization, 600 updates."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from lnbook.chapters.pre_norm_post_norm.runs import BIGRAM, RATES, UNIGRAM, WARM_UPS
from lnbook.chapters.pre_norm_post_norm.trained import loss_map, stuck
from lnbook.chapters.residual_scaling.stack import NAMES, PLACEMENTS
from lnbook.explorer.figure_spec import Picture
from lnlab.analysis.recorded import Record, RecordedRuns

COUNTS = (UNIGRAM, BIGRAM)  # nats: losses of unigram and bigram counts
#: Maps the setting ``place`` of a run to the key of its scheme, if they differ.
_KEYS = {placement: key for key, placement in PLACEMENTS.items() if placement != "pre"}
ORDER = ("none", "post", "pre", "scaled", "sandwich", "rezero", "layerscale", "deepnorm", "mix",
         "lns")  # fmt: skip
LABELS = {key: {**NAMES, "none": "no norm"}[key].partition(" (")[0] for key in ORDER}


class RunKey(NamedTuple):
    """The settings that the runs of a group share; only the seed differs."""

    scheme: str
    rate: float
    warm_up: int


class ResidualSchemeRuns(RecordedRuns):
    """The runs of the experiment ``transformer`` that compare the schemes.

    Args:
        records: Records from :func:`lnlab.records.read_all`; others are left out.
    """

    def __init__(self, records: Sequence[Record]):
        command = "python -m lnlab replay transformer"
        super().__init__([r for r in records if _is_compared(r["settings"])], _cell, command)

    def losses(self, cell: RunKey) -> np.ndarray | None:
        """Return the last validation loss of each seed in nats, or ``None`` if not recorded."""
        return self.curves(cell, "val_nll")[:, -1] if cell in self.groups else None

    def best(self, scheme: str) -> tuple[float, RunKey]:
        """Return the lowest mean loss of a scheme over its learning rates and warm-ups."""
        cells = [cell for cell in self.groups if cell.scheme == scheme]
        return min((float(self.losses(cell).mean()), cell) for cell in cells)


def _is_compared(settings: dict[str, Any]) -> bool:
    defaults = {
        "initialization": "xavier",
        "depth": 12,
        "updates_per_epoch": 100,
        "qk_norm": "none",
    }
    defaults |= {"last_norm": True}
    known = settings["norm"] in ("layer", "none")
    return known and all(settings[name] == value for name, value in defaults.items())


def _cell(settings: dict[str, Any]) -> RunKey:
    key = _KEYS.get(settings["place"], settings["place"])
    if settings["norm"] == "none":
        key = "none"
    elif settings.get("residual_scaling", False):
        key = "scaled"
    return RunKey(key, settings["learning_rate"], settings["warm_up"])


def draw(runs: ResidualSchemeRuns) -> list[go.Figure]:
    """Draw the loss over scheme and learning rate, without warm-up and with it."""
    return [
        loss_map(
            {name: [runs.losses(RunKey(key, rate, warm_up)) for rate in RATES]
             for key, name in LABELS.items()},
            warm_up,
        )
        for warm_up in WARM_UPS
    ]  # fmt: skip


def describe(runs: ResidualSchemeRuns) -> str:
    """Describe the lowest mean loss of each scheme, and which schemes were stuck in some runs."""
    best = {name: runs.best(key)[0] for key, name in LABELS.items()}
    lowest = ", ".join(f"{name} {loss:.2f}" for name, loss in best.items())
    failed = {name: sum(int(stuck(runs.losses(cell)).sum()) for cell in runs.groups
                        if cell.scheme == key)
              for key, name in LABELS.items()}  # fmt: skip
    texts = [f"{count} with {name}" for name, count in failed.items() if count]
    return (
        f"Mean loss of the seeds at the best learning rate and warm-up, in nats: {lowest}. Runs "
        f"whose loss ends no lower than the unigram entropy: {', '.join(texts) or 'none'}."
    )


def lowest_loss(runs: ResidualSchemeRuns) -> str:
    """Return which schemes have the lowest mean loss in nats, rounded to two digits, for a title.

    Args:
        runs: The runs.
    """
    best = {name: round(runs.best(key)[0], 2) for key, name in LABELS.items()}
    lowest = min(best.values())
    names = " and ".join(name for name, loss in best.items() if loss == lowest)
    return f"Lowest loss after 600 updates: {names}, {lowest:.2f} nats"


TRAINED = Picture(
    draw,
    describe,
    alt="Two heat maps of the loss after 600 updates, without warm-up and with it: a row for each "
    "scheme, a column for each learning rate. Red is a loss above the bigram entropy, teal one "
    "below it.",
)
