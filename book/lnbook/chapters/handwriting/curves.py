"""The loss during training, and the lowest loss at each learning rate."""

from lnbook.figures.learning_curves import LearningCurves

WRITERS = "lines by new writers"
LEARNING_CURVES = LearningCurves(
    "loss", WRITERS, WRITERS, unit="nats", axis="nats per point", top=0.6, digits=2, pad=0.08
)  # the initial fall, from above 3, is fast and the same for all
CURVES, RATES, controls = LEARNING_CURVES.curves, LEARNING_CURVES.rates, LEARNING_CURVES.controls
