"""A table of the norms and one of the forms of the cells.

A new norm is a row in :data:`NORMS`, a new form of a cell one in :data:`CELLS`. What a norm or a
form computes is documented in :mod:`lnlib.norms`, :mod:`lnlib.cells` and :mod:`lnlib.nn`.
"""

from typing import NamedTuple


class Norm(NamedTuple):
    """What shares one mean and one deviation, in terms of eq. 5.

    Attributes:
        title: What a reader calls it.
        over: What the statistics run over: the ``batch``, the features of an ``example``, a
            ``group`` of them, or the ``weights`` alone; empty where there are none.
        paper: Whether it is one of the paper's table 1.
    """

    title: str
    over: str
    paper: bool = False


NORMS = {  # the paper's first
    "batch": Norm("batch norm", "batch", paper=True),
    "weight": Norm("weight norm", "weights", paper=True),
    "layer": Norm("layer norm", "example", paper=True),
    "none": Norm("no norm", ""),
    "rms": Norm("RMS norm", "example"),
    "group": Norm("group norm", "group"),
    "instance": Norm("instance norm", "group"),
}


class Form(NamedTuple):
    """What a form of a cell normalizes and adds.

    Attributes:
        norms: From the place of a norm to the number of gates that it spans: ``i`` is the input's
            part, ``h`` the hidden state's, ``s`` their sum, ``c`` the cell; ``in`` and ``hn`` are
            the two parts of a GRU's candidate.
        bias: Whether there is a bias ``b``, too.
        norm: A name of :data:`NORMS`.
    """

    norms: dict[str, int]
    bias: bool = True
    norm: str = "layer"


class Cell(NamedTuple):
    """A recurrent cell: its gates, how many states it carries, and its forms."""

    gates: int
    states: int
    forms: dict[str, Form]


_PARTS = {"i": 1, "h": 1}
_LSTM = {"i": 4, "h": 4, "c": 1}
_GRU = {"i": 2, "h": 2, "in": 1, "hn": 1}

CELLS = {
    "rnn": Cell(
        gates=1,
        states=1,
        forms={
            "plain": Form({}, norm="none"),
            "paper": Form({"s": 1}, bias=False),
            "parts": Form(_PARTS),
            "batch": Form(_PARTS, norm="batch"),
        },
    ),
    "lstm": Cell(
        gates=4,
        states=2,
        forms={
            "plain": Form({}, norm="none"),
            "paper": Form(_LSTM),
            "carried": Form(_LSTM),
            "per_gate": Form({"s": 4, "c": 1}),
            "draw": Form({"c": 1}),
            "batch": Form(_LSTM, norm="batch"),
        },
    ),
    "gru": Cell(
        gates=3,
        states=1,
        forms={
            "plain": Form({}, norm="none"),
            "paper": Form(_GRU, bias=False),
            "batch": Form(_GRU, bias=False, norm="batch"),
        },
    ),
}
