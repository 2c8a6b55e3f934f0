"""MNIST: 60,000 + 10,000 handwritten digits, from its public mirrors or from your own folder."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence

import numpy as np

from lnlab.datasets import Dataset, fetch

# Training images and labels, then those for testing.
FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)


def load(folder: str | os.PathLike | None = None) -> Dataset:
    """Load MNIST.

    Args:
        folder: As for :func:`lnlab.datasets.fetch.folders`.

    Returns:
        784 features, the pixels 0 to 255 divided by 255, row by row. ``sha256`` is of the four
        uncompressed files one after the other: training images, training labels, test images, test
        labels (``zcat`` them into ``sha256sum``).

    Raises:
        OSError: As for :func:`lnlab.datasets.fetch.get`.
        ValueError: As for :func:`lnlab.datasets.fetch.get`.
    """
    return read("mnist", [fetch.get(f"mnist/{file}", folder) for file in FILES])


def read(name: str, contents: Sequence[bytes]) -> Dataset:
    """Return the data set that four verified IDX files hold, in the order of :data:`FILES`."""
    sha256 = hashlib.sha256(b"".join(contents)).hexdigest()
    return dataset(name, [parse_idx(content) for content in contents], sha256)


def parse_idx(content: bytes) -> np.ndarray:
    """Return the array in a verified IDX file of unsigned bytes.

    The format: 0, 0, 8, the number n of dimensions; n sizes of 4 bytes, big-endian; the values.
    """
    ndim = content[3]
    shape = np.frombuffer(content, ">u4", ndim, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * ndim).reshape(shape)


def dataset(name: str, parts: Sequence[np.ndarray], sha256: str) -> Dataset:
    """Return images and labels, for training and then for testing, as a data set.

    Args:
        name: Of the data set.
        parts: Of unsigned bytes, images ``(N, H, W)`` before labels ``(N,)``.
        sha256: Of what was read.
    """
    x_train, y_train, x_test, y_test = (
        part.astype(np.int64)
        if part.ndim == 1
        # In one step: a float32 copy of the training images alone takes 188 MB.
        else np.divide(part.reshape(len(part), -1), np.float32(255), dtype=np.float32)
        for part in parts
    )
    return Dataset(name, x_train, y_train, x_test, y_test, sha256)
