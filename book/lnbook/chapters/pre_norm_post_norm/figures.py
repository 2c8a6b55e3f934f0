"""Figures and tables for the notebook, from the files in this folder."""

from lnbook.chapters.pre_norm_post_norm.ablation import ABLATION, ABLATION_GROUPS, ablated_loss
from lnbook.chapters.pre_norm_post_norm.claims import at_start, trained
from lnbook.chapters.pre_norm_post_norm.first_gradients import FIRST_GRADIENTS
from lnbook.chapters.pre_norm_post_norm.live import LIVE, recorded_run
from lnbook.chapters.pre_norm_post_norm.residual_stream import residual_stream
from lnbook.chapters.pre_norm_post_norm.runs import (
    BIGRAM,
    INITIALIZATIONS,
    RATES,
    UNIGRAM,
    WARM_UPS,
    RunKey,
    TransformerRuns,
)
from lnbook.chapters.pre_norm_post_norm.stream import STREAM
from lnbook.chapters.pre_norm_post_norm.trained import (
    CURVE,
    LOSSES,
    at_best,
    exploded,
    stuck,
    trained_starts,
)
