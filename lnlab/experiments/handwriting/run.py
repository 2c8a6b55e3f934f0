"""One run of section 6.5: pieces of lines, how they are drawn, what is measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils import clip_grad_norm_
from torch.nn.utils.rnn import pad_sequence

from lnlab import run
from lnlab.datasets.pen import Line, Lines, cut
from lnlab.experiments._weights import pack
from lnlab.experiments.handwriting import EXPERIMENT, MEASURED, SAMPLE, Settings
from lnlab.experiments.handwriting.model import model, nll

GROUP = 10  # batches whose pieces are sorted by length, so that little is padded
GRAIN = 64  # parts of the unit in which written strokes are kept
AT_ONCE = 60  # pieces that are measured together


class Batch(NamedTuple):
    """Pieces of lines, filled up to the longest."""

    points: Tensor  # (T, B, 3): offsets in units of their deviation, lifts
    text: Tensor  # (B, U, C)
    there: Tensor  # (T, B): whether the line is still going on


class Places(NamedTuple):
    """Where the pen is on the texts of a batch, and how long they are."""

    characters: Tensor  # (T, B)
    written: Tensor  # (B, U): whether the text is still going on


class Run(run.Run):
    """One run: one norm, one start, one seed. Feed it to ``train``.

    The seed draws the weights and, with the epoch, the pieces of each batch, the same whatever
    norm, start and learning rate are. Offsets are divided by their deviation over the training
    lines, and noise of a step of their resolution is added, without which a density has no bound.

    Args:
        settings: What is chosen.
        data: Lines.
        seed: From 0.
        device: Where model and data live.

    Raises:
        ValueError: If there is no line to train on, or ``seed`` is negative.
    """

    experiment = EXPERIMENT
    measures_at_end = allow_divergence = True

    def __init__(
        self,
        settings: Settings,
        data: Lines,
        *,
        seed: int = 0,
        device: torch.device | str = "cpu",
    ) -> None:
        super().__init__(settings, data, seed=seed, device=device)
        s, train = settings, data.splits["train"]
        offsets = np.concatenate([line.strokes[:, :2] for line in train])
        self.unit = float(offsets.std(dtype=np.float64))  # of the lines' own
        self.noise = data.resolution / self.unit
        self.characters = sorted({c for line in train for c in line.text} | {" "})
        pieces = {split: _pieces(lines, s) for split, lines in data.splits.items()}
        self.pieces, self.device = pieces, device
        pace = sum(len(p.text) for p in pieces["train"]) / sum(
            len(p.strokes) for p in pieces["train"]
        )
        generator = torch.Generator().manual_seed(seed)  # on the CPU: one W for all devices
        built = model(s, len(self.characters), pace, generator=generator)
        self.model = built.to(device)
        self.measured = {k: self._measured(pieces[k]) for k in MEASURED if k in pieces}
        self.optimizer = self.adam()

    @classmethod
    def updates(cls, settings: Settings, data: Lines) -> int:
        """Return the number of updates in an epoch, which is a setting.

        Raises:
            ValueError: If there is no line to train on.
        """
        if not any(len(line.strokes) > 1 for line in data.splits["train"]):
            raise ValueError(
                f"Run: {data.name} must have training lines of two points or more, it has none"
            )
        return settings.updates_an_epoch

    @property
    def cases(self) -> dict[str, int]:
        """How many characters there are, and how many pieces of lines."""
        counts = {"characters": len(self.characters)}
        return counts | {f"{split}_pieces": len(part) for split, part in self.pieces.items()}

    def batch(self, pieces: Sequence[Line], rng: np.random.Generator) -> Batch:
        """Put pieces together, with noise from ``rng``; a piece begins where its first point is."""
        points = []
        for piece in pieces:
            strokes = piece.strokes.copy()
            strokes[:, :2] /= self.unit
            strokes[:, :2] += self.noise * (rng.random((len(strokes), 2), np.float32) - 0.5)
            strokes[0, :2] = 0
            points.append(torch.from_numpy(strokes))
        there = pad_sequence([torch.ones(len(p), dtype=torch.bool) for p in points])
        return Batch(
            pad_sequence(points).to(self.device),
            self.encode([piece.text for piece in pieces]),
            there.to(self.device),
        )

    def encode(self, texts: Sequence[str]) -> Tensor:
        """Return texts as numbers ``(B, U, C)``; a character that training lacks is no number."""
        coded = torch.zeros(len(texts), max(map(len, texts)), len(self.characters))
        for row, text in zip(coded, texts, strict=True):
            for u, character in enumerate(text):
                if character in self.characters:
                    row[u, self.characters.index(character)] = 1
        return coded.to(self.device)

    def batches(self, epoch: int) -> Iterator[Batch]:
        """Yield batches, each of pieces of about one length."""
        s, rng = self.settings, np.random.default_rng([self.seed, epoch])
        train, left = self.pieces["train"], s.updates_an_epoch
        while left:
            count = min(GROUP, left)
            drawn = rng.integers(len(train), size=count * s.batch_size)
            order = sorted(drawn, key=lambda k: len(train[k].strokes))
            groups = np.array(order).reshape(count, s.batch_size)
            for group in (
                rng.permuted(groups, axis=0) if s.batch_size == 1 else rng.permutation(groups)
            ):
                yield self.batch([train[k] for k in group], rng)
            left -= count

    def loss(self, batch: Batch) -> Tensor:
        """Return the mean negative log likelihood of the next point, over all points."""
        text, _ = self.model(batch.points[:-1], batch.text)
        there = batch.there[1:]
        return nll(text[there], batch.points[1:][there]).mean()

    def update(self, batch: Batch) -> Tensor:
        """Take one step of Adam along the gradient, shortened to ``clip``."""
        loss = self.loss(batch)
        self.optimizer.zero_grad(set_to_none=False)
        loss.backward()
        clip_grad_norm_(self.model.parameters(), self.settings.clip)
        self.optimizer.step()
        return loss.detach()

    def measure(self) -> dict[str, float | Tensor]:
        """Measure the loss of a point on each split, and how far the window is off.

        That is the mean distance between where the window is, the mean of phi, and the character
        that the pen is at, where all lines of the split say which one that is. What fills a text up
        to the longest of its batch does not count. (Records that have a ``window_off`` count it.)
        """
        results = {}
        for split, batches in self.measured.items():
            total = off = count = 0.0
            known = all(places is not None for _, places in batches)
            for batch, places in batches:
                texts, share = self.model(batch.points[:-1], batch.text)
                there = batch.there[1:]
                total += float(nll(texts[there], batch.points[1:][there]).double().sum())
                count += int(there.sum())
                if known:
                    share = share * places.written
                    numbers = torch.arange(share.shape[2], device=share.device)
                    at = (share * numbers).sum(2) / share.sum(2).clamp(min=1e-9)
                    off += float((at - places.characters[1:])[there].abs().double().sum())
            results[f"{split}_nll"] = total / count
            if known:
                results[f"{split}_window_distance"] = off / count
        if self.settings.keep:
            generator = torch.Generator(self.device).manual_seed(self.seed)
            text = self.encode([SAMPLE])
            points, window = self.model.write(text, self.settings.keep, generator)
            strokes = (points[:, 0, :2] * (self.unit * GRAIN)).round().clamp(-(2**15), 2**15 - 1)
            results["strokes"] = strokes.nan_to_num().to(torch.int16)
            results["lifts"] = points[:, 0, 2].to(torch.uint8)
            results["window"] = window[:, 0].half()
            results["characters"] = np.array([ord(c) for c in self.characters], np.int32)
            # Of one shape at all times: what is not worth its place is zeros, which take none.
            results |= {name: part * self.at_end for name, part in pack(self.model).items()}
        return results

    def _measured(self, pieces: Sequence[Line]) -> list[tuple[Batch, Places | None]]:
        """Return the pieces of evenly spaced lines, those of about one length together."""
        rng = np.random.default_rng(0)
        pieces = sorted(pieces, key=lambda piece: len(piece.strokes))
        chosen = np.linspace(0, len(pieces) - 1, min(len(pieces), self.settings.lines)).astype(int)
        chosen = [pieces[k] for k in chosen]
        results = []
        for k in range(0, len(chosen), AT_ONCE):
            part = chosen[k : k + AT_ONCE]
            batch, places = self.batch(part, rng), None
            if all(piece.characters is not None for piece in part):
                known = [torch.from_numpy(piece.characters) for piece in part]
                lengths = torch.tensor([[len(piece.text)] for piece in part])
                written = torch.arange(batch.text.shape[1]) < lengths
                places = Places(pad_sequence(known).to(self.device), written.to(self.device))
            results.append((batch, places))
        return results


def _pieces(lines: Sequence[Line], settings: Settings) -> list[Line]:
    """Return what lines are cut into; nothing can be foretold of a single point."""
    return [p for line in lines for p in cut(line, settings.length) if len(p.strokes) > 1]
