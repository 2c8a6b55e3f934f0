"""Figures and exercises of the chapter ``introduction``."""
