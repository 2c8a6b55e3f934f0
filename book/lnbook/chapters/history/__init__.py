"""Figures and exercises of the chapter ``history``."""
