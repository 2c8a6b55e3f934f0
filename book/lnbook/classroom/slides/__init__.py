"""Slides of each track, made of the built pages: their figures are alive in them.

What is shown is chosen here, by rule; every word is the chapters' own, or that of the page for
those who teach. reveal.js, from the package ``sphinx-revealjs``, turns the slides.
"""

from lnbook.classroom.slides.choose import Figure, Slide, decks
from lnbook.classroom.slides.write import write

__all__ = ["Figure", "Slide", "decks", "write"]
