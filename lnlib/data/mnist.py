"""MNIST: 60,000 + 10,000 handwritten digits, from its public mirrors or from your own folder."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lnlib.data import Dataset
from lnlib.data.download import RemoteFile, home
from lnlib.data.idx import parse_idx


@dataclass(frozen=True)
class Source:
    """Where the files are, and how they must hash: training, then test, images before labels."""

    mirrors: tuple[str, ...]
    files: tuple[RemoteFile, RemoteFile, RemoteFile, RemoteFile]
    name: str = "mnist"


_MNIST = Source(
    mirrors=(
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
    ),
    # Uncompressed: each mirror compresses as it likes.
    files=(
        RemoteFile(
            name="train-images-idx3-ubyte",
            size=47_040_016,
            sha256="ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        ),
        RemoteFile(
            name="train-labels-idx1-ubyte",
            size=60_008,
            sha256="65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        ),
        RemoteFile(
            name="t10k-images-idx3-ubyte",
            size=7_840_016,
            sha256="0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        ),
        RemoteFile(
            name="t10k-labels-idx1-ubyte",
            size=10_008,
            sha256="ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        ),
    ),
)


def fetch(folder: str | os.PathLike | None = None) -> Path:
    """Make sure that the four files are there and right, and say where.

    Without ``folder``, the folder that the environment variable ``LNLIB_DATA`` names, or its folder
    ``mnist``, is used as it is and never written to; without that, MNIST is downloaded to the
    user's cache.

    Args:
        folder: Where the files are to lie, gzipped or not. What is missing is downloaded, what
            lies there is never replaced.

    Returns:
        The folder.

    Raises:
        OSError: If a file is missing and cannot be downloaded or written.
        ValueError: If a file is not the one of MNIST.
    """
    return gather(folder, _MNIST)[0]


def load(folder: str | os.PathLike | None = None) -> Dataset:
    """Load MNIST, from where :func:`fetch` puts or finds it.

    Args:
        folder: As for :func:`fetch`.

    Returns:
        784 features, the pixels 0 to 255 divided by 255, row by row. ``sha256`` is of the four
        uncompressed files one after the other: training images, training labels, test images, test
        labels (``zcat`` them into ``sha256sum``).

    Raises:
        OSError: If a file is missing and cannot be downloaded or written.
        ValueError: If a file is not the one of MNIST.
    """
    return assemble(gather(folder, _MNIST)[1], _MNIST)


def gather(folder: str | os.PathLike | None, source: Source) -> tuple[Path, list[bytearray]]:
    """Return the folder and the verified, uncompressed content of its four files.

    Raises:
        OSError: As for :func:`fetch`.
        ValueError: As for :func:`fetch`.
    """
    found = home(source.name, source.files, folder)
    return found.folder, [found.get(file, source.mirrors) for file in source.files]


def assemble(contents: Sequence[bytearray], source: Source) -> Dataset:
    """Return the data set that four files hold.

    Raises:
        ValueError: If an image has no label, or one that is no class.
    """
    sha256 = hashlib.sha256()
    parts = []
    for content, file, ndim in zip(contents, source.files, (3, 1, 3, 1), strict=True):
        sha256.update(content)
        parts.append(parse_idx(content, name=file.name, ndim=ndim))
    for images, labels in (parts[:2], parts[2:]):
        if len(images) != len(labels) or labels.max() > 9:
            raise ValueError(
                f"{source.name}: each image must have a label of 0 to 9, got {len(images):,} "
                f"images and {len(labels):,} labels up to {labels.max()}"
            )
    return dataset(source.name, parts, sha256.hexdigest())


def dataset(name: str, parts: Sequence[np.ndarray], sha256: str) -> Dataset:
    """Return pictures and labels, of training and then of test, as a data set.

    Args:
        name: Of the data set.
        parts: Of unsigned bytes, pictures ``(N, H, W)`` before labels ``(N,)``.
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
