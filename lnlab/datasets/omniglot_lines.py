"""Lines of pen strokes with their text, which replace IAM-OnDB as the data of section 6.5.

The letters are real: pen trajectories of the 26 letters of the Latin alphabet, each by 20 writers,
from Omniglot. The lines are composed of the letters of one writer in the order of a text. 16
writers have 2,000 lines for training and 160 for validation, two others have 160 for validation,
and the last two have 160 for testing.

There are two such sets, and either can be used. ``lines.npz``, on which the book's runs were
recorded, was composed once and cannot be downloaded; its words are from novels.
``prepared_lines.npz`` is composed here by :func:`compose` from files that can be downloaded,
Omniglot's file at a fixed commit and tiny Shakespeare: it is another set of the same kind. A record
has the SHA-256 of the set that was used.

Omniglot is by Brenden Lake (github.com/brendenlake/omniglot, copyright 2015, MIT License); Lake,
Salakhutdinov & Tenenbaum (2015). The texts are in the public domain.
"""

import hashlib
import io
import itertools
import math
import os
import random
import re
import statistics
import zipfile

import numpy as np

from lnlab.datasets import fetch
from lnlab.datasets.handwriting_lines import Line, Lines

NAME = "omniglot_lines"
UNIT = 256  # offsets are integers, in 1/256 of the height of the writer's letter x
LETTERS = "abcdefghijklmnopqrstuvwxyz"
DRAWERS = 20
NEW = {"val_new": (14, 17), "test_new": (2, 5)}  # writers whose lines are in no other split
COUNTS = {"train": 2000, "val_seen": 160, "val_new": 160, "test_new": 160}


def load(folder: str | os.PathLike | None = None) -> Lines:
    """Load the lines, from ``lines.npz`` if it is supplied.

    Folder and errors are as for :func:`lnlab.datasets.fetch.get_or_derive`.
    """

    def derive() -> bytes:
        letters = fetch.get(f"{NAME}/strokes_background_small1.zip", folder)
        return compose(letters, fetch.get("tiny_shakespeare/input.txt", folder))

    names = [f"{NAME}/lines.npz", f"{NAME}/prepared_lines.npz"]
    return _read(fetch.get_or_derive(names, derive, folder))


