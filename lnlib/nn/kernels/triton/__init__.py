"""Kernels for a GPU, in Triton: a time step of the recurrences, and the norms of rows."""
