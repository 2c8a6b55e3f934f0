"""Figures and exercises of the chapter ``mnist``."""
