"""Parse a pasted table, and format numbers, as ``texts.js`` does."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Context, Decimal

import numpy as np


def block(text: str) -> tuple[list[list[str]], str]:
    r"""Split a pasted table into rows of words, and name the separator.

    Brackets mark the rows of a printed NumPy array, which may continue over several lines. A comma
    is a decimal comma if there are also tabs or semicolons, or only spaces.

    >>> block("[[ 2.47 -2.92]\n [10.4  10.66]]")
    ([['2.47', '-2.92'], ['10.4', '10.66']], 'spaces')
    >>> block("1,5;2")[0], block("1,5 2")[0], block("1.5,2")[0]
    ([['1,5', '2']], [['1,5', '2']], [['1.5', '2']])
    """
    framed = "[" in text
    lines = re.findall(r"\[([^\[\]]*)\]", text) if framed else re.split(r"\r?\n|\r", text)
    lines = [re.sub(r"[\s,;]+$", "", re.sub(r"[\r\n]+", " ", line)) for line in lines]
    lines = [line for line in lines if line.strip()]
    everything = "\n".join(lines)
    bare = [line.strip() for line in lines]
    if "\t" in everything and not framed:
        separator, between = "tabs", r"\t"
    elif ";" in everything:
        separator, between = "semicolons", ";"
    elif "," in everything and (
        framed
        or "." in everything
        or re.search(r",[ \t]", everything)
        or not any(re.search(r"\s", line) for line in bare)
    ):
        separator, between = "commas", ","
    else:
        separator, between, lines = "spaces", r"\s+", bare
    return [[word.strip() for word in re.split(between, line)] for line in lines], separator


def fixed(v: float, digits: int) -> str:
    """Format with a fixed number of decimals, ties away from zero as in JavaScript, and a "−"."""
    size = f"{Decimal(abs(v)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP):f}"
    return f"−{size}" if v < 0 and size.strip("0.") else size


def power(v: float, digits: int) -> str:
    """Format in scientific notation, with ``digits`` digits before the "e"."""
    rounded = Context(prec=digits, rounding=ROUND_HALF_UP).create_decimal_from_float(v)
    return f"{rounded:.{digits - 1}e}".replace("e+", "e").replace("-", "−")


def shown(v: float) -> str:
    """Format a number for a column, so that decimal points are aligned.

    >>> [shown(v) for v in (-1.0625, 0.0, 42.42, 123456.0)]
    ['−1.063', '0.000', '42.42', '1.23e5']
    """
    size = abs(v)
    if size >= 1e5:
        return power(v, 3)
    return fixed(v, 3 if size < 10 else 2 if size < 100 else 1 if size < 1000 else 0)


def figure(v: float, digits: int = 4) -> str:
    """Format a number for a sentence, with ``digits`` significant digits.

    >>> [figure(v) for v in (16.3067, -0.00316228, 24.0, 0.0, float("nan"))]
    ['16.31', '−0.003162', '24', '0', '?']
    """
    if not np.isfinite(v):
        return "?" if np.isnan(v) else "−∞" if v < 0 else "∞"
    if v == 0:
        return "0"
    exponent = int(power(abs(v), digits).replace("−", "-").split("e")[1])
    if not -4 <= exponent < 6:
        head, tail = power(v, digits).split("e")
        return f"{head.rstrip('0').rstrip('.')}e{tail}"
    text = fixed(v, max(0, digits - 1 - exponent))
    return text.rstrip("0").rstrip(".") if "." in text else text


def exact(v: float) -> str:
    """Format a number for a cell: all its digits, without trailing zeros."""
    return repr(float(v)).removesuffix(".0")


def signed(v: float) -> str:
    """Format a number for a formula, in parentheses if it is negative."""
    text = figure(v, 6)
    return f"({text})" if v < 0 else text


def width(text: str) -> float:
    """Estimate the width of a text, in digits."""
    return len(text) - 0.4 * len(re.findall("[^0-9e]", text))


def aligned(*tables: list[list[str]]) -> list[str]:
    """Align columns: the first to the left, the others to the right."""
    first = max(len(row[0]) for table in tables for row in table)
    lines = []
    for table in tables:
        columns = max(map(len, table))
        widths = [max(len(row[c]) for row in table if c < len(row)) for c in range(1, columns)]
        for row in table:
            cells = [cell.rjust(w) for cell, w in zip(row[1:], widths, strict=False)]
            lines.append("  ".join([row[0].ljust(first), *cells]))
    return lines
