"""Measure the distance between models: divergence, Fisher matrix, eq. 13, drawn labels, spectra."""

from lnbook.measure_distance.labels import (
    LABELS,
    SAMPLES,
    TRUTHS,
    empirical,
    error,
    labels,
    sampled,
    standard_error,
)
from lnbook.measure_distance.line import DIRECTIONS, LINE, direction, flat, remainder
from lnbook.measure_distance.matrix import MATRIX, SHOWN, matrix, zeros
from lnbook.measure_distance.models import CHOICES, FAMILIES, cases, glm
from lnbook.measure_distance.networks import SPECTRA, TRACE
from lnbook.measure_distance.width import WIDER, WIDTHS, wide, width_shares

__all__ = [
    "CHOICES", "DIRECTIONS", "FAMILIES", "LABELS", "LINE", "MATRIX", "SAMPLES", "SHOWN", "SPECTRA",
    "TRACE", "TRUTHS", "WIDER", "WIDTHS", "cases", "direction", "empirical", "error", "flat", "glm",
    "labels", "matrix", "remainder", "sampled", "standard_error", "wide", "width_shares", "zeros",
]  # fmt: skip
