"""The errors of a split normalization layer without communication."""

from lnbook.chapters.distributed_training.splits import AXES, ERRORS, SPLITS, errors
