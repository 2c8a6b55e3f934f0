"""Steps, Fisher blocks, recorded runs and the metric of the gains."""

from lnbook.chapters.effective_learning_rate.circle import CIRCLE
from lnbook.chapters.effective_learning_rate.gain import FAMILIES, FORMULAS, GAIN, SCALED, gain
from lnbook.chapters.effective_learning_rate.lines import SCALES
from lnbook.chapters.effective_learning_rate.models import INPUTS, UNITS, cases, glm
from lnbook.chapters.effective_learning_rate.same_step import (
    SAME_STEP,
    WHOSE,
    blocks,
    scaling,
    step,
)
from lnbook.chapters.effective_learning_rate.training import (
    FOUR_LENGTHS,
    INITIAL_SCALES,
    OPTIMIZERS,
    RUN_NORMS,
    TRAINING,
    WeightGrowthRuns,
    against_drawn,
    recovered,
)
