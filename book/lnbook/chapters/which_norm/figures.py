"""The chooser, the table of models, and the counts by year."""

from lnbook.chapters.which_norm.by_year import BY_YEAR, QUESTIONS, counted
from lnbook.chapters.which_norm.chooser import Chooser, answers, every_choice
from lnbook.chapters.which_norm.models import MODELS, ModelTable
