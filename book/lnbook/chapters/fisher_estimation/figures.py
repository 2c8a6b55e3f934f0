"""Sampled and empirical Fisher matrices, spectra and traces of small networks."""

from lnbook.chapters.fisher_estimation.labels import (
    LABELS,
    SAMPLES,
    TRUTHS,
    cases,
    empirical,
    error,
    labels,
    model,
    sampled,
    standard_error,
)
from lnbook.chapters.fisher_estimation.networks import SPECTRA, TRACE
