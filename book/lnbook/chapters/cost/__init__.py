"""Figures and exercises of the chapter ``cost``."""
