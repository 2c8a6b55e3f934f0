"""The loss on held-out chapters during training."""

import dataclasses

from lnbook.figures.learning_curves import LearningCurves

LEARNING_CURVES = LearningCurves(
    "loss",
    "held-out chapters",
    "held-out chapters",
    unit="nats",
    axis="nats per word",
    top=5.5,  # the loss falls from 7.6 to this within a few updates in every run
    digits=3,
    pad=0.05,
)
#: The curves alone, without a choice of the quantity.
LOSSES = dataclasses.replace(
    LEARNING_CURVES.curves.of(shown="loss"),
    alt="Loss on held-out chapters, in nats per word, over updates, each network with a band over "
    f"its seeds: {LEARNING_CURVES.lines}.",
)
