"""An update of the paper's experiments: with layer norm, beside the same model of torch.nn layers.

As the experiments take it, at a laptop's scale, on one thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bench.table import medians, row, threads
from lnlib.data.pen import Line, Lines
from lnlib.experiments import handwriting
from lnlib.experiments.handwriting.run import Run as HandwritingRun
from lnlib.experiments.handwriting.window import Seen, WindowLSTM

SECONDS = 12.0  # for each experiment


def rows(device: str) -> list[dict[str, Any]]:
    """Return a row for each experiment and arm."""
    if device != "cpu":
        return []
    with threads(1):
        return [row for measure in (_handwriting,) for row in measure()]


def _handwriting() -> list[dict[str, Any]]:
    """Three LSTMs of 96 units with a window, 8 pieces of lines of 235 points."""
    rng = np.random.default_rng(0)
    points, text = 235, "abcdefghij"
    strokes = rng.normal(size=(points, 3)).astype(np.float32)
    strokes[:, 2] = strokes[:, 2] > 1.5
    lines = (Line(text, strokes, "drawn", np.arange(points) * len(text) // points),)
    data = Lines("drawn", {"train": lines, "val_new": lines}, 1 / 256, "0" * 64)

    def stepper(norm: str, by_steps: bool) -> Callable[[], Any]:
        run = HandwritingRun(handwriting.Settings(norm=norm), data)
        batch = next(run.batches(0))
        if by_steps:
            first = run.model.first
            first.forward = lambda x, text: _by_steps(first, x, text)
        return lambda: run.update(batch)

    calls = {
        "none": stepper("none", False),
        "layer": stepper("layer", False),
        "torch.nn": stepper("none", True),
    }
    ms = medians(calls, SECONDS, least=10)
    instead = ("torch.nn's layers", ms["torch.nn"])
    return [
        row("handwriting update", f"3 layers, {points}×8×96", norm, ms[norm], instead=instead)
        for norm in ("none", "layer")
    ]


def _by_steps(first: WindowLSTM, x: Tensor, text: Tensor) -> Seen:
    """Run the layer with the window as ``torch.nn`` alone has it: a cell a step."""
    state, seen = first.start(text), []
    for point in x.unbind():
        state, share = first.step(point, text, state)
        seen.append((state.h, state.window, share))
    return Seen(*(torch.stack(part) for part in zip(*seen, strict=True)))
