"""Normalize gate by gate: one step of an LSTM, its versions, its gains, and what it learns."""

from lnbook.gate_by_gate.at_start import START, Started
from lnbook.gate_by_gate.gates import SPREAD, SPREADS, SQUASH, saturated, spreads
from lnbook.gate_by_gate.learning import CELLS, LEARNED, RACE, STEP_NAMES, Learned, comparison
from lnbook.gate_by_gate.lstm import finish, parameters
from lnbook.gate_by_gate.versions import (
    APART,
    MISTAKES,
    WIDTHS,
    apart,
    mistakes,
    outputs,
    seen,
    versions,
)

__all__ = [
    "APART", "CELLS", "LEARNED", "MISTAKES", "RACE", "SPREAD", "SPREADS", "SQUASH", "START",
    "STEP_NAMES", "WIDTHS", "Learned", "Started", "apart", "comparison", "finish", "mistakes",
    "outputs", "parameters", "saturated", "seen", "spreads", "versions",
]  # fmt: skip
