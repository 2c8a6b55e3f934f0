"""A drawing function, its description and its alt text as one object.

The ``figures.py`` of a chapter defines it, and a cell of the notebook uses it::

    STEP = Picture(draw_step, describe_step, alt="Two line plots over ...")

    Explorer(figures.STEP, {"scale": slider(...)}, title="The same step, longer weights")

Data that the notebook computes or reads are the first arguments of both functions::

    Explorer(figures.TRAINING.of(runs), {"optimizer": choice(...)}, title="Length and turn")
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


@dataclass(frozen=True)
class Picture:
    """A drawing function, its description and its alt text.

    Args:
        draw: Called with the value of each control as keyword arguments; returns one plotly figure
            or a list of them. It sets no template and no background, which the page does.
        describe: Called like ``draw``; returns a description of the state in one sentence.
        alt: Alt text for all states.
    """

    draw: Callable[..., Figure | list[Figure]]
    describe: Callable[..., str]
    alt: str | None = None

    def of(self, *data: Any, **named: Any) -> Picture:
        """Return the picture of given data, which are the first arguments of both functions.

        Args:
            *data: Positional arguments.
            **named: Keyword arguments.
        """
        draw, describe = (partial(f, *data, **named) for f in (self.draw, self.describe))
        return replace(self, draw=draw, describe=describe)
