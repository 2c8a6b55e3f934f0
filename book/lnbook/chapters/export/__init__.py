"""Figures and exercises of the page on export and conversion."""
