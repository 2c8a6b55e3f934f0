"""Figures and exercises of the chapter ``fisher_estimation``."""
