"""Binarized MNIST, 50,000 + 10,000 + 10,000 digits with binary pixels: the data of section 6.4.

The fixed binarization of Salakhutdinov & Murray (2008) in the split of Larochelle & Murray (2011),
bit for bit the data of the paper. Its three text files, with one line of 784 zeros and ones per
image, have 110 MB; they are packed into one file of 7 MB and can then be deleted. The test images
are sorted by digit, and there are no labels.

Derived from MNIST by Yann LeCun and Corinna Cortes, which is under CC BY-SA 3.0; the only change
here is the packing.
"""

import hashlib
import os
from dataclasses import dataclass

import numpy as np

from lnlab.datasets import fetch

NAME = "mnist_binarized"
SIDE = 28
PIXELS = SIDE * SIDE
SPLITS = ("train", "val", "test")
_ENDS = (50_000, 60_000)  # ends of the training and the validation part


@dataclass(frozen=True, eq=False)
class Binarized:
    """Images of one bit per pixel.

    Attributes:
        name: Name of the data set, as for :func:`lnlab.datasets.load`.
        images: For ``train``, ``val`` and ``test``, shape ``(N, 784)``, uint8, 0 or 1, row by row.
        sha256: SHA-256 of the packed file, uncompressed.
    """

    name: str
    images: dict[str, np.ndarray]
    sha256: str

    def __str__(self) -> str:
        """Return the size of the data set in words."""
        parts = [f"{len(images):,} {split}" for split, images in self.images.items()]
        return f"{' + '.join(parts)} images of {SIDE} x {SIDE} bits"


def load(folder: str | os.PathLike | None = None) -> Binarized:
    """Load the images.

    Folder and errors are as for :func:`lnlab.datasets.fetch.get_or_derive`.
    """

    def derive() -> bytes:
        parts = ("train", "valid", "test")
        return b"".join(
            pack(fetch.get(f"{NAME}/binarized_mnist_{part}.amat", folder)) for part in parts
        )

    return _read(fetch.get_or_derive([f"{NAME}/binarized_mnist.bits"], derive, folder))


def pack(text: bytes) -> bytes:
    """Pack lines of 784 zeros and ones, separated by blanks, into 98 bytes per line.

    The first pixel is the highest bit.
    """
    characters = np.frombuffer(text, np.uint8).reshape(-1, PIXELS, 2)
    return np.packbits(characters[:, :, 0] - ord("0"), axis=1).tobytes()


def _read(content: bytes) -> Binarized:
    packed = np.frombuffer(content, np.uint8).reshape(-1, PIXELS // 8)
    parts = np.split(np.unpackbits(packed, axis=1), _ENDS)
    sha256 = hashlib.sha256(content).hexdigest()
    return Binarized(NAME, dict(zip(SPLITS, parts, strict=True)), sha256)
