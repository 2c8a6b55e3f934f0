"""Put the paper in its time: the timeline, and what became of each idea."""

from lnbook.before_and_after.ideas import ideas
from lnbook.before_and_after.timeline import LANES, TIMELINE

__all__ = ["LANES", "TIMELINE", "ideas"]