def compose(letters: bytes, text: bytes) -> bytes:
    """Compose lines from Omniglot's letters and a text.

    Of each letter, every fourth recorded point is kept, from a random first one, and the ends of
    its strokes. A letter stands on the base line, or hangs from the height of an x (g, p, q, y),
    and is rotated, stretched and moved slightly; all letters of a line have the same slant and
    width. The words, of a to z, are those of the text in order, 24 to 30 characters per line;
    validation and test lines use the last fifth of the text. Random numbers come from Python's
    ``random.random`` with seed 2016 and are only added and multiplied, so that every machine
    generates the same file.

    Args:
        letters: ``strokes_background_small1.zip``.
        text: The text in UTF-8.

    Returns:
        An uncompressed ``.npz``: ``dxy`` int16 (N, 2), in 1/256 of the height of the writer's x, y
        upward; ``end`` uint8, 1 if the pen is lifted after the point; ``char`` uint8, the index of
        the point's character; and for each line ``length``, ``split``, ``drawer``, ``text``.
    """
    rng = random.Random(2016)
    drawn = _drawn(letters)
    words = re.findall(r"[a-z]+", text.decode().lower().replace("'", ""))
    parts = {"train": words[: len(words) * 4 // 5], "other": words[len(words) * 4 // 5 :]}
    new = [drawer for drawers in NEW.values() for drawer in drawers]
    train_drawers = [drawer for drawer in range(DRAWERS) if drawer not in new]
    columns: dict[str, list] = {name: [] for name in ("dxy", "end", "char")}
    heads: dict[str, list] = {name: [] for name in ("length", "split", "drawer", "text")}
    for split, (name, count) in enumerate(COUNTS.items()):
        own = parts["train" if name == "train" else "other"]
        drawers = NEW.get(name, train_drawers)
        for k in range(count):
            texts = _words(own, int(rng.random() * len(own)), 24 + int(rng.random() * 7))
            drawer = drawers[k % len(drawers)]
            points = _line(texts, drawn[drawer], rng)
            columns["dxy"] += [(x, y) for x, y, _, _ in points]
            columns["end"] += [end for _, _, end, _ in points]
            columns["char"] += [character for *_, character in points]
            for key, value in zip(heads, (len(points), split, drawer, texts), strict=True):
                heads[key].append(value)
    kinds = {"dxy": "<i2", "length": "<i4", "text": "<U30"}
    arrays = {name: np.array(v, kinds.get(name, "u1")) for name, v in (columns | heads).items()}
    arrays["split_names"] = np.array(list(COUNTS), "<U8")
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:
        for name, value in arrays.items():
            entry = zipfile.ZipInfo(f"{name}.npy")  # dated 1980, independent of the clock
            entry.create_system = 3
            written = io.BytesIO()
            np.lib.format.write_array(written, value, allow_pickle=False)
            archive.writestr(entry, written.getvalue())
    return content.getvalue()


Points = list[tuple[float, float, int]]  # x, y, and 1 at the end of a stroke


def _drawn(letters: bytes) -> list[dict[str, Points]]:
    """Return the letters of each writer, on the base line, in units of the height of the x."""
    with zipfile.ZipFile(io.BytesIO(letters)) as archive:
        names = [name for name in archive.namelist() if "/Latin/" in name and name.endswith(".txt")]
        raw: list[dict[str, Points]] = [{} for _ in range(DRAWERS)]
        for name in names:
            number, drawer = re.search(r"character(\d\d)/\d+_(\d\d)\.txt$", name).groups()
            lines = archive.read(name).decode().split()
            points = []
            for line, following in itertools.pairwise(lines):
                if line not in ("START", "BREAK"):
                    x, y, _ = map(float, line.split(","))
                    points.append((x, y, int(following == "BREAK")))
            raw[int(drawer) - 1][LETTERS[int(number) - 1]] = points
    return [_scaled(drawer_letters) for drawer_letters in raw]


def _scaled(raw: dict[str, Points]) -> dict[str, Points]:
    def reach(points: Points) -> tuple[float, float]:
        return min(y for _, y, _ in points), max(y for _, y, _ in points)

    heights = [high - low for c in "acemnorsuvwxz" for low, high in [reach(raw[c])]]
    unit = statistics.median(heights)
    results = {}
    for letter, points in raw.items():
        low, high = reach(points)
        base = high - unit if letter in "gpqy" else high - 1.5 * unit if letter == "j" else low
        left = min(x for x, _, _ in points)
        results[letter] = [((x - left) / unit, (y - base) / unit, end) for x, y, end in points]
    return results


def _words(words: list[str], first: int, most: int) -> str:
    """Return as many words as fit, beginning with word ``first``."""
    text = ""
    for k in range(len(words)):
        longer = f"{text} {words[(first + k) % len(words)]}".strip()
        if len(longer) > most:
            break
        text = longer
    return text


def _line(text: str, letters: dict[str, Points], rng: random.Random) -> list[tuple[int, ...]]:
    """Return the points of a line: offsets in x and y, end of a stroke, character."""

    def about(middle: float, width: float) -> float:
        return middle + width * (2 * rng.random() - 1)

    slant, aspect = about(0, 0.25), about(1, 0.15)
    right, placed = 0.0, []
    for k, letter in enumerate(text):
        if letter == " ":
            right += about(0.7, 0.2)
            continue
        turn, size, bend, lift = about(0, 0.06), about(1, 0.08), about(0, 0.06), about(0, 0.05)
        phase = int(rng.random() * 4)
        widest = right
        for j, (x, y, end) in enumerate(letters[letter]):
            if not (end or j % 4 == phase):
                continue
            x, y = size * (x - turn * y), size * (y + turn * x + bend * x * (1 - x)) + lift
            x = right + aspect * (x + slant * y)
            widest = max(widest, x)
            placed.append((math.floor(x * UNIT + 0.5), math.floor(y * UNIT + 0.5), end, k))
        right = widest + about(0.3, 0.1)
    before = [placed[0], *placed[:-1]]
    return [
        (x - a, y - b, end, k) for (x, y, end, k), (a, b, *_) in zip(placed, before, strict=True)
    ]


def _read(content: bytes) -> Lines:
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        results = {name: archive[name] for name in archive.files}
    strokes = np.c_[results["dxy"] / np.float32(UNIT), results["end"]].astype(np.float32)
    ends = np.cumsum(results["length"])[:-1]
    lines = [
        Line(str(text), points, f"drawer {drawer}", characters)
        for text, points, drawer, characters in zip(
            results["text"],
            np.split(strokes, ends),
            results["drawer"],
            np.split(results["char"].astype(np.int64), ends),
            strict=True,
        )
    ]
    splits = {
        str(name): tuple(line for line, s in zip(lines, results["split"], strict=True) if s == k)
        for k, name in enumerate(results["split_names"])
    }
    return Lines(NAME, splits, 1 / UNIT, hashlib.sha256(content).hexdigest())
