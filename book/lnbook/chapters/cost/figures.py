"""Figures on the cost of normalization: operations, bytes, times, and communication."""

from lnbook.chapters.cost.bench import Bench, machines, networks
from lnbook.chapters.cost.communication import DEVICES, EXCHANGE_WIDTHS, ON_DEVICES, exchanges
from lnbook.chapters.cost.recurrence import (
    CALLED,
    CELLS,
    RECURRENCE,
    called,
    same_loop,
    tasks,
)
from lnbook.chapters.cost.roofline import CASES, ROOFLINE, WIDTHS, counts, norms
from lnbook.chapters.cost.step_time import STEP_TIME, steps, stored_steps
