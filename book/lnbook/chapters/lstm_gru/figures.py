"""One step of an LSTM, its versions, its gains, and what it learns."""

from lnbook.chapters.lstm_gru.at_start import START, Started
from lnbook.chapters.lstm_gru.gates import SPREAD, SPREADS, SQUASH, saturated, spreads
from lnbook.chapters.lstm_gru.learning import CELLS, LEARNED, RACE, STEP_NAMES, Learned, comparison
from lnbook.chapters.lstm_gru.lstm import finish, parameters
from lnbook.chapters.lstm_gru.versions import (
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
