"""A seventh of Fashion-MNIST: 800 training and 200 test pictures of each of the ten classes.

Drawn once, at random, from the training and from the test pictures. ``fashion_small.crc32`` beside
this file says which: the CRC-32 of each one's 784 bytes, in their order, as little-endian 32-bit
numbers, 8,000 and then 2,000. So the set is made from Fashion-MNIST, which is downloaded, unless it
lies where ``LNLIB_DATA`` says as ``fashion_10k.npz``. Xiao, Rasul and Vollgraf (2017), Zalando SE,
MIT license.
"""

from __future__ import annotations

import hashlib
import io
import os
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lnlib.data import Dataset, fashion_mnist, mnist
from lnlib.data.download import RemoteFile, home

NAME = "fashion_small"
LIST = Path(__file__).parent / "fashion_small.crc32"
_TRAIN = 8000
_FILE = RemoteFile(
    name="fashion_10k.npz",
    size=4_394_976,
    sha256="065157dc6fb7b62d72ad9797aa9b524e276e12ce74e0a03311b70e1248a6fbb8",
)
_SHA256 = "2bdc3ff4cd041a80b030a8e7bed939f25c6b8e06d30721a17fea87954b0106a1"


def fetch(folder: str | os.PathLike | None = None) -> Path:
    """Make sure that the file, or Fashion-MNIST's four, are there and right, and say where.

    Args:
        folder: Where they are to lie; without it as for :func:`lnlib.data.mnist.fetch`.

    Returns:
        The folder.

    Raises:
        OSError: If a file is missing and cannot be downloaded or written.
        ValueError: If a file is another.
    """
    found = home(NAME, [_FILE], folder)
    return found.folder if found.find(_FILE) is not None else fashion_mnist.fetch(folder)


def load(folder: str | os.PathLike | None = None) -> Dataset:
    """Load the pictures, from where :func:`fetch` puts or finds them.

    Args:
        folder: As for :func:`fetch`.

    Returns:
        As :func:`lnlib.data.mnist.load`. ``sha256`` is of training pictures, training labels, test
        pictures and test labels one after the other, a byte a number.

    Raises:
        OSError: As for :func:`fetch`.
        ValueError: As for :func:`fetch`, or if the pictures are not those of the list.
    """
    if (content := home(NAME, [_FILE], folder).find(_FILE)) is not None:
        with np.load(io.BytesIO(content), allow_pickle=False) as held:
            parts = [held[name] for name in ("x_train", "y_train", "x_test", "y_test")]
    else:
        parts = _pick(fashion_mnist.load(folder), _list())
    return _assemble(parts, _SHA256)


def _list() -> tuple[np.ndarray, np.ndarray]:
    sums = np.frombuffer(LIST.read_bytes(), "<u4")
    return sums[:_TRAIN], sums[_TRAIN:]


def _pick(whole: Dataset, sums: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return training pictures and labels, then those of test, that have these CRC-32."""
    parts = []
    for x, y, wanted in zip(
        (whole.x_train, whole.x_test), (whole.y_train, whole.y_test), sums, strict=True
    ):
        pixels = np.rint(x * 255).astype(np.uint8)
        place = {zlib.crc32(row.tobytes()): n for n, row in enumerate(pixels)}
        if missing := [int(s) for s in wanted if int(s) not in place]:
            raise ValueError(
                f"{NAME}: each picture must be one of {whole.name}, {len(missing)} of "
                f"{len(wanted):,} are not; fetch {whole.name} again"
            )
        chosen = [place[int(s)] for s in wanted]
        parts += [pixels[chosen], y[chosen].astype(np.uint8)]
    return parts


def _assemble(parts: Sequence[np.ndarray], sha256: str) -> Dataset:
    found = hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()
    if found != sha256:
        raise ValueError(
            f"{NAME}: SHA-256 of its pictures and labels must be {sha256}, got {found}; "
            "fetch Fashion-MNIST again"
        )
    return mnist.dataset(NAME, parts, found)
