"""Figures and tables of the notebook, from the files in this folder."""

from lnbook.chapters.order_embeddings.claims import PAPER, table_2, updates
from lnbook.chapters.order_embeddings.curves import CURVES, RATES
from lnbook.chapters.order_embeddings.penalty import (
    PENALTY,
    captions,
    penalties,
    penalty_matrix,
    vectors,
)
from lnbook.chapters.order_embeddings.runs import CUTS, OrderEmbeddingsRuns, RunKey
