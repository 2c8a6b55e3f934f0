"""Figures and exercises of the chapter ``handwriting``."""
