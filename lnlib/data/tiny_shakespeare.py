"""Tiny Shakespeare: 40,000 lines of his plays in one file, on which small models learn to write.

Collected by Karpathy for char-rnn (2015); the text is in the public domain.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from lnlib.data import Text
from lnlib.data.download import RemoteFile, home

NAME = "tiny_shakespeare"


@dataclass(frozen=True)
class _Source:
    """The file, and its one address."""

    file: RemoteFile
    mirror: str


_SHAKESPEARE = _Source(
    file=RemoteFile(
        name="input.txt",
        size=1_115_394,
        sha256="86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
    ),
    mirror="https://raw.githubusercontent.com/karpathy/char-rnn/"
    "6f9487a6fe5b420b7ca9afb0d7c078e37c1d1b4e/data/tinyshakespeare/",
)


def fetch(folder: str | os.PathLike | None = None) -> Path:
    """Make sure that the text is there and right, and say where.

    Without ``folder``, what the environment variable ``LNLIB_DATA`` names, or the folder of the
    data set's name in it, is used as it is and never written to; without that, the text is
    downloaded to the user's cache.

    Args:
        folder: Where it is to lie, gzipped or not. It is downloaded if it does not; what lies there
            is never replaced.

    Returns:
        The folder.

    Raises:
        OSError: If the file is missing and cannot be downloaded or written.
        ValueError: If it is another.
    """
    return _gather(folder, _SHAKESPEARE)[0]


def load(folder: str | os.PathLike | None = None) -> Text:
    """Load the text, from where :func:`fetch` puts or finds it.

    Args:
        folder: As for :func:`fetch`.

    Returns:
        The first 90 % for training, the last 10 % for validation, as it is customary.

    Raises:
        OSError: As for :func:`fetch`.
        ValueError: As for :func:`fetch`.
    """
    return Text.split(NAME, _gather(folder, _SHAKESPEARE)[1].decode())


def _gather(folder: str | os.PathLike | None, source: _Source) -> tuple[Path, bytearray]:
    """Return the folder, and the content of the file."""
    found = home(NAME, [source.file], folder)
    return found.folder, found.get(source.file, [source.mirror], suffix="")
