"""What a sentence or a readout says, beside what was computed elsewhere."""

import math
import re


def check_says(text, *parts):
    """See that a text has these parts, in their order, and no number besides.

    Args:
        text: What a reader sees or hears.
        *parts: Names and numbers, as they are written there. The words between them are free.
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
    """Write a share as the pages do, in whole percent: a half is rounded up."""
    return f"{math.floor(100 * share + 0.5)}%"


def labels(page, selector):
    """Return what a screen reader hears of each element."""
    return page.locator(selector).evaluate_all("all => all.map((e) => e.ariaLabel)")
