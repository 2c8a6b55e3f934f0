"""Checks of sentences and readouts against numbers computed elsewhere."""

import math
import re


def check_says(text, *parts):
    """Check that a text contains these parts in order, and no other number.

    Args:
        text: The displayed or spoken text.
        *parts: Names and numbers as in the text. The words between them can vary.
    """
    rest = text.replace("\N{NO-BREAK SPACE}", " ")
    for part in map(str, parts):
        before, result, rest = rest.partition(part.replace("\N{NO-BREAK SPACE}", " "))
        assert result, f"{part!r} does not follow in {text!r}"
        number = part[0].isdigit()
        assert not re.search(r"\d", before), f"a number before {part!r} in {text!r}"
        assert not (number and before[-1:] in ("-", "−", "+", ".")), f"sign of {part} in {text!r}"
    assert not re.search(r"\d", rest), f"a number is left over at the end of {text!r}"


def percent(share):
    """Format a fraction as the pages do, in whole percent, rounding halves up."""
    return f"{math.floor(100 * share + 0.5)}%"


def labels(page, selector):
    """Return the ARIA label of each element."""
    return page.locator(selector).evaluate_all("all => all.map((e) => e.ariaLabel)")
