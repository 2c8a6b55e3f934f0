"""Figures on summed inputs and gradients over time, padding, and longer sequences."""

from lnbook.chapters.recurrent_networks.longer import LENGTHS_TRAINED, LONGER, longer
from lnbook.chapters.recurrent_networks.padding import (
    LENGTHS,
    PADDED,
    PADDING,
    padded_run,
    padding_change,
)
from lnbook.chapters.recurrent_networks.through_time import (
    BACKWARD,
    FORWARD,
    carry,
    describe_forward,
)
