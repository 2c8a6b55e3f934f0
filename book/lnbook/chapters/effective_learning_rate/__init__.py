"""Figures and exercises of the chapter ``effective_learning_rate``."""
