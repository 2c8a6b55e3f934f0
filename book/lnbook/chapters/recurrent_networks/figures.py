"""Sizes, gradients, scales, padding and long sequences, in numbers."""

from lnbook.chapters.recurrent_networks.longer import LENGTHS_TRAINED, LONGER, longer
from lnbook.chapters.recurrent_networks.network import weights
from lnbook.chapters.recurrent_networks.padding import (
    LENGTHS,
    PADDED,
    PADDING,
    padded_run,
    padding_change,
)
from lnbook.chapters.recurrent_networks.rescaling import MATRICES, RESCALED, change, rescaled
from lnbook.chapters.recurrent_networks.through_time import (
    BACKWARD,
    FORWARD,
    carry,
    describe_forward,
)

__all__ = [
    "BACKWARD",
    "FORWARD",
    "LENGTHS",
    "LENGTHS_TRAINED",
    "LONGER",
    "MATRICES",
    "PADDED",
    "PADDING",
    "RESCALED",
    "carry",
    "change",
    "describe_forward",
    "longer",
    "padded_run",
    "padding_change",
    "rescaled",
    "weights",
]
