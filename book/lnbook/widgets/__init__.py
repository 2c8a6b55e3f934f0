"""Widgets: one package each, with Python, JavaScript and a style sheet."""
