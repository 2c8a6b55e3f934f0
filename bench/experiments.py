"""An update of each of the paper's experiments and of the small transformer, with several norms.

Settings are those of the experiments at laptop scale, on one thread. The transformer is compared
with layer norm, all others with torch.nn layers without a norm.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bench.table import medians, row, threads
from lnlab.datasets import Dataset, Text
from lnlab.datasets.bible_cloze import Cloze, Question
from lnlab.datasets.coco_val2017_layout import CAPTIONS, Layouts
from lnlab.datasets.gutenberg_prose import Book, Prose
from lnlab.datasets.handwriting_lines import Line, Lines
from lnlab.datasets.mnist_binarized import PIXELS, SPLITS, Binarized
from lnlab.datasets.sentence_tasks import Tasks
from lnlab.experiments import (
    attentive_reader,
    convnet,
    draw,
    handwriting,
    order_embeddings,
    skip_thoughts,
    transformer,
)
from lnlab.experiments.attentive_reader.run import AttentiveReaderRun
from lnlab.experiments.convnet.run import ConvnetRun
from lnlab.experiments.draw.run import DrawRun
from lnlab.experiments.handwriting.run import HandwritingRun
from lnlab.experiments.handwriting.window import WindowLSTM, WindowOutput
from lnlab.experiments.order_embeddings.run import OrderEmbeddingsRun
from lnlab.experiments.skip_thoughts.run import SkipThoughtsRun
from lnlab.experiments.transformer.run import TransformerRun
from lnlab.run import Run

SECONDS = 12.0  # per experiment


def rows(device: str) -> list[dict[str, Any]]:
    """Return the rows of each experiment; on a GPU, of the transformer alone."""
    with threads(1):
        if device != "cpu":
            return _transformer(device)
        return [row for measure in EXPERIMENTS for row in measure()]


def _update(run: Run) -> Callable[[], Any]:
    """Return a function that takes an update, each time with the same batch."""
    batch = next(run.batches(0))
    return lambda: run.update(batch)


def _rows(
    what: str, shape: str, runs: dict[str, Run], instead: tuple[str, str], device: str = "cpu"
) -> list[dict[str, Any]]:
    """Return a row for each run except the one whose name is the first of ``instead``."""
    ms = medians({k: _update(run) for k, run in runs.items()}, SECONDS, device, min_calls=10)
    reference, label = instead
    return [
        row(what, shape, name, t, instead=(label, ms[reference]), device=device)
        for name, t in ms.items()
        if name != reference
    ]


def _draw() -> list[dict[str, Any]]:
    """Two LSTMs of 128 units and 5 x 5 windows, 64 images, at 8 and at 16 glimpses."""
    rng = np.random.default_rng(0)
    drawn = {split: (rng.random((1000, PIXELS)) < 0.13).astype(np.uint8) for split in SPLITS}
    data, result = Binarized("drawn", drawn, "0" * 64), []
    for glimpses in (8, 16):
        options = {"glimpses": glimpses, "updates_per_epoch": 1}
        runs = {n: DrawRun(draw.Settings(norm=n, **options), data) for n in draw.NORMS}
        instead = "none", "torch.nn.LSTMCell, no norm"
        result += _rows("DRAW update", f"{glimpses}×64×128", runs, instead)
    return result


def _handwriting() -> list[dict[str, Any]]:
    """Three LSTMs of 96 units with a window, 8 segments of lines of 235 points."""
    rng = np.random.default_rng(0)
    points, text = 235, "abcdefghij"
    strokes = rng.normal(size=(points, 3)).astype(np.float32)
    strokes[:, 2] = strokes[:, 2] > 1.5
    lines = (Line(text, strokes, "drawn", np.arange(points) * len(text) // points),)
    data = Lines("drawn", {"train": lines, "val_new": lines}, 1 / 256, "0" * 64)

    runs = {
        name: HandwritingRun(handwriting.Settings(norm=norm), data)
        for name, norm in (("none", "none"), ("layer", "layer"), ("torch.nn", "none"))
    }
    first = runs["torch.nn"].model.first
    first.forward = lambda x, text: _by_steps(first, x, text)
    shape = f"3 layers, {points}×8×96"
    return _rows("handwriting update", shape, runs, ("torch.nn", "torch.nn's layers"))


def _by_steps(first: WindowLSTM, x: Tensor, text: Tensor) -> WindowOutput:
    """Run the layer with the window with one cell call per step, as ``torch.nn`` requires."""
    state, outputs = first.start(text), []
    for point in x.unbind():
        state, share = first.step(point, text, state)
        outputs.append((state.h, state.window, share))
    return WindowOutput(*(torch.stack(part) for part in zip(*outputs, strict=True)))


def _convnet() -> list[dict[str, Any]]:
    """Three convolutions with 16, 32 and 32 channels, 64 images."""
    rng = np.random.default_rng(0)
    x, y = rng.random((8000, 784), np.float32), np.arange(8000) % 10
    data = Dataset("drawn", x, y, x[:10], y[:10], "0" * 64)
    runs = {n: ConvnetRun(convnet.Settings(norm=n), data) for n in convnet.NORMS}
    return _rows("ConvNet update", "64×28×28", runs, ("none", "no norm"))


def _skip_thoughts() -> list[dict[str, Any]]:
    """Three GRUs of 128 units, 32 sentences of 17 words on average, as in the novels."""
    rng = np.random.default_rng(0)

    def sentence() -> str:
        return " ".join(f"w{k}" for k in rng.integers(2500, size=1 + rng.geometric(1 / 17)))

    chapters = tuple(tuple(sentence() for _ in range(60)) for _ in range(100))
    novels = Prose("drawn", (Book("drawn", "none", chapters),), "0" * 64)
    data = skip_thoughts.SkipThoughtsData(novels, Tasks("drawn", (), (), (), (), "0" * 64))
    settings = {n: skip_thoughts.Settings(norm=n, evaluate_every=None) for n in skip_thoughts.NORMS}
    runs = {norm: SkipThoughtsRun(chosen, data) for norm, chosen in settings.items()}
    instead = "none", "torch.nn.GRU, no norm"
    return _rows("skip-thoughts update", "32 sentences, 128", runs, instead)


def _attentive_reader() -> list[dict[str, Any]]:
    """Two LSTMs of 64 units, 32 questions on passages of 99 words, each norm compared with none."""
    rng = np.random.default_rng(0)

    def question(number: int) -> Question:
        words = [f"w{k}" for k in rng.integers(2500, size=99)]
        words[::20] = [f"@e{k}" for k in range(5)]
        return Question(tuple(words), ("@blank", *words[1:28]), "@e0", f"drawn {number}")

    data = Cloze("drawn", {s: [question(k) for k in range(40)] for s in ("train", "val", "test")},
                 "0" * 64)  # fmt: skip
    settings = {n: attentive_reader.Settings(norm=n) for n in attentive_reader.NORMS}
    runs = {norm: AttentiveReaderRun(chosen, data) for norm, chosen in settings.items()}
    instead = "none", "torch.nn.LSTM, no norm"
    return _rows("attentive reader update", "99×32×64", runs, instead)


def _order_embeddings() -> list[dict[str, Any]]:
    """A GRU of 128 units, 64 pairs of an image and a caption of 11 words on average."""
    rng = np.random.default_rng(0)

    def image(number: int) -> dict[str, Any]:
        boxes = [[int(c), 10, 10, 90, 60] for c in rng.integers(80, size=7)]
        captions = [" ".join(f"w{k}" for k in rng.integers(2500, size=8 + rng.geometric(1 / 3)))
                    for _ in range(CAPTIONS)]  # fmt: skip
        return {"id": number, "w": 640, "h": 480, "boxes": boxes, "captions": captions}

    images = {split: [image(k) for k in range(640)] for split in ("train", "val", "test")}
    data = Layouts("drawn", tuple(f"c{k}" for k in range(80)), images, "0" * 64)
    settings = {n: order_embeddings.Settings(norm=n) for n in order_embeddings.NORMS}
    runs = {norm: OrderEmbeddingsRun(chosen, data) for norm, chosen in settings.items()}
    instead = "none", "torch.nn.GRU, no norm"
    return _rows("order embeddings update", "64 pairs, 128", runs, instead)


def _transformer(device: str = "cpu") -> list[dict[str, Any]]:
    """12 blocks of width 64, 8 windows of 64 characters, each norm compared with layer norm."""
    codes = np.random.default_rng(0).integers(65, size=20_000) + ord(" ")
    drawn = "".join(map(chr, codes))
    data = Text("drawn", drawn[:18_000], drawn[18_000:], sha256="0" * 64)
    runs = {
        norm: TransformerRun(transformer.Settings(norm=norm), data, device=device)
        for norm in transformer.NORMS
    }
    return _rows("transformer update", "12 blocks, 8×64×64", runs, ("layer", "layer"), device)


EXPERIMENTS = (_order_embeddings, _attentive_reader, _skip_thoughts, _draw, _handwriting, _convnet,
               _transformer)  # fmt: skip
