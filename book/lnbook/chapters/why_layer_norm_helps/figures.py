"""Figures on the scale of signals by depth, and on training at many learning rates."""

from lnbook.chapters.why_layer_norm_helps.depth import DEPTH, SCALE_BY_DEPTH, SCALES, STYLES, scales
from lnbook.chapters.why_layer_norm_helps.learning_rates import (
    BATCH,
    DEPTHS,
    LEARNING_RATES,
    RATES,
    SEEDS,
    UPDATES,
    WIDTH,
    Sweep,
)
