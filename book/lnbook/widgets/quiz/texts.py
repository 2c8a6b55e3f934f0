"""How a quiz writes: marked up, bare, wrapped, numbers as prose has them."""

from __future__ import annotations

import html
import re
import textwrap

RIGHT, NOT_YET = "✓ Right.", "✗ Not yet."
LINE = 88  # characters of the text form


def markup(text: str) -> str:
    """Escape a text, with `` `code` `` and ``*emphasis*`` marked up.

    Example:
        >>> markup("*Not* `x * y < 1`, but 2*3*4 & more")
        '<em>Not</em> <code>x * y &lt; 1</code>, but 2*3*4 &amp; more'
    """
    parts = re.split(r"`([^`]+)`", text)
    parts[1::2] = [f"<code>{html.escape(code)}</code>" for code in parts[1::2]]
    parts[0::2] = [EMPHASIS.sub(r"<em>\1</em>", html.escape(part)) for part in parts[0::2]]
    return "".join(parts)


# A star within a word is a product.
EMPHASIS = re.compile(r"(?<![\w*])\*(?![\s*])([^*]+?)(?<!\s)\*(?![\w*])")


def bare(text: str) -> str:
    """Take the marks away, where a widget shows text alone."""
    parts = re.split(r"`([^`]+)`", text)
    parts[0::2] = [EMPHASIS.sub(r"\1", part) for part in parts[0::2]]
    return "".join(parts)


def paragraph(head: str, lines: list[str]) -> list[str]:
    """Wrap lines, the first after ``head``, the others below it."""
    wrapped = []
    for i, line in enumerate(lines):
        first = " " * len(head) if i else head
        rest = " " * (len(head) + 2 * (i > 0))
        wrapped += textwrap.wrap(
            line,
            LINE,
            initial_indent=first,
            subsequent_indent=rest,
            break_long_words=False,
            break_on_hyphens=False,
        )
    return wrapped


def write(value: float) -> str:
    """Write a number as prose does."""
    return f"{value:,.10g}".replace("-", "−")
