"""Figures and exercises of the chapter ``skip_thoughts``."""
