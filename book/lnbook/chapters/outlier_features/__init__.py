"""Outlier features: what a norm makes of them, and how rotations spread them."""
