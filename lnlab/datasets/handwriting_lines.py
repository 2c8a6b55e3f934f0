"""Lines of handwriting: pen strokes and their text."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Line:
    """A line of handwriting.

    Attributes:
        text: The text.
        strokes: Shape ``(T, 3)``, float32: offsets of x and y, with y upward, in the unit of the
            data set, and 1 if the pen is lifted after the point, else 0.
        writer: The writer.
        characters: Shape ``(T,)``: index of the character of each point, non-decreasing, or
            ``None`` if it is not known.
    """

    text: str
    strokes: np.ndarray
    writer: str
    characters: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Lines:
    """Lines for training, validation and test.

    Attributes:
        name: Name of the data set, as for :func:`lnlab.datasets.load`.
        splits: ``train``, ``val_seen`` by the writers of the training lines, ``val_new`` and
            ``test_new`` by other writers.
        resolution: Offsets are multiples of it, in the unit of the data set.
        sha256: SHA-256 of all data that were read.
    """

    name: str
    splits: dict[str, tuple[Line, ...]]
    resolution: float
    sha256: str

    def __str__(self) -> str:
        """Return the size of the data set in words."""
        parts = " + ".join(f"{len(lines):,} {split}" for split, lines in self.splits.items())
        points = sum(len(line.strokes) for lines in self.splits.values() for line in lines)
        return f"{parts} lines of {points:,} points"


def cut(line: Line, length: int) -> list[Line]:
    """Cut a line between characters into as few pieces of at most ``length`` points as possible.

    If the characters of the points are not known, the result is the first ``length`` points with
    the complete text. A character of more than ``length`` points is dropped.

    Args:
        line: The line.
        length: Maximum number of points of a piece.
    """
    if line.characters is None or len(line.strokes) <= length:
        characters = None if line.characters is None else line.characters[:length]
        return [Line(line.text, line.strokes[:length], line.writer, characters)]
    # Ends of the characters.
    ends = np.append(np.flatnonzero(np.diff(line.characters)) + 1, len(line.strokes))
    for count in range(-(-len(line.strokes) // length), len(ends) + 1):
        even = len(line.strokes) * np.arange(1, count + 1) / count
        chosen = ends[np.abs(ends - even[:, None]).argmin(1)]
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
