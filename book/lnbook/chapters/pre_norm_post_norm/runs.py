"""The recorded runs: measurements at initialization and after training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lnbook.figures.colors import COLORS
from lnbook.figures.plots import NORMS, RMS
from lnlab.analysis.recorded import Record, RecordedRuns

#: Mean loss of a character of tiny Shakespeare, in nats, by counts alone:
#: :func:`lnlab.experiments.transformer.baselines.baselines` has counted.
UNIGRAM, BIGRAM = 3.347, 2.482
UNIGRAM_LABEL, BIGRAM_LABEL = "unigram", "bigram"  # of the reference lines
RANDOM = 4.174  # nats: drawing one of the 65 characters
STUCK = 0.05  # nats: nearer to the unigram line than this, a run has learnt nothing of the order

#: Initializations by what a reader sees.
INITIALIZATION_NAMES = {
    "xavier": "Xavier",
    "gpt2": "GPT-2, no residual scaling",
    "gpt2 scaled": "GPT-2, residual scaling",
    "normal": "N(0, 0.02)",
    "pytorch": "PyTorch's default",
}
#: From what a reader sees, those with ten draws of their first gradients.
INITIALIZATIONS = {INITIALIZATION_NAMES[key]: key for key in ("xavier", "normal", "pytorch")}
DEPTHS = (2, 6, 12, 24)
RATES = (3e-4, 1e-3, 3e-3)
WARM_UPS = (0, 60)

#: What is put where: label, color, dash. Layer norm has one color; the dash shows its place.
KINDS = {
    "pre": ("pre-norm", COLORS["layer"], "solid"),
    "post": ("post-norm", COLORS["variant"], "dash"),
    "sandwich": ("sandwich", COLORS["first"], "longdash"),
    "none": NORMS["none"],
    "rms": ("pre, RMSNorm", *RMS[1:]),
    "tanh": ("pre, dynamic tanh", COLORS["third"], "dashdot"),
    "qk": ("pre, QK norm", COLORS["fourth"], "longdashdot"),
    "no last": ("pre, no final norm", COLORS["second"], "dash"),
}


class RunKey(NamedTuple):
    """What is the same in the runs of a cell; only the seed differs."""

    initialization: str
    kind: str
    depth: int
    rate: float = 1e-3
    warm_up: int = 0

    def __str__(self) -> str:
        """Say it as a person would."""
        return (
            f"{KINDS[self.kind][0]}, {INITIALIZATION_NAMES[self.initialization]}, {self.depth} "
            f"blocks, rate {self.rate:g}, warm-up {self.warm_up}"
        )


def kind(settings: dict[str, Any]) -> str:
    """Return the key of :data:`KINDS` that a run's settings come to."""
    if settings["norm"] != "layer":
        return settings["norm"]
    if settings["qk_norm"] != "none":
        return "qk"
    if settings["place"] != "post" and not settings["last_norm"]:
        return "no last"
    return settings["place"]


def is_scheme(settings: dict[str, Any]) -> bool:
    """Return whether a run belongs to the comparison of :mod:`lnbook.chapters.residual_scaling`."""
    scaled = settings.get("residual_scaling", False) and settings["initialization"] == "xavier"
    return scaled or settings["place"] not in ("pre", "post", "sandwich")


def _cell(settings: dict[str, Any]) -> RunKey:
    s = settings
    # Records from before there was residual scaling do not name it.
    initialization = s["initialization"] + " scaled" * s.get("residual_scaling", False)
    return RunKey(initialization, kind(s), s["depth"], s["learning_rate"], s["warm_up"])


class TransformerRuns:
    """The records of the experiment ``transformer``: first gradients, short runs, one long model.

    Which of the short runs there are is up to the records; what is missing says so.

    Args:
        records: As :func:`lnlab.records.read_all` returns them.

    Raises:
        ValueError: If there are no first gradients or no short runs among them.
    """

    def __init__(self, records: Sequence[Record]):
        shown = [r for r in records if not is_scheme(r["settings"])]

        def some(chosen: Any) -> list[Record]:
            return [r for r in shown if chosen(r["settings"])]

        command = "python -m lnlab replay transformer"
        self.starts = RecordedRuns(some(lambda s: s["updates_an_epoch"] == 1), _cell, command)
        self.trained = RecordedRuns(some(lambda s: s["updates_an_epoch"] == 100), _cell, command)
        self.model = some(lambda s: s["ablate"])

    def has(self, cell: RunKey) -> bool:
        """Tell whether a cell has been trained and recorded."""
        return cell in self.trained.groups

    def _at_start(
        self, initialization: str, kind: str, depth: int
    ) -> tuple[RecordedRuns, RunKey] | None:
        cell = RunKey(initialization, kind, depth)
        if cell in self.starts.groups:
            return self.starts, cell
        # Before the first update a run at another rate is the same run.
        same = [c for c in self.trained.groups if c[:3] == cell[:3]]
        return (self.trained, same[0]) if same else None

    def initial(self, initialization: str, kind: str, depth: int, name: str) -> np.ndarray | None:
        """Return a measure of each block before the first update, or ``None`` if not recorded.

        Args:
            initialization: A key of :data:`INITIALIZATION_NAMES`.
            kind: Of :data:`KINDS`.
            depth: Blocks.
            name: ``gradient``, from block 1; ``deviation`` or ``mean_share``, from before it.

        Returns:
            Shape ``(seeds, blocks)``, with one column more where it begins before the first block.
        """
        result = self._at_start(initialization, kind, depth)
        return None if result is None else _blocks(*result, name, 0)

    def end(self, cell: RunKey, name: str) -> np.ndarray | None:
        """Return the same after the last update, or ``None`` if not recorded."""
        return _blocks(self.trained, cell, name, -1) if self.has(cell) else None

    def loss(self, cell: RunKey) -> np.ndarray | None:
        """Return the last validation loss of each seed in nats, or ``None`` if not recorded."""
        return self.trained.curves(cell, "val_nll")[:, -1] if self.has(cell) else None

    def grid(self, initialization: str, depth: int) -> dict[tuple[str, float, int], np.ndarray]:
        """Return the losses at one initialization and depth, by kind, rate and warm-up."""
        return {
            (c.kind, c.rate, c.warm_up): self.loss(c)
            for c in self.trained.groups
            if (c.initialization, c.depth) == (initialization, depth)
        }

    def kinds(self, initialization: str, depth: int) -> list[str]:
        """Return the kinds of which some run of this initialization and depth has been trained."""
        known = {c.kind for c in self.trained.groups if c[0] == initialization and c[2] == depth}
        return [name for name in KINDS if name in known]

    @property
    def updates(self) -> np.ndarray:
        """After how many updates the short runs were measured."""
        return self.trained.epochs() * 100


def _blocks(runs: RecordedRuns, cell: RunKey, name: str, point: int) -> np.ndarray:
    first = int(name == "gradient")
    columns = [f"{name}_{k}" for k in range(first, cell.depth + 1)]
    return np.array([runs.curves(cell, column)[:, point] for column in columns]).T
