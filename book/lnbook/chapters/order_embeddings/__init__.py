"""Figures and exercises of the chapter ``order_embeddings``."""
