"""Captions and object boxes of COCO val2017: what section 6.1 is run on, without a pixel.

One file of lines of JSON, the categories first, then an image a line. It is prepared from two
public files, each at a fixed commit: the official ``captions_val2017.json``, and ``val2017.txt``,
which has all boxes of ``instances_val2017.json``. COCO itself publishes both JSON files only within
:data:`ARCHIVE`, of 253 MB: who has that can put ``captions_val2017.json`` into the folder.

Captions and boxes are annotations of COCO, by Lin et al. (2014) and the COCO Consortium,
cocodataset.org, under CC BY 4.0; here they are joined, trimmed and split.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lnlib.data.download import RemoteFile, home

NAME = "coco_val2017_layout"
ARCHIVE = "http://images.cocodataset.org/annotations/annotations_trainval2017.zip"
CAPTIONS = 5  # an image
PLACES = 5  # numbers that a category has in an image's features
# As the file of boxes counts them: it has the names of the YOLO detectors.
CATEGORIES = (
    "person", "bicycle", "car", "motorbike", "aeroplane", "bus", "train", "truck", "boat",
    "traffic light", "fire hydrant", "stop sign", "parking meter", "bench", "bird", "cat", "dog",
    "horse", "sheep", "cow", "elephant", "bear", "zebra", "giraffe", "backpack", "umbrella",
    "handbag", "tie", "suitcase", "frisbee", "skis", "snowboard", "sports ball", "kite",
    "baseball bat", "baseball glove", "skateboard", "surfboard", "tennis racket", "bottle",
    "wine glass", "cup", "fork", "knife", "spoon", "bowl", "banana", "apple", "sandwich",
    "orange", "broccoli", "carrot", "hot dog", "pizza", "donut", "cake", "chair", "sofa",
    "potted plant", "bed", "dining table", "toilet", "tvmonitor", "laptop", "mouse", "remote",
    "keyboard", "cell phone", "microwave", "oven", "toaster", "sink", "refrigerator", "book",
    "clock", "vase", "scissors", "teddy bear", "hair drier", "toothbrush",
)  # fmt: skip


@dataclass(frozen=True)
class _Source:
    """The prepared file, and what it is prepared from: each original with its one address."""

    prepared: RemoteFile
    captions: tuple[RemoteFile, str]
    boxes: tuple[RemoteFile, str]
    held_out: int = 500  # images for testing, and as many for validation


_GITHUB = "https://raw.githubusercontent.com/"
_COCO = _Source(
    prepared=RemoteFile(
        name="coco_layout.jsonl",
        size=2_436_147,
        sha256="7bc21af8eb257aab99c6c9cf92b19938a9b0c00f8ad633e50c2515cf6b6c2d57",
    ),
    captions=(
        RemoteFile(
            name="captions_val2017.json",
            size=3_872_493,
            sha256="1018a8760deaf1fc71be2f1b8da1a1348b9c35994af4322ca2fd795a78abb79c",
            origin=ARCHIVE,
        ),
        f"{_GITHUB}ruizewang/evaluate/1152656d3b8c66c48fc6a4357e159f5e21bd2d2d/annotations/",
    ),
    boxes=(
        RemoteFile(
            name="val2017.txt",
            size=1_021_150,
            sha256="d99d3077b830516474ea6d8aeb08b13429e5afd7c7bd51d16cf8d74b6a8ccab1",
        ),
        f"{_GITHUB}hunglc007/tensorflow-yolov4-tflite/"
        "9f16748aa3f45ff240608da4bd9b1216a29127f5/data/dataset/",
    ),
)


@dataclass(frozen=True, eq=False)
class Layouts:
    """Images by what is in them and where, each with its captions.

    Attributes:
        name: As given to :func:`lnlib.data.load`.
        categories: Names of the objects.
        images: For ``train``, ``val`` and ``test`` the images' rows of the file: ``id``, ``w`` and
            ``h`` in pixels, ``boxes`` as ``[category, x1, y1, x2, y2]``, five ``captions``.
        sha256: Of the prepared file, uncompressed.
    """

    name: str
    categories: tuple[str, ...]
    images: dict[str, list[dict[str, Any]]]
    sha256: str

    def __str__(self) -> str:
        """Say how much there is."""
        parts = [f"{len(rows):,} {split}" for split, rows in self.images.items()]
        boxes = sum(len(row["boxes"]) for rows in self.images.values() for row in rows)
        return f"{' + '.join(parts)} images with {CAPTIONS} captions each and {boxes:,} boxes"


def fetch(folder: str | os.PathLike | None = None) -> Path:
    """Make sure that the data set is there and right, and say where.

    Without ``folder``, what the environment variable ``LNLIB_DATA`` names, or the folder of the
    data set's name in it, is used as it is and never written to; without that, the two originals
    are downloaded to the user's cache and the data set is prepared there.

    Args:
        folder: Where it is to lie, gzipped or not. The originals are downloaded if it does not and
            they do not either; what lies there is never replaced.

    Returns:
        The folder.

    Raises:
        OSError: If a file is missing and cannot be downloaded or written.
        ValueError: If a file is another.
    """
    return _gather(folder, _COCO)[0]


def load(folder: str | os.PathLike | None = None) -> Layouts:
    """Load the data set, from where :func:`fetch` puts or finds it.

    Args:
        folder: As for :func:`fetch`.

    Raises:
        OSError: As for :func:`fetch`.
        ValueError: As for :func:`fetch`.
    """
    return _read(_gather(folder, _COCO)[1])


def features(layouts: Layouts, split: str) -> np.ndarray:
    """Return what is in each image, and where, as numbers.

    Args:
        layouts: The data set.
        split: ``train``, ``val`` or ``test``.

    Returns:
        Shape ``(N, 400)`` for 80 categories, float32; for each of them whether it is there, the
        logarithm of 1 + how often, and of the largest one (of equals, the last) the square root of
        its share of the area, and its center's x and y from 0 to 1; 0 where there is none.
    """
    rows = layouts.images[split]
    found = np.zeros((len(rows), len(layouts.categories), PLACES), np.float32)
    for image, row in zip(found, rows, strict=True):
        w, h = row["w"], row["h"]
        largest = np.zeros(len(image))
        for c, x1, y1, x2, y2 in row["boxes"]:
            area = (x2 - x1) * (y2 - y1) / (w * h)
            image[c, 0] = 1
            image[c, 1] += 1
            if area >= largest[c]:
                largest[c] = area
                image[c, 2:] = area**0.5, (x1 + x2) / 2 / w, (y1 + y2) / 2 / h
    found[:, :, 1] = np.log1p(found[:, :, 1])
    return found.reshape(len(rows), -1)


def _gather(folder: str | os.PathLike | None, source: _Source) -> tuple[Path, bytes]:
    """Return the folder, and the content of the prepared file."""
    originals = source.captions, source.boxes
    where = home(NAME, [source.prepared, *(file for file, _ in originals)], folder)

    def made() -> bytes:
        captions, boxes = (where.get(file, [mirror], suffix="") for file, mirror in originals)
        return prepare(captions, boxes, held_out=source.held_out)

    varies = "this Python shuffles otherwise"
    return where.folder, where.prepared([source.prepared], made, varies)


def prepare(captions: bytes, boxes: bytes, *, held_out: int = 500) -> bytes:
    """Make the data set's one file of the two originals.

    Images without a box are left out. Of each image's captions the first five are taken, each run
    of white space as one space. The images, in the order of their ids, are shuffled by Python's
    ``random`` from the seed 2016: the first are for testing, the next for validation.

    Args:
        captions: ``captions_val2017.json``.
        boxes: ``val2017.txt``, a line an image: its path, then ``x1,y1,x2,y2,category`` for each
            box.
        held_out: How many images for testing, and how many for validation.

    Returns:
        Lines of JSON in ASCII.
    """
    told = json.loads(captions)
    sizes = {image["id"]: (image["width"], image["height"]) for image in told["images"]}
    said: dict[int, list[str]] = {}
    for one in told["annotations"]:
        said.setdefault(one["image_id"], []).append(" ".join(one["caption"].split()))
    seen: dict[int, list[list[int]]] = {}
    for line in boxes.decode().splitlines():
        path, *found = line.split()
        corners = [[int(number) for number in box.split(",")] for box in found]
        seen[int(re.search(r"(\d+)\.jpg$", path)[1])] = [[c, *xy] for *xy, c in corners]
    order = sorted(image for image, found in seen.items() if found)
    random.Random(2016).shuffle(order)
    head = {"categories": CATEGORIES, "box": "[category index, x1, y1, x2, y2] in pixels"}
    lines = [json.dumps(head)]
    for k, image in enumerate(order):
        row = dict(zip(("id", "w", "h"), (image, *sizes[image]), strict=True)) | {
            "boxes": seen[image],
            "captions": said[image][:CAPTIONS],
            "split": "test" if k < held_out else "val" if k < 2 * held_out else "train",
        }
        lines.append(json.dumps(row, separators=(",", ":")))
    return "".join(f"{line}\n" for line in lines).encode()


def _read(content: bytes) -> Layouts:
    head, *rows = (json.loads(line) for line in content.splitlines())
    images = {split: [r for r in rows if r["split"] == split] for split in ("train", "val", "test")}
    sha256 = hashlib.sha256(content).hexdigest()
    return Layouts(NAME, tuple(head["categories"]), images, sha256)
