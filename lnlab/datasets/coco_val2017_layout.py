"""Captions and object boxes of COCO val2017, the data of section 6.1; no images are used.

The data set is one file of JSON lines: first the categories, then one line per image. It is derived
from two public files: ``captions_val2017.json`` from COCO's own archive, or from a copy at a fixed
commit, and ``val2017.txt`` at a fixed commit, which has all boxes of ``instances_val2017.json``.

Captions and boxes are annotations of COCO, by Lin et al. (2014) and the COCO Consortium,
cocodataset.org, under CC BY 4.0; here they are joined, trimmed and split.
"""

import hashlib
import json
import os
import random
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from lnlab.datasets import fetch

NAME = "coco_val2017_layout"
CAPTIONS = 5  # per image
FEATURES_PER_CATEGORY = 5  # features per category and image
# In the order of the indices in the file of boxes, with the names of the YOLO detectors.
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


@dataclass(frozen=True, eq=False)
class Layouts:
    """Images, described by the objects in them and their positions, with captions.

    Attributes:
        name: Name of the data set, as for :func:`lnlab.datasets.load`.
        categories: Names of the object categories.
        images: For ``train``, ``val`` and ``test``, the rows of the file: ``id``, ``w`` and ``h``
            in pixels, ``boxes`` as ``[category, x1, y1, x2, y2]``, five ``captions``.
        sha256: SHA-256 of the prepared file, uncompressed.
    """

    name: str
    categories: tuple[str, ...]
    images: dict[str, list[dict[str, Any]]]
    sha256: str

    def __str__(self) -> str:
        """Return the size of the data set in words."""
        parts = [f"{len(rows):,} {split}" for split, rows in self.images.items()]
        boxes = sum(len(row["boxes"]) for rows in self.images.values() for row in rows)
        return f"{' + '.join(parts)} images with {CAPTIONS} captions each and {boxes:,} boxes"


def load(folder: str | os.PathLike | None = None) -> Layouts:
    """Load the images' layouts and captions.

    Folder and errors are as for :func:`lnlab.datasets.fetch.get_or_derive`.
    """

    def derive() -> bytes:
        originals = ("captions_val2017.json", "val2017.txt")
        return join(*(fetch.get(f"{NAME}/{file}", folder) for file in originals))

    return _read(fetch.get_or_derive([f"{NAME}/coco_layout.jsonl"], derive, folder))


def features(layouts: Layouts, split: str) -> np.ndarray:
    """Return the objects in each image and their positions as features.

    Args:
        layouts: The data set.
        split: ``train``, ``val`` or ``test``.

    Returns:
        Shape ``(N, 400)`` for 80 categories, float32. Each category has five features: whether it
        is in the image; the logarithm of 1 + its number of objects; and for the largest object (the
        last one of equals), the square root of its fraction of the area, and x and y of its center
        from 0 to 1. They are 0 if the category is not in the image.
    """
    rows = layouts.images[split]
    result = np.zeros((len(rows), len(layouts.categories), FEATURES_PER_CATEGORY), np.float32)
    for image, row in zip(result, rows, strict=True):
        w, h = row["w"], row["h"]
        largest = np.zeros(len(image))
        for c, x1, y1, x2, y2 in row["boxes"]:
            area = (x2 - x1) * (y2 - y1) / (w * h)
            image[c, 0] = 1
            image[c, 1] += 1
            if area >= largest[c]:
                largest[c] = area
                image[c, 2:] = area**0.5, (x1 + x2) / 2 / w, (y1 + y2) / 2 / h
    result[:, :, 1] = np.log1p(result[:, :, 1])
    return result.reshape(len(rows), -1)


def join(captions: bytes, boxes: bytes, *, held_out: int = 500) -> bytes:
    """Return the content of the data set's file, derived from the two original files.

    Images without boxes are left out. The first five captions of each image are used, with runs of
    white space replaced by one space. The images are sorted by id and shuffled by Python's
    ``random`` with seed 2016; the first ones are for testing, the next ones for validation.

    Args:
        captions: ``captions_val2017.json``.
        boxes: ``val2017.txt``, with one line per image: its path, then ``x1,y1,x2,y2,category`` for
            each box.
        held_out: Number of images for testing, and number of images for validation.

    Returns:
        Lines of JSON in ASCII.
    """
    listed = json.loads(captions)
    sizes = {image["id"]: (image["width"], image["height"]) for image in listed["images"]}
    texts: dict[int, list[str]] = {}
    for annotation in listed["annotations"]:
        texts.setdefault(annotation["image_id"], []).append(" ".join(annotation["caption"].split()))
    boxes_by_image: dict[int, list[list[int]]] = {}
    for line in boxes.decode().splitlines():
        path, *result = line.split()
        corners = [[int(number) for number in box.split(",")] for box in result]
        boxes_by_image[int(re.search(r"(\d+)\.jpg$", path)[1])] = [[c, *xy] for *xy, c in corners]
    order = sorted(image for image, result in boxes_by_image.items() if result)
    random.Random(2016).shuffle(order)
    head = {"categories": CATEGORIES, "box": "[category index, x1, y1, x2, y2] in pixels"}
    lines = [json.dumps(head)]
    for k, image in enumerate(order):
        row = dict(zip(("id", "w", "h"), (image, *sizes[image]), strict=True)) | {
            "boxes": boxes_by_image[image],
            "captions": texts[image][:CAPTIONS],
            "split": "test" if k < held_out else "val" if k < 2 * held_out else "train",
        }
        lines.append(json.dumps(row, separators=(",", ":")))
    return "".join(f"{line}\n" for line in lines).encode()


def _read(content: bytes) -> Layouts:
    head, *rows = (json.loads(line) for line in content.splitlines())
    images = {split: [r for r in rows if r["split"] == split] for split in ("train", "val", "test")}
    sha256 = hashlib.sha256(content).hexdigest()
    return Layouts(NAME, tuple(head["categories"]), images, sha256)
