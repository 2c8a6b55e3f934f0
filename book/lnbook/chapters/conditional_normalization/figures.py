"""The figure of the page on conditional normalization."""

from lnbook.chapters.conditional_normalization.first_updates import (
    GATES,
    GRADIENTS,
    OFFSETS,
    ZEROS,
    train,
)
