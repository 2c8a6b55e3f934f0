"""The bound during training, and the lowest bound at each learning rate."""

from lnbook.figures.learning_curves import LearningCurves

LEARNING_CURVES = LearningCurves(
    "bound", "test images", "validation images", unit="nats", axis="nats per image", top=215
)  # the initial fall, from 543, is fast and the same for all
CURVES, RATES, controls = LEARNING_CURVES.curves, LEARNING_CURVES.rates, LEARNING_CURVES.controls
