"""Format the texts and numbers of a quiz, as HTML, plain text and wrapped lines."""

import html
import re
import textwrap

RIGHT, NOT_YET = "✓ Right.", "✗ Not yet."
LINE_WIDTH = 88  # characters, in the text form of a quiz
# An asterisk within a word is a multiplication sign.
EMPHASIS = re.compile(r"(?<![\w*])\*(?![\s*])([^*]+?)(?<!\s)\*(?![\w*])")
# As in the prose of the pages, in which Sphinx replaces it.
APOSTROPHE = re.compile(r"(?<=\w)'(?=\w)|(?<=s)'(?= )")


def markup(text: str) -> str:
    """Return a text as HTML: escaped, with `` `code` `` and ``*emphasis*`` marked up.

    Example:
        >>> markup("*Not* the layer's `x * y < 1`, but 2*3*4 & more")
        '<em>Not</em> the layer’s <code>x * y &lt; 1</code>, but 2*3*4 &amp; more'
    """
    parts = re.split(r"`([^`]+)`", text)
    parts[1::2] = [f"<code>{html.escape(code)}</code>" for code in parts[1::2]]
    parts[0::2] = [
        EMPHASIS.sub(r"<em>\1</em>", html.escape(APOSTROPHE.sub("’", part))) for part in parts[0::2]
    ]
    return "".join(parts)


def plain_text(text: str) -> str:
    """Return a text without asterisks for emphasis, for widgets that show plain text."""
    parts = re.split(r"`([^`]+)`", text)
    parts[0::2] = [EMPHASIS.sub(r"\1", APOSTROPHE.sub("’", part)) for part in parts[0::2]]
    return "".join(parts)


def wrap_paragraph(head: str, lines: list[str]) -> list[str]:
    """Return wrapped lines: the first follows ``head``, the others are indented below it."""
    wrapped = []
    for i, line in enumerate(lines):
        first = " " * len(head) if i else head
        rest = " " * (len(head) + 2 * (i > 0))
        wrapped += textwrap.wrap(
            line,
            LINE_WIDTH,
            initial_indent=first,
            subsequent_indent=rest,
            break_long_words=False,
            break_on_hyphens=False,
        )
    return wrapped


def format_number(value: float) -> str:
    """Format a number as in prose, such as ``−1,234.5``."""
    return f"{value:,.10g}".replace("-", "−")
