"""Figures and exercises of the chapter ``attentive_reader``."""
