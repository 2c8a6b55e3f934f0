"""What the notebook uses of this folder: its figures, its tables and the names of networks."""

from lnbook.chapters.attentive_reader.attention import (
    is_correct,
    on_answer,
    on_names,
    with_attention,
)
from lnbook.chapters.attentive_reader.curves import ERRORS, NOT_IN_QUESTION, rule_errors
from lnbook.chapters.attentive_reader.errors import errors
from lnbook.chapters.attentive_reader.network import network
from lnbook.chapters.attentive_reader.runs import (
    BATCH_EVERYWHERE,
    BATCH_LSTM,
    MAIN,
    RELEASED_CODE,
    SHORT_PASSAGES,
    SMALL_BATCHES,
    SMALL_GAIN,
    TWO_PASSAGES,
    WITH_BATCH_NORM,
    AttentiveReaderRuns,
)
from lnbook.figures.run_groups import LAYER, NO_NORM, TUNED_INIT
