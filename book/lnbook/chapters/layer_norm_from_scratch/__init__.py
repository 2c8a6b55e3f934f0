"""Figures and exercises of the chapter ``layer_norm_from_scratch``."""
