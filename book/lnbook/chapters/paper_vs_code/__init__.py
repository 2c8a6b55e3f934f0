"""Figures and exercises of the chapter ``paper_vs_code``."""
