"""Figures on the steps of an LSTM, its variants, its gains, and its training."""

from lnbook.chapters.lstm_gru.at_initialization import InitialStatistics
from lnbook.chapters.lstm_gru.cell_variants import (
    MISTAKES,
    WIDTHS,
    mistakes,
    output_difference,
    outputs,
    seen,
    versions,
)
from lnbook.chapters.lstm_gru.gates import SPREAD, SPREADS, SQUASH, saturated, spreads
from lnbook.chapters.lstm_gru.ink import INK, parts
from lnbook.chapters.lstm_gru.learning_curves import (
    CELLS,
    LEARNED,
    SIDE_BY_SIDE,
    STEP_NAMES,
    SequentialDigitRuns,
    comparison,
)
from lnbook.chapters.lstm_gru.lstm import finish, parameters
