"""The loss while it falls, and what each network comes to by its rate."""

from lnbook.figures.learning_curves import Race

WRITERS = "lines of new writers"
RACE = Race(
    "loss", WRITERS, WRITERS, unit="nats", axis="nats a point", top=0.6, digits=2, pad=0.08
)  # the first falls, from above 3, are quick and all alike
CURVES, RATES, controls = RACE.curves, RACE.rates, RACE.controls
