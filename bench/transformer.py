"""An update of the small transformer with each norm, compared with layer norm.

Settings are those of the experiment: 12 blocks of width 64, 8 windows of 64 random characters, one
thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.table import medians, row, threads
from lnlab.datasets import Text
from lnlab.experiments.transformer import NORMS, Settings
from lnlab.experiments.transformer.run import TransformerRun

UPDATES = 2  # updates per measurement
CHARACTERS = 65  # number of different characters, as in tiny Shakespeare


def text(count: int = 20_000) -> Text:
    """Return a random text; its content does not affect the time."""
    codes = np.random.default_rng(0).integers(CHARACTERS, size=count) + ord(" ")
    drawn = "".join(map(chr, codes))
    return Text("drawn", drawn[: count * 9 // 10], drawn[count * 9 // 10 :], sha256="0" * 64)


def stepper(settings: Settings, data: Text, device: str) -> Callable[[], None]:
    """Return a function that takes ``UPDATES`` updates."""
    run = TransformerRun(settings, data, device=device)
    batches = [batch for batch, _ in zip(run.batches(0), range(UPDATES), strict=False)]

    def call() -> None:
        for batch in batches:
            run.update(batch)

    return call


def rows(device: str) -> list[dict[str, Any]]:
    """Return a row for each norm except layer norm."""
    data = text()
    with threads(1):
        calls = {norm: stepper(Settings(norm=norm), data, device) for norm in NORMS}
        ms = {norm: t / UPDATES for norm, t in medians(calls, 12.0, device, min_calls=20).items()}
        return [
            row(
                "transformer update",
                "12 blocks, 8×64×64",
                norm,
                ms[norm],
                instead=("layer", ms["layer"]),
                device=device,
            )
            for norm in NORMS
            if norm != "layer"
        ]
