"""Python's own ``help("topics")``, its language reference: always available, no download.

The text differs between versions of Python, so there is no single SHA-256 to verify it against: a
run that was recorded on it can be repeated only with the same version. A record has both the
version and the SHA-256.
"""

from lnlab.datasets import Text


def load() -> Text:
    """Load the reference, with its topics in alphabetical order, separated by newlines.

    Returns:
        About 470,000 characters, of which the first 90% are for training. ``sha256`` is that of the
        complete text, in UTF-8.

    Raises:
        ValueError: If this Python was installed without its manual.

    Example:
        >>> load().train[:20].isascii()
        True
    """
    try:
        from pydoc_data.topics import topics
    except ModuleNotFoundError as error:
        raise ValueError(
            "python_topics: the text must come with Python, this one has no pydoc_data; install a "
            "complete Python, or use tiny_shakespeare"
        ) from error
    return Text.split("python_topics", "\n".join(topics[name] for name in sorted(topics)))
