"""Data sets, one module each; every file is verified against a SHA-256 before it is used.

``digits`` is part of scikit-learn and always available. The sections of the paper use
``coco_val2017_layout`` (6.1), ``bible_cloze`` (6.2), ``gutenberg_prose`` and ``sentence_tasks``
(6.3), ``mnist_binarized`` (6.4), ``omniglot_lines`` and ``iam_ondb`` (6.5), ``mnist`` (6.6),
``fashion_mnist`` and ``fashion_small`` (6.7). ``tiny_shakespeare`` is text for a small transformer;
``python_topics``, which is part of Python, replaces it where there is no network connection.
Importing this package loads no data.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from lnlab.messages import suggestion

__all__ = ["ABOUT", "BUNDLED", "NAMES", "Dataset", "Text", "load"]

# Description, size of the download (uncompressed) and license of each data set.
ABOUT = {
    "bible_cloze":
        ("cloze questions on passages of the Bible, for section 6.2", "15 MB", "public domain"),
    "coco_val2017_layout":
        ("captions and object boxes of COCO val2017, for section 6.1", "5 MB", "CC BY 4.0"),
    "digits":
        ("1,797 images of 8 x 8 pixels, part of scikit-learn", "no download", "BSD-3-Clause"),
    "fashion_mnist":
        ("70,000 images of clothing, for larger runs of section 6.7", "55 MB", "MIT"),
    "fashion_small":
        ("10,000 images of Fashion-MNIST, for section 6.7", "55 MB", "MIT"),
    "gutenberg_prose":
        ("24 novels split into sentences, for section 6.3", "15 MB", "public domain"),
    "iam_ondb":
        ("handwriting, for section 6.5 at the paper's scale", "no download: registration required",
         "research only"),
    "mnist":
        ("70,000 images of handwritten digits, for section 6.6", "55 MB", "CC BY-SA 3.0"),
    "mnist_binarized":
        ("MNIST with binary pixels, for section 6.4", "110 MB", "CC BY-SA 3.0"),
    "omniglot_lines":
        ("handwriting composed of Omniglot's letters, for section 6.5", "4 MB", "MIT"),
    "python_topics":
        ("the language reference that comes with Python", "no download", "PSF-2.0"),
    "sentence_tasks":
        ("sentiment, subjectivity and caption pairs, for section 6.3",
         "1 MB and coco_val2017_layout", "CC BY 4.0"),
    "tiny_shakespeare":
        ("40,000 lines of Shakespeare's plays, for a small transformer", "1 MB", "public domain"),
}  # fmt: skip
NAMES = tuple(ABOUT)
BUNDLED = ("digits", "python_topics")  # part of a package: nothing to download


@dataclass(frozen=True, eq=False)
class Dataset:
    """Training and test examples, one row each.

    Attributes:
        name: Name of the data set, as for :func:`load`.
        x_train: Features, shape ``(N, D)``, float32 in [0, 1].
        y_train: Classes, shape ``(N,)``, int64.
        x_test: As ``x_train``.
        y_test: As ``y_train``.
        sha256: SHA-256 of all data that were read, as documented in the module that loads them.
    """

    name: str
    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    sha256: str

    def __str__(self) -> str:
        """Return the size of the data set in words."""
        return (
            f"{len(self.x_train):,} training and {len(self.x_test):,} test cases of "
            f"{self.x_train.shape[1]} features"
        )


@dataclass(frozen=True, eq=False)
class Text:
    """A long text, with its beginning for training and its end for validation.

    Attributes:
        name: Name of the data set, as for :func:`load`.
        train: The first 90%.
        val: The rest.
        sha256: SHA-256 of the complete text, in UTF-8.
    """

    name: str
    train: str
    val: str
    sha256: str

    @classmethod
    def split(cls, name: str, text: str) -> Text:
        """Split a text into the first 90% for training and the rest for validation."""
        count = len(text) * 9 // 10
        sha256 = hashlib.sha256(text.encode()).hexdigest()
        return cls(name, text[:count], text[count:], sha256)

    def __str__(self) -> str:
        """Return the size of the data set in words."""
        return (
            f"{len(self.train):,} training and {len(self.val):,} validation characters, "
            f"{len({*self.train, *self.val})} different"
        )


def load(name: str) -> Any:
    """Load a data set by its name.

    Args:
        name: One of :data:`NAMES`.

    Returns:
        The result of ``lnlab.datasets.<name>.load()``: a :class:`Dataset` for classification, a
        :class:`Text`, :class:`lnlab.datasets.handwriting_lines.Lines`, or another class
        of that module.

    Raises:
        ValueError: If there is no data set with this name.

    Example:
        >>> load("digits").x_train.shape
        (1437, 64)
    """
    if name not in NAMES:
        hint = suggestion(str(name), NAMES)
        raise ValueError(f"load: name must be one of {', '.join(NAMES)}; got {name!r}{hint}")
    return import_module(f"lnlab.datasets.{name}").load()
