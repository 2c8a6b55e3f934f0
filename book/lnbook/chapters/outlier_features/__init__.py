"""Outlier features: how norms affect them, and how rotations spread them."""
