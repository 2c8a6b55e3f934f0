"""Computations about norms, cells and runs, whose results the figures of the book show."""
