"""Figures of the chapter: changes of weights and data that leave the outputs unchanged."""

from lnbook.chapters.invariances.digits import AMOUNTS, CONTRAST, PLACES, amount_text
from lnbook.chapters.invariances.eps import SCALE, SCALES, scale_text, scaled
from lnbook.chapters.invariances.names import LABELS, MENU, options
from lnbook.chapters.invariances.one_layer import CHANGE, STRENGTHS, TRIED, change
from lnbook.chapters.invariances.whole_table import sample, verdicts
