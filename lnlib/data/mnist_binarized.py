"""MNIST in black and white, 50,000 + 10,000 + 10,000 digits: what section 6.4 is run on.

The fixed binarization of Salakhutdinov & Murray (2008) as Larochelle & Murray (2011) split it, bit
for bit the data of the paper. Its three text files, a line of 784 zeros and ones an image, are 110
MB; they are packed to one of 7 MB, and can be deleted then. The test images lie in the order of
their digits, and no file says which digit an image shows.

After MNIST by Yann LeCun and Corinna Cortes, which is under CC BY-SA 3.0; here packed, no more.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lnlib.data.download import RemoteFile, home

NAME = "mnist_binarized"
SIDE = 28
PIXELS = SIDE * SIDE
SPLITS = ("train", "val", "test")
_LINE = 2 * PIXELS  # bytes: a digit and what follows it, for each pixel


@dataclass(frozen=True)
class _Source:
    """The packed file, and the originals of training, validation and test, with their mirrors."""

    packed: RemoteFile
    originals: tuple[RemoteFile, RemoteFile, RemoteFile]
    mirrors: tuple[str, ...]

    @property
    def ends(self) -> list[int]:
        """Where each part ends, in images."""
        return np.cumsum([file.size // _LINE for file in self.originals]).tolist()


_LAROCHELLE = _Source(
    packed=RemoteFile(
        name="binarized_mnist.bits",
        size=6_860_000,
        sha256="c462f82a020638a4d5d8d44e4c83242ee0145ee1d125869d0e030c35011837e6",
    ),
    originals=(
        RemoteFile(
            name="binarized_mnist_train.amat",
            size=78_400_000,
            sha256="ad693b29f94c14277b095f5238ddefbbdaaae0939789dd2f4f0205278cee3e4d",
        ),
        RemoteFile(
            name="binarized_mnist_valid.amat",
            size=15_680_000,
            sha256="1de3d397c40fe8eeb33dafd4099a1f665ec01e96d9be234aaeeac8a34930e2e2",
        ),
        RemoteFile(
            name="binarized_mnist_test.amat",
            size=15_680_000,
            sha256="e6687bfea3f820c174f33b7865140b2a2dd2930ef786f35d45795fc193b5ab2c",
        ),
    ),
    # Whoever answers, the SHA-256 above decide.
    mirrors=(
        "https://www.cs.toronto.edu/~larocheh/public/datasets/binarized_mnist/",
        "http://www.cs.toronto.edu/~larocheh/public/datasets/binarized_mnist/",
    ),
)


@dataclass(frozen=True, eq=False)
class Binarized:
    """Images of one bit a pixel.

    Attributes:
        name: As given to :func:`lnlib.data.load`.
        images: For ``train``, ``val`` and ``test``, shape ``(N, 784)``, uint8, 0 or 1, row by row.
        sha256: Of the packed file, uncompressed.
    """

    name: str
    images: dict[str, np.ndarray]
    sha256: str

    def __str__(self) -> str:
        """Say how much there is."""
        parts = [f"{len(images):,} {split}" for split, images in self.images.items()]
        return f"{' + '.join(parts)} images of {SIDE} x {SIDE} bits"


def fetch(folder: str | os.PathLike | None = None) -> Path:
    """Make sure that the data set is there and right, and say where.

    Without ``folder``, what the environment variable ``LNLIB_DATA`` names, or the folder of the
    data set's name in it, is used as it is and never written to; without that, the originals are
    downloaded to the user's cache and packed there.

    Args:
        folder: Where it is to lie, compressed or not. The originals are downloaded if it does not
            and they do not either; what lies there is never replaced.

    Returns:
        The folder.

    Raises:
        OSError: If a file is missing and cannot be downloaded or written.
        ValueError: If a file is another.
    """
    return _gather(folder, _LAROCHELLE)[0]


def load(folder: str | os.PathLike | None = None) -> Binarized:
    """Load the data set, from where :func:`fetch` puts or finds it.

    Args:
        folder: As for :func:`fetch`.

    Raises:
        OSError: As for :func:`fetch`.
        ValueError: As for :func:`fetch`.
    """
    return _read(_gather(folder, _LAROCHELLE)[1], _LAROCHELLE.ends)


def pack(text: bytes | bytearray, name: str = "text") -> bytes:
    """Pack lines of zeros and ones, 784 each with a blank between, into eight pixels a byte.

    Args:
        text: The whole file.
        name: What to call it in the error.

    Returns:
        98 bytes a line, the first pixel in the highest bit.

    Raises:
        ValueError: If it is anything else.
    """
    written = np.frombuffer(text, np.uint8)
    if len(written) % _LINE == 0:
        digits, after = np.moveaxis(written.reshape(-1, PIXELS, 2), 2, 0)
        bits = digits - ord("0")  # what lies below wraps around
        ends = after[:, -1] == ord("\n")
        if bits.max(initial=0) <= 1 and (after[:, :-1] == ord(" ")).all() and ends.all():
            return np.packbits(bits, axis=1).tobytes()
    raise ValueError(
        f"{name}: must be lines of {PIXELS} zeros and ones with a blank between, got something "
        "else; fetch it again"
    )


def _gather(folder: str | os.PathLike | None, source: _Source) -> tuple[Path, bytes]:
    """Return the folder, and the content of the packed file."""
    where = home(NAME, [source.packed, *source.originals], folder)

    def packed() -> bytes:
        texts = {f.name: where.get(f, source.mirrors, suffix="") for f in source.originals}
        return b"".join(pack(text, name) for name, text in texts.items())

    return where.folder, where.prepared([source.packed], packed)


def _read(content: bytes, ends: list[int]) -> Binarized:
    packed = np.frombuffer(content, np.uint8).reshape(ends[-1], PIXELS // 8)
    parts = np.split(np.unpackbits(packed, axis=1), ends[:-1])
    sha256 = hashlib.sha256(content).hexdigest()
    return Binarized(NAME, dict(zip(SPLITS, parts, strict=True)), sha256)
