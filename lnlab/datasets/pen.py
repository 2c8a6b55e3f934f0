"""Lines of handwriting: where the pen went, and what it wrote."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Line:
    """A line as it was written.

    Attributes:
        text: What it says.
        strokes: Shape ``(T, 3)``, float32: by how much x and y grow, y upwards, in the unit of the
            data set, and 1 where the pen is lifted after the point, else 0.
        writer: Who wrote it.
        characters: Shape ``(T,)``: which character of the text a point belongs to, from 0 and
            never falling; ``None`` where that is not known.
    """

    text: str
    strokes: np.ndarray
    writer: str
    characters: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Lines:
    """Lines for training, validation and test.

    Attributes:
        name: As given to :func:`lnlab.datasets.load`.
        splits: ``train`` and others: ``val_seen`` by those who wrote the training lines,
            ``val_new`` and ``test_new`` by others.
        resolution: What offsets are multiples of, in the unit of the data set.
        sha256: Of everything that was read.
    """

    name: str
    splits: dict[str, tuple[Line, ...]]
    resolution: float
    sha256: str

    def __str__(self) -> str:
        """Say how much there is."""
        parts = " + ".join(f"{len(lines):,} {split}" for split, lines in self.splits.items())
        points = sum(len(line.strokes) for lines in self.splits.values() for line in lines)
        return f"{parts} lines of {points:,} points"


def cut(line: Line, length: int) -> list[Line]:
    """Cut a line between characters into pieces of at most ``length`` points, as few as may be.

    Where it is not known which character a point belongs to, its first ``length`` points are left,
    with all of the text. A character that is longer than ``length`` is left out.

    Args:
        line: What to cut.
        length: Points.
    """
    if line.characters is None or len(line.strokes) <= length:
        kept = None if line.characters is None else line.characters[:length]
        return [Line(line.text, line.strokes[:length], line.writer, kept)]
    # Where a character ends.
    ends = np.append(np.flatnonzero(np.diff(line.characters)) + 1, len(line.strokes))
    for count in range(-(-len(line.strokes) // length), len(ends) + 1):
        wanted = len(line.strokes) * np.arange(1, count + 1) / count
        chosen = ends[np.abs(ends - wanted[:, None]).argmin(1)]
        if np.diff(chosen, prepend=0).max() <= length:
            break
    else:
        chosen = ends
    pieces = [
        (start, end)
        for start, end in zip([0, *chosen[:-1]], chosen, strict=True)
        if 0 < end - start <= length
    ]
    return [_piece(line, start, end) for start, end in pieces]


def _piece(line: Line, start: int, end: int) -> Line:
    characters = line.characters[start:end]
    first, last = int(characters[0]), int(characters[-1])
    text = line.text[first : last + 1]
    return Line(text, line.strokes[start:end], line.writer, characters - first)
