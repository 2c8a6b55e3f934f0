"""An update of the paper's experiments beside the same model of torch.nn's layers without a norm.

Each as its experiment takes it, at the sizes of a laptop, with one thread and drawn data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bench.table import medians, row, threads
from lnlib.runs.run import Run

UPDATES = 4  # within one measurement
SECONDS = 12.0


def stepper(run: Run) -> Callable[[], None]:
    """Return a call that makes ``UPDATES`` updates of a run, the same ones each time."""
    batches = [batch for batch, _ in zip(run.batches(0), range(UPDATES), strict=False)]

    def call() -> None:
        for batch in batches:
            run.update(batch)

    return call


def compared(
    name: str, shape: str, runs: Callable[[str], Run], device: str
) -> list[dict[str, Any]]:
    """Return the row of one experiment: layer norm beside none."""
    calls = {norm: stepper(runs(norm)) for norm in ("none", "layer")}
    ms = {norm: t / UPDATES for norm, t in medians(calls, SECONDS, device).items()}
    instead = ("torch.nn, no norm", ms["none"])
    return [row(f"{name} update", shape, "layer", ms["layer"], instead=instead, device=device)]


def _skip_thoughts(device: str) -> list[dict[str, Any]]:
    """Sentences of 14 words in the mean, as in the novels, of which the vocabulary has most."""
    from lnlib.data.gutenberg_prose import Book, Prose
    from lnlib.data.sentence_tasks import Tasks
    from lnlib.experiments.skip_thoughts import Material, Settings
    from lnlib.experiments.skip_thoughts.run import Run

    rng = np.random.default_rng(0)

    def sentence() -> str:
        return " ".join(f"w{k}" for k in rng.integers(2500, size=1 + rng.geometric(1 / 17)))

    chapters = tuple(tuple(sentence() for _ in range(60)) for _ in range(100))
    novels = Prose("drawn", (Book("drawn", "none", chapters),), "0" * 64)
    data = Material(novels, Tasks("drawn", (), (), (), (), "0" * 64))

    def made(norm: str) -> Run:
        return Run(Settings(norm=norm, judge_every=None), data, device=device)

    return compared("skip-thoughts", "32 sentences, H 128", made, device)


ENTRIES: Sequence[Callable[[str], list[dict[str, Any]]]] = (_skip_thoughts,)


def rows(device: str) -> list[dict[str, Any]]:
    """Return a row for each experiment."""
    with threads(1):
        return [found for entry in ENTRIES for found in entry(device)]
