"""Figures on which numbers share a mean, and on the consequences."""

from lnbook.chapters.normalization_axes.batches import BATCH_SIZE, band, outputs
from lnbook.chapters.normalization_axes.followed import (
    FOLLOWED,
    POPULATION,
    TABLE,
    layer_norm_of_followed,
    whole_population,
)
from lnbook.chapters.normalization_axes.groups import CHANNELS, GROUPS
from lnbook.chapters.normalization_axes.running_statistics import RUNNING, stream
from lnbook.chapters.normalization_axes.summary import summary
