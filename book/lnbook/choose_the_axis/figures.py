"""Choose the axis: which numbers share one mean, and what follows from it."""

from lnbook.choose_the_axis.batches import BATCH_SIZE, band, outputs
from lnbook.choose_the_axis.followed import (
    FOLLOWED,
    POPULATION,
    TABLE,
    layer_norm_of_followed,
    whole_population,
)
from lnbook.choose_the_axis.groups import CHANNELS, GROUPS
from lnbook.choose_the_axis.normalization_sets import NORMALIZATION_SET, TENSORS, normalization_sets
from lnbook.choose_the_axis.running_statistics import RUNNING, stream
from lnbook.choose_the_axis.summary import summary

__all__ = [
    "BATCH_SIZE",
    "CHANNELS",
    "FOLLOWED",
    "GROUPS",
    "NORMALIZATION_SET",
    "POPULATION",
    "RUNNING",
    "TABLE",
    "TENSORS",
    "band",
    "layer_norm_of_followed",
    "normalization_sets",
    "outputs",
    "stream",
    "summary",
    "whole_population",
]
