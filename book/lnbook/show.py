"""The names that chapters and readers import to display something.

============  ==================================================================================
figures       :class:`Explorer`; :class:`LiveRun`, which computes live; :class:`Picture`; the
              controls :func:`slider` (over :func:`round_numbers`) and :func:`choice`
tables        :class:`Table`, which colors labels of claims
questions     :class:`Quiz` of :func:`choose`, :func:`number` and :func:`order`
widgets       :class:`NormTable`, :class:`Playground`, :class:`TransformerWidget`, :class:`Sphere`;
              :class:`DrawReplay`, :class:`HandwritingReplay`, :class:`AttentionReplay`,
              :class:`CaptionRanking`, :class:`SentenceNeighbors`, :class:`ActivationMaps`, of
              recorded networks; :mod:`lnbook.diagrams`
============  ==================================================================================

A widget is a package: its Python, its JavaScript and its style sheet (``widgets/base.py``).
"""

from lnbook.explorer import Explorer
from lnbook.explorer.control import choice, round_numbers, slider
from lnbook.explorer.figure_spec import Picture
from lnbook.explorer.live_run import LiveRun
from lnbook.figures.table import Table
from lnbook.widgets.norm_table import NormTable
from lnbook.widgets.playground import Playground
from lnbook.widgets.quiz import Quiz, choose, number, order
from lnbook.widgets.replay.activation_maps import ActivationMaps
from lnbook.widgets.replay.attention import AttentionReplay
from lnbook.widgets.replay.caption_ranking import CaptionRanking
from lnbook.widgets.replay.draw import DrawReplay
from lnbook.widgets.replay.handwriting import HandwritingReplay
from lnbook.widgets.replay.sentence_neighbors import SentenceNeighbors
from lnbook.widgets.sphere import Sphere
from lnbook.widgets.transformer import TransformerWidget

__all__ = [
    "ActivationMaps",
    "AttentionReplay",
    "CaptionRanking",
    "DrawReplay",
    "Explorer",
    "HandwritingReplay",
    "LiveRun",
    "NormTable",
    "Picture",
    "Playground",
    "Quiz",
    "SentenceNeighbors",
    "Sphere",
    "Table",
    "TransformerWidget",
    "choice",
    "choose",
    "number",
    "order",
    "round_numbers",
    "slider",
]
