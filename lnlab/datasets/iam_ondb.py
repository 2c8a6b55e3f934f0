"""IAM-OnDB, handwritten lines on a whiteboard: the data set of section 6.5 of the paper.

The data set is available for research after registration and must not be redistributed, so it is
not downloaded here. Unpack its archives from
https://fki.tic.heia-fr.ch/databases/iam-on-line-handwriting-database into a folder, which then
contains:

- ``lineStrokes/a01/a01-000/a01-000u-01.xml`` and so on, one file per line, with the strokes of the
  pen, y downward;
- ``ascii/a01/a01-000/a01-000u.txt`` and so on (in ``transcriptions/`` or directly in the folder),
  with the corrected text of all lines after ``CSR:``;
- ``trainset.txt``, ``testset_v.txt`` and ``testset_f.txt`` of its task 1, each with names of texts
  such as ``a01-000u``, one per line. Here, the second one is for validation and the third for
  testing; the writers of the three sets differ.

Liwicki & Bunke (2005).
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from lnlab.datasets.handwriting_lines import Line, Lines

NAME = "iam_ondb"
URL = "https://fki.tic.heia-fr.ch/databases/iam-on-line-handwriting-database"
SPLITS = {"train": "trainset.txt", "val_new": "testset_v.txt", "test_new": "testset_f.txt"}
LINE_BREAK = "%%%%%%%%%%%"  # occurs in some transcriptions


def load(folder: str | os.PathLike | None = None) -> Lines:
    """Load the data set, which cannot be downloaded.

    Lines without a transcription are left out, and so are texts whose number of lines is not their
    number of stroke files. Offsets are integers in the units of the whiteboard.

    Args:
        folder: The folder of the data set; by default, the subfolder ``iam_ondb`` of the folder in
            the environment variable ``LNLIB_DATA``.

    Raises:
        FileNotFoundError: If a file is missing; the error says how to get the data set.
        ValueError: If a file cannot be parsed, or a split has no lines.
    """
    root = _find(folder)
    sha256 = hashlib.sha256()
    splits = {}
    for split, name in SPLITS.items():
        content = (root / name).read_bytes()
        sha256.update(content)
        texts = content.decode().split()
        lines = [line for text in texts for line in _read_lines(root, text, sha256)]
        if not lines:
            raise ValueError(
                f"{root / name}: it must name texts that are in lineStrokes and ascii, such as "
                f"a01-000u, got {texts[:3]}; unpack all archives in {root}"
            )
        splits[split] = tuple(lines)
    return Lines(NAME, splits, 1.0, sha256.hexdigest())


def _find(folder: str | os.PathLike | None) -> Path:
    """Return the folder of the data set, or raise an error that says how to get it."""
    data = os.environ.get("LNLIB_DATA")
    missing = ["lineStrokes", *SPLITS.values()]
    root: Path | str = f"the folder {NAME} in what LNLIB_DATA names"
    if folder or data:
        root = Path(folder or Path(data) / NAME).expanduser().resolve()
        missing = [name for name in missing if not (root / name).exists()]
    if missing:
        raise FileNotFoundError(
            f"{NAME}: {root} must have lineStrokes, ascii and {', '.join(SPLITS.values())}, "
            f"missing: {', '.join(missing)}; register at {URL} to get IAM-OnDB and unpack it "
            "there, or use the data set omniglot_lines"
        )
    return root


def _read_lines(root: Path, text: str, sha256: hashlib._Hash) -> list[Line]:
    """Return the lines of a text such as ``a01-000u``, none if its files do not match.

    Args:
        root: The folder of the data set.
        text: Name of the text.
        sha256: Updated with the content of all files that are read.
    """
    match = re.fullmatch(r"((\w+)-\d+)\w*", text)
    if match is None:
        return []
    subfolder = Path(match[2], match[1])
    candidates = [
        root / top / subfolder / f"{text}.txt" for top in ("ascii", "transcriptions/ascii")
    ]
    transcription = next((path for path in candidates if path.is_file()), None)
    stroke_files = sorted((root / "lineStrokes" / subfolder).glob(f"{text}-*.xml"))
    if transcription is None or not stroke_files:
        return []
    content = transcription.read_bytes()
    sha256.update(content)
    transcripts = parse_transcription(content.decode("utf-8", errors="replace"))
    if len(transcripts) != len(stroke_files):
        return []
    lines = []
    for transcript, path in zip(transcripts, stroke_files, strict=True):
        content = path.read_bytes()
        sha256.update(content)
        lines.append(Line(transcript, parse_strokes(content, str(path)), text))
    return lines


def parse_transcription(content: str) -> list[str]:
    """Return the corrected lines of a transcription, those after ``CSR:``."""
    corrected = content.replace(LINE_BREAK, "\n").partition("CSR:")[2]
    return [line.strip() for line in corrected.splitlines() if line.strip()]


def parse_strokes(content: bytes, name: str) -> np.ndarray:
    """Return the pen trajectory in a file of ``lineStrokes``.

    Args:
        content: The XML: a ``StrokeSet`` of ``Stroke`` elements, each with ``Point`` elements that
            have ``x`` and ``y``.
        name: Name of the file, for error messages.

    Returns:
        Shape ``(T, 3)``, float32: offsets of x and y from the point before, with y upward and the
        first offset 0, and 1 at the end of a stroke, else 0.

    Raises:
        ValueError: If the content is not such XML, or has no points.
    """
    try:
        points = [
            (float(point.attrib["x"]), -float(point.attrib["y"]), point is stroke[-1])
            for stroke in ElementTree.fromstring(content).iterfind("StrokeSet/Stroke")
            for point in stroke
        ]
        if not points:
            raise ValueError("there is no point")
    except (ElementTree.ParseError, KeyError, ValueError) as error:
        raise ValueError(
            f"{name}: it must be XML of a StrokeSet with Strokes of Points, each with x and y, got "
            f"{type(error).__name__}: {error}; unpack the archive lineStrokes again"
        ) from error
    trajectory = np.array(points, np.float64)
    trajectory[:, :2] = np.diff(trajectory[:, :2], axis=0, prepend=trajectory[:1, :2])
    return trajectory.astype(np.float32)
