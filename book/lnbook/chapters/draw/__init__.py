"""Figures and exercises of the chapter ``draw``."""
