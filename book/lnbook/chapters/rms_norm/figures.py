"""The outputs of LayerNorm and RMSNorm as the mean of their input changes."""

from lnbook.chapters.rms_norm.mean import MEAN, MEANS, outputs
