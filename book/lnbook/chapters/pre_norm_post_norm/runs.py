"""The recorded runs: measurements at initialization and after training."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lnbook.figures.colors import COLORS
from lnbook.figures.plots import NORMS, RMS
from lnlab.analysis.recorded import Record, RecordedRuns

#: Mean loss per character of tiny Shakespeare in nats, by counts alone, computed by
#: :func:`lnlab.experiments.transformer.baselines.baselines`.
UNIGRAM, BIGRAM = 3.347, 2.482
UNIGRAM_LABEL, BIGRAM_LABEL = "unigram", "bigram"  # labels of the reference lines
RANDOM = 4.174  # nats: uniform guesses among the 65 characters
STUCK = 0.05  # nats: within this distance of the unigram entropy, a run has not learned the order

#: Maps labels to initializations.
INITIALIZATION_NAMES = {
    "xavier": "Xavier",
    "gpt2": "GPT-2, no residual scaling",
    "gpt2 scaled": "GPT-2, residual scaling",
    "normal": "N(0, 0.02²)",
    "pytorch": "PyTorch's default",
}
#: The same for those with ten seeds of gradients at initialization.
INITIALIZATIONS = {INITIALIZATION_NAMES[key]: key for key in ("xavier", "normal", "pytorch")}
DEPTHS = (2, 6, 12, 24)
RATES = (3e-4, 1e-3, 3e-3)
WARM_UPS = (0, 60)

#: Label, color and dash of each kind. Layer norm has one color; the dash shows its placement.
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
    """The settings that the runs of a group share; only the seed differs."""

    initialization: str
    kind: str
    depth: int
    rate: float = 1e-3
    warm_up: int = 0

    def __str__(self) -> str:
        """Return the settings in words."""
        return (
            f"{KINDS[self.kind][0]}, {INITIALIZATION_NAMES[self.initialization]}, {self.depth} "
            f"blocks, rate {self.rate:g}, warm-up {self.warm_up}"
        )


def kind(settings: dict[str, Any]) -> str:
    """Return the key of :data:`KINDS` for the settings of a run."""
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
    # Older records, from before residual scaling was added, do not contain it.
    initialization = s["initialization"] + " scaled" * s.get("residual_scaling", False)
    return RunKey(initialization, kind(s), s["depth"], s["learning_rate"], s["warm_up"])


class TransformerRuns:
    """The records of the experiment ``transformer``: first gradients, short runs, one long run.

    Short runs can be missing; figures then say so.

    Args:
        records: Records from :func:`lnlab.records.read_all`.

    Raises:
        ValueError: If there are no first gradients or no short runs.
    """

    def __init__(self, records: Sequence[Record]):
        shown = [r for r in records if not is_scheme(r["settings"])]

        def some(chosen: Any) -> list[Record]:
            return [r for r in shown if chosen(r["settings"])]

        command = "python -m lnlab replay transformer"
        self.starts = RecordedRuns(some(lambda s: s["updates_per_epoch"] == 1), _cell, command)
        self.trained = RecordedRuns(some(lambda s: s["updates_per_epoch"] == 100), _cell, command)
        self.model = some(lambda s: s["ablate"])

    def has(self, cell: RunKey) -> bool:
        """Return whether runs of a group are recorded."""
        return cell in self.trained.groups

    def _at_start(
        self, initialization: str, kind: str, depth: int
    ) -> tuple[RecordedRuns, RunKey] | None:
        cell = RunKey(initialization, kind, depth)
        if cell in self.starts.groups:
            return self.starts, cell
        # Before the first update, the learning rate has no effect.
        same = [c for c in self.trained.groups if c[:3] == cell[:3]]
        return (self.trained, same[0]) if same else None

    def initial(self, initialization: str, kind: str, depth: int, name: str) -> np.ndarray | None:
        """Return a measure of each block before the first update, or ``None`` if not recorded.

        Args:
            initialization: A key of :data:`INITIALIZATION_NAMES`.
            kind: A key of :data:`KINDS`.
            depth: Number of blocks.
            name: ``gradient``, which starts at block 1; ``deviation`` or ``mean_share``, which
                start before it.

        Returns:
            Shape ``(seeds, blocks)``, with an additional first column for the input of the first
            block.
        """
        result = self._at_start(initialization, kind, depth)
        return None if result is None else _blocks(*result, name, 0)

    def end(self, cell: RunKey, name: str) -> np.ndarray | None:
        """Return a measure of each block after the last update, or ``None`` if not recorded."""
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
        """Return the kinds with at least one recorded run of this initialization and depth."""
        known = {c.kind for c in self.trained.groups if c[0] == initialization and c[2] == depth}
        return [name for name in KINDS if name in known]

    @property
    def updates(self) -> np.ndarray:
        """The numbers of updates after which the short runs were measured."""
        return self.trained.epochs() * 100


def _blocks(runs: RecordedRuns, cell: RunKey, name: str, point: int) -> np.ndarray:
    first = int(name == "gradient")
    columns = [f"{name}_{k}" for k in range(first, cell.depth + 1)]
    return np.array([runs.curves(cell, column)[:, point] for column in columns]).T
