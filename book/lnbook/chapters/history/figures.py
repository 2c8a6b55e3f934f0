"""The timeline, and what became of each idea."""

from lnbook.chapters.history.ideas import ideas
from lnbook.chapters.history.timeline import LANES, TIMELINE

__all__ = ["LANES", "TIMELINE", "ideas"]
