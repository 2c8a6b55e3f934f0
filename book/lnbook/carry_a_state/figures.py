"""Carry a state: sizes, gradients, scales, padding and long sequences, in numbers."""

from lnbook.carry_a_state.longer import LENGTHS_TRAINED, LONGER, longer
from lnbook.carry_a_state.network import weights
from lnbook.carry_a_state.padding import LENGTHS, PADDED, PADDING, padded_run, padding_change
from lnbook.carry_a_state.rescaling import MATRICES, RESCALED, change, rescaled
from lnbook.carry_a_state.through_time import BACKWARD, FORWARD, carry, describe_forward

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
