"""MNIST: 60,000 training and 10,000 test images of handwritten digits."""

import hashlib
import os
from collections.abc import Sequence

import numpy as np

from lnlab.datasets import Dataset, fetch

# Training images and labels, then test images and labels.
FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)


def load(folder: str | os.PathLike | None = None) -> Dataset:
    """Load MNIST.

    Folder and errors are as for :func:`lnlab.datasets.fetch.get`.

    Returns:
        The data set. An image has 784 features: its pixels row by row, divided by 255. ``sha256``
        is that of the concatenation of the four uncompressed files, in the order of
        :data:`FILES` (``zcat`` them into ``sha256sum``).
    """
    return from_idx("mnist", [fetch.get(f"mnist/{file}", folder) for file in FILES])


def from_idx(name: str, contents: Sequence[bytes]) -> Dataset:
    """Return the data set in the contents of four IDX files, in the order of :data:`FILES`."""
    sha256 = hashlib.sha256(b"".join(contents)).hexdigest()
    return from_arrays(name, [parse_idx(content) for content in contents], sha256)


def parse_idx(content: bytes) -> np.ndarray:
    """Return the array in an IDX file of unsigned bytes.

    The format is: the bytes 0, 0, 8 and the number of dimensions; the shape as big-endian 32-bit
    integers; the values.
    """
    ndim = content[3]
    shape = np.frombuffer(content, ">u4", ndim, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * ndim).reshape(shape)


def from_arrays(name: str, arrays: Sequence[np.ndarray], sha256: str) -> Dataset:
    """Return the data set of four arrays of unsigned bytes, in the order of :data:`FILES`.

    Args:
        name: Name of the data set.
        arrays: Images of shape ``(N, H, W)`` or ``(N, H * W)`` and labels of shape ``(N,)``, for
            training and for testing.
        sha256: SHA-256 of the files that were read.
    """
    x_train, y_train, x_test, y_test = arrays
    return Dataset(
        name,
        _to_features(x_train),
        y_train.astype(np.int64),
        _to_features(x_test),
        y_test.astype(np.int64),
        sha256,
    )


def _to_features(images: np.ndarray) -> np.ndarray:
    # In one step: a float32 copy of the training images takes 188 MB.
    return np.divide(images.reshape(len(images), -1), np.float32(255), dtype=np.float32)
