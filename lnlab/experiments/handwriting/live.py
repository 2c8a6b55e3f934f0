"""A trained network from a record, which writes text that a reader types."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch

from lnlab.experiments._weights import NAMES, unpack
from lnlab.experiments.handwriting import Settings
from lnlab.experiments.handwriting.model import HandwritingNetwork, Samples

MAX_CHARACTERS = 40  # of a text
MAX_POINTS_PER_CHARACTER = 50  # the lines of the data set have 25
POINTS_AFTER_END = 22  # points written after the window has reached the last character
STROKE_RESOLUTION = 64  # steps per std of the strokes


class GeneratedLine(NamedTuple):
    """Output of the network, as arrays.

    Attributes:
        strokes: Shape ``(T, 2)``, int16: increments of x and y, in units of their std divided by
            ``STROKE_RESOLUTION``.
        lifts: Shape ``(T,)``: 1 where the pen is lifted after the point.
        window: Shape ``(T,)``: position of the window, in characters from 0.
    """

    strokes: np.ndarray
    lifts: np.ndarray
    window: np.ndarray


@dataclasses.dataclass(frozen=True)
class HandwritingSampler:
    """A trained network and the characters that it knows.

    Args:
        model: The network at the end of its run.
        characters: Characters in the order of their indices in the one-hot vectors.
    """

    model: HandwritingNetwork
    characters: str

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> HandwritingSampler:
        """Restore the network of a record, with its final weights.

        Args:
            record: A record of a run with ``keep``, as :func:`lnlab.records.read` returns it.

        Raises:
            ValueError: If the record has no weights, or its run diverged.
        """
        arrays = record["arrays"]
        if "matrices" not in arrays:
            raise ValueError("of: record must be of a run with keep; this one has no weights")
        settings = Settings(**record["settings"])
        characters = "".join(map(chr, arrays["characters"][-1]))
        packed = {name: arrays[name][-1] for name in NAMES}
        model = unpack(packed, HandwritingNetwork(settings, len(characters)))
        if not all(p.isfinite().all() for p in model.parameters()):
            raise ValueError("of: record must be of a run that did not diverge; choose another one")
        return cls(model.eval(), characters)

    @torch.no_grad()
    def write(self, text: str, count: int, *, bias: float = 0.0, seed: int = 0) -> Samples:
        """Write a text as ``count`` points, sampled with a seed; a bias reduces the variation.

        Raises:
            ValueError: If the text is empty or too long, or has a character that is not in the
                training data.
        """
        if not 1 <= len(text) <= MAX_CHARACTERS:
            raise ValueError(
                f"write: text must have 1 to {MAX_CHARACTERS} characters, got {len(text)}"
            )
        if unknown := sorted(set(text) - set(self.characters)):
            raise ValueError(
                f"write: text must consist of characters in the training data, got "
                f"{' '.join(map(repr, unknown))}; use only {self.characters!r}"
            )
        indices = torch.tensor([[self.characters.index(c) for c in text]])
        coded = torch.nn.functional.one_hot(indices, len(self.characters)).float()
        return self.model.write(coded, count, torch.Generator().manual_seed(seed), bias)


def write(
    record: Mapping[str, Any], text: str, *, bias: float = 1.0, seed: int = 0
) -> GeneratedLine:
    """Write a text with the network of a record, with its final weights.

    The line ends when the window has stayed at the last character for some points, or is past it,
    or after a maximum number of points that depends on the length of the text.

    Raises:
        ValueError: For the reasons given in :meth:`HandwritingSampler.of` and
            :meth:`HandwritingSampler.write`.
    """
    points, window = HandwritingSampler.of(record).write(
        text, MAX_POINTS_PER_CHARACTER * len(text), bias=bias, seed=seed
    )
    numbers, position = points[:, 0].nan_to_num().numpy(), window[:, 0].numpy()
    # After a window has passed the end, the mean of its remaining part is before its last
    # position.
    furthest = np.maximum.accumulate(position)
    moved_back = (furthest > len(text) - 4) & (furthest - position > 2)
    reached_end = np.flatnonzero((position > len(text) - 1.5) | moved_back)
    end = reached_end[0] + POINTS_AFTER_END if len(reached_end) else len(position)
    numbers, position = numbers[:end], position[:end]
    strokes = np.clip(np.rint(numbers[:, :2] * STROKE_RESOLUTION), -32768, 32767).astype(np.int16)
    return GeneratedLine(strokes, numbers[:, 2].astype(np.uint8), position)
