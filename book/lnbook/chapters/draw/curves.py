"""The bound during training, and the lowest bound at each learning rate."""

from lnbook.figures.learning_curves import Race

RACE = Race(
    "bound", "test images", "validation images", unit="nats", axis="nats per image", top=215
)  # the initial fall, from 543, is fast and the same for all
CURVES, RATES, controls = RACE.curves, RACE.rates, RACE.controls
