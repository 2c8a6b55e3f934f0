"""Figures and exercises of the chapter ``which_norm``."""
