"""The memory that normalization layers keep for the backward pass, and the kernels they run."""
