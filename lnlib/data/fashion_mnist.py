"""Fashion-MNIST: 60,000 + 10,000 pictures of clothes in ten classes, with MNIST's format and sizes.

By Xiao, Rasul and Vollgraf (2017), Zalando SE, under the MIT license.
"""

from __future__ import annotations

import os
from pathlib import Path

from lnlib.data import Dataset
from lnlib.data.download import RemoteFile
from lnlib.data.mnist import Source, assemble, gather

CLASSES = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)

_FASHION = Source(
    name="fashion_mnist",
    mirrors=(
        "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/"
        "b2617bb6d3ffa2e429640350f613e3291e10b141/data/fashion/",
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    ),
    files=(
        RemoteFile(
            name="train-images-idx3-ubyte",
            size=47_040_016,
            sha256="3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
            packed=True,
        ),
        RemoteFile(
            name="train-labels-idx1-ubyte",
            size=60_008,
            sha256="a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
            packed=True,
        ),
        RemoteFile(
            name="t10k-images-idx3-ubyte",
            size=7_840_016,
            sha256="346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
            packed=True,
        ),
        RemoteFile(
            name="t10k-labels-idx1-ubyte",
            size=10_008,
            sha256="67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
            packed=True,
        ),
    ),
)


def fetch(folder: str | os.PathLike | None = None) -> Path:
    """Make sure that the four files are there and right, and say where.

    Args:
        folder: Where the gzipped files are to lie, as for :func:`lnlib.data.mnist.fetch`.

    Returns:
        The folder.

    Raises:
        OSError: If a file is missing and cannot be downloaded or written.
        ValueError: If a file is not the one of Fashion-MNIST.
    """
    return gather(folder, _FASHION)[0]


def load(folder: str | os.PathLike | None = None) -> Dataset:
    """Load Fashion-MNIST, from where :func:`fetch` puts or finds it.

    Args:
        folder: As for :func:`fetch`.

    Returns:
        As :func:`lnlib.data.mnist.load`; the classes are :data:`CLASSES`.

    Raises:
        OSError: As for :func:`fetch`.
        ValueError: As for :func:`fetch`.
    """
    return assemble(gather(folder, _FASHION)[1], _FASHION)
