"""An update of the paper's experiments: with layer norm, beside the same model of torch.nn layers.

As the experiments take it, at a laptop's scale, on one thread.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.table import medians, row, threads
from lnlib.data.mnist_binarized import PIXELS, SPLITS, Binarized
from lnlib.experiments import draw
from lnlib.experiments.draw.run import Run as DrawRun

SECONDS = 12.0  # for each experiment


def rows(device: str) -> list[dict[str, Any]]:
    """Return a row for each experiment."""
    if device != "cpu":
        return []
    with threads(1):
        return [row for measure in (_draw,) for row in measure()]


def _draw() -> list[dict[str, Any]]:
    """Two LSTMs of 128 units and 5 x 5 windows, 64 images, at 8 and at 16 glimpses."""
    rng = np.random.default_rng(0)
    drawn = {split: (rng.random((1000, PIXELS)) < 0.13).astype(np.uint8) for split in SPLITS}
    data, found = Binarized("drawn", drawn, "0" * 64), []
    for glimpses in (8, 16):
        calls = {}
        for norm in draw.NORMS:
            run = DrawRun(draw.Settings(norm=norm, glimpses=glimpses, updates_an_epoch=1), data)
            (batch,) = run.batches(0)
            calls[norm] = lambda run=run, batch=batch: run.update(batch)
        ms = medians(calls, SECONDS / 2, least=10)
        instead = ("torch.nn.LSTMCell, no norm", ms["none"])
        shape = f"{glimpses}×64×128"
        found.append(row("DRAW update", shape, "layer", ms["layer"], instead=instead))
    return found
