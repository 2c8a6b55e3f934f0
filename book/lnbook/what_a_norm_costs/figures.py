"""What a normalization costs: arithmetic, bytes, measured times, and words between devices."""

from lnbook.what_a_norm_costs.bench import Bench, machines, networks
from lnbook.what_a_norm_costs.devices import DEVICES, EXCHANGE_WIDTHS, ON_DEVICES, exchanges
from lnbook.what_a_norm_costs.recurrence import (
    CALLED,
    CELLS,
    RECURRENCE,
    called,
    same_loop,
    tasks,
)
from lnbook.what_a_norm_costs.roofline import CASES, ROOFLINE, WIDTHS, counts, norms
from lnbook.what_a_norm_costs.steps import STEP_TIME, steps, stored_steps

__all__ = [
    "CALLED", "CASES", "CELLS", "DEVICES", "EXCHANGE_WIDTHS", "ON_DEVICES", "RECURRENCE",
    "ROOFLINE", "STEP_TIME", "WIDTHS", "Bench", "called", "counts", "exchanges", "machines",
    "networks", "norms", "same_loop", "steps", "stored_steps", "tasks",
]  # fmt: skip
