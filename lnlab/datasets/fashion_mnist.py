"""Fashion-MNIST: 60,000 + 10,000 images of clothing in ten classes, in the format of MNIST.

By Xiao, Rasul and Vollgraf (2017), Zalando SE, under the MIT license. Only the checksums of the
publisher's gzipped files are known, so no other compression is accepted.
"""

import gzip
import os

from lnlab.datasets import Dataset, fetch, mnist

CLASSES = (
    "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
    "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot",
)  # fmt: skip


def load(folder: str | os.PathLike | None = None) -> Dataset:
    """Load Fashion-MNIST.

    Folder and errors are as for :func:`lnlab.datasets.fetch.get`.

    Returns:
        As :func:`lnlab.datasets.mnist.load`; the classes are :data:`CLASSES`.
    """
    files = (fetch.get(f"fashion_mnist/{file}.gz", folder) for file in mnist.FILES)
    return mnist.from_idx("fashion_mnist", [gzip.decompress(file) for file in files])
