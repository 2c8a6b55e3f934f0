"""Figures and exercises of the chapter ``normalization_axes``."""
