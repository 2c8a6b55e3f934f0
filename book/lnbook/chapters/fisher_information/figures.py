"""Measure the distance between models: divergence, Fisher matrix, eq. 13, drawn labels, spectra."""

from lnbook.chapters.fisher_information.labels import (
    LABELS,
    SAMPLES,
    TRUTHS,
    empirical,
    error,
    labels,
    sampled,
    standard_error,
)
from lnbook.chapters.fisher_information.line import DIRECTIONS, LINE, direction, flat, remainder
from lnbook.chapters.fisher_information.matrix import MATRIX, SHOWN, matrix, zeros
from lnbook.chapters.fisher_information.models import CHOICES, FAMILIES, cases, glm
from lnbook.chapters.fisher_information.networks import SPECTRA, TRACE
from lnbook.chapters.fisher_information.width import WIDER, WIDTHS, wide, width_shares

__all__ = [
    "CHOICES", "DIRECTIONS", "FAMILIES", "LABELS", "LINE", "MATRIX", "SAMPLES", "SHOWN", "SPECTRA",
    "TRACE", "TRUTHS", "WIDER", "WIDTHS", "cases", "direction", "empirical", "error", "flat", "glm",
    "labels", "matrix", "remainder", "sampled", "standard_error", "wide", "width_shares", "zeros",
]  # fmt: skip
