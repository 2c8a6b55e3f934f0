"""Figures and exercises of the chapter ``recurrent_networks``."""
