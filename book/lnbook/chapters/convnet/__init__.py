"""Figures and exercises of the chapter ``convnet``."""
