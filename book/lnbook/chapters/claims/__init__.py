"""Figures and exercises of the chapter ``claims``."""
