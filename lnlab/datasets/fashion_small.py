"""A seventh of Fashion-MNIST: 800 training and 200 test images of each of the ten classes.

The images were sampled once, at random, from the training and test images. ``fashion_small.crc32``
identifies them by the CRC-32 of the 784 bytes of each image, as little-endian 32-bit numbers: 8,000
training images, then 2,000 test images. They are taken from Fashion-MNIST, unless
``fashion_10k.npz`` is in ``LNLIB_DATA``. Xiao, Rasul and Vollgraf (2017), Zalando SE, MIT license.
"""

from __future__ import annotations

import hashlib
import io
import os
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lnlab.datasets import Dataset, fashion_mnist, fetch, mnist

NAME = "fashion_small"
LIST = Path(__file__).parent / "fashion_small.crc32"
_NUM_TRAIN = 8000
_SHA256 = "2bdc3ff4cd041a80b030a8e7bed939f25c6b8e06d30721a17fea87954b0106a1"


def load(folder: str | os.PathLike | None = None) -> Dataset:
    """Load the images.

    Args:
        folder: As for :func:`lnlab.datasets.fetch.folders`.

    Returns:
        As :func:`lnlab.datasets.mnist.load`. ``sha256`` is of the concatenation of training images,
        training labels, test images and test labels, one byte per number.

    Raises:
        OSError: As for :func:`lnlab.datasets.fetch.get`.
        ValueError: As for :func:`lnlab.datasets.fetch.get`, or if Fashion-MNIST lacks a listed
            image.
    """
    if (content := fetch.find(f"{NAME}/fashion_10k.npz", folder)) is not None:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            parts = [arrays[name] for name in ("x_train", "y_train", "x_test", "y_test")]
    else:
        parts = select(fashion_mnist.load(folder), listed())
    sha256 = hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()
    if sha256 != _SHA256:
        raise ValueError(f"{NAME}: SHA-256 of images and labels must be {_SHA256}, got {sha256}")
    return mnist.dataset(NAME, parts, sha256)


def listed() -> tuple[np.ndarray, np.ndarray]:
    """Return the CRC-32 of the training and of the test images."""
    checksums = np.frombuffer(LIST.read_bytes(), "<u4")
    return checksums[:_NUM_TRAIN], checksums[_NUM_TRAIN:]


def select(whole: Dataset, checksums: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return images and labels for training and for testing that have these CRC-32."""
    parts = []
    for x, y, wanted in zip(
        (whole.x_train, whole.x_test), (whole.y_train, whole.y_test), checksums, strict=True
    ):
        pixels = np.rint(x * 255).astype(np.uint8)
        index = {zlib.crc32(row.tobytes()): n for n, row in enumerate(pixels)}
        if missing := [int(s) for s in wanted if int(s) not in index]:
            raise ValueError(
                f"{NAME}: every listed image must be in {whole.name}, {len(missing)} of "
                f"{len(wanted):,} are not"
            )
        chosen = [index[int(s)] for s in wanted]
        parts += [pixels[chosen], y[chosen].astype(np.uint8)]
    return parts
