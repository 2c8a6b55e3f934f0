"""Kernels for the CPU in C++, built on the first use, and how they are built."""
