"""A seventh of Fashion-MNIST: 800 training and 200 test images per class.

The images were sampled once, at random, from the training and test images. ``fashion_small.crc32``
has the CRC-32 of the 784 bytes of each image, as little-endian 32-bit integers: first of the 8,000
training images, then of the 2,000 test images. The images are selected from Fashion-MNIST, or read
from ``fashion_10k.npz`` if the folder has that file. Xiao, Rasul and Vollgraf (2017), Zalando SE,
MIT license.
"""

import hashlib
import io
import os
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lnlab.datasets import Dataset, fashion_mnist, fetch, mnist

NAME = "fashion_small"
CHECKSUM_FILE = Path(__file__).parent / "fashion_small.crc32"
_NUM_TRAIN = 8000
_SHA256 = "2bdc3ff4cd041a80b030a8e7bed939f25c6b8e06d30721a17fea87954b0106a1"


def load(folder: str | os.PathLike | None = None) -> Dataset:
    """Load the images.

    Folder and errors are as for :func:`lnlab.datasets.fetch.get`.

    Returns:
        As for :func:`lnlab.datasets.mnist.load`. ``sha256`` is that of the concatenation of
        training images, training labels, test images and test labels, one byte per value.

    Raises:
        ValueError: As for :func:`lnlab.datasets.fetch.get`, or if Fashion-MNIST lacks a listed
            image.
    """
    if (content := fetch.find(f"{NAME}/fashion_10k.npz", folder)) is not None:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            selected = [arrays[name] for name in ("x_train", "y_train", "x_test", "y_test")]
    else:
        selected = select(fashion_mnist.load(folder), read_checksums())
    sha256 = hashlib.sha256(b"".join(array.tobytes() for array in selected)).hexdigest()
    if sha256 != _SHA256:
        raise ValueError(f"{NAME}: SHA-256 of images and labels must be {_SHA256}, got {sha256}")
    return mnist.from_arrays(NAME, selected, sha256)


def read_checksums() -> tuple[np.ndarray, np.ndarray]:
    """Return the CRC-32 of the selected training images and of the selected test images."""
    checksums = np.frombuffer(CHECKSUM_FILE.read_bytes(), "<u4")
    return checksums[:_NUM_TRAIN], checksums[_NUM_TRAIN:]


def select(whole: Dataset, checksums: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the images and labels with these checksums, for training and for testing.

    Args:
        whole: Fashion-MNIST.
        checksums: As from :func:`read_checksums`.

    Returns:
        Arrays of unsigned bytes: training images, training labels, test images, test labels.
    """
    splits = ((whole.x_train, whole.y_train), (whole.x_test, whole.y_test))
    selected = []
    for (x, y), split_checksums in zip(splits, checksums, strict=True):
        pixels = np.rint(x * 255).astype(np.uint8)
        index_of = {zlib.crc32(row.tobytes()): n for n, row in enumerate(pixels)}
        indices = [index_of.get(int(checksum)) for checksum in split_checksums]
        if missing := indices.count(None):
            raise ValueError(
                f"{NAME}: every listed image must be in {whole.name}, {missing} of "
                f"{len(indices):,} are not"
            )
        selected += [pixels[indices], y[indices].astype(np.uint8)]
    return selected
