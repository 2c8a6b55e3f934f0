"""Paint a digit: the bound while it falls, and what each network comes to by its rate."""

from lnbook.figures.learning_curves import Race

RACE = Race(
    "bound", "test images", "validation images", unit="nats", axis="nats per image", top=215
)  # the first falls, from 543, are quick and all alike
CURVES, RATES, controls = RACE.curves, RACE.rates, RACE.controls
