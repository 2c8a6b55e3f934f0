"""Figures and exercises of the chapter ``why_layer_norm_helps``."""
