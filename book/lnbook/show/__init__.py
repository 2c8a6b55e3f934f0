"""What every chapter may show, by the names that a reader types.

============  ==================================================================================
figures       :class:`Explorer` and :func:`show`; :class:`LiveRun`, which computes as one watches;
              :class:`Picture`; the controls :func:`slider` (over :func:`round_numbers`) and
              :func:`choice`
tables        :class:`Table`, in which labels have their colors
questions     :class:`Quiz` of :func:`choose`, :func:`number` and :func:`order`
to move       :class:`Sheet`, :class:`Playground`, :class:`Switchboard`, :class:`Painter`,
              :class:`Places`, :class:`Neighbors`, :class:`Reader`, :class:`Scribe`, :class:`Scene`,
              :class:`Sphere`; :mod:`lnbook.show.diagrams`
============  ==================================================================================

A widget is a folder of this package: its Python, its JavaScript and its look (``web.py``).
"""

from lnbook.show.control import choice, round_numbers, slider
from lnbook.show.explorer import Explorer, show
from lnbook.show.explorer.run import LiveRun
from lnbook.show.neighbors import Neighbors
from lnbook.show.painter import Painter
from lnbook.show.picture import Picture
from lnbook.show.places import Places
from lnbook.show.playground import Playground
from lnbook.show.quiz import Quiz, choose, number, order
from lnbook.show.reader import Reader
from lnbook.show.scene import Scene
from lnbook.show.scribe import Scribe
from lnbook.show.sheet import Sheet
from lnbook.show.sphere import Sphere
from lnbook.show.table import Table
from lnbook.show.transformer import Switchboard

__all__ = [
    "Explorer",
    "LiveRun",
    "Neighbors",
    "Painter",
    "Picture",
    "Places",
    "Playground",
    "Quiz",
    "Reader",
    "Scene",
    "Scribe",
    "Sheet",
    "Sphere",
    "Switchboard",
    "Table",
    "choice",
    "choose",
    "number",
    "order",
    "round_numbers",
    "show",
    "slider",
]
