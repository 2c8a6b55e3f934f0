"""Slides for each track, generated from the built pages, with interactive figures.

The content is selected by rules, and every word is from the chapters or from the page for teachers.
The slides use reveal.js from the package ``sphinx-revealjs``.
"""

from lnbook.classroom.slides.choose import Figure, Slide, decks
from lnbook.classroom.slides.write import write

__all__ = ["Figure", "Slide", "decks", "write"]
