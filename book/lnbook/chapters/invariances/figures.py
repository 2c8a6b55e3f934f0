"""Find what leaves the output unchanged: one small layer, the whole table, digits, and eps."""

from lnbook.chapters.invariances.digits import AMOUNTS, CONTRAST, PLACES, place_text
from lnbook.chapters.invariances.eps import EPS, SCALE, SCALES, scale_text, scaled
from lnbook.chapters.invariances.names import LABELS, MENU, options
from lnbook.chapters.invariances.one_layer import CHANGE, STRENGTHS, TRIED, change
from lnbook.chapters.invariances.whole_table import DEPTHS, TABLE, sample, verdicts

__all__ = [
    "AMOUNTS",
    "CHANGE",
    "CONTRAST",
    "DEPTHS",
    "EPS",
    "LABELS",
    "MENU",
    "PLACES",
    "SCALE",
    "SCALES",
    "STRENGTHS",
    "TABLE",
    "TRIED",
    "change",
    "options",
    "place_text",
    "sample",
    "scale_text",
    "scaled",
    "verdicts",
]
