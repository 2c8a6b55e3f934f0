"""The loss while it falls, and what each network comes to by its rate."""

from lnbook.figures.learning_curves import Race

RACE = Race(
    "loss",
    "held-out chapters",
    "held-out chapters",
    unit="nats",
    axis="nats per word",
    top=5.5,  # the first falls, from 7.6, are quick and all alike
    digits=3,
    pad=0.05,
)
CURVES, RATES, controls = RACE.curves, RACE.rates, RACE.controls
