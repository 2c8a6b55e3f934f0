"""Figures and exercises of the chapter ``pre_norm_post_norm``."""
