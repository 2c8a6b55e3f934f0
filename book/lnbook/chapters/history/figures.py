"""The timeline, and the table of the paper's ideas and their later use."""

from lnbook.chapters.history.ideas import ideas
from lnbook.chapters.history.timeline import LANES, TIMELINE
