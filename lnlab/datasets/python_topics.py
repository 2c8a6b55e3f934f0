"""What Python's own ``help("topics")`` explains, its language reference: always there, no download.

Each version of Python has words of its own, so there is no one SHA-256 to hold it against: a run
that was recorded on it can be repeated with that version alone. A record names both.
"""

from __future__ import annotations

from lnlab.datasets import Text


def load() -> Text:
    """Load the reference, its topics by the alphabet and a line between two.

    Returns:
        Some 470,000 characters, of which the first 90% are for training. ``sha256`` is of them
        all, in UTF-8.

    Raises:
        ValueError: If this Python came without its manual.

    Example:
        >>> load().train[:20].isascii()
        True
    """
    try:
        from pydoc_data.topics import topics
    except ModuleNotFoundError as error:
        raise ValueError(
            "python_topics: the text must come with Python, this one has no pydoc_data; install a "
            "whole Python, or take tiny_shakespeare"
        ) from error
    return Text.split("python_topics", "\n".join(topics[name] for name in sorted(topics)))
