"""Figures and exercises of the chapter ``transformer_ablation``."""
