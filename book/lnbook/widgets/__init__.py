"""Widgets, one package each: Python, JavaScript and a style sheet."""
