r"""Parse numbers as people type them: "1,155", "1 155", "−3", "1e-3", "1/4".

A comma separates thousands in some countries and is the decimal point in others, so a text may
have two readings. The quiz accepts either, the norm table asks. ``number_parsing.js`` does the same
in a page, and the tests compare the two.
"""

import math
import re

GAP = " \u00a0\u2009\u202f"  # thousands separators, in addition to the comma
# Stripped from both ends of a number: everything that JavaScript's trim removes.
EDGE = "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
EDGE += "\u2028\u2029\u202f\u205f\u3000\ufeff"
SIGNS = re.compile("[−–]")
# With a decimal point, and with a decimal comma. Numbers with groups of three digits match both.
POINT = re.compile(
    rf"[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?"
    rf"|[1-9][0-9]{{0,2}}([,{GAP}])[0-9]{{3}}(?:\1[0-9]{{3}})*(?:\.[0-9]*)?)",
    re.IGNORECASE,
)
COMMA = re.compile(
    rf"[+-]?(?:[0-9]*,[0-9]+(?:e[+-]?[0-9]+)?|[0-9]+,"
    rf"|[1-9][0-9]{{0,2}}([{GAP}])[0-9]{{3}}(?:\1[0-9]{{3}})*,[0-9]*)",
    re.IGNORECASE,
)


def forms(text: str) -> list[str]:
    """Normalize a typed number: one form, or two if it is ambiguous.

    Args:
        text: A number, such as "1,155", "−1.5", "1 / 4", or "2e-3".

    Returns:
        Numbers or fractions written with "." and "-"; an empty list if the text is not a number.

    Example:
        >>> forms("1,155"), forms("1 155"), forms("−1,5/2"), forms("two")
        (['1155', '1.155'], ['1155'], ['-1.5/2'], [])
    """
    parts = [part.strip(EDGE) for part in SIGNS.sub("-", text).split("/")]
    if len(parts) > 2:
        return []
    plain = ([_plain(part, point) for part in parts] for point in ".,")
    return list(dict.fromkeys("/".join(whole) for whole in plain if all(whole)))


def _plain(part: str, point: str) -> str:
    """Remove separators of thousands and write a decimal point; return "" if it is not a number."""
    if point == "," and "," in part:
        return re.sub(f"[{GAP}]", "", part).replace(",", ".") if COMMA.fullmatch(part) else ""
    return re.sub(f"[,{GAP}]", "", part) if POINT.fullmatch(part) else ""


def value(form: str) -> float:
    """Return the value of a form: NaN for a division by 0, infinity beyond the largest float.

    Example:
        >>> value("-1.5/2"), value("1/0"), value("1e999")
        (-0.75, nan, inf)
    """
    over, *under = map(float, form.split("/"))
    if not under:
        return over
    return over / under[0] if under[0] else math.nan


def readings(text: str, unit: str = "") -> list[float]:
    """Parse a number as people type it.

    Args:
        text: See :func:`forms`.
        unit: A unit that may follow the number.

    Returns:
        The finite values that it may have: none, one, or two different ones.

    Example:
        >>> readings("1,155"), readings("−1/4 s", "s"), readings("1e999")
        ([1155.0, 1.155], [-0.25], [])
    """
    text = text.strip(EDGE)
    if unit and text.lower().endswith(unit.lower()):
        text = text[: -len(unit)]
    return [x for x in dict.fromkeys(map(value, forms(text))) if math.isfinite(x)]
