"""Tiny Shakespeare: 40,000 lines of his plays in one file, for character language models.

Collected by Karpathy for char-rnn (2015); the text is in the public domain.
"""

import os

from lnlab.datasets import Text, fetch


def load(folder: str | os.PathLike | None = None) -> Text:
    """Load the text.

    Folder and errors are as for :func:`lnlab.datasets.fetch.get`.

    Returns:
        The first 90% for training and the last 10% for validation.
    """
    content = fetch.get("tiny_shakespeare/input.txt", folder)
    return Text.split("tiny_shakespeare", content.decode())
