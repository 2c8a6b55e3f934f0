"""Slow down with big weights: steps, Fisher blocks, recorded runs and the metric of the gains."""

from lnbook.big_weights.circle import CIRCLE
from lnbook.big_weights.gain import FAMILIES, FORMULAS, GAIN, SCALED, gain
from lnbook.big_weights.lines import SCALES
from lnbook.big_weights.models import INPUTS, UNITS, cases, glm
from lnbook.big_weights.same_step import SAME_STEP, WHOSE, blocks, scaling, step
from lnbook.big_weights.training import (
    FOUR_LENGTHS,
    OPTIMIZERS,
    RUN_NORMS,
    STARTS,
    TRAINING,
    Runs,
    against_drawn,
    recovered,
)

__all__ = [
    "CIRCLE", "FAMILIES", "FORMULAS", "FOUR_LENGTHS", "GAIN", "INPUTS", "OPTIMIZERS", "RUN_NORMS",
    "SAME_STEP", "SCALED", "SCALES", "STARTS", "TRAINING", "UNITS", "WHOSE", "Runs",
    "against_drawn", "blocks", "cases", "gain", "glm", "recovered", "scaling", "step",
]  # fmt: skip
