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
from lnlib.data import Dataset
from lnlib.data.mnist_binarized import PIXELS, SPLITS, Binarized
from lnlib.data.pen import Line, Lines
from lnlib.experiments import convnet, draw, handwriting
from lnlib.experiments.convnet.run import Run as ConvnetRun
from lnlib.experiments.draw.run import Run as DrawRun
from lnlib.experiments.handwriting.run import Run as HandwritingRun
from lnlib.experiments.handwriting.window import Seen, WindowLSTM

SECONDS = 12.0  # for each experiment


def rows(device: str) -> list[dict[str, Any]]:
    """Return the rows of each experiment."""
    if device != "cpu":
        return []
    with threads(1):
        return [row for measure in (_draw, _handwriting, _convnet) for row in measure()]


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


def _convnet() -> list[dict[str, Any]]:
    """Three convolutions with 16, 32 and 32 channels, 64 pictures."""
    rng = np.random.default_rng(0)
    x, y = rng.random((8000, 784), np.float32), np.arange(8000) % 10
    data, calls = Dataset("drawn", x, y, x[:10], y[:10], "0" * 64), {}
    for norm in convnet.NORMS:
        run = ConvnetRun(convnet.Settings(norm=norm), data)
        batch = next(run.batches(0))
        calls[norm] = lambda run=run, batch=batch: run.update(batch)
    ms = medians(calls, SECONDS, least=10)
    instead = ("no norm", ms.pop("none"))
    return [row("ConvNet update", "64×28×28", norm, t, instead=instead) for norm, t in ms.items()]
