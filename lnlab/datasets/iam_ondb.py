"""IAM-OnDB, lines written on a whiteboard: the data of the paper's section 6.5.

The data set may be used for research after registration and may not be redistributed, so it is not
downloaded here. Unpack its archives from
https://fki.tic.heia-fr.ch/databases/iam-on-line-handwriting-database into a folder, which then
contains:

- ``lineStrokes/a01/a01-000/a01-000u-01.xml`` and so on, one file per line, with the strokes of the
  pen and y downward;
- ``ascii/a01/a01-000/a01-000u.txt`` and so on (in ``transcriptions/`` or directly in the folder),
  with the corrected text of all lines after ``CSR:``;
- ``trainset.txt``, ``testset_v.txt`` and ``testset_f.txt`` of its task 1, each with names of texts
  such as ``a01-000u``, one per line. Here, the second set is for validation and the third for
  testing; no writer is in two sets.

Liwicki & Bunke (2005).
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from lnlab.datasets.pen import Line, Lines

NAME = "iam_ondb"
ADDRESS = "https://fki.tic.heia-fr.ch/databases/iam-on-line-handwriting-database"
SETS = {"train": "trainset.txt", "val_new": "testset_v.txt", "test_new": "testset_f.txt"}
BREAK = "%%%%%%%%%%%"  # in some texts, for the end of a line


def _find(folder: str | os.PathLike | None) -> Path:
    """Return the folder of the data set, or raise an error that says how to get it."""
    named = os.environ.get("LNLIB_DATA")
    lacking = ["lineStrokes", *SETS.values()]
    where: Path | str = f"the folder {NAME} in what LNLIB_DATA names"
    if folder or named:
        where = Path(folder or Path(named) / NAME).expanduser().resolve()
        lacking = [name for name in lacking if not (where / name).exists()]
    if lacking:
        raise FileNotFoundError(
            f"{NAME}: {where} must have lineStrokes, ascii and {', '.join(SETS.values())}, not "
            f"there: {', '.join(lacking)}; IAM-OnDB is given to who registers at {ADDRESS}, unpack "
            "it there, or take data omniglot_lines"
        )
    return where


def load(folder: str | os.PathLike | None = None) -> Lines:
    """Load the data set, which cannot be downloaded.

    Lines that have no text, or texts that have another number of lines than there are files of
    strokes, are left out. Offsets are in the units of the whiteboard, which are whole numbers.

    Args:
        folder: Where it is; if not given, the folder ``iam_ondb`` in the one that the environment
            variable ``LNLIB_DATA`` names.

    Raises:
        FileNotFoundError: If it is not there; the error says how to get it.
        ValueError: If a file is not what it must be, or no line is left of a set.
    """
    where = _find(folder)
    read = hashlib.sha256()
    splits = {}
    for split, name in SETS.items():
        listed = (where / name).read_bytes()
        read.update(listed)
        lines = [line for text in listed.decode().split() for line in _lines(where, text, read)]
        if not lines:
            raise ValueError(
                f"{where / name}: it must name texts that lie in lineStrokes and ascii, such as "
                f"a01-000u, got {listed.decode().split()[:3]}; unpack all archives in {where}"
            )
        splits[split] = tuple(lines)
    return Lines(NAME, splits, 1.0, read.hexdigest())


def _lines(where: Path, text: str, read: hashlib._Hash) -> list[Line]:
    """Return the lines of a text, of which those with files of strokes and a text count."""
    result = re.fullmatch(r"((\w+)-\d+)\w*", text)
    if result is None:
        return []
    inner = Path(result[2], result[1])
    spoken = [where / top / inner / f"{text}.txt" for top in ("ascii", "transcriptions/ascii")]
    spoken = next((path for path in spoken if path.is_file()), None)
    paths = sorted((where / "lineStrokes" / inner).glob(f"{text}-*.xml"))
    if spoken is None or not paths:
        return []
    content = spoken.read_bytes()
    read.update(content)
    message = texts(content.decode("utf-8", errors="replace"))
    if len(message) != len(paths):
        return []
    lines = []
    for transcript, path in zip(message, paths, strict=True):
        content = path.read_bytes()
        read.update(content)
        lines.append(Line(transcript, strokes(content, str(path)), text))
    return lines


def texts(content: str) -> list[str]:
    """Return the lines of a text's file: those behind ``CSR:``."""
    corrected = content.replace(BREAK, "\n").partition("CSR:")[2]
    return [line.strip() for line in corrected.splitlines() if line.strip()]


def strokes(content: bytes, name: str) -> np.ndarray:
    """Return the pen's way of a file of ``lineStrokes``.

    Args:
        content: The XML: a ``StrokeSet`` of ``Stroke``, each of ``Point`` with ``x`` and ``y``.
        name: Of the file, for errors.

    Returns:
        Shape ``(T, 3)``, float32: offsets, y upwards, the first of them 0; 1 at a stroke's end.

    Raises:
        ValueError: If it is no such XML, or has no point.
    """
    try:
        results = [
            (float(point.attrib["x"]), -float(point.attrib["y"]), point is stroke[-1])
            for stroke in ElementTree.fromstring(content).iterfind("StrokeSet/Stroke")
            for point in stroke
        ]
        if not results:
            raise ValueError("there is no point")
    except (ElementTree.ParseError, KeyError, ValueError) as error:
        raise ValueError(
            f"{name}: it must be XML of a StrokeSet with Strokes of Points, each with x and y, got "
            f"{type(error).__name__}: {error}; unpack the archive lineStrokes again"
        ) from error
    points = np.array(results, np.float64)
    points[:, :2] = np.diff(points[:, :2], axis=0, prepend=points[:1, :2])
    return points.astype(np.float32)
