"""Figures and tables of the notebook, from the files in this folder."""

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
    BATCH,
    EVERYWHERE,
    MAIN,
    RELEASED_CODE,
    SMALL,
    Runs,
)
from lnbook.figures.run_groups import CHOSEN, LAYER, PLAIN

__all__ = [
    "BATCH",
    "CHOSEN",
    "ERRORS",
    "EVERYWHERE",
    "LAYER",
    "MAIN",
    "NOT_IN_QUESTION",
    "PLAIN",
    "RELEASED_CODE",
    "SMALL",
    "Runs",
    "errors",
    "is_correct",
    "network",
    "on_answer",
    "on_names",
    "rule_errors",
    "with_attention",
]
