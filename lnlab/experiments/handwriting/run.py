"""Training of the handwriting network (section 6.5): batches of segments of lines, measurements."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from lnlab import run
from lnlab.datasets.handwriting_lines import Line, Lines, cut
from lnlab.experiments._weights import pack
from lnlab.experiments.handwriting import EXPERIMENT, MEASURED, SAMPLE, Settings
from lnlab.experiments.handwriting.model import model, nll

POOL = 10  # number of batches that are sorted by length together, for less padding
STROKE_SCALE = 64  # recorded strokes are multiples of 1 / STROKE_SCALE
EVAL_BATCH_SIZE = 60  # segments per batch in the evaluation


class Batch(NamedTuple):
    """A batch of padded segments of lines."""

    points: Tensor  # (T, B, 3): offsets divided by their std, lifts
    text: Tensor  # (B, U, C), one-hot
    mask: Tensor  # (T, B): mask of the points that are not padding


class Alignment(NamedTuple):
    """The character of each point of a batch, and the mask of the texts."""

    characters: Tensor  # (T, B): index of the character that the pen is writing
    written: Tensor  # (B, U): mask of the characters that are not padding


class HandwritingRun(run.Run):
    """Training of the handwriting network, with one seed.

    The seed determines the initial weights and, with the epoch, the segments of each batch, which
    do not depend on the other settings. Offsets are divided by their std over the training lines,
    and uniform noise of the width of their resolution is added, because the density of discrete
    values would be unbounded.

    Args: as :class:`lnlab.run.Run`.

    Raises:
        ValueError: If there is no line to train on, or ``seed`` is negative.
    """

    experiment = EXPERIMENT
    measures_at_end = allow_divergence = True

    def setup(self, data: Lines) -> None:
        """Cut the lines into segments, and build the model and its optimizer."""
        s, train = self.settings, data.splits["train"]
        offsets = np.concatenate([line.strokes[:, :2] for line in train])
        self.unit = float(offsets.std(dtype=np.float64))  # std of the offsets
        self.noise = data.resolution / self.unit
        self.characters = sorted({c for line in train for c in line.text} | {" "})
        pieces = {split: _cut_lines(lines, s) for split, lines in data.splits.items()}
        self.pieces = pieces
        pace = sum(len(p.text) for p in pieces["train"]) / sum(
            len(p.strokes) for p in pieces["train"]
        )
        network = model(s, len(self.characters), pace, generator=self.generator())
        self.model = network.to(self.device)
        self.measured = {k: self._measured(pieces[k]) for k in MEASURED if k in pieces}
        self.optimizer = self.adam()

    @classmethod
    def updates(cls, settings: Settings, data: Lines) -> int:
        """Return the number of updates per epoch, which is a setting.

        Raises:
            ValueError: If there is no line to train on.
        """
        if not any(len(line.strokes) > 1 for line in data.splits["train"]):
            raise ValueError(
                f"Run: {data.name} must have training lines of at least two points, but has none"
            )
        return settings.updates_per_epoch

    @property
    def cases(self) -> dict[str, int]:
        """Number of different characters, and of segments of lines of each split."""
        counts = {"characters": len(self.characters)}
        return counts | {f"{split}_pieces": len(part) for split, part in self.pieces.items()}

    def batch(self, pieces: Sequence[Line], rng: np.random.Generator) -> Batch:
        """Return segments as a batch, with noise from ``rng``; the first offset of each is 0."""
        points = []
        for piece in pieces:
            strokes = piece.strokes.copy()
            strokes[:, :2] /= self.unit
            strokes[:, :2] += self.noise * (rng.random((len(strokes), 2), np.float32) - 0.5)
            strokes[0, :2] = 0
            points.append(torch.from_numpy(strokes))
        mask = pad_sequence([torch.ones(len(p), dtype=torch.bool) for p in points])
        return Batch(
            pad_sequence(points).to(self.device),
            self.encode([piece.text for piece in pieces]),
            mask.to(self.device),
        )

    def encode(self, texts: Sequence[str]) -> Tensor:
        """Return texts as one-hot vectors ``(B, U, C)``, with zeros for unknown characters."""
        one_hot = torch.zeros(len(texts), max(map(len, texts)), len(self.characters))
        for row, text in zip(one_hot, texts, strict=True):
            for u, character in enumerate(text):
                if character in self.characters:
                    row[u, self.characters.index(character)] = 1
        return one_hot.to(self.device)

    def batches(self, epoch: int) -> Iterator[Batch]:
        """Yield batches of segments of similar length."""
        s, rng = self.settings, np.random.default_rng([self.seed, epoch])
        train, remaining = self.pieces["train"], s.updates_per_epoch
        while remaining:
            count = min(POOL, remaining)
            drawn = rng.integers(len(train), size=count * s.batch_size)
            order = sorted(drawn, key=lambda k: len(train[k].strokes))
            groups = np.array(order).reshape(count, s.batch_size)
            for group in (
                rng.permuted(groups, axis=0) if s.batch_size == 1 else rng.permutation(groups)
            ):
                yield self.batch([train[k] for k in group], rng)
            remaining -= count

    def loss(self, batch: Batch) -> Tensor:
        """Return the mean negative log likelihood of the next point, in nats."""
        text, _ = self.model(batch.points[:-1], batch.text)
        mask = batch.mask[1:]
        return nll(text[mask], batch.points[1:][mask]).mean()

    def measure(self) -> dict[str, float | Tensor]:
        """Measure the loss per point of each split, and the error of the window's position.

        ``window_distance`` is the mean distance, in characters, between the position of the window
        (the mean of phi) and the character that the pen is writing, if this is known for all lines
        of the split. Padding of the texts is left out; in older records, ``window_off`` has it.
        """
        results = {}
        for split, batches in self.measured.items():
            total = off = count = 0.0
            known = all(alignment is not None for _, alignment in batches)
            for batch, alignment in batches:
                texts, share = self.model(batch.points[:-1], batch.text)
                mask = batch.mask[1:]
                total += float(nll(texts[mask], batch.points[1:][mask]).double().sum())
                count += int(mask.sum())
                if known:
                    share = share * alignment.written
                    numbers = torch.arange(share.shape[2], device=share.device)
                    position = (share * numbers).sum(2) / share.sum(2).clamp(min=1e-9)
                    off += float((position - alignment.characters[1:])[mask].abs().double().sum())
            results[f"{split}_nll"] = total / count
            if known:
                results[f"{split}_window_distance"] = off / count
        if self.settings.keep:
            generator = torch.Generator(self.device).manual_seed(self.seed)
            text = self.encode([SAMPLE])
            points, window = self.model.write(text, self.settings.keep, generator)
            strokes = (
                (points[:, 0, :2] * (self.unit * STROKE_SCALE)).round().clamp(-(2**15), 2**15 - 1)
            )
            results["strokes"] = strokes.nan_to_num().to(torch.int16)
            results["lifts"] = points[:, 0, 2].to(torch.uint8)
            results["window"] = window[:, 0].half()
            results["characters"] = np.array([ord(c) for c in self.characters], np.int32)
            # Arrays must have one shape at all points; before the end, zeros compress to nothing.
            results |= {name: part * self.at_end for name, part in pack(self.model).items()}
        return results

    def _measured(self, pieces: Sequence[Line]) -> list[tuple[Batch, Alignment | None]]:
        """Return batches of segments that are evenly spaced in the order of their lengths."""
        rng = np.random.default_rng(0)
        pieces = sorted(pieces, key=lambda piece: len(piece.strokes))
        chosen = np.linspace(0, len(pieces) - 1, min(len(pieces), self.settings.lines)).astype(int)
        chosen = [pieces[k] for k in chosen]
        results = []
        for k in range(0, len(chosen), EVAL_BATCH_SIZE):
            part = chosen[k : k + EVAL_BATCH_SIZE]
            batch, alignment = self.batch(part, rng), None
            if all(piece.characters is not None for piece in part):
                known = [torch.from_numpy(piece.characters) for piece in part]
                lengths = torch.tensor([[len(piece.text)] for piece in part])
                written = torch.arange(batch.text.shape[1]) < lengths
                alignment = Alignment(pad_sequence(known).to(self.device), written.to(self.device))
            results.append((batch, alignment))
        return results


def _cut_lines(lines: Sequence[Line], settings: Settings) -> list[Line]:
    """Return the segments of all lines, except those of one point, which have no next point."""
    return [p for line in lines for p in cut(line, settings.length) if len(p.strokes) > 1]
